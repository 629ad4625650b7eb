// Everything that Chat Completions refuses, in the order in which it looks: parameters, messages, tools, history. `C-00` is the
// plain shape of the request. Compatible servers judge far less, in a function of their own, so that the strict one has no
// switches.
import * as says from '../../../apis/openai/chat-wordings.ts'
import * as form from '../openai/forms.ts'

import { checkStrictSchema, checkToolParameters } from '../openai/schema.ts'
import type { Rejections } from '../script.ts'
import {
  asRecord,
  asRecords,
  extraKeys,
  isAbsent,
  isRecord,
  type JsonRecord,
  shownText,
  wordList,
} from '../shape.ts'

const PARAMETERS = wordList(`
  messages model audio frequency_penalty function_call functions logit_bias logprobs max_completion_tokens max_tokens
  metadata modalities moderation n parallel_tool_calls prediction presence_penalty prompt_cache_key prompt_cache_options
  prompt_cache_retention reasoning_effort response_format safety_identifier seed service_tier stop store stream
  stream_options temperature tool_choice tools top_logprobs top_p user verbosity web_search_options`)

export function* checkChat(body: unknown): Rejections {
  if (!isRecord(body)) return yield form.invalidType('C-00', 'body', 'an object', body)
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
  if (!isRecord(body)) return yield form.invalidType('C-00', 'body', 'an object', body)
  if (!Array.isArray(body['messages'])) return yield form.missingParameter('C-00', 'messages')
  const message = form.object('C-00', {
    role: form.text('C-00'),
    tool_calls: form.optional(form.list('C-08', checkCallInput)),
  })
  yield* form.list('C-00', message)(body['messages'], 'messages')
}

function* checkParameters(body: JsonRecord): Rejections {
  const unknown = extraKeys(body, PARAMETERS)
  if (unknown.length > 0) {
    const noun = unknown.length > 1 ? 'arguments' : 'argument'
    yield form.openaiError('C-00', `Unrecognized request ${noun} supplied: ${unknown.join(', ')}`)
  }
  if (typeof body['model'] !== 'string' || body['model'] === '') {
    yield form.openaiError('C-00', 'you must provide a model parameter')
  }
  if (!isAbsent(body['stream_options']) && body['stream'] !== true)
    yield form.refusal('C-00', says.optionsWithoutStream)
  if (!isAbsent(body['max_tokens']) && !isAbsent(body['max_completion_tokens']))
    yield form.refusal('C-00', says.twoTokenLimits)
}

/** The vendor wants to be sure that the model was told of the form. */
function* checkJsonWord({ response_format: format, messages }: JsonRecord): Rejections {
  if (!isRecord(format) || format['type'] !== 'json_object' || /json/i.test(JSON.stringify(messages))) return
  const message =
    "'messages' must contain the word 'json' in some form, to use 'response_format' of type 'json_object'."
  yield form.openaiError('C-09', message, 'messages')
}

function* checkResponseFormat(format: unknown): Rejections {
  const types = form.oneOf('C-00', ['json_object', 'json_schema', 'text'])
  yield* form.optional(form.object('C-00', { type: types }))(format, 'response_format')
  if (!isRecord(format) || format['type'] !== 'json_schema') return
  const { json_schema: inner } = format
  const named = form.object('C-09', { name: form.text('C-09', CHAT_NAME) })
  yield* form.required('C-00', named)(inner, 'response_format.json_schema')
  if (!isRecord(inner) || inner['strict'] !== true) return
  const place = { rule: 'C-09', param: 'response_format', subject: 'response_format' } as const
  const schema = checkStrictSchema(shownText(inner['name']), inner['schema'], place)
  if (schema !== null) yield schema
}

// ---- single messages ----------------------------------------------------------------------------------------

const CHAT_NAME = { max: 64, pattern: form.TOOL_NAME_PATTERN }
/** At most so many tools in a request, and calls in a message. */
const MOST_ENTRIES = { rule: 'C-05', max: 128 }
const callId = form.text('C-03', { max: 40 })
const anyText = (rule: string): form.Form => form.text(rule, { mayBeEmpty: true })
const ROLES = ['system', 'assistant', 'user', 'function', 'tool', 'developer']

