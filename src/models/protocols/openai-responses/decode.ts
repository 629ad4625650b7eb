// Reading an answer of the Responses API, frame by frame: what is shown while it comes, and the whole once its
// terminal event is there. A body that was not streamed is that terminal event by itself. Nothing is sent here.

import type { ModelAnswer, ModelDelta } from '../../../engine/ports.ts'
import type { CallForm } from '../../../language/calls.ts'
import type { Native, Origin } from '../../../language/content.ts'
import type { Usage } from '../../../language/events.ts'
import { isJsonObject, type Json, type JsonObject } from '../../../lib/json.ts'
import type { Failure, Frame } from '../../protocol.ts'
import { interrupted, streamFailure } from './failure.ts'
import {
  approvalRequest,
  type CallKind,
  callKinds,
  callText,
  hasRefusal,
  objectsOf,
  ownName,
  type Part,
  partOf,
  segmentBreak,
  stringOf,
} from './items.ts'

/** An output item on its way. */
type Slot = {
  item: JsonObject
  /** `output_item.done` came: `item` is final. */
  done: boolean
  /** Streamed text by place: a content part, a summary, or the arguments. */
  texts: Map<string, string>
  /** The whole of the arguments, once the vendor has said that they are whole. */
  whole?: string
  /** Which call of the answer this is, when it is one. */
  call?: number
}

type Shown = { text: string; thinking: string; calls: { name: string; form: CallForm; text: string }[] }

export type State = {
  readonly names: ReadonlyMap<string, string>
  readonly origin: Origin
  /** Makes what the next request needs to go on from this response, where the vendor keeps it. */
  readonly remember: ((response: string, parts: readonly Part[]) => Native) | undefined
  slots: Map<number, Slot>
  shown: Shown
  answer?: ModelAnswer
  failure?: Failure
}

export function initialState(names: State['names'], origin: Origin, remember: State['remember']): State {
  return { names, origin, remember, slots: new Map(), shown: nothing() }
}

const nothing = (): Shown => ({ text: '', thinking: '', calls: [] })

export function stepFrame(state: State, frame: Frame): ModelDelta[] {
  if (state.answer !== undefined || state.failure !== undefined || frame.data === '[DONE]') return []
  if (frame.event !== undefined && passedOver.has(frame.event)) return []
  const event = readFrame(frame)
  if (event === undefined) {
    state.failure = interrupted('The model provider sent an event that is not JSON.')
    return []
  }
  const type = stringOf(event['type']) || (frame.event ?? '')
  const handle = handlers[type]
  if (handle !== undefined) return handle(state, event)
  if (type !== '') return []
  if (event['object'] === 'response' || Array.isArray(event['output'])) return end(state, event)
  if (isJsonObject(event['error'])) state.failure = streamFailure(event['error'])
  return []
}

export function haltState(state: State): { answer: ModelAnswer } | { failure: Failure } {
  if (state.failure !== undefined) return { failure: state.failure }
  if (state.answer !== undefined) return { answer: state.answer }
  return { failure: interrupted('The model provider ended its stream before the answer was complete.') }
}

/** Named events that others tell as well, and that are long: the first two repeat the whole request. They are not read. */
const passedOver: ReadonlySet<string> = new Set([
  'response.created',
  'response.in_progress',
  'response.content_part.added',
  'response.content_part.done',
  'response.reasoning_summary_part.added',
  'response.reasoning_summary_part.done',
])

function readFrame(frame: Frame): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(frame.data)
    return isJsonObject(value) ? value : undefined
  } catch {
    return undefined
  }
}

// ---- events ----------------------------------------------------------------------------------------------

type Handler = (state: State, event: JsonObject) => ModelDelta[]

