// The messages of a Messages request as our history. Each call must have its result at the beginning of the next message,
// as the vendor demands. Neighbours of one role count as one message. decode-blocks.ts reads the blocks.
import type { InputPart } from '../../language/content.ts'
import { callsOf, type Entry } from '../../language/history.ts'
import type { Json, JsonObject } from '../../lib/json.ts'
import { HistoryBuilder, type ModelTarget } from '../stateless/index.ts'
import { BlockDecoder, type PlacedBlock } from './decode-blocks.ts'
import { anthropicRefusal, messagesTexts, objects, text } from './wordings.ts'

type Message = { index: number; role: 'user' | 'assistant' | 'system'; blocks: PlacedBlock[] }

/** The ids of the calls of the message before, and its index. */
type CallIds = { index: number; ids: string[] }

export function decodeMessages(value: Json | undefined, target: ModelTarget): Entry[] {
  const messages = joinNeighbours(objects(value, 'messages', readMessage))
  if (messages.length === 0) throw anthropicRefusal(messagesTexts.noMessages)
  if (messages[0]?.role === 'assistant') throw anthropicRefusal(messagesTexts.firstRole)
  const history = new HistoryBuilder()
  const blocks = new BlockDecoder(target)
  let calls: CallIds | undefined
  for (const message of messages) {
    checkPairs(message, calls)
    calls = undefined
    if (message.role === 'assistant') calls = addAnswer(message, blocks, history)
    else if (message.role === 'system')
      history.system(systemText(message), blocks.systemNative(message.blocks.at(-1)?.block ?? {}))
    else addUser(message, blocks, history)
  }
  if (calls) throw anthropicRefusal(messagesTexts.unanswered(calls.index, calls.ids))
  if (messages.at(-1)?.role === 'assistant') throw anthropicRefusal(messagesTexts.prefill)
  return history.done()
}

function readMessage({ role, content }: JsonObject, path: string, index: number): Message {
  if (role === 'system' && index === 0) throw anthropicRefusal(messagesTexts.firstSystem(path))
  if (role !== 'user' && role !== 'assistant' && role !== 'system') {
    text(role, `${path}.role`)
    throw anthropicRefusal(messagesTexts.unknownRole(path))
  }
  if (content === '') throw anthropicRefusal(messagesTexts.emptyMessage)
  const items = typeof content === 'string' ? [{ type: 'text', text: content }] : content
  const placed = (block: JsonObject, at: string): PlacedBlock => ({ block, path: at, message: path })
  return { index, role, blocks: objects(items, `${path}.content`, placed, { min: 1 }) }
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
        throw anthropicRefusal(messagesTexts.systemMessage(path))
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
    if (missing.length > 0) throw anthropicRefusal(messagesTexts.unanswered(calls.index, missing))
  }
  const expected = new Set(calls?.ids)
  const seen = new Set<string>()
  for (const [at, { path }] of results.entries()) {
    const id = ids[at] ?? ''
    if (!expected.has(id)) throw anthropicRefusal(messagesTexts.unknownUseId(path, id))
    if (seen.has(id)) throw anthropicRefusal(messagesTexts.secondResult(path, id))
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
      const { id, parts, failed, loads, native } = blocks.result(placed)
      history.result(id, parts, failed, native, loads)
    } else input.push(blocks.inputPart(placed))
  }
  if (input.length > 0) history.user(input)
}
