// What this wire says when it refuses, in the vendor's words, and its error body. `../openai-refusal.ts` has the words
// for single fields. Every refusal names its parameter.
import type { PlainError } from '../../engine/index.ts'
import { errorCodes } from '../../language/errors.ts'
import { excerpt, fieldReader } from '../fields.ts'
import { OpenAiRefusal, openAiWordings, refusedParameter, wrongParameterType } from '../openai-refusal.ts'

const chatRefusal = (message: string, param: string, reason: string | null = null): Error =>
  new OpenAiRefusal(message, param, reason)

export const { object, objects, text, flag, count, oneOf, onlyKnown } = fieldReader({
  ...openAiWordings,
  wrongType: (path, expected, given) =>
    expected === 'list'
      ? wrongParameterType(path, 'an array of objects', given)
      : openAiWordings.wrongType(path, expected, given),
  unknown: (_, name) =>
    chatRefusal(
      `Unrecognized request argument supplied: ${excerpt(name)}`,
      excerpt(name),
      'unknown_parameter',
    ),
})

/** Fields that are refused, each with advice. */
export const unsupportedFields: Readonly<Record<string, string>> = {
  functions: "Use 'tools' in its place.",
  function_call: "Use 'tool_choice' in its place.",
  audio: 'Answers are text.',
  logprobs: 'Log probabilities are not given here.',
  top_logprobs: 'Log probabilities are not given here.',
  web_search_options: 'Nothing is searched for callers here. Offer a tool of your own.',
}

export const chatRefusals = {
  noSuchModel: (name: string, advice: string) =>
    new OpenAiRefusal(
      `The model \`${excerpt(name)}\` does not exist or you do not have access to it. ${advice}`,
      'model',
      'model_not_found',
      'not_found',
    ),
  unsupported: (name: string) =>
    chatRefusal(
      `Unsupported parameter: '${name}'. ${unsupportedFields[name]}`,
      name,
      'unsupported_parameter',
    ),
  invalid: (path: string, reason: string) => chatRefusal(`Invalid '${path}'${reason}`, path, 'invalid_value'),
  twoTokenLimits: () =>
    chatRefusal(
      "Setting 'max_tokens' and 'max_completion_tokens' at the same time is not supported. Please use only one of them.",
      'max_tokens',
      'invalid_parameter_combination',
    ),
  optionsWithoutStream: () =>
    chatRefusal("The 'stream_options' parameter is only allowed when 'stream' is enabled.", 'stream_options'),
  onlyWithTools: (name: string) =>
    chatRefusal(`Invalid value for '${name}': '${name}' is only allowed when 'tools' are specified.`, name),
  noSuchTool: (type: string, name: string) =>
    chatRefusal(
      `Invalid value for 'tool_choice': no ${type} named '${excerpt(name)}' was specified in the 'tools' parameter.`,
      'tool_choice',
    ),

  // The vendor writes the paths of messages with a dot before the index in these.
  emptyAnswer: (at: number) =>
    chatRefusal("Invalid value for 'content': expected a string, got null.", `messages.[${at}].content`),
  unanswered: (at: number, ids: Iterable<string>) =>
    chatRefusal(
      `An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: ${[...ids].join(', ')}`,
      `messages.[${at}].role`,
    ),
  noCallId: (at: number) =>
    chatRefusal(
      "Missing parameter 'tool_call_id': messages with role 'tool' must have a 'tool_call_id'.",
      `messages.[${at}].tool_call_id`,
    ),
  noCallsBefore: (at: number) =>
    chatRefusal(
      "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.",
      `messages.[${at}].role`,
    ),
  unknownCallId: (at: number, id: string) =>
    chatRefusal(
      `Invalid parameter: 'tool_call_id' of '${id}' not found in 'tool_calls' of previous message.`,
      `messages.[${at}].tool_call_id`,
    ),
  secondResult: (at: number, id: string) =>
    chatRefusal(
      `Duplicate value for 'tool_call_id' of '${id}' in message[${at}].`,
      `messages.[${at}].tool_call_id`,
    ),
}

/** `error`: what was thrown, if it was not turned into plain data yet. */
export function chatErrorBody({ code, message }: PlainError, error?: unknown): object {
  const { status } = errorCodes[code]
  const type = status === 429 ? 'requests' : status < 500 ? 'invalid_request_error' : 'server_error'
  return { error: { message, type, ...refusedParameter(code, error) } }
}
