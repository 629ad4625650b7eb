// The refusals of this wire, in the vendor's words, and its error body. `apis/openai/refusal.ts` has the words for single
// fields. Every refusal names its parameter.

import {
  OpenAiRefusal,
  openAiWordings,
  refusedParameter,
  wrongParameterType,
} from '../../apis/openai/refusal.ts'
import type { PlainError } from '../../engine/index.ts'
import { errorCodes } from '../../language/errors.ts'
import { excerpt, fieldReader } from '../../lib/json/fields.ts'

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
}

/** `error`: what was thrown, if it was not turned into plain data yet. */
export function chatErrorBody({ code, message }: PlainError, error?: unknown): object {
  const { status } = errorCodes[code]
  const type = status === 429 ? 'requests' : status < 500 ? 'invalid_request_error' : 'server_error'
  return { error: { message, type, ...refusedParameter(code, error) } }
}