const handlers: Readonly<Record<string, Handler>> = {
  'response.output_item.added': addItem,
  'response.output_item.done': finishItem,
  'response.output_text.delta': (state, event) => grow(state, event, 'content', stringOf(event['delta'])),
  'response.output_text.done': (state, event) => settle(state, event, 'content', event['text']),
  'response.refusal.delta': (state, event) => grow(state, event, 'content', stringOf(event['delta'])),
  'response.refusal.done': (state, event) => settle(state, event, 'content', event['refusal']),
  'response.reasoning_summary_text.delta': (state, event) =>
    grow(state, event, 'summary', stringOf(event['delta'])),
  'response.reasoning_summary_text.done': (state, event) => settle(state, event, 'summary', event['text']),
  'response.reasoning_text.delta': (state, event) => grow(state, event, 'content', stringOf(event['delta'])),
  'response.reasoning_text.done': (state, event) => settle(state, event, 'content', event['text']),
  'response.function_call_arguments.delta': growCall,
  'response.function_call_arguments.done': (state, event) => settleCall(state, event, event['arguments']),
  'response.custom_tool_call_input.delta': growCall,
  'response.custom_tool_call_input.done': (state, event) => settleCall(state, event, event['input']),
  'response.completed': endWith,
  'response.incomplete': endWith,
  'response.failed': endWith,
  'response.cancelled': endWith,
  error: (state, event) => {
    state.failure = streamFailure(isJsonObject(event['error']) ? event['error'] : event)
    return []
  },
}

/** Servers that leave the index out still name the item. */
function slotOf(state: State, event: JsonObject): Slot | undefined {
  const index = event['output_index']
  if (typeof index === 'number') return state.slots.get(index)
  const id = event['item_id']
  if (typeof id !== 'string') return undefined
  for (const slot of state.slots.values()) if (slot.item['id'] === id) return slot
  return undefined
}

function addItem(state: State, event: JsonObject): ModelDelta[] {
  const item = event['item']
  if (!isJsonObject(item)) return []
  const slot: Slot = { item: opened(item), done: false, texts: new Map() }
  const index = event['output_index']
  state.slots.set(typeof index === 'number' ? index : state.slots.size, slot)
  return openCall(state, slot)
}

/** Encrypted content may be incomplete until the item is done, and must not be taken before. */
function opened(item: JsonObject): JsonObject {
  if (item['type'] !== 'reasoning') return item
  const { encrypted_content: _, ...rest } = item
  return rest
}

function openCall(state: State, slot: Slot): ModelDelta[] {
  const kind = callKinds.get(slot.item['type'])
  if (kind === undefined) return []
  const name = ownName(slot.item, state.names)
  slot.call = state.shown.calls.length
  state.shown.calls.push({ name, form: kind.form, text: '' })
  return [{ type: 'call', index: slot.call, name, form: kind.form }]
}

function finishItem(state: State, event: JsonObject): ModelDelta[] {
  const item = event['item']
  if (!isJsonObject(item)) return []
  const place = { ...event, item_id: item['id'] ?? null }
  const known = slotOf(state, place)
  const deltas = known === undefined ? addItem(state, event) : []
  const slot = known ?? slotOf(state, place)
  if (slot === undefined) return deltas
  slot.item = item
  slot.done = true
  const kind = callKinds.get(item['type'])
  if (kind !== undefined) deltas.push(...showRest(state, slot, shownText(item, kind)))
  return deltas
}

/** A question to a person is shown as it will be read; arguments are shown as the model wrote them. */
function shownText(item: JsonObject, kind: CallKind): string {
  return item['type'] === approvalRequest ? callText(item, kind, false) : stringOf(item[kind.field])
}

type Place = 'content' | 'summary'

function keyOf(event: JsonObject, place: Place): string {
  const index = event[`${place}_index`]
  return `${place}${typeof index === 'number' ? index : 0}`
}

function grow(state: State, event: JsonObject, place: Place, delta: string): ModelDelta[] {
  const slot = slotOf(state, event)
  if (slot === undefined || delta === '') return []
  const key = keyOf(event, place)
  const isThinking = slot.item['type'] === 'reasoning'
  const begins = isThinking && !slot.texts.has(key) && slot.texts.size > 0
  slot.texts.set(key, (slot.texts.get(key) ?? '') + delta)
  return [show(state, isThinking ? 'thinking' : 'text', begins ? segmentBreak + delta : delta)]
}

/** What the deltas left out of a text that is now whole. */
function settle(state: State, event: JsonObject, place: Place, whole: Json | undefined): ModelDelta[] {
  const slot = slotOf(state, event)
  const known = slot?.texts.get(keyOf(event, place)) ?? ''
  const text = stringOf(whole)
  return text.startsWith(known) ? grow(state, event, place, text.slice(known.length)) : []
}

