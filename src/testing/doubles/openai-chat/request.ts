// Everything that Chat Completions refuses, in the order in which it looks: this file checks the parameters, the other
// files messages, tools and history. `C-00` is the plain shape of the request.
// Compatible servers judge far less, in a function of their own, so that the strict one has no switches.
import * as says from '../../../apis/openai/chat-wordings.ts'
import { list, object, oneOf, optional, required, text } from '../openai/forms.ts'
import { invalidType, missingParameter, openaiError, refusal } from '../openai/refusals.ts'
import { checkStrictSchema } from '../openai/schema.ts'
import type { Rejections } from '../script.ts'
import { extraKeys, isAbsent, isRecord, type JsonRecord, shownText, wordList } from '../shape.ts'
import { checkChatHistory } from './history.ts'
import { CHAT_NAME, checkCallInput, checkChatMessages } from './messages.ts'
import { chatTools, checkChatChoice } from './tools.ts'

const PARAMETERS = wordList(`
  messages model audio frequency_penalty function_call functions logit_bias logprobs max_completion_tokens max_tokens
  metadata modalities moderation n parallel_tool_calls prediction presence_penalty prompt_cache_key prompt_cache_options
  prompt_cache_retention reasoning_effort response_format safety_identifier seed service_tier stop store stream
  stream_options temperature tool_choice tools top_logprobs top_p user verbosity web_search_options`)

export function* checkChat(body: unknown): Rejections {
  if (!isRecord(body)) return yield invalidType('C-00', 'body', 'an object', body)
  yield* checkParameters(body)
  yield* checkChatMessages(body['messages'])
  yield* chatTools(body['tools'], 'tools')
  yield* checkChatHistory(body['messages'])
  yield* checkChatChoice(body)
  yield* checkResponseFormat(body['response_format'])
  yield* checkJsonWord(body)
}

/** An OpenAI-compatible server still refuses messages without a role, and arguments that are not text. */
export function* checkCompatibleChat(body: unknown): Rejections {
  if (!isRecord(body)) return yield invalidType('C-00', 'body', 'an object', body)
  if (!Array.isArray(body['messages'])) return yield missingParameter('C-00', 'messages')
  const message = object('C-00', { role: text('C-00'), tool_calls: optional(list('C-08', checkCallInput)) })
  yield* list('C-00', message)(body['messages'], 'messages')
}

function* checkParameters(body: JsonRecord): Rejections {
  const unknown = extraKeys(body, PARAMETERS)
  if (unknown.length > 0) {
    const noun = unknown.length > 1 ? 'arguments' : 'argument'
    yield openaiError('C-00', `Unrecognized request ${noun} supplied: ${unknown.join(', ')}`)
  }
  if (typeof body['model'] !== 'string' || body['model'] === '') {
    yield openaiError('C-00', 'you must provide a model parameter')
  }
  if (!isAbsent(body['stream_options']) && body['stream'] !== true)
    yield refusal('C-00', says.optionsWithoutStream)
  if (!isAbsent(body['max_tokens']) && !isAbsent(body['max_completion_tokens']))
    yield refusal('C-00', says.twoTokenLimits)
}

/** The vendor wants to be sure that the model was told of the form. */
function* checkJsonWord({ response_format: format, messages }: JsonRecord): Rejections {
  if (!isRecord(format) || format['type'] !== 'json_object' || /json/i.test(JSON.stringify(messages))) return
  const message =
    "'messages' must contain the word 'json' in some form, to use 'response_format' of type 'json_object'."
  yield openaiError('C-09', message, 'messages')
}

function* checkResponseFormat(format: unknown): Rejections {
  const types = oneOf('C-00', ['json_object', 'json_schema', 'text'])
  yield* optional(object('C-00', { type: types }))(format, 'response_format')
  if (!isRecord(format) || format['type'] !== 'json_schema') return
  const { json_schema: inner } = format
  const named = object('C-09', { name: text('C-09', CHAT_NAME) })
  yield* required('C-00', named)(inner, 'response_format.json_schema')
  if (!isRecord(inner) || inner['strict'] !== true) return
  const place = { rule: 'C-09', param: 'response_format', subject: 'response_format' } as const
  const schema = checkStrictSchema(shownText(inner['name']), inner['schema'], place)
  if (schema !== null) yield schema
}
