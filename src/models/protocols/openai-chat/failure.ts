// Failures of a Chat Completions server, as a status or as an error object in the stream. Compatible servers agree on
// statuses more than on codes, so the status decides.

import { isJsonObject, type Json, type JsonObject } from '../../../lib/json/index.ts'
import { finalFailure, limitedFailure, passingFailure, statusFailure } from '../../common/failure.ts'
import { asString } from '../../common/json-read.ts'
import { quotaCodes } from '../../common/openai.ts'
import type { ModelFailure } from '../../protocol.ts'
import type { ChatQuirk } from './quirks.ts'

/** A response with an error status. */
export function failure(status: number, _headers: Headers, body: Json | string): ModelFailure {
  const error = errorIn(body)
  const message = `${status}: ${describeError(error, body, `The model provider answered ${status}.`)}`
  const quirk = status === 400 || status === 422 ? missingFormat(message) : undefined
  return { ...statusFailure(status, message, quotaCodes.has(failureCode(error))), ...(quirk && { quirk }) }
}

/** A server that does not know a form of the answer says so in one of these ways. A bad schema is refused otherwise. */
function missingFormat(message: string): ChatQuirk | undefined {
  if (!/response_format|json_schema/i.test(message) || /invalid schema/i.test(message)) return undefined
  if (!/unsupported|not support|unavailable|unknown|unrecogni[sz]ed|not permitted/i.test(message))
    return undefined
  return /json_schema|type/i.test(message) ? 'no-response-schema' : 'no-response-format'
}

/** An error object after a good status. */
export function streamFailure(error: JsonObject): ModelFailure {
  const status = Number(failureCode(error))
  const message = describeError(
    error,
    '',
    'The model provider reported an error in the middle of its answer.',
  )
  if (status === 429) return limitedFailure(message)
  const isRefused = status >= 400 && status < 500 && status !== 408
  const isFinal =
    isRefused || /invalid_request|authentication|permission|not_found/.test(asString(error['type']))
  return isFinal ? finalFailure(message) : passingFailure(message)
}

/** Servers put the error under `error`, at the top, or in a list of one. */
function errorIn(body: Json | string): JsonObject {
  const first = Array.isArray(body) ? body[0] : body
  if (!isJsonObject(first)) return {}
  return isJsonObject(first['error']) ? first['error'] : first
}

function describeError(error: JsonObject, body: Json | string, fallback: string): string {
  const texts = [error['message'], error['error'], error['detail'], body]
  const message = texts.map(asString).find(text => text.trim() !== '') ?? fallback
  const code = failureCode(error)
  return code === '' ? message : `${message} (${code})`
}

function failureCode({ code }: JsonObject): string {
  return typeof code === 'number' ? String(code) : asString(code)
}