function show(state: State, type: 'text' | 'thinking', text: string): ModelDelta {
  state.shown[type] += text
  return { type, text }
}

function growCall(state: State, event: JsonObject): ModelDelta[] {
  const slot = slotOf(state, event)
  const delta = stringOf(event['delta'])
  return slot === undefined || delta === '' ? [] : showArguments(state, slot, delta)
}

function settleCall(state: State, event: JsonObject, whole: Json | undefined): ModelDelta[] {
  const slot = slotOf(state, event)
  if (slot === undefined || typeof whole !== 'string') return []
  slot.whole = whole
  return showRest(state, slot, whole)
}

function showRest(state: State, slot: Slot, whole: string): ModelDelta[] {
  const known = slot.call === undefined ? '' : (state.shown.calls[slot.call]?.text ?? '')
  return whole.length > known.length && whole.startsWith(known)
    ? showArguments(state, slot, whole.slice(known.length))
    : []
}

function showArguments(state: State, slot: Slot, text: string): ModelDelta[] {
  const call = slot.call === undefined ? undefined : state.shown.calls[slot.call]
  if (slot.call === undefined || call === undefined) return []
  call.text += text
  return [{ type: 'arguments', index: slot.call, text }]
}

// ---- the end ---------------------------------------------------------------------------------------------

function endWith(state: State, event: JsonObject): ModelDelta[] {
  return end(state, isJsonObject(event['response']) ? event['response'] : {}, stringOf(event['type']))
}

function end(state: State, response: JsonObject, type = ''): ModelDelta[] {
  const status = stringOf(response['status']) || type.replace('response.', '') || 'completed'
  if (status !== 'completed' && status !== 'incomplete') {
    state.failure = isJsonObject(response['error']) ? streamFailure(response['error']) : unanswered(status)
    return []
  }
  const filtered = status === 'incomplete' && reasonOf(response['incomplete_details']) === 'content_filter'
  const items = finishedItems(state, objectsOf(response['output'])).map(each =>
    // What a filter stopped is not to be done, however whole it looks.
    filtered && callKinds.has(each.item['type']) ? { ...each, cut: true } : each,
  )
  const parts = items.map(({ item, cut }) => partOf(item, cut, state.origin, state.names))
  const deltas = reveal(state, parts)
  const usage = usageOf(response['usage'])
  const whole = status === 'completed' && !items.some(({ cut }) => cut)
  const id = stringOf(response['id'])
  const continuity = whole && id !== '' ? state.remember?.(id, parts) : undefined
  state.answer = {
    parts,
    stop: stopOf(status, filtered, parts),
    origin: state.origin,
    ...(usage !== undefined && { usage }),
    ...(continuity !== undefined && { continuity }),
  }
  return deltas
}

function unanswered(status: string): Failure {
  if (status !== 'queued' && status !== 'in_progress')
    return interrupted(`The model provider ended the response as "${status}".`)
  const message =
    'The model provider took the request into the background and gave no answer. Do not set "background".'
  return { code: 'model_rejected', message, retry: false }
}

type Finished = { item: JsonObject; cut: boolean }

/** What was streamed to its end counts as it was streamed; the terminal event fills in what was not. */
function finishedItems(state: State, output: readonly JsonObject[]): Finished[] {
  const indices = new Set([...state.slots.keys(), ...output.keys()])
  return [...indices]
    .sort((a, b) => a - b)
    .flatMap(index => {
      const slot = state.slots.get(index)
      const given = output[index]
      if (slot?.done === true) return [{ item: slot.item, cut: isOpen(slot.item, ['incomplete']) }]
      if (slot !== undefined) return [unfinished(state, slot, given)]
      return given === undefined ? [] : [{ item: given, cut: isOpen(given, ['incomplete', 'in_progress']) }]
    })
    .filter(({ item }) => typeof item['type'] === 'string')
}

function isOpen(item: JsonObject, statuses: readonly string[]): boolean {
  return callKinds.has(item['type']) && statuses.includes(stringOf(item['status']))
}

