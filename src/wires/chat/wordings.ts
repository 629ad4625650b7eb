// What this wire says when it refuses, in the vendor's words, and its error body. `../openai-refusal.ts` has the words
// for single fields. Every refusal names its parameter.

import type { PlainError } from '../../engine/index.ts'
import { errorCodes } from '../../language/errors.ts'
import { excerpt, fieldReader } from '../fields.ts'
import { missingParameter, OpenAiRefusal, openAiWordings, wrongParameterType } from '../openai-refusal.ts'

export { missingParameter, wrongParameterType }

export const { object, list, text, flag, count, oneOf, onlyKnown } = fieldReader({
  ...openAiWordings,
  wrongType: (path, expected, given) =>
    expected === 'list'
      ? wrongParameterType(path, 'an array of objects', given)
      : openAiWordings.wrongType(path, expected, given),
  unknown: (_, name) =>
    new OpenAiRefusal(
      `Unrecognized request argument supplied: ${excerpt(name)}`,
      excerpt(name),
      'unknown_parameter',
    ),
})

export function invalidParameter(path: string, reason: string, code: string | null = 'invalid_value'): Error {
  return new OpenAiRefusal(`Invalid '${path}'${reason}`, path, code)
}

// ---- the request ----------------------------------------------------------------------------------------------

export function noSuchModel(name: string): Error {
  const message = `The model \`${excerpt(name)}\` does not exist or you do not have access to it.`
  return new OpenAiRefusal(message, 'model', 'model_not_found', 'not_found')
}

export const unsupportedFields: Readonly<Record<string, string>> = {
  functions: "Use 'tools' in its place.",
  function_call: "Use 'tool_choice' in its place.",
  audio: 'Answers are text.',
  logprobs: 'Log probabilities are not given here.',
  top_logprobs: 'Log probabilities are not given here.',
  web_search_options: 'Nothing is searched for callers here. Offer a tool of your own.',
}

export function unsupportedField(name: string): Error {
  const message = `Unsupported parameter: '${name}'. ${unsupportedFields[name]}`
  return new OpenAiRefusal(message, name, 'unsupported_parameter')
}

export function tooManyChoices(choices: number): Error {
  return invalidParameter('n', `: only one choice is given to a request here. Ask ${choices} times instead.`)
}

export function twoTokenLimits(): Error {
  const message =
    "Setting 'max_tokens' and 'max_completion_tokens' at the same time is not supported. Please use only one of them."
  return new OpenAiRefusal(message, 'max_tokens', 'invalid_parameter_combination')
}

export function optionsWithoutStream(): Error {
  const message = "The 'stream_options' parameter is only allowed when 'stream' is enabled."
  return new OpenAiRefusal(message, 'stream_options', null)
}

export function onlyWithTools(name: string): Error {
  const message = `Invalid value for '${name}': '${name}' is only allowed when 'tools' are specified.`
  return new OpenAiRefusal(message, name, null)
}

export function noSuchTool(type: string, name: string): Error {
  const message = `Invalid value for 'tool_choice': no ${type} named '${excerpt(name)}' was specified in the 'tools' parameter.`
  return new OpenAiRefusal(message, 'tool_choice', null)
}

// ---- messages: the vendor writes their paths with a dot before the index ----------------------------------------

export function emptyAnswer(at: number): Error {
  const message = "Invalid value for 'content': expected a string, got null."
  return new OpenAiRefusal(message, `messages.[${at}].content`, null)
}

export function callsWithoutResults(at: number, ids: Iterable<string>): Error {
  const message = `An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: ${[...ids].join(', ')}`
  return new OpenAiRefusal(message, `messages.[${at}].role`, null)
}

export function resultWithoutId(at: number): Error {
  const message = "Missing parameter 'tool_call_id': messages with role 'tool' must have a 'tool_call_id'."
  return new OpenAiRefusal(message, `messages.[${at}].tool_call_id`, null)
}

export function resultWithoutCalls(at: number): Error {
  const message =
    "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'."
  return new OpenAiRefusal(message, `messages.[${at}].role`, null)
}

export function resultOfNoCall(at: number, id: string): Error {
  const message = `Invalid parameter: 'tool_call_id' of '${id}' not found in 'tool_calls' of previous message.`
  return new OpenAiRefusal(message, `messages.[${at}].tool_call_id`, null)
}

export function secondResult(at: number, id: string): Error {
  const message = `Duplicate value for 'tool_call_id' of '${id}' in message[${at}].`
  return new OpenAiRefusal(message, `messages.[${at}].tool_call_id`, null)
}

// ---- the error body -------------------------------------------------------------------------------------------

/** `error`: what was thrown, if it was not turned into plain data yet. */
export function chatErrorBody({ code, message }: PlainError, error?: unknown): object {
  const { status } = errorCodes[code]
  const type = status === 429 ? 'requests' : status < 500 ? 'invalid_request_error' : 'server_error'
  const { param, reason } = error instanceof OpenAiRefusal ? error : { param: null, reason: code }
  return { error: { message, type, param, code: reason } }
}
