// What the Responses API says when it fails, in a status, in an `error` event or in a failed response, as one
// of our failures. It judges by the vendor's codes where there are any and by the status where there are none.

import { isJsonObject, type Json, type JsonObject } from '../../../lib/json.ts'
import { cutUtf8, printable } from '../../../lib/text.ts'
import type { Failure } from '../../protocol.ts'
import { stringOf } from './items.ts'

const longestMessage = 2_000

/** The quirk of a model that neither gives reasoning nor takes it back. */
export const noReasoning = 'no-reasoning'

/** What such a model answers when it is asked for encrypted reasoning, or given some. */
const reasonsNot = /encrypted content is not supported|reasoning input items can only be provided/i

/** Codes that a later attempt can do better with; any other code of a failed response is about what we sent. */
const passing = new Set([
  'server_error',
  'rate_limit_exceeded',
  'rate_limit_error',
  'server_overloaded',
  'overloaded_error',
  'slow_down',
  'internal_error',
  'vector_store_timeout',
])

/** Answered 429 as well, but no waiting mends them. */
const exhausted = new Set(['insufficient_quota', 'billing_hard_limit_reached', 'billing_not_active'])

const passingStatuses = new Set([408, 409, 429])

export function interrupted(message: string): Failure {
  return { code: 'model_failed', message, retry: true }
}

/** An error object of the vendor, wherever in a stream it stood. */
export function streamFailure(error: JsonObject): Failure {
  const code = stringOf(error['code']) || stringOf(error['type'])
  const retry = code === '' || code === 'error' || passing.has(code)
  const message = said(error, 'The model provider reported an error in the middle of its answer.')
  return { code: retry ? 'model_failed' : 'model_rejected', message, retry }
}

/** What the headers say about another attempt is the runner's to read. */
export function statusFailure(status: number, _headers: Headers, body: Json | string): Failure {
  const error = isJsonObject(body) && isJsonObject(body['error']) ? body['error'] : {}
  const code = stringOf(error['code'])
  const retry = !exhausted.has(code) && (passingStatuses.has(status) || status >= 500)
  const words =
    typeof body === 'string' && body.trim() !== '' ? body : `The model provider answered ${status}.`
  return {
    code: status === 408 || status === 504 ? 'model_timeout' : retry ? 'model_failed' : 'model_rejected',
    message: `${status}: ${said(error, words)}`,
    retry,
    ...(isForgotten(error) && { forgotten: true }),
    ...(status === 400 && reasonsNot.test(stringOf(error['message'])) && { quirk: noReasoning }),
  }
}

/** Not kept, no longer kept, or kept for nobody: an organisation may have switched that off. */
function isForgotten(error: JsonObject): boolean {
  return error['code'] === 'previous_response_not_found' || error['param'] === 'previous_response_id'
}

function said(error: JsonObject, otherwise: string): string {
  const message = stringOf(error['message']) || otherwise
  const code = stringOf(error['code'])
  const whole = code === '' ? message : `${message} (${code})`
  return printable(cutUtf8(whole, longestMessage).text, { multiline: true })
}
