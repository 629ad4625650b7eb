// What the Responses API says when it fails, in a status, in an `error` event or in a failed response, as one
// of our failures. It judges by the vendor's codes where there are any and by the status where there are none.

import { isJsonObject, type Json, type JsonObject } from '../../lib/json.ts'
import { cutUtf8, printable } from '../../lib/text.ts'
import type { Failure } from '../protocol.ts'
import { stringOf } from './openai-responses-items.ts'

const longestMessage = 2_000

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

export function statusFailure(status: number, headers: Headers, body: Json | string): Failure {
  const error = isJsonObject(body) && isJsonObject(body['error']) ? body['error'] : {}
  const code = stringOf(error['code'])
  const retry = mayRetry(status, code, headers.get('x-should-retry'))
  const words =
    typeof body === 'string' && body.trim() !== '' ? body : `The model provider answered ${status}.`
  const retryAfterMs = retry ? waitOf(headers) : undefined
  return {
    code: status === 408 || status === 504 ? 'model_timeout' : retry ? 'model_failed' : 'model_rejected',
    message: `${status}: ${said(error, words)}${hintOf(code)}`,
    retry,
    ...(retryAfterMs !== undefined && { retryAfterMs }),
  }
}

function mayRetry(status: number, code: string, asked: string | null): boolean {
  if (exhausted.has(code)) return false
  if (asked === 'true') return true
  if (asked === 'false') return false
  return status === 408 || status === 409 || status === 429 || status >= 500
}

function hintOf(code: string): string {
  return code === 'previous_response_not_found'
    ? ' The vendor no longer keeps this conversation: set stateful to false for this model, and the whole of it is sent instead.'
    : ''
}

function said(error: JsonObject, otherwise: string): string {
  const message = stringOf(error['message']) || otherwise
  const code = stringOf(error['code'])
  const whole = code === '' ? message : `${message} (${code})`
  return printable(cutUtf8(whole, longestMessage).text, { multiline: true })
}

/** Milliseconds, seconds or a date. A date is read against the answer's own, so that no clock is needed here. */
function waitOf(headers: Headers): number | undefined {
  const ms = numberOf(headers.get('retry-after-ms'))
  if (ms !== undefined) return ms
  const after = headers.get('retry-after')
  const seconds = numberOf(after)
  if (seconds !== undefined) return seconds * 1000
  const wait = Date.parse(after ?? '') - Date.parse(headers.get('date') ?? '')
  return Number.isNaN(wait) ? undefined : Math.max(0, wait)
}

function numberOf(text: string | null): number | undefined {
  return text !== null && /^\d+(\.\d+)?$/.test(text.trim()) ? Number(text) : undefined
}
