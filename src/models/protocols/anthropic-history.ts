// A history as Anthropic's `messages`: calls and results paired, roles in turn, nothing empty, and the vendor's own
// blocks echoed in their places or dropped whole. Each entry is encoded once and remembered; neighbours of one role
// are joined as text. Tools and the rest of the body are made elsewhere.

import type { CallPart, CallResult } from '../../language/calls.ts'
import type { Origin } from '../../language/content.ts'
import { type AssistantEntry, callsOf, type Entry, type ToolEntry } from '../../language/history.ts'
import { isJsonObject, type JsonObject, parseJson } from '../../lib/json.ts'
import { wellFormed } from '../../lib/text.ts'
import { isFailed, nativeFor, resultText, wireJson } from '../common/artifacts.ts'
import { wrapText } from '../common/custom-tools.ts'
import { encodeEntries } from '../common/encode-cache.ts'
import { type IdRule, type WireIds, wireIds } from '../common/wire-ids.ts'
import type { WireNames } from '../common/wire-names.ts'
import { resultContent, textBlock, userBlocks, type Warn } from './anthropic-media.ts'
import { hostedBlocks, type Places, placesOf } from './anthropic-places.ts'

export type Speaker = {
  origin: Origin
  names: WireNames
  /** All that names depend on beside the name itself. */
  namesKey: string
  hosted: readonly JsonObject[]
  /** Where code of the vendor's waits for results; undefined when that is gone. */
  container: string | undefined
  warn: Warn
}

type Message = {
  role: 'user' | 'assistant'
  pieces: string[]
  /** It holds nothing but results of calls. */
  onlyResults: boolean
  hasResults: boolean
  hasCalls: boolean
}

export type Conversation = {
  /** JSON text of the list of messages. */
  messages: string
  encoded: number
  /** Manual thinking is refused when the turn under way did not begin with thinking. */
  forbidsManualThinking: boolean
}

const ID_RULE: IdRule = { pattern: /^[a-zA-Z0-9_-]+$/, maxLength: 256 }
const OPENING = '(Earlier messages are not shown.)'
const GO_ON = 'Continue.'

/** `spoken`: the history without the system entries that it begins with. */
export function encodeHistory(spoken: readonly Entry[], speaker: Speaker): Conversation {
  const ids = wireIds(spoken, speaker.origin, ID_RULE)
  const places = placesOf(spoken, speaker)
  const { pieces, encoded } = encodeEntries(
    spoken,
    `${speaker.origin.protocol} ${speaker.origin.family} ${speaker.namesKey}`,
    (entry, index) => encodeEntry(entry, index, { speaker, ids, places, spoken }),
    index => [ids.variant(index), places.variant(index)].filter(Boolean).join(' '),
  )
  const messages = joinMessages(spoken, pieces, places)
  completeEnds(messages, places, speaker.warn)
  return {
    messages: `[${messages.map(messageText).join(',')}]`,
    encoded,
    forbidsManualThinking: opensWithoutThinking(messages),
  }
}

const messageText = ({ role, pieces }: Message): string =>
  `{"role":"${role}","content":[${pieces.join(',')}]}`

// ---- messages --------------------------------------------------------------------------------------------

function joinMessages(spoken: readonly Entry[], pieces: readonly string[], places: Places): Message[] {
  const messages: Message[] = []
  for (const [index, entry] of spoken.entries()) {
    const piece = pieces[index]
    if (piece === undefined || piece === '') continue
    const role = entry.role === 'assistant' ? 'assistant' : 'user'
    const isResults = entry.role === 'tool' && piece.startsWith(RESULT)
    const hasCalls = entry.role === 'assistant' && entry.parts.some(part => part.type === 'call')
    // A result that lost its call is told in words after the others.
    const onlyResults = isResults && places.variant(index) === ''
    const last = messages.at(-1)
    if (last?.role === role) {
      last.pieces.push(piece)
      last.onlyResults &&= onlyResults
      last.hasResults ||= isResults
      last.hasCalls ||= hasCalls
    } else messages.push({ role, pieces: [piece], onlyResults, hasResults: isResults, hasCalls })
  }
  return messages
}

