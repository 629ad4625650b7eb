// Failures of a Chat Completions server, as a status or as an error object in the stream. Compatible servers agree on
// statuses more than on codes, so the status decides.

import { isJsonObject, type Json, type JsonObject } from '../../../lib/json.ts'
import { finalFailure, passingFailure, statusFailure } from '../../common/failure.ts'
import { asString } from '../../common/json-read.ts'
import { quotaCodes } from '../../common/openai.ts'
import type { ModelFailure } from '../../protocol.ts'

/** A response with an error status. */
export function failure(status: number, _headers: Headers, body: Json | string): ModelFailure {
  const error = errorIn(body)
  const message = `${status}: ${describeError(error, body, `The model provider answered ${status}.`)}`
  return statusFailure(status, message, quotaCodes.has(codeOf(error)))
}

/** An error object after a good status. */
export function streamFailure(error: JsonObject): ModelFailure {
  const status = Number(codeOf(error))
  const message = describeError(
    error,
    '',
    'The model provider reported an error in the middle of its answer.',
  )
  const isRefused = status >= 400 && status < 500 && status !== 408 && status !== 429
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
  const code = codeOf(error)
  return code === '' ? message : `${message} (${code})`
}

function codeOf({ code }: JsonObject): string {
  return typeof code === 'number' ? String(code) : asString(code)
}
