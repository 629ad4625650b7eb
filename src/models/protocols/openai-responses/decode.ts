// Reading an answer of the Responses API: a fold over stream events, in which a non-streaming answer is one event. The
// deltas are compared with the whole answer once the terminal event is there.

import type { ModelAnswer, ModelDelta } from '../../../engine/ports/index.ts'
import type { CallForm } from '../../../language/calls.ts'
import type { Native, Origin } from '../../../language/content.ts'
import type { Usage } from '../../../language/events.ts'
import { isJsonObject, type Json, type JsonObject } from '../../../lib/json/index.ts'
import {
  type AnswerStop,
  type ModelPart,
  usageOfCounts,
  vendorAnswer,
  wholeAnswer,
} from '../../common/answer.ts'
import { digestParts } from '../../common/continuity.ts'
import { finalFailure, passingFailure } from '../../common/failure.ts'
import { asCount, asObject, asString, listObjects, readJson } from '../../common/json-read.ts'
import type { BoundTool } from '../../common/vendor-typed.ts'
import type { Frame, Halted, ModelFailure } from '../../protocol.ts'
import { unansweredIn } from './context.ts'
import { foundTools } from './deferred.ts'
import { streamFailure } from './failure.ts'
import {
  approvalRequest,
  type CallKind,
  callText,
  hasRefusal,
  ourName,
  readCallKind,
  readItem,
  readPhase,
  SEGMENT_BREAK,
} from './items.ts'

export type Reading = {
  origin: Origin
  /** Wire name → our name. */
  names: ReadonlyMap<string, string>
  /** Our tools that were declared in the vendor's form. */
  bound: readonly BoundTool[]
  /** The digest of the history that the request was made from, if the vendor stores the response. */
  before?: string
}

export type State = Reading & {
  /** By the vendor's index. */
  items: Map<number, OutputItem>
  shown: ShownAnswer
  answer?: ModelAnswer
  failure?: ModelFailure
}

type OutputItem = {
  item: JsonObject
  /** `output_item.done` came: `item` is final. */
  done: boolean
  /** Streamed texts by kind and index: `content0`, `summary1`. */
  texts: Map<string, string>
  /** The arguments, once the vendor marked them as whole. */
  arguments?: string
  /** Which call of the answer this is, if it is one. */
  call?: number
}

type ShownAnswer = {
  text: string
  thinking: string
  calls: { name: string; form: CallForm; text: string }[]
}

export function initial(reading: Reading): State {
  return { ...reading, items: new Map(), shown: emptyAnswer() }
}

const emptyAnswer = (): ShownAnswer => ({ text: '', thinking: '', calls: [] })

// ---- events ----------------------------------------------------------------------------------------------

export function step(state: State, frame: Frame): ModelDelta[] {
  if (state.answer !== undefined || state.failure !== undefined || frame.data === '[DONE]') return []
  if (frame.event !== undefined && IGNORED_EVENTS.has(frame.event)) return []
  const event = readJson(frame.data)
  if (!isJsonObject(event)) {
    state.failure = passingFailure('The model provider sent an event that is not JSON.')
    return []
  }
  const type = asString(event['type']) || (frame.event ?? '')
  const handle = HANDLERS.get(type)
  if (handle !== undefined) return handle(state, event)
  if (type !== '') return []
  if (event['object'] === 'response' || Array.isArray(event['output'])) return finish(state, event)
  if (isJsonObject(event['error'])) state.failure = streamFailure(event['error'])
  return []
}

/** Long events whose content other events carry as well. The first two repeat the whole request. They are not parsed. */
const IGNORED_EVENTS: ReadonlySet<string> = new Set([
  'response.created',
  'response.in_progress',
  'response.content_part.added',
  'response.content_part.done',
  'response.reasoning_summary_part.added',
  'response.reasoning_summary_part.done',
])

type EventHandler = (state: State, event: JsonObject) => ModelDelta[]

