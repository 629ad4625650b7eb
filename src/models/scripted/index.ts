// The scripted model, for the other folders.
export type {
  Expectation,
  ExpectedResult,
  ExpectFunction,
  Pattern,
  Position,
  Script,
  ScriptDocument,
  ScriptFailure,
  ScriptFunction,
  ScriptStep,
  StepCall,
  WhenOver,
} from './script.ts'
export { parseScript, scriptFromFile } from './script-file.ts'
export { type ScriptedOptions, scripted } from './scripted.ts'