const RESULT = '{"type":"tool_result"'
const THOUGHT = /^\{"type":"(redacted_)?thinking"/

const userText = (text: string): Message => ({
  role: 'user',
  pieces: [textBlock(text)!],
  onlyResults: false,
  hasResults: false,
  hasCalls: false,
})

/** A request begins with a user's message, and ends with one unless a paused answer is to be gone on with. */
function completeEnds(messages: Message[], places: Places, warn: Warn): void {
  if (messages[0]?.role !== 'user') messages.unshift(userText(OPENING))
  if (messages.at(-1)?.role !== 'assistant' || places.isPaused) return
  messages.push(userText(GO_ON))
  warn('The history ended with an answer, which this vendor does not go on with: it was asked to continue.')
}

function opensWithoutThinking(messages: readonly Message[]): boolean {
  if (messages.at(-1)?.hasResults !== true) return false
  const asked = messages
    .slice(0, -1)
    .findLastIndex(message => message.role === 'user' && !message.onlyResults)
  const opening = messages[asked + 1]
  if (opening?.role !== 'assistant' || !opening.hasCalls) return false
  return !THOUGHT.test(opening.pieces[0] ?? '')
}

/** Wire names of all tools that were called: a request with calls in its history must declare tools. */
export function calledNames(spoken: readonly Entry[], names: WireNames): Set<string> {
  const called = new Set<string>()
  for (const entry of spoken)
    if (entry.role === 'assistant') for (const call of callsOf(entry)) called.add(names.toWire(call.name))
  return called
}

/** Wire names that the vendor's tool search once found: each must still be declared. */
export function referredNames(spoken: readonly Entry[], origin: Origin): Set<string> {
  const referred = new Set<string>()
  for (const entry of spoken) {
    for (const { content } of hostedBlocks(entry, origin)) {
      const found = isJsonObject(content) ? content['tool_references'] : undefined
      for (const item of Array.isArray(found) ? found : [])
        if (isJsonObject(item) && typeof item['tool_name'] === 'string') referred.add(item['tool_name'])
    }
  }
  return referred
}

/** Whether the vendor's MCP connector speaks in this history. */
export function saysMcp(spoken: readonly Entry[], origin: Origin): boolean {
  return spoken.some(entry => hostedBlocks(entry, origin).some(({ type }) => type === 'mcp_tool_use'))
}

// ---- entries ---------------------------------------------------------------------------------------------

type Context = { speaker: Speaker; ids: WireIds; places: Places; spoken: readonly Entry[] }

/** The entry's blocks as JSON text, joined by commas; empty when it has nothing to say to this vendor. */
function encodeEntry(entry: Entry, index: number, context: Context): string {
  switch (entry.role) {
    case 'user':
      return userBlocks(entry.parts, context.speaker.warn).join(',')
    case 'system':
      return systemNote(entry.text, context.speaker.warn)
    case 'tool':
      return resultBlocks(entry, index, context).join(',')
    case 'assistant':
      return answerBlocks(entry, index, context).join(',')
  }
}

/** The vendor's own system role may not stand between two messages of one role, nor before results. */
function systemNote(text: string, warn: Warn): string {
  if (text.trim() === '') return ''
  warn('A system message in mid-conversation was sent as a note in the user’s role.')
  return textBlock(`<system>\n${text}\n</system>`) ?? ''
}

function answerBlocks(entry: AssistantEntry, index: number, context: Context): string[] {
  const { speaker, places } = context
  const blocks: string[] = []
  for (const part of entry.parts) {
    if (part.type === 'text') {
      const block = spokenText(part.text, nativeFor(part, speaker.origin), places.isWhole(index))
      if (block !== undefined) blocks.push(block)
    } else if (part.type === 'call') {
      blocks.push(places.isPaired(index, part.id) ? callBlock(part, index, context) : unansweredWords(part))
    } else {
      const data = nativeFor(part, speaker.origin)
      if (isJsonObject(data) && !isLost(data, places)) blocks.push(wireJson({ type: data['type'], ...data }))
    }
  }
  if (!places.keepsTail(index)) while (THOUGHT.test(blocks.at(-1) ?? '')) blocks.pop()
  return blocks
}

function isLost(block: JsonObject, places: Places): boolean {
  return places.isDropped(block['id']) || places.isDropped(block['tool_use_id'])
}

/** Citations point into search results: they go back only where these do. */
function spokenText(text: string, native: unknown, isWhole: boolean): string | undefined {
  const citations = isJsonObject(native) && isWhole ? native['citations'] : undefined
  const block = textBlock(text)
  return block === undefined || citations === undefined
    ? block
    : `${block.slice(0, -1)},"citations":${wireJson(citations)}}`
}

function callBlock(call: CallPart, index: number, context: Context): string {
  const { speaker, ids, places } = context
  const name = wireJson(speaker.names.toWire(call.name))
  let block = `{"type":"tool_use","id":${wireJson(ids.of(index, call.id))},"name":${name},"input":${inputText(call)}`
  const native = nativeFor(call, speaker.origin)
  if (isJsonObject(native)) {
    if (isJsonObject(native['caller']) && !places.isDropped(native['caller']['tool_id']))
      block += `,"caller":${wireJson(native['caller'])}`
    if (native['toolset_name'] !== undefined) block += `,"toolset_name":${wireJson(native['toolset_name'])}`
  }
  return `${block}}`
}

/**
 * An object always. The model's own spelling where that is sound JSON (numbers keep their digits), and its text in
 * a field where it is not: what it wrote is then what it reads in the result about its mistake.
 */
function inputText(call: CallPart): string {
  if (call.form === 'text') return wireJson(wrapText(call.text))
  if (call.text.trim() === '') return '{}'
  try {
    const value = parseJson(call.text)
    if (isJsonObject(value)) return call.text.includes('\\u') ? wireJson(value) : wellFormed(call.text)
  } catch {
    // Not sound: said below.
  }
  return wireJson({ invalid_arguments: call.text })
}

function unansweredWords(call: CallPart): string {
  return textBlock(`[${call.name} was called; nothing is known of its result]`)!
}

/** Results stand first. One whose call is not in the message before could only be refused, so it is told. */
function resultBlocks(entry: ToolEntry, index: number, context: Context): string[] {
  const { places, spoken } = context
  const asked = spoken[index - 1]
  const calls = new Map((asked?.role === 'assistant' ? callsOf(asked) : []).map(call => [call.id, call]))
  const results: string[] = []
  const told: string[] = []
  for (const result of entry.results) {
    if (places.isPaired(index, result.callId))
      results.push(resultBlock(result, calls.get(result.callId), index, context))
    else told.push(textBlock(`[result of ${result.name}] ${resultText(result.outcome)}`)!)
  }
  return [...results, ...told]
}

function resultBlock(
  { callId, outcome }: CallResult,
  call: CallPart | undefined,
  index: number,
  { speaker, ids }: Context,
): string {
  let block = `${RESULT},"tool_use_id":${wireJson(ids.of(index, callId))},"content":${resultContent(outcome, speaker.warn)}`
  if (isFailed(outcome)) block += ',"is_error":true'
  const native = call && nativeFor(call, speaker.origin)
  if (isJsonObject(native) && native['toolset_name'] !== undefined)
    block += `,"toolset_name":${wireJson(native['toolset_name'])}`
  return `${block}}`
}
