// The output items of a response: each is added, grows and is done, with the events that the API has for it, numbered and
// framed. Which items there are, and what is in them, is decided in encode.ts.
//
// A delta counts one number per character, so the numbers of a response do not depend on how its text was cut. A stream that is
// resumed, even by another process, continues in the middle of a text without a gap or a repeat.

import type { CallPart } from '../../language/calls.ts'
import type { Phase } from '../../language/content.ts'
import type { JsonObject } from '../../lib/json/index.ts'
import { doneFrame, oneLine } from '../http/stream.ts'
import { argumentsObject } from '../stateless/index.ts'
import type { CallNames } from './decode-tools.ts'
import { idStem, itemId, type ResponsePlace } from './ids.ts'
import type {
  CallItem,
  EventName,
  ItemStatus,
  MessageItem,
  OutputItem,
  OutputText,
  ReasoningItem,
  ServerCallItem,
  SummaryText,
} from './schema.ts'

// ---- numbered events ----------------------------------------------------------------------------------------

export class NumberedFrames {
  readonly #after: number | undefined
  readonly #form: 'sse' | 'lines'
  #next = 0
  #frames = ''

  /**
   * `after`: the number of the last event that the client has, or -1. Undefined: there is no stream. `lines`: each event is
   * one line of JSON.
   */
  constructor(after: number | undefined, form: 'sse' | 'lines' = 'sse') {
    this.#after = after
    this.#form = form
  }

  /** The frames made since the last call. */
  take(): string {
    const frames = this.#frames
    this.#frames = ''
    // Of all frames at once: only the JSON in them can hold such a line break.
    return oneLine(frames)
  }

