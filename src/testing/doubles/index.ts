/**
 * The door to the strict doubles: start one, check a body with none, write a script. Vendors' rule files are
 * not exported but for the schema dialects, which down-converters are tested with.
 */
export { checkInputSchema, checkStrictTools } from './anthropic/schema.ts'
export type {
  Exchange,
  RunningDouble,
  ServeOptions,
  VendorDouble,
  VendorName,
} from './double.ts'
export { checkWith, serveDouble } from './double.ts'
export type { Fault, FaultKind } from './faults.ts'
export { FAULT_KINDS } from './faults.ts'
export { DUMMY_SIGNATURES } from './gemini/history.ts'
export { checkGeminiSchema } from './gemini/schema.ts'
export { checkLooseSchema, checkStrictSchema } from './openai/schema.ts'
export type { Frame, Mode, Rejection, Script, ScriptedCall, ScriptedTurn } from './script.ts'
export { readScript } from './script-data.ts'
export { checkRequest, checkRequestAll, startDouble, vendorDouble } from './vendors.ts'
