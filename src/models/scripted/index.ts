// The door of the scripted model.
export type {
  Expectation,
  ExpectedResult,
  ExpectFunction,
  Failure,
  Pattern,
  Position,
  Script,
  ScriptDocument,
  ScriptFunction,
  Step,
  StepCall,
  WhenOver,
} from './script.ts'
export { parseScript, scriptFromFile } from './script-file.ts'
export { type ScriptedOptions, scripted } from './scripted.ts'
