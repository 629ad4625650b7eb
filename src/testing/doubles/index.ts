// The entry to the strict doubles: start one, check a body without a server, read a script.
// Of the vendors' rules only the schema checks are exported, since schema converters are tested with them.
export { checkInputSchema, checkStrictTools } from './anthropic/tools.ts'
export type { Exchange, RunningDouble, ServeOptions, VendorDouble, VendorName } from './double.ts'
export { checkWith, serveDouble } from './double.ts'
export { FAULT_KINDS, type Fault, type FaultKind } from './faults.ts'
export { checkGeminiSchema } from './gemini/tools.ts'
export { DUMMY_SIGNATURES } from './google/common.ts'
export { checkLooseSchema, checkStrictSchema } from './openai/schema.ts'
export type { DoubleFrame, Mode, Rejection, Script, ScriptedCall, ScriptedTurn } from './script.ts'
export { readScript } from './script-data.ts'
export { checkRequest, checkRequestAll, startDouble, vendorDouble } from './vendors.ts'
