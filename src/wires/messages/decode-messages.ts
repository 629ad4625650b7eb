// The messages of a Messages request as our history. Each call must have its result at the beginning of the next message,
// as the vendor demands. Neighbours of one role count as one message. A summary that the model cannot be given as it came
// stands for all messages before it. decode-blocks.ts reads the blocks.
import * as says from '../../apis/anthropic/wordings.ts'
import type { InputPart } from '../../language/content.ts'
import { type Entry, listCalls } from '../../language/history.ts'
import { isAbsent, optional } from '../../lib/json/fields.ts'
import type { Json, JsonObject } from '../../lib/json/index.ts'
import { HistoryBuilder, type ModelTarget } from '../stateless/index.ts'
import { BlockDecoder, type PlacedBlock } from './decode-blocks.ts'
import { anthropicRefusal, object, objects, oneOf, text } from './wordings.ts'

type Message = { index: number; role: 'user' | 'assistant' | 'system'; blocks: PlacedBlock[] }

/** A block that makes a tool available from there on, or withdraws it. `tool` says which. */
export type ToolChange = { adds: boolean; tool: JsonObject; path: string }

/** `effort`: from the latest message that sets it. */
export type DecodedMessages = { entries: Entry[]; changes: ToolChange[]; effort?: string }

/** The ids of the calls of the message before, and its index. */
type CallIds = { index: number; ids: string[] }

export function decodeMessages(value: Json | undefined, target: ModelTarget): DecodedMessages {
  const notes = new SystemNotes(lastUserIndex(value))
  const given = objects(value, 'messages', (message, path, index) => readMessage(message, path, index, notes))
  if (given.length === 0) throw anthropicRefusal(says.noMessages)
  const blocks = new BlockDecoder(target)
  const spoken = given.filter(message => message.role !== 'system' || message.blocks.length > 0)
  const messages = fromSummary(joinNeighbours(spoken), blocks, notes)
  const [first] = messages
  if (first?.role === 'assistant' && first.blocks[0]?.block['type'] !== 'compaction')
    throw anthropicRefusal(says.firstRole)
  const history = new HistoryBuilder()
  let calls: CallIds | undefined
  for (const message of messages) {
    checkPairs(message, calls)
    calls = undefined
    if (message.role === 'assistant') calls = addAnswer(message, blocks, history)
    else if (message.role === 'system')
      history.system(systemText(message), blocks.systemNative(message.blocks.at(-1)?.block ?? {}))
    else addUser(message, blocks, history)
  }
  if (calls) throw anthropicRefusal(says.unanswered(calls.index, calls.ids))
  if (messages.at(-1)?.role === 'assistant') throw anthropicRefusal(says.prefill)
  const { changes, effort } = notes
  return { entries: history.done(), changes, ...(effort !== undefined && { effort }) }
}

function readMessage(message: JsonObject, path: string, index: number, notes: SystemNotes): Message {
  const { role, content } = message
  if (role === 'system' && index === 0) throw anthropicRefusal(says.firstSystem(path))
  if (role !== 'user' && role !== 'assistant' && role !== 'system') {
    text(role, `${path}.role`)
    throw anthropicRefusal(says.unknownRole(path))
  }
  if (content === '') throw anthropicRefusal(says.emptyMessage)
  const items = typeof content === 'string' ? [{ type: 'text', text: content }] : content
  const placed = (block: JsonObject, at: string): PlacedBlock => ({ block, path: at, message: path })
  if (role !== 'system') return { index, role, blocks: objects(items, `${path}.content`, placed, { min: 1 }) }
  const hasSettings = notes.takeSettings(message, path)
  const blocks = isAbsent(items) && hasSettings ? [] : objects(items, `${path}.content`, placed, { min: 1 })
  return { index, role, blocks: notes.takeBlocks(blocks, message, path, index) }
}

function lastUserIndex(messages: Json | undefined): number {
  const isUsers = (message: Json): boolean =>
    typeof message === 'object' && message !== null && 'role' in message && message['role'] === 'user'
  return Array.isArray(messages) ? messages.findLastIndex(isUsers) : -1
}

const efforts = ['low', 'medium', 'high', 'xhigh', 'max'] as const

/** Settings in system messages, beside their text: added and removed tools, and the effort of the next answer. */
class SystemNotes {
  readonly changes: ToolChange[] = []
  effort: string | undefined
  readonly #lastUser: number

  constructor(lastUser: number) {
    this.#lastUser = lastUser
  }

  takeSettings({ output_config }: JsonObject, path: string): boolean {
    if (isAbsent(output_config)) return false
    const at = `${path}.output_config`
    const { effort } = object(output_config, at)
    this.effort =
      optional(effort, `${at}.effort`, (value, place) => oneOf(value, place, efforts)) ?? this.effort
    return !isAbsent(effort)
  }

  /** Gives the blocks that are shown to the model. */
  takeBlocks(
    blocks: readonly PlacedBlock[],
    { clear_at }: JsonObject,
    path: string,
    index: number,
  ): PlacedBlock[] {
    const clears = optional(clear_at, `${path}.clear_at`, (value, at) =>
      oneOf(value, at, ['next_user_message', 'never']),
    )
    const texts = blocks.filter(placed => !this.takeChange(placed))
    return clears === 'next_user_message' && index < this.#lastUser ? [] : texts
  }

  takeChange({ block, path }: PlacedBlock): boolean {
    const { type } = block
    if (type !== 'tool_addition' && type !== 'tool_removal') return false
    const at = `${path}.${type}.tool`
    this.changes.push({ adds: type === 'tool_addition', tool: object(block['tool'], at), path: at })
    return true
  }
}

/** The question that a summary answers: no model takes a conversation that begins with an answer. */
const summaryQuestion: JsonObject = { type: 'text', text: 'Sum up our conversation so far.' }

function fromSummary(messages: Message[], decoder: BlockDecoder, notes: SystemNotes): Message[] {
  const isSummary = ({ block }: PlacedBlock): boolean => decoder.summaryIn(block) !== undefined
  const at = messages.findLastIndex(({ role, blocks }) => role === 'assistant' && blocks.some(isSummary))
  const message = messages[at]
  if (!message) return messages
  const blocks = message.blocks.slice(message.blocks.findLastIndex(isSummary))
  const [{ block, path, message: place }] = blocks as [PlacedBlock]
  if (!isAbsent(block['tool_changes']))
    objects(block['tool_changes'], `${path}.compaction.tool_changes`, (change, changePath) =>
      notes.takeChange({ block: change, path: changePath, message: place }),
    )
  const question: Message = {
    ...message,
    role: 'user',
    blocks: [{ block: summaryQuestion, path, message: place }],
  }
  return [question, { ...message, blocks }, ...messages.slice(at + 1)]
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
        throw anthropicRefusal(says.systemBlocks(path, 'text, tool_addition and tool_removal'))
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
    if (missing.length > 0) throw anthropicRefusal(says.unanswered(calls.index, missing))
  }
  const expected = new Set(calls?.ids)
  const seen = new Set<string>()
  for (const [at, { path }] of results.entries()) {
    const id = ids[at] ?? ''
    if (!expected.has(id)) throw anthropicRefusal(says.unknownUseId(path, id))
    if (seen.has(id)) throw anthropicRefusal(says.secondResult(path, id))
    seen.add(id)
  }
}

function addAnswer(message: Message, blocks: BlockDecoder, history: HistoryBuilder): CallIds | undefined {
  const parts = message.blocks.flatMap(placed => blocks.answerParts(placed))
  history.assistant(parts, blocks.origin)
  const ids = listCalls({ role: 'assistant', parts }).map(call => call.id)
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