/** Text, or a list of parts, by their types. */
const contentForm = (rule: string, kinds: Parameters<typeof form.tagged>[1] = {}): form.Form => {
  const parts = form.list(rule, form.tagged(rule, { text: { text: anyText(rule) }, ...kinds }), {
    empty: rule,
  })
  return (value, path) => {
    if (value === undefined) return [form.missingParameter(rule, path)]
    if (typeof value === 'string') return []
    if (Array.isArray(value)) return parts(value, path)
    return [form.invalidType(rule, path, 'one of a string or array of objects', value)]
  }
}
const CONTENT: Readonly<Record<string, form.Form>> = {
  system: contentForm('C-00'),
  developer: contentForm('C-00'),
  user: contentForm('C-00', { image_url: { image_url: form.picture('C-IMG') }, input_audio: {}, file: {} }),
  assistant: contentForm('C-00', { refusal: {} }),
  tool: contentForm('C-08'),
}

function* checkChatMessages(messages: unknown): Rejections {
  const all = form.list('C-00', checkChatMessage, { empty: 'C-00' })
  yield* form.required('C-00', all)(messages, 'messages')
}

function* checkChatMessage(message: unknown, path: string, at: number): Rejections {
  if (!isRecord(message)) return yield form.invalidType('C-00', path, 'an object', message)
  const { role } = message
  if (role === undefined) yield form.missingParameter('C-00', `${path}.role`)
  else if (role === 'assistant') yield* checkAssistant(message, path, at)
  else if (role === 'tool') yield* checkToolMessage(message, path, at)
  else if (role === 'function') yield* form.text('C-00')(message['name'], `${path}.name`)
  else if (typeof role === 'string' && ROLES.includes(role))
    yield* form.checkFields(message, path, { content: CONTENT[role]! })
  else yield form.unsupportedValue('C-00', `${path}.role`, role, ROLES)
}

function* checkAssistant(message: JsonRecord, path: string, at: number): Rejections {
  const { content, tool_calls: calls } = message
  const callsForm = form.list('C-00', checkCall, { empty: 'C-06', most: MOST_ENTRIES })
  const wrong = calls === undefined ? [] : [...callsForm(calls, `${path}.tool_calls`)]
  const isList = Array.isArray(calls) && calls.length > 0 && calls.length <= MOST_ENTRIES.max
  if (calls !== undefined && !isList) return yield* wrong
  const mayBeSilent = ['tool_calls', 'function_call', 'refusal', 'audio'].some(key => !isAbsent(message[key]))
  if (!isAbsent(content)) yield* CONTENT['assistant']!(content, `${path}.content`)
  else if (!mayBeSilent) yield form.refusal('C-00', says.emptyAnswer(at))
  yield* wrong
}

function* checkCall(call: unknown, path: string): Rejections {
  if (isRecord(call)) yield* callId(call['id'], `${path}.id`)
  yield* checkCallInput(call, path)
  const type = asRecord(call)['type'] === 'custom' ? 'custom' : 'function'
  const inner = asRecord(call)[type]
  if (isRecord(inner)) yield* form.text('C-04', CHAT_NAME)(inner['name'], `${path}.${type}.name`)
}

/** The arguments of a function, or the input of a custom tool, are text. */
function* checkCallInput(call: unknown, path: string): Rejections {
  const input = (name: string): form.Form =>
    form.required('C-08', (value, at) => form.checkFields(asRecord(value), at, { [name]: anyText('C-08') }))
  const kinds = { function: { function: input('arguments') }, custom: { custom: input('input') } }
  yield* form.tagged('C-08', kinds)(isRecord(call) ? { type: 'function', ...call } : call, path)
}

function* checkToolMessage({ tool_call_id: id, content }: JsonRecord, path: string, at: number): Rejections {
  if (id === undefined) return yield form.refusal('C-02', says.noCallId(at))
  yield* callId(id, `${path}.tool_call_id`)
  yield* CONTENT['tool']!(content, `${path}.content`)
}

// ---- how messages follow one another ------------------------------------------------------------------------

