// The answers of the operator API: the wire's own types, so that client and server cannot disagree.
import type { VendorProtocol } from '../wires/operator/schema.ts'

export type { ActivityReport as OperatorActivity } from '../language/activity.ts'
export type * from '../wires/operator/schema.ts'

export const vendorProtocols = [
  'anthropic',
  'openai-responses',
  'openai-chat',
  'gemini',
  'gemini-interactions',
] as const satisfies readonly VendorProtocol[]
