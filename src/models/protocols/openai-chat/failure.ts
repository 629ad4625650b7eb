// What a Chat Completions server says when it fails, in a status or in the middle of a stream, as one of our
// failures. Servers of this family agree on statuses more than on words, so the status decides.

import { isJsonObject, type Json, type JsonObject } from '../../../lib/json.ts'
import { printable } from '../../../lib/text.ts'
import type { Failure } from '../../protocol.ts'

const longestMessage = 800

/** Answered 429 as well, but no waiting mends them. */
const exhausted = new Set(['insufficient_quota', 'billing_hard_limit_reached', 'billing_not_active'])
const timeouts = new Set([408, 504, 524])

export function statusFailure(status: number, _headers: Headers, body: Json | string): Failure {
  const error = errorIn(body)
  const code = textOf(error['code'])
  const retry =
    !exhausted.has(code) &&
    (status === 408 || status === 409 || status === 425 || status === 429 || status >= 500)
  const message = `${status}: ${said(error, body, `The model provider answered ${status}.`)}`
  return {
    code: timeouts.has(status) ? 'model_timeout' : retry ? 'model_failed' : 'model_rejected',
    message,
    retry,
  }
}

/** An error object that came after an answer had begun. */
export function streamFailure(error: JsonObject): Failure {
  const status = typeof error['code'] === 'number' ? error['code'] : Number(textOf(error['code']))
  const message = said(error, error, 'The model provider reported an error in the middle of its answer.')
  const refused = status >= 400 && status < 500 && status !== 408 && status !== 429
  const bad = refused || /invalid_request|authentication|permission|not_found/.test(textOf(error['type']))
  return { code: bad ? 'model_rejected' : 'model_failed', message, retry: !bad }
}

/** Servers of this family put it under `error`, at the top, or in a list of one. */
function errorIn(body: Json | string): JsonObject {
  const first = Array.isArray(body) ? body[0] : body
  if (!isJsonObject(first)) return {}
  return isJsonObject(first['error']) ? first['error'] : first
}

function said(error: JsonObject, body: Json | string, otherwise: string): string {
  const own = [error['message'], error['error'], error['detail'], body].find(
    (value): value is string => typeof value === 'string' && value.trim() !== '',
  )
  const code = textOf(error['code'])
  const whole = code === '' ? (own ?? otherwise) : `${own ?? otherwise} (${code})`
  return printable(whole, longestMessage)
}

function textOf(value: Json | undefined): string {
  return typeof value === 'string' || typeof value === 'number' ? String(value) : ''
}
