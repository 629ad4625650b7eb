// A history as Anthropic's `messages`: calls and results paired, roles in turn, nothing empty, and the vendor's own
// blocks echoed in their places or dropped whole. Each entry is encoded once and remembered; neighbours of one role
// are joined as text. Tools and the rest of the body are made elsewhere.

import type { CallPart, CallResult } from '../../../language/calls.ts'
import type { Origin } from '../../../language/content.ts'
import { type AssistantEntry, callsOf, type Entry, type ToolEntry } from '../../../language/history.ts'
import { isJsonObject, type JsonObject, parseJson } from '../../../lib/json.ts'
import { wellFormed } from '../../../lib/text.ts'
import { isFailed, nativeFor, resultText, wireJson } from '../../common/artifacts.ts'
import { wrapText } from '../../common/custom-tools.ts'
import { encodeEntries, joinPieces, joinVariants } from '../../common/encode-cache.ts'
import { type IdRule, type WireIds, wireIds } from '../../common/wire-ids.ts'
import type { WireNames } from '../../common/wire-names.ts'
import { type Places, placesOf, type Traces } from './context.ts'
import { resultContent, textBlock, userBlocks, type Warn } from './media.ts'

export type Speaker = {
  origin: Origin
  names: WireNames
  /** All that names depend on beside the name itself. */
  namesKey: string
  hosted: readonly JsonObject[]
  traces: Traces
  /** Where code of the vendor's waits for results; undefined when that is gone. */
  container: string | undefined
  warn: Warn
}

export type Conversation = {
  /** JSON text of the list of messages. */
  messages: string
  encoded: number
  /** Manual thinking is refused when the turn under way did not begin with thinking. */
  forbidsManualThinking: () => boolean
}

const ID_RULE: IdRule = { pattern: /^[a-zA-Z0-9_-]+$/, maxLength: 256 }
const OPENING = '(Earlier messages are not shown.)'
const GO_ON = 'Continue.'

/** `spoken`: the history without the system entries that it begins with. */
export function encodeHistory(spoken: readonly Entry[], speaker: Speaker): Conversation {
  const ids = wireIds(spoken, speaker.origin, ID_RULE)
  const places = placesOf(spoken, speaker.traces, speaker)
  const encoded = encodeEntries(
    spoken,
    `${speaker.origin.protocol} ${speaker.origin.family} ${speaker.namesKey}`,
    (entry, index) => encodeEntry(entry, index, { speaker, ids, places, spoken }),
    index => joinVariants(ids.variant(index), places.variant(index)),
  )
  const { text, last } = joinPieces(encoded, (before, index) => {
    const role = roleOf(spoken[index])
    const opening = `{"role":"${role}","content":[`
    // A request begins with a user's message.
    if (before < 0) return role === 'user' ? opening : `${userMessage(OPENING)},${opening}`
    return roleOf(spoken[before]) === role ? ',' : `]},${opening}`
  })
  return {
    messages: `[${askedToGoOn(text, last < 0 ? undefined : roleOf(spoken[last]), places, speaker.warn)}]`,
    encoded: encoded.encoded,
    forbidsManualThinking: () => opensWithoutThinking(messagesBackwards(spoken, encoded.pieces, places)),
  }
}

// ---- messages --------------------------------------------------------------------------------------------

/** Neighbours of one role are one message. */
type Role = 'user' | 'assistant'

const roleOf = (entry: Entry | undefined): Role => (entry?.role === 'assistant' ? 'assistant' : 'user')

const userMessage = (text: string): string => `{"role":"user","content":[${textBlock(text)!}]}`

/** A request ends with a user's message, unless a paused answer is to be gone on with. */
function askedToGoOn(messages: string, last: Role | undefined, places: Places, warn: Warn): string {
  if (last === undefined) return userMessage(OPENING)
  if (last === 'user' || places.isPaused) return `${messages}]}`
  warn('The history ended with an answer, which this vendor does not go on with: it was asked to continue.')
  return `${messages}]},${userMessage(GO_ON)}`
}

const RESULT = '{"type":"tool_result"'
const THOUGHT = /^\{"type":"(redacted_)?thinking"/

type Message = { role: Role; first: string; onlyResults: boolean; hasResults: boolean; hasCalls: boolean }

/** From the last to the first. */
function* messagesBackwards(
  spoken: readonly Entry[],
  pieces: readonly string[],
  places: Places,
): Generator<Message> {
  let message: Message | undefined
  for (let index = spoken.length - 1; index >= 0; index--) {
    const [entry, first] = [spoken[index], pieces[index]]
    if (entry === undefined || first === undefined || first === '') continue
    const role = roleOf(entry)
    const isResults = entry.role === 'tool' && first.startsWith(RESULT)
    // A result that lost its call is told in words after the others.
    const onlyResults = isResults && places.variant(index) === ''
    const hasCalls = entry.role === 'assistant' && entry.parts.some(part => part.type === 'call')
    if (message?.role === role) {
      message.first = first
      message.onlyResults &&= onlyResults
      message.hasResults ||= isResults
      message.hasCalls ||= hasCalls
    } else {
      if (message) yield message
      message = { role, first, onlyResults, hasResults: isResults, hasCalls }
    }
  }
  if (message) yield message
}

/** The turn under way ends with results, and the answer that opened it has calls and does not begin with thinking. */
function opensWithoutThinking(messages: Iterable<Message>): boolean {
  let after: Message | undefined
  for (const message of messages) {
    if (after === undefined && !message.hasResults) return false
    if (after !== undefined && message.role === 'user' && !message.onlyResults) break
    after = message
  }
  return after?.role === 'assistant' && after.hasCalls && !THOUGHT.test(after.first)
}

/** Wire names of all tools that were called: a request with calls in its history must declare tools. */
export function calledNames(spoken: readonly Entry[], names: WireNames): Set<string> {
  const called = new Set<string>()
  for (const entry of spoken)
    if (entry.role === 'assistant') for (const call of callsOf(entry)) called.add(names.toWire(call.name))
  return called
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
