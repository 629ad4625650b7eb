// What Anthropic says when it does not answer, as a status with a body or as an event after a good status, and
// whether asking again can help. How often and when to ask again is the runner's.

import { isJsonObject, type Json, type JsonObject } from '../../lib/json.ts'
import { printable } from '../../lib/text.ts'
import type { Failure } from '../protocol.ts'

type Kind = Pick<Failure, 'code' | 'retry'>

const REJECTED: Kind = { code: 'model_rejected', retry: false }
const FAILED: Kind = { code: 'model_failed', retry: true }
const TIMEOUT: Kind = { code: 'model_timeout', retry: true }

const BY_TYPE: Readonly<Record<string, Kind>> = {
  invalid_request_error: REJECTED,
  authentication_error: REJECTED,
  billing_error: REJECTED,
  permission_error: REJECTED,
  not_found_error: REJECTED,
  request_too_large: REJECTED,
  rate_limit_error: FAILED,
  api_error: FAILED,
  overloaded_error: FAILED,
  timeout_error: TIMEOUT,
}
/** Statuses below 500 that are worth another try, as the vendor's own SDK has it. */
const RETRIED = [408, 409, 429]
const MOST_WORDS = 2_000

/** An `error` event after a good status. */
export function failureOfEvent(error: JsonObject): Failure {
  const type = typeof error['type'] === 'string' ? error['type'] : ''
  return { ...(BY_TYPE[type] ?? FAILED), message: wordsOf(error, 'in mid-answer') }
}

export function failureOfStatus(status: number, headers: Headers, body: Json | string): Failure {
  const told = isJsonObject(body) && isJsonObject(body['error']) ? body['error'] : {}
  const request = headers.get('request-id')
  const message = wordsOf(
    typeof body === 'string' && body !== '' ? { message: body } : told,
    `status ${status}${request === null ? '' : `, request ${request}`}`,
  )
  const kind = kindOfStatus(status)
  const should = headers.get('x-should-retry')
  const retry = should === 'true' ? true : should === 'false' ? false : kind.retry
  const retryAfterMs = retryAfter(headers)
  return { code: kind.code, message, retry, ...(retryAfterMs !== undefined && { retryAfterMs }) }
}

function kindOfStatus(status: number): Kind {
  if (status === 408 || status === 504) return TIMEOUT
  return status >= 500 || RETRIED.includes(status) ? FAILED : REJECTED
}

function wordsOf(error: JsonObject, where: string): string {
  const type = typeof error['type'] === 'string' ? `${error['type']}: ` : ''
  const message = typeof error['message'] === 'string' ? error['message'] : 'no reason was given'
  return printable(`Anthropic (${where}): ${type}${message}`, MOST_WORDS)
}

/** A date is measured against the server's own `date`: a codec has no clock, and two clocks would disagree. */
function retryAfter(headers: Headers): number | undefined {
  const ms = Number(headers.get('retry-after-ms') ?? Number.NaN)
  if (ms >= 0) return ms
  const given = headers.get('retry-after')?.trim() ?? ''
  if (/^\d+(\.\d+)?$/.test(given)) return Number(given) * 1000
  const wait = Date.parse(given) - Date.parse(headers.get('date') ?? '')
  return Number.isNaN(wait) ? undefined : Math.max(0, wait)
}
