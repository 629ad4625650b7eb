// For programs that build on the parts: a model for an API of one's own, the log that the server writes, the list of errors.
export { type ErrorCode, errorCodes } from './language/errors.ts'
export { createLog, type Log, type LogLevel } from './log.ts'
export {
  createModel,
  type ModelOptions,
  type Protocol,
  type Provider,
  preparedFor,
  protocols,
} from './models/index.ts'
