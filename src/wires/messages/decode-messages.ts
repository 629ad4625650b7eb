// The messages of a Messages request into our history. Every call is answered in the next message, its results first in
// it, as the vendor demands. Neighbours of one role count as one message. Blocks are read in decode-blocks.ts.
import type { CallPart } from '../../language/calls.ts'
import type { InputPart } from '../../language/content.ts'
import type { AnswerPart, Entry } from '../../language/history.ts'
import type { Json, JsonObject } from '../../lib/json.ts'
import { HistoryBuilder, originFor, type Target } from '../stateless/index.ts'
import { Blocks, type Placed } from './decode-blocks.ts'
import { list, object, refuse, required } from './refuse.ts'

const emptyMessage =
  'messages: all messages must have non-empty content except for the optional final assistant message'

type Message = { index: number; role: 'user' | 'assistant' | 'system'; blocks: Placed[] }

/** The calls of the message before, by the caller's id, and where that message stands. */
type Asked = { index: number; ids: string[] }

export function decodeMessages(value: Json | undefined, target: Target): Entry[] {
  const given = list(value, 'messages')
  if (given.length === 0) refuse('messages: at least one message is required')
  const messages = joined(given.map((item, index) => readMessage(object(item, `messages.${index}`), index)))
  if (messages[0]?.role === 'assistant') refuse('messages: first message must use the "user" role')
  const history = new HistoryBuilder(target.agent)
  const blocks = new Blocks(target.agent, originFor(target.model, 'anthropic'))
  let asked: Asked | undefined
  for (const message of messages) {
    const results = message.role === 'user' ? message.blocks.filter(isResult) : []
    for (const { block, place } of results)
      if (block['tool_use_id'] === undefined) required(`${place}.tool_result.tool_use_id`)
    checkAnswered(asked, message)
    checkResults(results, asked)
    asked = undefined
    if (message.role === 'assistant') asked = takeAnswer(message, blocks, history)
    else if (message.role === 'system') history.system(systemText(message))
    else takeUser(message, blocks, history)
  }
  if (asked) refuseUnanswered(asked.index, asked.ids)
  if (messages.at(-1)?.role === 'assistant')
    refuse(
      'This model does not support assistant message prefill. The conversation must end with a user message.',
    )
  return history.done()
}

function readMessage(message: JsonObject, index: number): Message {
  const at = `messages.${index}`
  const { role, content } = message
  if (role === undefined) required(`${at}.role`)
  if (role === 'system' && index === 0)
    refuse(`${at}: use the top-level 'system' parameter for the initial system prompt`)
  if (role !== 'user' && role !== 'assistant' && role !== 'system')
    return refuse(`${at}.role: Input should be 'user' or 'assistant'`)
  if (typeof content === 'string') {
    if (content === '') refuse(emptyMessage)
    return {
      index,
      role,
      blocks: [{ block: { type: 'text', text: content }, message: at, place: `${at}.content.0` }],
    }
  }
  const items = list(content, `${at}.content`)
  if (items.length === 0) refuse(`${at}.content: List should have at least 1 item`)
  const blocks = items.map((item, place) => ({
    block: object(item, `${at}.content.${place}`),
    message: at,
    place: `${at}.content.${place}`,
  }))
  return { index, role, blocks }
}

function joined(messages: readonly Message[]): Message[] {
  const found: Message[] = []
  for (const message of messages) {
    const last = found.at(-1)
    if (last?.role === message.role) for (const block of message.blocks) last.blocks.push(block)
    else found.push({ ...message, blocks: [...message.blocks] })
  }
  return found
}

function systemText({ blocks }: Message): string {
  return blocks
    .map(({ block, place }) =>
      block['type'] === 'text' && typeof block['text'] === 'string'
        ? block['text']
        : refuse(`${place}: \`system\` messages may only contain text blocks`),
    )
    .join('\n\n')
}

// ---- calls and results --------------------------------------------------------------------------------------

const isResult = ({ block }: Placed): boolean => block['type'] === 'tool_result'
const idOf = ({ block }: Placed): string =>
  typeof block['tool_use_id'] === 'string' ? block['tool_use_id'] : ''

/** Results stand at the beginning of the message after the calls, all of them. */
function checkAnswered(asked: Asked | undefined, { role, blocks }: Message): void {
  if (!asked) return
  const stop = blocks.findIndex(placed => !isResult(placed))
  const leading = new Set(role === 'user' ? (stop < 0 ? blocks : blocks.slice(0, stop)).map(idOf) : [])
  const missing = asked.ids.filter(id => !leading.has(id))
  if (missing.length > 0) refuseUnanswered(asked.index, missing)
}

function refuseUnanswered(index: number, ids: readonly string[]): never {
  return refuse(
    `messages.${index}: \`tool_use\` ids were found without \`tool_result\` blocks immediately after: ${ids.join(', ')}. Each \`tool_use\` block must have a corresponding \`tool_result\` block in the next message.`,
  )
}

function checkResults(results: readonly Placed[], asked: Asked | undefined): void {
  const known = new Set(asked?.ids)
  const seen = new Set<string>()
  for (const result of results) {
    const id = idOf(result)
    if (!known.has(id))
      refuse(
        `${result.place}: unexpected \`tool_use_id\` found in \`tool_result\` blocks: ${id}. Each \`tool_result\` block must have a corresponding \`tool_use\` block in the previous message.`,
      )
    if (seen.has(id))
      refuse(
        `${result.place}: each tool_use must have a single result. Found multiple \`tool_result\` blocks with id: ${id}`,
      )
    seen.add(id)
  }
}

function takeAnswer(message: Message, blocks: Blocks, history: HistoryBuilder): Asked | undefined {
  const parts = message.blocks.flatMap((placed): AnswerPart[] => blocks.answer(placed))
  history.assistant(parts, blocks.origin)
  const calls = parts.filter((part): part is CallPart => part.type === 'call')
  return calls.length > 0 ? { index: message.index, ids: calls.map(call => call.id) } : undefined
}

function takeUser(message: Message, blocks: Blocks, history: HistoryBuilder): void {
  const parts: InputPart[] = []
  for (const placed of message.blocks) {
    if (!isResult(placed)) {
      parts.push(...blocks.input(placed))
      continue
    }
    const { id, content, failed } = blocks.result(placed)
    history.result(id, content, failed)
  }
  if (parts.length > 0) history.user(parts)
}