/** The calls of one assistant message, and those that still wait for an answer. */
type WaitingCalls = { at: number; ids: Set<string>; waiting: Set<string> }

function* checkChatHistory(messages: unknown): Rejections {
  if (!Array.isArray(messages)) return
  let open: WaitingCalls | null = null
  for (const [at, message] of messages.entries()) {
    if (!isRecord(message)) continue
    if (message['role'] === 'tool') yield* answerCall(open, shownText(message['tool_call_id']), at)
    else {
      yield* unansweredCalls(open)
      open = callsToAnswer(message, at)
    }
  }
  yield* unansweredCalls(open)
}

function callsToAnswer(message: JsonRecord, at: number): WaitingCalls | null {
  if (message['role'] !== 'assistant' || !Array.isArray(message['tool_calls'])) return null
  const ids = asRecords(message['tool_calls']).flatMap(({ id }) => (typeof id === 'string' ? [id] : []))
  return { at, ids: new Set(ids), waiting: new Set(ids) }
}

function* answerCall(open: WaitingCalls | null, id: string, at: number): Rejections {
  if (open === null) yield form.refusal('C-02', says.noCallsBefore(at))
  else if (!open.waiting.delete(id))
    yield form.refusal('C-02', open.ids.has(id) ? says.secondResult(at, id) : says.unknownCallId(at, id))
}

function* unansweredCalls(open: WaitingCalls | null): Rejections {
  if (open !== null && open.waiting.size > 0)
    yield form.refusal('C-01', says.unanswered(open.at, open.waiting))
}

// ---- tools --------------------------------------------------------------------------------------------------

const name = form.text('C-04', CHAT_NAME)
const functionTool: form.Form = function* (value, path) {
  yield* name(asRecord(value)['name'], `${path}.name`)
  yield* checkToolParameters('C-09', path, asRecord(value))
}
const tool = form.tagged('C-00', {
  function: { function: form.required('C-00', functionTool) },
  custom: {
    custom: form.required('C-00', form.object('C-00', { name, format: form.toolFormat('C-00', true) })),
  },
})
const typedTool: form.Form = (value, path) =>
  isRecord(value) && value['type'] === undefined
    ? [form.missingParameter('C-00', `${path}.type`)]
    : tool(value, path)

const chatTools = form.optional(form.list('C-00', typedTool, { empty: 'C-06', most: MOST_ENTRIES }))

function* checkChatChoice(body: JsonRecord): Rejections {
  for (const name of ['tool_choice', 'parallel_tool_calls'])
    if (!isAbsent(body[name]) && isAbsent(body['tools'])) yield form.refusal('C-07', says.onlyWithTools(name))
  yield* form.optional(form.flag('C-00'))(body['parallel_tool_calls'], 'parallel_tool_calls')
  const tools = asRecords(body['tools'])
  const entry: form.Form = (chosen, path) => checkChosenTool(chosen, tools, path)
  yield* form.toolChoice({ rule: 'C-10', nested: true, entry })(body['tool_choice'], 'tool_choice')
}

/** `{type: 'function', function: {name}}` or the same with `custom`. The tool must be among those offered. */
function* checkChosenTool(entry: unknown, tools: JsonRecord[], path: string): Rejections {
  if (!isRecord(entry)) return yield form.invalidType('C-10', path, 'an object', entry)
  const isNamed = entry['type'] === 'function' || entry['type'] === 'custom'
  if (path === 'tool_choice' && !isNamed) {
    const types = ['function', 'allowed_tools', 'custom']
    return yield form.unsupportedValue('C-10', 'tool_choice.type', entry['type'], types)
  }
  const type = entry['type'] === 'custom' ? 'custom' : 'function'
  const inner = entry[type]
  if (!isRecord(inner)) return yield form.missingParameter('C-10', `${path}.${type}`)
  const { name: chosen } = inner
  const wrong = form.text('C-10')(chosen, `${path}.${type}.name`)
  const isOffered = tools.some(each => each['type'] === type && asRecord(each[type])['name'] === chosen)
  if (wrong.length > 0 || isOffered) return yield* wrong
  yield form.refusal('C-10', says.noSuchTool(type, shownText(chosen)))
}