  event(name: EventName, fields: object): void {
    if (this.#isNews(1)) this.#write(name, JSON.stringify(fields).slice(1))
  }

  delta(name: EventName, fields: object, text: string): void {
    const { length } = text
    if (length === 0 || !this.#isNews(length)) return
    const delta = text.slice(-Math.min(length, this.#next - 1 - (this.#after ?? -1)))
    this.#write(name, JSON.stringify({ ...fields, delta }).slice(1))
  }

  /** `response` gives the whole response as JSON. */
  lifecycle(name: EventName, response: () => string): void {
    if (this.#isNews(1)) this.#write(name, `"response":${response()}}`)
  }

  /** The last event. It is sent whatever the client has, since only it ends the response. */
  last(name: EventName, response: () => string): void {
    this.#next = Math.max(this.#next, (this.#after ?? -1) + 1)
    this.lifecycle(name, response)
    if (this.#after !== undefined && this.#form === 'sse') this.#frames += doneFrame
  }

  /**
   * The stream ends before the response does. This is no event of the response, so it has the number of the last one: a
   * client that goes on after it misses nothing.
   */
  broken(code: string, message: string): void {
    this.#next = Math.max(this.#next, (this.#after ?? -1) + 1)
    if (this.#after !== undefined)
      this.#write('error', JSON.stringify({ code, message, param: null }).slice(1))
  }

  /** Takes the next numbers. False: the client has them all, or there is no stream. */
  #isNews(count: number): boolean {
    this.#next += count
    return this.#after !== undefined && this.#next - 1 > this.#after
  }

  #write(name: EventName, fields: string): void {
    const data = `{"type":"${name}","sequence_number":${this.#next - 1},${fields}`
    this.#frames += this.#form === 'sse' ? `event: ${name}\ndata: ${data}\n\n` : `${data}\n`
  }
}

// ---- items --------------------------------------------------------------------------------------------------

/** An item that grows: `text` is its text, or its arguments. */
export type OpenItem<Item = MessageItem | ReasoningItem | CallItem | ServerCallItem> = {
  item: Item
  index: number
  text: string
}
type Speech = OpenItem<MessageItem | ReasoningItem>
/** Gives the id of a call's item, for the prefix of its type. */
export type CallItemId = (prefix: 'fc' | 'ctc' | 'tsc' | 'mcp') => string

const partEvents = { message: 'response.content_part', reasoning: 'response.reasoning_summary_part' } as const
const textEvents = {
  message: 'response.output_text',
  reasoning: 'response.reasoning_summary_text',
  function_call: 'response.function_call_arguments',
  custom_tool_call: 'response.custom_tool_call_input',
  mcp_call: 'response.mcp_call_arguments',
} as const

export class OutputItems {
  readonly #frames: NumberedFrames
  readonly #place: ResponsePlace
  readonly #called: CallNames
  /** By output index. An item that is not done is absent. */
  readonly #done = new Map<number, OutputItem>()
  #next = 0
  #answer = 0
  /** How many messages, reasoning items and calls the current answer has. They are counted apart. */
  #counts = { msg: 0, rs: 0, call: 0 }
  #speech: Speech | undefined
  /** The output indexes of what was said in an answer that is not recorded yet. */
  #unrecorded: number[] = []

  constructor(frames: NumberedFrames, place: ResponsePlace, called: CallNames = {}) {
    this.#frames = frames
    this.#place = place
    this.#called = called
  }

  /** The items that are done, in the order in which they were added. */
  get done(): OutputItem[] {
    if (this.#done.size < 2) return [...this.#done.values()]
    return [...this.#done].sort(([a], [b]) => a - b).map(([, item]) => item)
  }

  /** The answer is recorded. The items that follow belong to the next one. */
  nextAnswer(): void {
    this.#answer += 1
    this.#counts = { msg: 0, rs: 0, call: 0 }
    this.#unrecorded = []
  }

  /** The id of a call in the current answer. Its item may be added later. */
  reserveCall(): CallItemId {
    const answer = this.#answer
    const count = this.#counts.call++
    return prefix => this.#id(prefix, answer, count)
  }

  #newId(prefix: 'msg' | 'rs'): string {
    return this.#id(prefix, this.#answer, this.#counts[prefix]++)
  }

  #id(prefix: string, answer: number, count: number): string {
    return itemId(prefix, idStem(this.#place.session), this.#place.first, answer, count)
  }

  /** An item that is whole at once. */
  whole(item: OutputItem): void {
    this.#close(this.#open(item).index, item)
  }

  #open<Item extends OutputItem>(item: Item): OpenItem<Item> {
    const index = this.#next++
    this.#frames.event('response.output_item.added', { output_index: index, item })
    return { item, index, text: '' }
  }

  grow(open: OpenItem, text: string): void {
    open.text += text
    // The arguments of a search are given whole.
    if (open.item.type === 'tool_search_call') return
    const logprobs = open.item.type === 'message' && { logprobs: [] }
    this.#frames.delta(`${textEvents[open.item.type]}.delta`, { ...itemPlace(open), ...logprobs }, text)
  }

  #endText(open: OpenItem): void {
    if (open.item.type === 'tool_search_call') return
    this.#frames.event(`${textEvents[open.item.type]}.done`, { ...itemPlace(open), ...wholeText(open) })
  }

  #close(index: number, item: OutputItem): void {
    this.#done.set(index, item)
    this.#frames.event('response.output_item.done', { output_index: index, item })
  }

  // ---- messages and reasoning --------------------------------------------------------------------------------

  /** Texts of another phase are another message. */
  say(kind: 'text' | 'thinking', text: string, phase?: Phase): void {
    if (text === '') return
    const type = kind === 'text' ? 'message' : 'reasoning'
    let speech = this.#speech
    if (speech?.item.type !== type || (speech.item.type === 'message' && speech.item.phase !== phase)) {
      this.endSpeech('completed')
      speech = this.#openSpeech(type, phase)
      this.#speech = speech
    }
    this.grow(speech, text)
  }

  #openSpeech(type: 'message' | 'reasoning', phase?: Phase): Speech {
    const item: Speech['item'] =
      type === 'message' ? this.#newMessage(phase) : { type, id: this.#newId('rs'), summary: [] }
    const speech = this.#open(item)
    this.#unrecorded.push(speech.index)
    this.#frames.event(`${partEvents[type]}.added`, { ...itemPlace(speech), part: speechPart(item, '') })
    return speech
  }

  #newMessage(phase?: Phase): MessageItem {
    const id = this.#newId('msg')
    const said = phase && { phase }
    return { type: 'message', id, status: 'in_progress', role: 'assistant', ...said, content: [] }
  }

  endSpeech(status: ItemStatus, refusal?: string): void {
    const speech = this.#speech
    if (!speech) return
    this.#speech = undefined
    const { item, index, text } = speech
    this.#endText(speech)
    this.#frames.event(`${partEvents[item.type]}.done`, {
      ...itemPlace(speech),
      part: speechPart(item, text),
    })
    if (item.type === 'reasoning') this.#close(index, { ...item, summary: [summaryText(text)] })
    else {
      const refusals = refusal === undefined ? [] : [this.#refusalPart(item.id, index, 1, refusal)]
      this.#close(index, { ...item, status, content: [outputText(text), ...refusals] })
    }
  }

  /** A refusal is the last part of the message that is open, or a message of its own. */
  refuse(refusal: string): void {
    if (this.#speech?.item.type === 'message') {
      this.endSpeech('completed', refusal)
      return
    }
    this.endSpeech('completed')
    const { item, index } = this.#open(this.#newMessage())
    const content = [this.#refusalPart(item.id, index, 0, refusal)]
    this.#close(index, { ...item, status: 'completed', content })
  }

  #refusalPart(id: string, index: number, place: number, refusal: string): MessageItem['content'][0] {
    const at = { item_id: id, output_index: index, content_index: place }
    this.#frames.event('response.content_part.added', { ...at, part: { type: 'refusal', refusal: '' } })
    this.#frames.delta('response.refusal.delta', at, refusal)
    this.#frames.event('response.refusal.done', { ...at, refusal })
    this.#frames.event('response.content_part.done', { ...at, part: { type: 'refusal', refusal } })
    return { type: 'refusal', refusal }
  }

  /** Sealed vendor data for the client to carry and send back. */
  carry(sealed: string): void {
    this.whole({ type: 'reasoning', id: this.#newId('rs'), summary: [], encrypted_content: sealed })
  }

  /** A summary that takes the place of the conversation. */
  compact(sealed: string): void {
    const id = this.#id('cmp', this.#answer, 0)
    this.whole({ type: 'compaction', id, encrypted_content: sealed })
  }

  /** The answer was not recorded: what was said in it is no part of the response. */
  dropAnswer(): void {
    this.#speech = undefined
    for (const index of this.#unrecorded) this.#done.delete(index)
    this.#unrecorded = []
    this.#counts = { ...this.#counts, msg: 0, rs: 0 }
  }

  /** The answer was interrupted: only its text is recorded. Its reasoning is no part of the response. */
  interruptAnswer(text: string): void {
    this.endSpeech('incomplete')
    const [message] = this.#unrecorded.flatMap(index => {
      const item = this.#done.get(index)
      this.#done.delete(index)
      return item?.type === 'message' ? [{ ...item, index }] : []
    })
    if (!message) return
    const { index, ...item } = message
    this.#done.set(index, { ...item, status: 'incomplete', content: [outputText(text)] })
  }

  // ---- calls -------------------------------------------------------------------------------------------------

  /** A call that the client runs. */
  openCall(
    { id, name, form }: Pick<CallPart, 'id' | 'name' | 'form'>,
    newId = this.reserveCall(),
  ): OpenItem<CallItem> {
    this.endSpeech('completed')
    const known = Object.hasOwn(this.#called, name) ? this.#called[name] : undefined
    const status = 'in_progress'
    if (known && 'search' in known) {
      const execution = 'client'
      const search = { id: newId('tsc'), call_id: id, execution, arguments: {}, status } as const
      return this.#open<CallItem>({ type: 'tool_search_call', ...search })
    }
    const call = { call_id: id, name, ...known, status } as const
    return this.#open<CallItem>(
      form === 'text'
        ? { type: 'custom_tool_call', id: newId('ctc'), ...call, input: '' }
        : { type: 'function_call', id: newId('fc'), ...call, arguments: '' },
    )
  }

  /** `caller`: the vendor's program that made it. */
  closeCall(call: OpenItem<CallItem>, caller?: JsonObject): void {
    this.#endText(call)
    const whole = { ...call.item, ...wholeText(call), status: 'completed' as const }
    this.#close(call.index, caller ? { ...whole, caller } : whole)
  }

  openServerCall(item: ServerCallItem): OpenItem<ServerCallItem> {
    const call = this.#open({ ...item, arguments: '' })
    this.grow(call, item.arguments)
    this.#endText(call)
    this.#frames.event('response.mcp_call.in_progress', itemPlace(call))
    return call
  }

  closeServerCall(
    call: OpenItem<ServerCallItem>,
    end: Pick<ServerCallItem, 'output' | 'error' | 'status'>,
  ): void {
    const name = end.error ? 'response.mcp_call.failed' : 'response.mcp_call.completed'
    this.#frames.event(name, itemPlace(call))
    this.#close(call.index, { ...call.item, arguments: call.text, ...end })
  }
}

function itemPlace({ item, index }: OpenItem): object {
  const at = { item_id: item.id, output_index: index }
  if (item.type === 'message') return { ...at, content_index: 0 }
  if (item.type === 'reasoning') return { ...at, summary_index: 0 }
  return item.type === 'mcp_call' ? at : { ...at, call_id: item.call_id }
}

/** The fields of the event that ends an item's text. */
function wholeText({ item, text }: OpenItem): object {
  switch (item.type) {
    case 'message':
      return { text, logprobs: [] }
    case 'reasoning':
      return { text }
    case 'function_call':
      return { name: item.name, arguments: text }
    case 'custom_tool_call':
      return { name: item.name, input: text }
    case 'tool_search_call':
      return { arguments: argumentsObject(text) }
    case 'mcp_call':
      return { arguments: text }
  }
}

function speechPart({ type }: Speech['item'], text: string): OutputText | SummaryText {
  return type === 'message' ? outputText(text) : summaryText(text)
}

function outputText(text: string): OutputText {
  return { type: 'output_text', text, annotations: [], logprobs: [] }
}

function summaryText(text: string): SummaryText {
  return { type: 'summary_text', text }
}
