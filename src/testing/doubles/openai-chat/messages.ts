// Rules of Chat Completions about single messages: roles, content parts, calls and their arguments.
// `history.ts` checks how messages follow one another.
import {
  arrayTooLong,
  emptyArray,
  invalidType,
  missingParameter,
  openaiError,
  unsupportedValue,
} from '../openai/refusals.ts'
import {
  checkParts,
  checkPicture,
  checkString,
  type PartChecks,
  TOOL_NAME_PATTERN,
  textField,
  uncheckedPart,
} from '../openai/shapes.ts'
import type { Rejections } from '../script.ts'
import { asList, isAbsent, isRecord, type JsonRecord } from '../shape.ts'

export const CHAT_NAME = { max: 64, pattern: TOOL_NAME_PATTERN }
/** At most so many tools in a request, and calls in a message. */
export const MOST_ENTRIES = 128
const CALL_ID = { max: 40 }
const ROLES = ['system', 'assistant', 'user', 'function', 'tool', 'developer']

const TEXT_PARTS: PartChecks = { text: textField('text') }
const USER_PARTS: PartChecks = {
  ...TEXT_PARTS,
  image_url: ({ image_url: image }, path) =>
    checkPicture('C-IMG', `${path}.image_url`, isRecord(image) ? image['url'] : image),
  input_audio: uncheckedPart,
  file: uncheckedPart,
}
const ASSISTANT_PARTS: PartChecks = { ...TEXT_PARTS, refusal: uncheckedPart }

export function* checkChatMessages(messages: unknown): Rejections {
  if (isAbsent(messages)) return yield missingParameter('C-00', 'messages')
  if (!Array.isArray(messages)) return yield invalidType('C-00', 'messages', 'an array of objects', messages)
  if (messages.length === 0) return yield emptyArray('C-00', 'messages')
  for (const [at, message] of messages.entries()) yield* checkChatMessage(message, at)
}

function checkChatMessage(message: unknown, at: number): Rejections {
  const path = `messages[${at}]`
  if (!isRecord(message)) return [invalidType('C-00', path, 'an object', message)]
  switch (message['role']) {
    case undefined:
      return [missingParameter('C-00', `${path}.role`)]
    case 'system':
    case 'developer':
      return checkChatContent('C-00', `${path}.content`, message['content'], TEXT_PARTS)
    case 'user':
      return checkChatContent('C-00', `${path}.content`, message['content'], USER_PARTS)
    case 'assistant':
      return checkAssistant(message, at)
    case 'tool':
      return checkToolMessage(message, at)
    case 'function':
      return checkString('C-00', `${path}.name`, message['name'])
    default:
      return [unsupportedValue('C-00', `${path}.role`, message['role'], ROLES)]
  }
}

function* checkChatContent(rule: string, path: string, content: unknown, parts: PartChecks): Rejections {
  if (content === undefined) yield missingParameter(rule, path)
  else if (Array.isArray(content)) {
    if (content.length === 0) yield emptyArray(rule, path)
    yield* checkParts(rule, path, content, parts)
  } else if (typeof content !== 'string') {
    yield invalidType(rule, path, 'one of a string or array of objects', content)
  }
}

function* checkAssistant(message: JsonRecord, at: number): Rejections {
  const path = `messages[${at}]`
  const { content, tool_calls: calls } = message
  if (calls !== undefined) {
    const place = `${path}.tool_calls`
    if (!Array.isArray(calls)) return yield invalidType('C-00', place, 'an array of objects', calls)
    if (calls.length === 0) return yield emptyArray('C-06', place)
    if (calls.length > MOST_ENTRIES) return yield arrayTooLong('C-05', place, MOST_ENTRIES, calls.length)
  }
  const mayBeSilent = ['tool_calls', 'function_call', 'refusal', 'audio'].some(key => !isAbsent(message[key]))
  if (!isAbsent(content)) yield* checkChatContent('C-00', `${path}.content`, content, ASSISTANT_PARTS)
  else if (!mayBeSilent) {
    const text = "Invalid value for 'content': expected a string, got null."
    yield openaiError('C-00', text, `messages.[${at}].content`)
  }
  for (const [index, call] of asList(calls).entries()) yield* checkCall(call, `${path}.tool_calls[${index}]`)
}

function* checkCall(call: unknown, path: string): Rejections {
  if (isRecord(call)) yield* checkString('C-03', `${path}.id`, call['id'], CALL_ID)
  yield* checkCallInput(call, path)
  const type = isRecord(call) && call['type'] === 'custom' ? 'custom' : 'function'
  const inner = isRecord(call) ? call[type] : undefined
  if (isRecord(inner)) yield* checkString('C-04', `${path}.${type}.name`, inner['name'], CHAT_NAME)
}

/** The arguments of a function, or the input of a custom tool, are text. */
export function* checkCallInput(call: unknown, path: string): Rejections {
  if (!isRecord(call)) return yield invalidType('C-08', path, 'an object', call)
  const type = call['type'] ?? 'function'
  if (type !== 'function' && type !== 'custom') {
    return yield unsupportedValue('C-08', `${path}.type`, type, ['function', 'custom'])
  }
  const inner = call[type]
  if (!isRecord(inner)) return yield missingParameter('C-08', `${path}.${type}`)
  const field = type === 'function' ? 'arguments' : 'input'
  yield* checkString('C-08', `${path}.${type}.${field}`, inner[field], { allowEmpty: true })
}

function* checkToolMessage(message: JsonRecord, at: number): Rejections {
  const { tool_call_id: id, content } = message
  if (id === undefined) {
    const text = "Missing parameter 'tool_call_id': messages with role 'tool' must have a 'tool_call_id'."
    return yield openaiError('C-02', text, `messages.[${at}].tool_call_id`)
  }
  yield* checkString('C-03', `messages[${at}].tool_call_id`, id, CALL_ID)
  yield* checkChatContent('C-08', `messages[${at}].content`, content, TEXT_PARTS)
}