const HANDLERS: ReadonlyMap<string, EventHandler> = new Map(
  Object.entries<EventHandler>({
    'response.output_item.added': openItem,
    'response.output_item.done': closeItem,
    'response.output_text.delta': (state, event) => addText(state, event, 'content', event['delta']),
    'response.output_text.done': (state, event) => completeText(state, event, 'content', event['text']),
    'response.refusal.delta': (state, event) => addText(state, event, 'content', event['delta']),
    'response.refusal.done': (state, event) => completeText(state, event, 'content', event['refusal']),
    'response.reasoning_summary_text.delta': (state, event) =>
      addText(state, event, 'summary', event['delta']),
    'response.reasoning_summary_text.done': (state, event) =>
      completeText(state, event, 'summary', event['text']),
    'response.reasoning_text.delta': (state, event) => addText(state, event, 'content', event['delta']),
    'response.reasoning_text.done': (state, event) => completeText(state, event, 'content', event['text']),
    'response.function_call_arguments.delta': addArguments,
    'response.function_call_arguments.done': (state, event) =>
      completeArguments(state, event, event['arguments']),
    'response.custom_tool_call_input.delta': addArguments,
    'response.custom_tool_call_input.done': (state, event) => completeArguments(state, event, event['input']),
    'response.completed': takeTerminal,
    'response.incomplete': takeTerminal,
    'response.failed': takeTerminal,
    'response.cancelled': takeTerminal,
    error: (state, event) => {
      state.failure = streamFailure(isJsonObject(event['error']) ? event['error'] : event)
      return []
    },
  }),
)

function takeTerminal(state: State, event: JsonObject): ModelDelta[] {
  return finish(state, asObject(event['response']), asString(event['type']))
}

// ---- items -----------------------------------------------------------------------------------------------

/** Some servers leave the index out and give only the item's id. */
function itemFor(state: State, event: JsonObject): OutputItem | undefined {
  const index = event['output_index']
  if (typeof index === 'number') return state.items.get(index)
  const id = event['item_id']
  if (typeof id !== 'string') return undefined
  for (const output of state.items.values()) if (output.item['id'] === id) return output
  return undefined
}

function openItem(state: State, event: JsonObject): ModelDelta[] {
  const { item } = event
  if (!isJsonObject(item)) return []
  const output: OutputItem = { item: withoutEncrypted(item), done: false, texts: new Map() }
  const index = event['output_index']
  state.items.set(typeof index === 'number' ? index : state.items.size, output)
  return openCall(state, output)
}

/** Encrypted content may be incomplete until the item is done. */
function withoutEncrypted(item: JsonObject): JsonObject {
  if (item['type'] !== 'reasoning') return item
  const { encrypted_content: _, ...rest } = item
  return rest
}

function openCall(state: State, output: OutputItem): ModelDelta[] {
  const kind = readCallKind(output.item, state.bound)
  if (kind === undefined) return []
  const { form } = kind
  const name = ourName(output.item, state.names, state.bound)
  const index = state.shown.calls.length
  output.call = index
  state.shown.calls.push({ name, form, text: '' })
  return [{ type: 'call', index, name, form }]
}

function closeItem(state: State, event: JsonObject): ModelDelta[] {
  const { item } = event
  if (!isJsonObject(item)) return []
  const named = { ...event, item_id: item['id'] ?? null }
  const known = itemFor(state, named)
  const deltas = known === undefined ? openItem(state, event) : []
  const output = known ?? itemFor(state, named)
  if (output === undefined) return deltas
  output.item = item
  output.done = true
  const kind = readCallKind(item, state.bound)
  if (kind !== undefined) deltas.push(...showMissingArguments(state, output, shownArguments(item, kind)))
  return deltas
}

/** An approval request is shown as a person will read it; arguments are shown as the model wrote them. */
function shownArguments(item: JsonObject, kind: CallKind): string {
  return item['type'] === approvalRequest || kind.field === undefined
    ? callText(item, kind, false)
    : asString(item[kind.field])
}

