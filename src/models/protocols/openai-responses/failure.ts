// Failures of the Responses API, as a status, as an `error` event or as a failed response. The vendor's codes decide where
// there are any, else the status.

import type { Json, JsonObject } from '../../../lib/json/index.ts'
import { finalFailure, limitedFailure, passingFailure, statusFailure } from '../../common/failure.ts'
import { asObject, asString } from '../../common/json-read.ts'
import { quotaCodes } from '../../common/openai.ts'
import type { ModelFailure } from '../../protocol.ts'

/** The quirk of a model that neither gives reasoning nor takes it back. */
export const noReasoning = 'no-reasoning'

/** How such a model refuses to be asked for encrypted reasoning, or to be given some. */
const REFUSES_REASONING = /encrypted content is not supported|reasoning input items can only be provided/i

/** The quirk of a model that takes no tools inside its input and cannot search tools. */
export const noDeferredTools = 'no-deferred-tools'

const REFUSES_DEFERRED = /defer_loading|additional_tools|tool_search/i

/** Codes after which a later attempt may succeed. Every other code of a failed response is about what we sent. */
const PASSING: ReadonlySet<string> = new Set([
  'server_error',
  'server_overloaded',
  'overloaded_error',
  'slow_down',
  'internal_error',
  'vector_store_timeout',
])

/** A response with an error status. Headers about another attempt are read by the runner. */
export function failure(status: number, _headers: Headers, body: Json | string): ModelFailure {
  const error = asObject(asObject(body)['error'])
  const fallback =
    typeof body === 'string' && body.trim() !== '' ? body : `The model provider answered ${status}.`
  const message = `${status}: ${describeError(error, fallback)}`
  const lacksReasoning = status === 400 && REFUSES_REASONING.test(asString(error['message']))
  return {
    ...statusFailure(status, message, quotaCodes.has(asString(error['code']))),
    ...(isForgotten(error) && { forgotten: true }),
    ...(lacksReasoning && { quirk: noReasoning }),
    ...(status === 400 && REFUSES_DEFERRED.test(asString(error['message'])) && { quirk: noDeferredTools }),
  }
}

/** An error object in an `error` event or in a failed response. */
export function streamFailure(error: JsonObject): ModelFailure {
  const code = asString(error['code']) || asString(error['type'])
  const message = describeError(error, 'The model provider reported an error in the middle of its answer.')
  if (code.startsWith('rate_limit')) return limitedFailure(message)
  const mayPass = code === '' || code === 'error' || PASSING.has(code)
  return mayPass ? passingFailure(message) : finalFailure(message)
}

/** The response was deleted, or the organisation does not allow responses to be stored. */
function isForgotten(error: JsonObject): boolean {
  return error['code'] === 'previous_response_not_found' || error['param'] === 'previous_response_id'
}

function describeError(error: JsonObject, fallback: string): string {
  const message = asString(error['message']) || fallback
  const code = asString(error['code'])
  return code === '' ? message : `${message} (${code})`
}
