// Programs that a model writes and that call its tools.
export { type CodeOptions, checkCodeLimits, codeTool, defaultCodeName } from './code.ts'
export type { CodeLimits } from './messages.ts'