type TextKind = 'content' | 'summary'

function textKey(event: JsonObject, kind: TextKind): string {
  const index = event[`${kind}_index`]
  return `${kind}${typeof index === 'number' ? index : 0}`
}

function addText(state: State, event: JsonObject, kind: TextKind, delta: Json | undefined): ModelDelta[] {
  const output = itemFor(state, event)
  const text = asString(delta)
  if (output === undefined || text === '') return []
  const key = textKey(event, kind)
  const type = output.item['type'] === 'reasoning' ? 'thinking' : 'text'
  const isNext = type === 'thinking' && !output.texts.has(key) && output.texts.size > 0
  output.texts.set(key, (output.texts.get(key) ?? '') + text)
  const shown = isNext ? SEGMENT_BREAK + text : text
  state.shown[type] += shown
  return type === 'text' ? [{ type, text: shown, ...readPhase(output.item) }] : [{ type, text: shown }]
}

/** Adds what the deltas left out of a text that is now whole. */
function completeText(
  state: State,
  event: JsonObject,
  kind: TextKind,
  whole: Json | undefined,
): ModelDelta[] {
  const known = itemFor(state, event)?.texts.get(textKey(event, kind)) ?? ''
  const text = asString(whole)
  return text.startsWith(known) ? addText(state, event, kind, text.slice(known.length)) : []
}

function addArguments(state: State, event: JsonObject): ModelDelta[] {
  const output = itemFor(state, event)
  const delta = asString(event['delta'])
  return output === undefined || delta === '' ? [] : showArguments(state, output, delta)
}

function completeArguments(state: State, event: JsonObject, whole: Json | undefined): ModelDelta[] {
  const output = itemFor(state, event)
  if (output === undefined || typeof whole !== 'string') return []
  output.arguments = whole
  return showMissingArguments(state, output, whole)
}

function showMissingArguments(state: State, output: OutputItem, whole: string): ModelDelta[] {
  const known = streamedArguments(state, output)
  return whole.length > known.length && whole.startsWith(known)
    ? showArguments(state, output, whole.slice(known.length))
    : []
}

function streamedArguments(state: State, { call }: OutputItem): string {
  return call === undefined ? '' : (state.shown.calls[call]?.text ?? '')
}

function showArguments(state: State, { call: index }: OutputItem, text: string): ModelDelta[] {
  const call = index === undefined ? undefined : state.shown.calls[index]
  if (index === undefined || call === undefined) return []
  call.text += text
  return [{ type: 'arguments', index, text }]
}

// ---- the answer ------------------------------------------------------------------------------------------

/** Searches and code in the vendor's own container may be repeated; calls of an MCP server may not. */
export function hasRun({ items }: State): boolean {
  return [...items.values()].some(({ item }) => item['type'] === 'mcp_call')
}

export function halt(state: State): Halted {
  if (state.failure !== undefined) return { failure: state.failure }
  if (state.answer !== undefined) return { answer: state.answer }
  return { failure: passingFailure('The model provider ended its stream before the answer was complete.') }
}

function finish(state: State, response: JsonObject, type = ''): ModelDelta[] {
  const status = asString(response['status']) || type.replace('response.', '') || 'completed'
  if (status !== 'completed' && status !== 'incomplete') {
    state.failure = isJsonObject(response['error'])
      ? streamFailure(response['error'])
      : statusWithoutAnswer(status)
    return []
  }
  const reason = asObject(response['incomplete_details'])['reason']
  const isFiltered = status === 'incomplete' && reason === 'content_filter'
  const items = finishedItems(state, listObjects(response['output'])).map(each =>
    // A call in a filtered answer must not run, however whole it looks.
    isFiltered && readCallKind(each.item, state.bound) ? { ...each, cut: true } : each,
  )
  const asked = unansweredIn(items.map(({ item }) => item))
  const unanswered = new Set([...asked].filter(item => readCallKind(item, state.bound) === undefined))
  const parts = items.map(({ item, cut }) => {
    const part = readItem(item, cut, state)
    return part.type === 'hosted' && unanswered.has(item) ? { ...part, summary: NOT_RUN } : part
  })
  const deltas = showMissing(state, parts)
  const isWhole = status === 'completed' && !items.some(({ cut }) => cut)
  state.answer = wholeAnswer({
    parts,
    stop: readStop(status, isFiltered, parts),
    origin: state.origin,
    usage: readUsage(response['usage']),
    continuity: isWhole ? makeContinuity(state, asString(response['id']), parts) : undefined,
    warnings: [...unanswered].map(askedOfNobody),
    vendor: vendorAnswer(response['id'], response['model']),
    loads: foundTools(
      items.map(({ item }) => item),
      state.names,
    ),
  })
  return deltas
}

