// What Anthropic says when it does not answer, as a status with a body or as an event after a good status, and
// whether asking again can help. How often and when to ask again is the runner's, as are the headers about that.

import { isJsonObject, type Json, type JsonObject } from '../../../lib/json.ts'
import { printable } from '../../../lib/text.ts'
import type { Failure } from '../../protocol.ts'

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
  const gone = (status === 400 || status === 404) && /\bcontainer\b/i.test(message)
  return { ...kindOfStatus(status), message, ...(gone && { forgotten: true }) }
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