/** An item that was never declared done. A call among them is not whole, whatever the terminal event says of it. */
function unfinished(state: State, slot: Slot, given: JsonObject | undefined): Finished {
  const kind = callKinds.get(slot.item['type'])
  if (kind !== undefined) {
    const cut = slot.whole === undefined
    const text = slot.whole ?? (slot.call === undefined ? '' : (state.shown.calls[slot.call]?.text ?? ''))
    return { item: { ...slot.item, [kind.field]: text, status: cut ? 'incomplete' : 'completed' }, cut }
  }
  if (given !== undefined && given['type'] === slot.item['type']) return { item: given, cut: false }
  return { item: streamedItem(slot), cut: false }
}

function streamedItem({ item, texts }: Slot): JsonObject {
  const found = (place: Place) => [...texts].filter(([key]) => key.startsWith(place)).map(([, text]) => text)
  if (item['type'] === 'message') {
    const content = found('content').map(text => ({ type: 'output_text', text, annotations: [] }))
    return { ...item, content, status: 'incomplete' }
  }
  if (item['type'] !== 'reasoning') return item
  return { ...item, summary: found('summary').map(text => ({ type: 'summary_text', text })) }
}

function reasonOf(details: Json | undefined): string {
  return isJsonObject(details) ? stringOf(details['reason']) : ''
}

function stopOf(status: string, filtered: boolean, parts: readonly Part[]): ModelAnswer['stop'] {
  if (status === 'incomplete') return filtered ? 'filter' : 'length'
  if (parts.some(part => part.type === 'call')) return 'calls'
  const refused = parts.some(
    ({ native }) => native !== undefined && isJsonObject(native.data) && hasRefusal(native.data),
  )
  return refused ? 'refusal' : 'end'
}

function usageOf(usage: Json | undefined): Usage | undefined {
  if (!isJsonObject(usage)) return undefined
  const inside = isJsonObject(usage['input_tokens_details']) ? usage['input_tokens_details'] : {}
  const outside = isJsonObject(usage['output_tokens_details']) ? usage['output_tokens_details'] : {}
  const count = (value: Json | undefined) => (typeof value === 'number' ? value : 0)
  const cacheRead = count(inside['cached_tokens'])
  const cacheWrite = count(inside['cache_write_tokens'])
  const thinking = count(outside['reasoning_tokens'])
  return {
    input: count(usage['input_tokens']),
    output: count(usage['output_tokens']),
    ...(cacheRead > 0 && { cacheRead }),
    ...(cacheWrite > 0 && { cacheWrite }),
    ...(thinking > 0 && { thinking }),
  }
}

// ---- what was shown against what is --------------------------------------------------------------------------

/**
 * The deltas that are still missing from what was shown. Where the two disagree, as when items finished in
 * another order than they stand in, all is shown anew.
 */
function reveal(state: State, parts: readonly Part[]): ModelDelta[] {
  const deltas: ModelDelta[] = []
  const whole = sumOf(parts)
  if (!continues(whole, state.shown)) {
    deltas.push({ type: 'reset' })
    state.shown = nothing()
  }
  const { shown } = state
  const skip = { text: shown.text.length, thinking: shown.thinking.length }
  let index = 0
  for (const part of parts) {
    if (part.type === 'text' || part.type === 'thinking') {
      const rest = part.text.slice(skip[part.type])
      skip[part.type] = Math.max(0, skip[part.type] - part.text.length)
      if (rest !== '') deltas.push({ type: part.type, text: rest })
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

function sumOf(parts: readonly Part[]): Shown {
  const sum = nothing()
  for (const part of parts) {
    if (part.type === 'text' || part.type === 'thinking') sum[part.type] += part.text
    else if (part.type === 'call') sum.calls.push({ name: part.name, form: part.form, text: part.text })
  }
  return sum
}

function continues(whole: Shown, shown: Shown): boolean {
  return (
    whole.text.startsWith(shown.text) &&
    whole.thinking.startsWith(shown.thinking) &&
    shown.calls.every((call, index) => {
      const now = whole.calls[index]
      return now?.name === call.name && now.form === call.form && now.text.startsWith(call.text)
    })
  )
}