const NOT_RUN = 'not run: the vendor only defines this tool'

/** The vendor only defines such a tool, whatever status it gives. */
function askedOfNobody(item: JsonObject): string {
  const tool = asString(item['type']).replace(/_call$/, '')
  return `The model asked for "${tool}", which its caller would have to run. Nobody did.`
}

/** Data with which the next request continues from this response, if the vendor stores it. */
function makeContinuity(
  { origin, before }: State,
  response: string,
  parts: readonly ModelPart[],
): Native | undefined {
  if (before === undefined || response === '') return undefined
  return { origin, data: { response, before, said: digestParts(parts) } }
}

function statusWithoutAnswer(status: string): ModelFailure {
  if (status !== 'queued' && status !== 'in_progress')
    return passingFailure(`The model provider ended the response as "${status}".`)
  return finalFailure(
    'The model provider took the request into the background and gave no answer. Do not set "background".',
  )
}

type FinishedItem = { item: JsonObject; cut: boolean }

/** An item that was streamed to its end counts as streamed. The terminal event fills in the others. */
function finishedItems(state: State, output: readonly JsonObject[]): FinishedItem[] {
  const finished: FinishedItem[] = []
  for (const index of indexesIn(state, output)) {
    const streamed = state.items.get(index)
    const item = streamed ? finishedItem(state, streamed, output[index]) : givenItem(state, output[index])
    if (item && typeof item.item['type'] === 'string') finished.push(item)
  }
  return finished
}

/** The vendor's indexes of all items, in order. Mostly both sides have the same ones. */
function indexesIn({ items }: State, output: readonly JsonObject[]): Iterable<number> {
  let next = 0
  let areSame = items.size >= output.length
  for (const index of items.keys()) areSame &&= index === next++
  return areSame ? items.keys() : [...new Set([...items.keys(), ...output.keys()])].sort((a, b) => a - b)
}

function finishedItem(state: State, streamed: OutputItem, given: JsonObject | undefined): FinishedItem {
  if (!streamed.done) return unfinishedItem(state, streamed, given)
  return { item: streamed.item, cut: isCallWithStatus(state, streamed.item, ['incomplete']) }
}

function givenItem(state: State, item: JsonObject | undefined): FinishedItem | undefined {
  return item && { item, cut: isCallWithStatus(state, item, ['incomplete', 'in_progress']) }
}

function isCallWithStatus({ bound }: State, item: JsonObject, statuses: readonly string[]): boolean {
  return readCallKind(item, bound) !== undefined && statuses.includes(asString(item['status']))
}

/** An item that was never marked as done. A call among them is cut, whatever the terminal event says of it. */
function unfinishedItem(state: State, streamed: OutputItem, given: JsonObject | undefined): FinishedItem {
  const { item } = streamed
  const kind = readCallKind(item, state.bound)
  if (kind?.typed !== undefined) return { item: { ...item, status: 'incomplete' }, cut: true }
  if (kind !== undefined) {
    const cut = streamed.arguments === undefined
    const text = streamed.arguments ?? streamedArguments(state, streamed)
    return { item: { ...item, [kind.field]: text, status: cut ? 'incomplete' : 'completed' }, cut }
  }
  if (given !== undefined && given['type'] === item['type']) return { item: given, cut: false }
  return { item: itemFromTexts(streamed), cut: false }
}

