// How an interaction ended, told from its status and its errors: an answer with a stop, or a failure. The service
// words most of its refusals alike, so the codes decide where there are any.

import type { ModelStop } from '../../../language/events.ts'
import type { JsonObject } from '../../../lib/json.ts'
import type { Failure } from '../../protocol.ts'
import { interrupted, refused, stringOf } from '../google/decode.ts'

export type End =
  /** `whole`: the vendor stands by the answer, so that its calls may run and its artifacts be given back. */
  { stop: Exclude<ModelStop, 'cancelled'>; whole: boolean; warning?: string } | { failure: Failure }

const FILTERED = new Set([
  'safety',
  'recitation',
  'content_blocked',
  'language',
  'blocklist',
  'prohibited_content',
  'spii',
])

/** A call that could not be read: the model can mend it when it is told. */
const UNREADABLE = new Set(['malformed_function_call', 'malformed_tool_call', 'unexpected_tool_call'])

/** About what we sent: another attempt would be refused as well. */
const OURS = new Set([
  'invalid_request',
  'invalid_argument',
  'missing_thought_signature',
  'too_many_tool_calls',
  'not_found',
  'permission_denied',
  'unauthenticated',
  'failed_precondition',
])

export function endOf(state: {
  status: string
  token: string
  calls: number
  errors: readonly JsonObject[]
}): End {
  const ordinary = state.calls > 0 ? 'calls' : 'end'
  switch (state.status) {
    case 'failed':
      return endOfFailed(state)
    case 'cancelled':
      return { failure: { ...interrupted('Gemini cancelled the interaction.'), retry: false } }
    case 'queued':
    case 'in_progress':
      return { failure: interrupted('Gemini ended the stream of an interaction that still goes on.') }
    case 'incomplete':
      return { stop: 'length', whole: true }
    case 'budget_exceeded':
      return {
        stop: 'length',
        whole: true,
        warning: 'Gemini stopped: the budget of the interaction is spent.',
      }
    case 'requires_continuation':
      // Without calls only: they must be answered first, and then the model goes on by itself.
      return { stop: state.calls > 0 ? 'calls' : state.token === '' ? 'length' : 'pause', whole: true }
    default:
      return { stop: ordinary, whole: true }
  }
}

function endOfFailed({ errors, calls }: { errors: readonly JsonObject[]; calls: number }): End {
  const error = errors[0] ?? {}
  const code = codeOf(error)
  if (FILTERED.has(code) || code.startsWith('image_')) {
    const warning = `Gemini stopped with ${code}: ${stringOf(error['message'])}`
    return { stop: 'filter', whole: false, warning }
  }
  if (UNREADABLE.has(code) && calls > 0) {
    const warning = `Gemini could not read its own call: ${stringOf(error['message'])}`
    return { stop: 'calls', whole: false, warning }
  }
  return { failure: errorFailure(error) }
}

export function errorFailure(error: JsonObject): Failure {
  const code = codeOf(error)
  const message = `${stringOf(error['message']) || 'Gemini failed.'}${code && ` (${code})`}`
  return OURS.has(code) ? refused(message) : interrupted(message)
}

function codeOf(error: JsonObject): string {
  return (stringOf(error['code']) || stringOf(error['status'])).toLowerCase()
}
