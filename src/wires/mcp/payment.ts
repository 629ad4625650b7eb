// Payments in MCP, as x402's transport for it says: the payment is in `_meta` of a call, what to pay is a result that is an error,
// and the receipt is in `_meta` of the result.
import type { CallToolResult } from '@modelcontextprotocol/server'
import { isJsonObject, type JsonObject } from '../../lib/json/index.ts'
import type { RequestPayment } from '../host.ts'

const paymentKey = 'x402/payment'
const receiptKey = 'x402/payment-response'

/** Takes the payment of a call, if the message is one. Throws `bad_request` for one that cannot be read. */
export function takePayment(message: JsonObject, payment: RequestPayment | undefined): void {
  const { method, params } = message
  if (!payment || method !== 'tools/call' || !isJsonObject(params)) return
  const { _meta, name = null, arguments: input = null, inputResponses = null } = params
  const given = isJsonObject(_meta) ? _meta[paymentKey] : undefined
  payment.carry(given, { name, input, inputResponses })
}

/** Both forms hold the same, for clients that read texts only. */
export function paymentRequired(required: JsonObject): CallToolResult {
  return {
    isError: true,
    structuredContent: required,
    content: [{ type: 'text', text: JSON.stringify(required) }],
  }
}

export function withReceipt<Answer extends object>(answer: Answer, receipt: JsonObject | undefined): Answer {
  if (!receipt || !('content' in answer)) return answer
  const { _meta } = answer as { _meta?: JsonObject }
  return { ...answer, _meta: { ..._meta, [receiptKey]: receipt } }
}