function itemFromTexts({ item, texts }: OutputItem): JsonObject {
  const textSteps = (kind: TextKind) =>
    [...texts].flatMap(([key, text]) => (key.startsWith(kind) ? text : []))
  if (item['type'] === 'message') {
    const content = textSteps('content').map(text => ({ type: 'output_text', text, annotations: [] }))
    return { ...item, content, status: 'incomplete' }
  }
  if (item['type'] !== 'reasoning') return item
  return { ...item, summary: textSteps('summary').map(text => ({ type: 'summary_text', text })) }
}

function readStop(status: string, isFiltered: boolean, parts: readonly ModelPart[]): AnswerStop {
  if (status === 'incomplete') return isFiltered ? 'filter' : 'length'
  if (parts.some(part => part.type === 'call')) return 'calls'
  const isRefused = parts.some(({ native }) => isJsonObject(native?.data) && hasRefusal(native.data))
  return isRefused ? 'refusal' : 'end'
}

function readUsage(usage: Json | undefined): Usage | undefined {
  if (!isJsonObject(usage)) return undefined
  const input = asObject(usage['input_tokens_details'])
  const output = asObject(usage['output_tokens_details'])
  return usageOfCounts({
    input: asCount(usage['input_tokens']),
    output: asCount(usage['output_tokens']),
    cacheRead: asCount(input['cached_tokens']),
    cacheWrite: asCount(input['cache_write_tokens']),
    thinking: asCount(output['reasoning_tokens']),
  })
}

// ---- deltas compared with the answer -----------------------------------------------------------------------

/**
 * The deltas that are still missing. If the deltas so far differ from the answer, as when items finished out of order,
 * all of it is shown anew.
 */
function showMissing(state: State, parts: readonly ModelPart[]): ModelDelta[] {
  const deltas: ModelDelta[] = []
  const whole = shownContent(parts)
  if (!isContinued(state.shown, whole)) {
    deltas.push({ type: 'reset' })
    state.shown = emptyAnswer()
  }
  const { shown } = state
  const skip = { text: shown.text.length, thinking: shown.thinking.length }
  let index = 0
  for (const part of parts) {
    if (part.type === 'text' || part.type === 'thinking') {
      const rest = part.text.slice(skip[part.type])
      skip[part.type] = Math.max(0, skip[part.type] - part.text.length)
      if (rest !== '') deltas.push(textDelta(part, rest))
    } else if (part.type === 'call') {
      const known = shown.calls[index]
      if (known === undefined) deltas.push({ type: 'call', index, name: part.name, form: part.form })
      const rest = part.text.slice(known?.text.length ?? 0)
      if (rest !== '') deltas.push({ type: 'arguments', index, text: rest })
      index += 1
    }
  }
  state.shown = whole
  return deltas
}

function textDelta(part: Extract<ModelPart, { type: 'text' | 'thinking' }>, text: string): ModelDelta {
  return part.type === 'text' && part.phase
    ? { type: 'text', text, phase: part.phase }
    : { type: part.type, text }
}

function shownContent(parts: readonly ModelPart[]): ShownAnswer {
  const content = emptyAnswer()
  for (const part of parts) {
    if (part.type === 'text' || part.type === 'thinking') content[part.type] += part.text
    else if (part.type === 'call') content.calls.push({ name: part.name, form: part.form, text: part.text })
  }
  return content
}

function isContinued(shown: ShownAnswer, whole: ShownAnswer): boolean {
  return (
    whole.text.startsWith(shown.text) &&
    whole.thinking.startsWith(shown.thinking) &&
    shown.calls.every((call, index) => {
      const now = whole.calls[index]
      return now?.name === call.name && now.form === call.form && now.text.startsWith(call.text)
    })
  )
}
