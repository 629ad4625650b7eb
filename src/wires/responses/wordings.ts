// The refusals of this wire, and its error body. Refusals of single fields are in `apis/openai/refusal.ts`. The HTTP
// status comes from our own closed list of errors.
import {
  noSuchThing,
  OpenAiRefusal,
  openAiWordings,
  refusedParameter,
  refuseParameter,
} from '../../apis/openai/refusal.ts'
import type { CallPart } from '../../language/calls.ts'
import { excerpt, fieldReader } from '../../lib/json/fields.ts'
import type { Failure } from '../http/index.ts'
import { approvalId } from './ids.ts'

export const field = fieldReader(openAiWordings)

export function unsupportedParameter(path: string, instead = ''): never {
  return refuseParameter(`Unsupported parameter: '${path}'.${instead}`, path, 'unsupported_parameter')
}

// ---- things that do not exist --------------------------------------------------------------------------------

export const noSuchUrl = (method: string, path: string): OpenAiRefusal =>
  noSuchThing(`Invalid URL (${method} ${excerpt(path)})`, null, 'unknown_url')

export const noSuchModel = (name: string, advice: string): OpenAiRefusal =>
  noSuchThing(
    `The model '${excerpt(name)}' does not exist or you do not have access to it. ${advice}`,
    'model',
    'model_not_found',
  )

export const noSuchResponse = (id: string): OpenAiRefusal =>
  noSuchThing(`Response with id '${excerpt(id)}' not found.`, null, 'response_not_found')

export const noSuchConversation = (id: string): OpenAiRefusal =>
  noSuchThing(`Conversation with id '${excerpt(id)}' not found.`, 'conversation', 'conversation_not_found')

/** A session of another wire can be continued as a conversation, and only that. */
export const notEditable = (id: string): OpenAiRefusal =>
  new OpenAiRefusal(
    `The conversation '${excerpt(id)}' was not made with POST /v1/conversations, so its items cannot be edited.`,
    'conversation',
    'conversation_not_editable',
  )

export const conversationLocked = (id: string): OpenAiRefusal =>
  new OpenAiRefusal(
    `Another response of the conversation '${excerpt(id)}' is in progress. Wait for its end.`,
    'conversation',
    'conversation_locked',
  )

export const noSuchItem = (id: string): OpenAiRefusal =>
  noSuchThing(
    `Item with id '${excerpt(id)}' not found. Items are not persisted when \`store\` is set to false. Try again with \`store\` set to true, or remove this item from your input.`,
    'input',
    'item_not_found',
  )

export function noSuchPrevious(id: string): OpenAiRefusal {
  const message = `Previous response with id '${excerpt(id)}' not found.`
  return new OpenAiRefusal(message, 'previous_response_id', 'previous_response_not_found')
}

export function previousUnfinished(id: string): OpenAiRefusal {
  const message = `Previous response with id '${excerpt(id)}' is not finished yet.`
  return new OpenAiRefusal(message, 'previous_response_id', 'response_in_progress', 'busy')
}

// ---- calls and outputs that do not pair ------------------------------------------------------------------------

export type CallNoun = 'function call' | 'custom tool call'

export function noCallFor(noun: CallNoun, callId: string): never {
  return refuseParameter(
    `No tool call found for ${noun} output with call_id ${callId}.`,
    'input',
    'tool_call_not_found',
  )
}

/** The output of a call has the type that belongs to the type of the call. */
export function callNoun({ form }: Pick<CallPart, 'form'>): CallNoun {
  return form === 'text' ? 'custom tool call' : 'function call'
}

export function noOutputFor(call: CallPart): never {
  return refuseParameter(
    `No tool output found for ${callNoun(call)} ${call.id}.`,
    'input',
    'tool_output_not_found',
  )
}

export function noApprovalRequest(id: string): never {
  const message = `No approval request found for approval response with id ${id}.`
  return refuseParameter(message, 'input', 'approval_not_found')
}

export function noApprovalFor({ id }: CallPart): never {
  const message = `No approval response found for approval request ${approvalId(id)}.`
  return refuseParameter(message, 'input', 'approval_not_found')
}

// ---- the error body --------------------------------------------------------------------------------------------

export type ErrorBody = {
  error: { message: string; type: string; param: string | null; code: string | null }
}

/** `error`: what was thrown. */
export function failureBody({ status, message, code }: Failure, error?: unknown): ErrorBody {
  return { error: { message, type: errorType(status), ...refusedParameter(code, error) } }
}

function errorType(status: number): string {
  if (status === 401) return 'authentication_error'
  if (status === 403) return 'permission_error'
  if (status === 409) return 'conflict_error'
  if (status === 429) return 'rate_limit_error'
  return status >= 500 ? 'server_error' : 'invalid_request_error'
}
