// Failures of generateContent, as a status, as an error object in the stream, or as a finish reason.

import type { JsonObject } from '../../../lib/json/index.ts'
import { finalFailure, passingFailure } from '../../common/failure.ts'
import { asCount } from '../../common/json-read.ts'
import type { ModelFailure } from '../../protocol.ts'
import { googleFailure } from '../google/failure.ts'

/** A response with an error status. */
export const failure = googleFailure

/** An error object after a good status. */
export function streamFailure(error: JsonObject): ModelFailure {
  return googleFailure(asCount(error['code']) || 500, new Headers(), { error })
}

/** `text`: the finish reason in words. Undefined when the reason is that of an answer. */
export function finishFailure(reason: string, text: string, hasCutCall: boolean): ModelFailure | undefined {
  switch (reason) {
    case 'MALFORMED_RESPONSE':
      return passingFailure(text)
    case 'MALFORMED_FUNCTION_CALL':
    case 'UNEXPECTED_TOOL_CALL':
      return hasCutCall ? undefined : passingFailure(text)
    case 'TOO_MANY_TOOL_CALLS':
    case 'MISSING_THOUGHT_SIGNATURE':
      return finalFailure(text)
    default:
      return undefined
  }
}
