// The messages of a Messages request as our history. Each call must have its result at the beginning of the next message,
// as the vendor demands. Neighbours of one role count as one message. decode-blocks.ts reads the blocks.

import type { InputPart } from '../../language/content.ts'
import { callsOf, type Entry } from '../../language/history.ts'
import type { Json, JsonObject } from '../../lib/json.ts'
import { HistoryBuilder, type ModelTarget } from '../stateless/index.ts'
import { BlockDecoder, type PlacedBlock } from './decode-blocks.ts'
import {
  anthropicRefusal,
  list,
  object,
  repeatedResult,
  resultWithoutUse,
  text,
  unansweredCalls,
} from './wordings.ts'

type Message = { index: number; role: 'user' | 'assistant' | 'system'; blocks: PlacedBlock[] }

/** The ids of the calls of the message before, and its index. */
type CallIds = { index: number; ids: string[] }

export function decodeMessages(value: Json | undefined, target: ModelTarget): Entry[] {
  const given = list(value, 'messages')
  if (given.length === 0) throw anthropicRefusal('messages: at least one message is required')
  const messages = joinNeighbours(
    given.map((item, index) => readMessage(object(item, `messages.${index}`), index)),
  )
  if (messages[0]?.role === 'assistant')
    throw anthropicRefusal('messages: first message must use the "user" role')
  const history = new HistoryBuilder()
  const blocks = new BlockDecoder(target)
  let calls: CallIds | undefined
  for (const message of messages) {
    checkPairs(message, calls)
    calls = undefined
    if (message.role === 'assistant') calls = addAnswer(message, blocks, history)
    else if (message.role === 'system') history.system(systemText(message))
    else addUser(message, blocks, history)
  }
  if (calls) throw unansweredCalls(calls.index, calls.ids)
  if (messages.at(-1)?.role === 'assistant')
    throw anthropicRefusal(
      'This model does not support assistant message prefill. The conversation must end with a user message.',
    )
  return history.done()
}

function readMessage({ role, content }: JsonObject, index: number): Message {
  const at = `messages.${index}`
  if (role === undefined) throw anthropicRefusal(`${at}.role: Field required`)
  if (role === 'system' && index === 0)
    throw anthropicRefusal(`${at}: use the top-level 'system' parameter for the initial system prompt`)
  if (role !== 'user' && role !== 'assistant' && role !== 'system')
    throw anthropicRefusal(`${at}.role: Input should be 'user' or 'assistant'`)
  if (content === '')
    throw anthropicRefusal(
      'messages: all messages must have non-empty content except for the optional final assistant message',
    )
  const items =
    typeof content === 'string'
      ? [{ type: 'text', text: content }]
      : list(content, `${at}.content`, { min: 1 })
  const blocks = items.map((item, place) => {
    const path = `${at}.content.${place}`
    return { block: object(item, path), path, message: at }
  })
  return { index, role, blocks }
}

function joinNeighbours(messages: readonly Message[]): Message[] {
  const found: Message[] = []
  for (const message of messages) {
    const last = found.at(-1)
    if (last?.role === message.role) for (const block of message.blocks) last.blocks.push(block)
    else found.push(message)
  }
  return found
}

function systemText({ blocks }: Message): string {
  return blocks
    .map(({ block, path }) => {
      if (block['type'] !== 'text' || typeof block['text'] !== 'string')
        throw anthropicRefusal(`${path}: \`system\` messages may only contain text blocks`)
      return block['text']
    })
    .join('\n\n')
}

// ---- calls and results --------------------------------------------------------------------------------------

const isResult = ({ block }: PlacedBlock): boolean => block['type'] === 'tool_result'

/** All results of the calls before stand at the beginning of the message, each once, and no others are in it. */
function checkPairs({ role, blocks }: Message, calls: CallIds | undefined): void {
  const results = role === 'user' ? blocks.filter(isResult) : []
  const ids = results.map(({ block, path }) => text(block['tool_use_id'], `${path}.tool_result.tool_use_id`))
  if (calls) {
    const other = blocks.findIndex(placed => !isResult(placed))
    const leading = new Set(ids.slice(0, other < 0 ? ids.length : other))
    const missing = calls.ids.filter(id => !leading.has(id))
    if (missing.length > 0) throw unansweredCalls(calls.index, missing)
  }
  const expected = new Set(calls?.ids)
  const seen = new Set<string>()
  for (const [at, { path }] of results.entries()) {
    const id = ids[at] ?? ''
    if (!expected.has(id)) throw resultWithoutUse(path, id)
    if (seen.has(id)) throw repeatedResult(path, id)
    seen.add(id)
  }
}

function addAnswer(message: Message, blocks: BlockDecoder, history: HistoryBuilder): CallIds | undefined {
  const parts = message.blocks.flatMap(placed => blocks.answerParts(placed))
  history.assistant(parts, blocks.origin)
  const ids = callsOf({ role: 'assistant', parts }).map(call => call.id)
  return ids.length > 0 ? { index: message.index, ids } : undefined
}

function addUser(message: Message, blocks: BlockDecoder, history: HistoryBuilder): void {
  const input: InputPart[] = []
  for (const placed of message.blocks) {
    if (isResult(placed)) {
      const { id, parts, failed } = blocks.result(placed)
      history.result(id, parts, failed)
    } else input.push(blocks.inputPart(placed))
  }
  if (input.length > 0) history.user(input)
}
