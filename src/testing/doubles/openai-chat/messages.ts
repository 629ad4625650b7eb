// Rules of Chat Completions about single messages: roles, content parts, calls and their arguments.
// `history.ts` checks how messages follow one another.
import * as says from '../../../apis/openai/chat-wordings.ts'
import {
  checkFields,
  type Form,
  list,
  picture,
  required,
  TOOL_NAME_PATTERN,
  tagged,
  text,
} from '../openai/forms.ts'
import { invalidType, missingParameter, refusal, unsupportedValue } from '../openai/refusals.ts'
import type { Rejections } from '../script.ts'
import { asRecord, isAbsent, isRecord, type JsonRecord } from '../shape.ts'

export const CHAT_NAME = { max: 64, pattern: TOOL_NAME_PATTERN }
/** At most so many tools in a request, and calls in a message. */
export const MOST_ENTRIES = { rule: 'C-05', max: 128 }
const callId = text('C-03', { max: 40 })
const anyText = (rule: string): Form => text(rule, { mayBeEmpty: true })
const ROLES = ['system', 'assistant', 'user', 'function', 'tool', 'developer']

/** Text, or a list of parts, by their types. */
const contentOf = (rule: string, kinds: Parameters<typeof tagged>[1] = {}): Form => {
  const parts = list(rule, tagged(rule, { text: { text: anyText(rule) }, ...kinds }), { empty: rule })
  return (value, path) => {
    if (value === undefined) return [missingParameter(rule, path)]
    if (typeof value === 'string') return []
    if (Array.isArray(value)) return parts(value, path)
    return [invalidType(rule, path, 'one of a string or array of objects', value)]
  }
}
const CONTENT: Readonly<Record<string, Form>> = {
  system: contentOf('C-00'),
  developer: contentOf('C-00'),
  user: contentOf('C-00', { image_url: { image_url: picture('C-IMG') }, input_audio: {}, file: {} }),
  assistant: contentOf('C-00', { refusal: {} }),
  tool: contentOf('C-08'),
}

export function* checkChatMessages(messages: unknown): Rejections {
  const all = list('C-00', checkChatMessage, { empty: 'C-00' })
  yield* required('C-00', all)(messages, 'messages')
}

function* checkChatMessage(message: unknown, path: string, at: number): Rejections {
  if (!isRecord(message)) return yield invalidType('C-00', path, 'an object', message)
  const { role } = message
  if (role === undefined) yield missingParameter('C-00', `${path}.role`)
  else if (role === 'assistant') yield* checkAssistant(message, path, at)
  else if (role === 'tool') yield* checkToolMessage(message, path, at)
  else if (role === 'function') yield* text('C-00')(message['name'], `${path}.name`)
  else if (typeof role === 'string' && ROLES.includes(role))
    yield* checkFields(message, path, { content: CONTENT[role]! })
  else yield unsupportedValue('C-00', `${path}.role`, role, ROLES)
}

function* checkAssistant(message: JsonRecord, path: string, at: number): Rejections {
  const { content, tool_calls: calls } = message
  const callsForm = list('C-00', checkCall, { empty: 'C-06', most: MOST_ENTRIES })
  const wrong = calls === undefined ? [] : [...callsForm(calls, `${path}.tool_calls`)]
  const isList = Array.isArray(calls) && calls.length > 0 && calls.length <= MOST_ENTRIES.max
  if (calls !== undefined && !isList) return yield* wrong
  const mayBeSilent = ['tool_calls', 'function_call', 'refusal', 'audio'].some(key => !isAbsent(message[key]))
  if (!isAbsent(content)) yield* CONTENT['assistant']!(content, `${path}.content`)
  else if (!mayBeSilent) yield refusal('C-00', says.emptyAnswer(at))
  yield* wrong
}

function* checkCall(call: unknown, path: string): Rejections {
  if (isRecord(call)) yield* callId(call['id'], `${path}.id`)
  yield* checkCallInput(call, path)
  const type = asRecord(call)['type'] === 'custom' ? 'custom' : 'function'
  const inner = asRecord(call)[type]
  if (isRecord(inner)) yield* text('C-04', CHAT_NAME)(inner['name'], `${path}.${type}.name`)
}

/** The arguments of a function, or the input of a custom tool, are text. */
export function* checkCallInput(call: unknown, path: string): Rejections {
  const input = (name: string): Form =>
    required('C-08', (value, at) => checkFields(asRecord(value), at, { [name]: anyText('C-08') }))
  const kinds = { function: { function: input('arguments') }, custom: { custom: input('input') } }
  yield* tagged('C-08', kinds)(isRecord(call) ? { type: 'function', ...call } : call, path)
}

function* checkToolMessage({ tool_call_id: id, content }: JsonRecord, path: string, at: number): Rejections {
  if (id === undefined) return yield refusal('C-02', says.noCallId(at))
  yield* callId(id, `${path}.tool_call_id`)
  yield* CONTENT['tool']!(content, `${path}.content`)
}
