// Failures of Interactions, as a status or as an error of the interaction. The service words most of its refusals alike,
// so its codes decide where there are any.

import type { Json, JsonObject } from '../../../lib/json/index.ts'
import { finalFailure, passingFailure } from '../../common/failure.ts'
import { asString } from '../../common/json-read.ts'
import type { ModelFailure } from '../../protocol.ts'
import { googleFailure } from '../google/failure.ts'

/** Codes about what we sent. All others may pass. */
const FINAL: ReadonlySet<string> = new Set([
  'invalid_request',
  'invalid_argument',
  'missing_thought_signature',
  'too_many_tool_calls',
  'not_found',
  'permission_denied',
  'unauthenticated',
  'failed_precondition',
])

/** A response with an error status. A deleted interaction is 404, or 400 with words about it. */
export function failure(status: number, headers: Headers, body: Json | string): ModelFailure {
  const failed = googleFailure(status, headers, body)
  const forgotten = status === 404 || (status === 400 && /previous[_ ]interaction/i.test(failed.message))
  return forgotten ? { ...failed, forgotten: true } : failed
}

/** An error of the interaction, after a good status. */
export function streamFailure(error: JsonObject): ModelFailure {
  const code = errorCode(error)
  const message = `${asString(error['message']) || 'Gemini failed.'}${code && ` (${code})`}`
  return FINAL.has(code) ? finalFailure(message) : passingFailure(message)
}

export function errorCode(error: JsonObject): string {
  return (asString(error['code']) || asString(error['status'])).toLowerCase()
}
