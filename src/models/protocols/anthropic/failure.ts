// Failures of Anthropic, as a status with a body or as an event after a good status. How often and when to try again, and
// the headers about that, are the runner's.

import type { Json, JsonObject } from '../../../lib/json/index.ts'
import {
  failureText,
  finalFailure,
  limitedFailure,
  passingFailure,
  statusFailure,
} from '../../common/failure.ts'
import { asObject, asString } from '../../common/json-read.ts'
import type { ModelFailure } from '../../protocol.ts'

/** The quirk of a model that cannot be given a schema for its answer. */
export const noOutputFormat = 'no-output-format'

const REFUSES_FORMAT =
  /output_config(?:\.format)?: extra inputs|(?:not support|unsupported).{0,60}(?:output[_ ](?:config\.)?format|structured output)|(?:output[_ ](?:config\.)?format|structured output).{0,60}(?:not support|unsupported)/i

/** The quirk of a model that takes no deferred tools: they are declared like all others. */
export const noDeferredTools = 'no-deferred-tools'

const REFUSES_DEFERRED =
  /(?:defer_loading|tool_reference|tool_search_tool\w*|tool search)\b.{0,200}(?:not supported|not permitted|unsupported|not available|does not match)|(?:not support|unsupported).{0,80}(?:defer_loading|tool_reference|tool[_ ]search)/is

/** Types of errors that are about what we sent. All others may pass. */
const FINAL: ReadonlySet<string> = new Set([
  'invalid_request_error',
  'authentication_error',
  'billing_error',
  'permission_error',
  'not_found_error',
  'request_too_large',
])

/** A response with an error status. */
export function failure(status: number, headers: Headers, body: Json | string): ModelFailure {
  const id = headers.get('request-id')
  const where = `status ${status}${id === null ? '' : `, request ${id}`}`
  const error =
    typeof body === 'string' && body !== '' ? { message: body } : asObject(asObject(body)['error'])
  const message = describeError(error, where)
  const forgotten = (status === 400 || status === 404) && /\bcontainer\b/i.test(message)
  const lacksFormat = status === 400 && REFUSES_FORMAT.test(message)
  const lacksDeferred = status === 400 && REFUSES_DEFERRED.test(message)
  return {
    ...statusFailure(status, message),
    ...(forgotten && { forgotten: true }),
    ...(lacksFormat && { quirk: noOutputFormat }),
    ...(lacksDeferred && { quirk: noDeferredTools }),
  }
}

/** An `error` event after a good status. */
export function streamFailure(error: JsonObject): ModelFailure {
  const type = asString(error['type'])
  const message = describeError(error, 'in mid-answer')
  if (type === 'timeout_error') return { code: 'model_timeout', message: failureText(message), retry: true }
  if (type === 'rate_limit_error') return limitedFailure(message)
  return FINAL.has(type) ? finalFailure(message) : passingFailure(message)
}

function describeError(error: JsonObject, where: string): string {
  const type = asString(error['type'])
  return `Anthropic (${where}): ${type && `${type}: `}${asString(error['message']) || 'no reason was given'}`
}
