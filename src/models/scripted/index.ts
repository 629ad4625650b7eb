// The scripted model, for the other folders.
export type { Expectation, ExpectedResult, Script, ScriptDocument, ScriptStep, StepCall } from './script.ts'
export { parseScript, scriptFromFile } from './script-file.ts'
export { type ScriptedOptions, scripted } from './scripted.ts'
