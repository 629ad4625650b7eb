// The output items of a response while they are made: each is opened, grows, and is done, with the events that the API
// has for it. What the items are made of is decided in view.ts.
import type { CallPart } from '../../language/calls.ts'
import type { Emitter } from './emitter.ts'
import { itemId } from './ids.ts'
import type {
  CallItem,
  ItemStatus,
  MessageItem,
  OutputItem,
  OutputText,
  ReasoningItem,
  ServerCallItem,
} from './schema.ts'

export type Speech = 'text' | 'thinking'

type Spoken = { kind: Speech; id: string; index: number; text: string }
export type OpenCall = { index: number; item: CallItem; text: string }
export type OpenServerCall = { index: number; item: ServerCallItem }

export type NewId = (prefix: string) => string

export type Place = { stem: string; first: number }

export class Output {
  /** What is done, in the order in which it was opened. */
  readonly done: OutputItem[] = []
  readonly #places: number[] = []
  readonly #emitter: Emitter
  readonly #at: Place
  #answer = 0
  #place = 0
  #index = 0
  #spoken: Spoken | undefined

  constructor(emitter: Emitter, at: Place) {
    this.#emitter = emitter
    this.#at = at
  }

  nextAnswer(): void {
    this.#answer += 1
    this.#place = 0
  }

  newId(prefix: string): string {
    return this.reserve()(prefix)
  }

  /** A place in the present answer, for an item that will be shown later. */
  reserve(): NewId {
    const { stem, first } = this.#at
    const answer = this.#answer
    const place = this.#place++
    return prefix => itemId(prefix, stem, first, answer, place)
  }

  #open(item: OutputItem): number {
    const index = this.#index++
    this.#emitter.event('response.output_item.added', { output_index: index, item })
    return index
  }

  #close(index: number, item: OutputItem): void {
    let at = this.#places.length
    while (at > 0 && this.#places[at - 1]! > index) at -= 1
    this.#places.splice(at, 0, index)
    this.done.splice(at, 0, item)
    this.#emitter.event('response.output_item.done', { output_index: index, item })
  }

  /** An item that is whole at once. */
  whole(item: OutputItem): void {
    this.#close(this.#open(item), item)
  }

  // ---- words ------------------------------------------------------------------------------------------------------

  say(kind: Speech, text: string): void {
    if (text === '') return
    if (this.#spoken?.kind !== kind) {
      this.endSpeech('completed')
      this.#spoken = kind === 'text' ? this.#openMessage() : this.#openReasoning()
    }
    const spoken = this.#spoken
    spoken.text += text
    if (kind === 'text')
      this.#emitter.delta('response.output_text.delta', { ...inContent(spoken), logprobs: [] }, text)
    else this.#emitter.delta('response.reasoning_summary_text.delta', inSummary(spoken), text)
  }

  endSpeech(status: ItemStatus, refusal?: string): void {
    const spoken = this.#spoken
    this.#spoken = undefined
    if (spoken?.kind === 'thinking') this.#closeReasoning(spoken)
    else if (spoken) this.#closeMessage(spoken, status, refusal)
    else if (refusal !== undefined) this.#refuse(refusal)
  }

  #openMessage(): Spoken {
    const id = this.newId('msg')
    const index = this.#open({ type: 'message', id, status: 'in_progress', role: 'assistant', content: [] })
    const spoken: Spoken = { kind: 'text', id, index, text: '' }
    this.#emitter.event('response.content_part.added', { ...inContent(spoken), part: textPart('') })
    return spoken
  }

  #closeMessage(spoken: Spoken, status: ItemStatus, refusal: string | undefined): void {
    const part = textPart(spoken.text)
    this.#emitter.event('response.output_text.done', {
      ...inContent(spoken),
      text: spoken.text,
      logprobs: [],
    })
    this.#emitter.event('response.content_part.done', { ...inContent(spoken), part })
    const content: MessageItem['content'] = [part]
    if (refusal !== undefined) content.push(this.#refusal(spoken, 1, refusal))
    const { id, index } = spoken
    this.#close(index, { type: 'message', id, status, role: 'assistant', content })
  }

  #refuse(refusal: string): void {
    const id = this.newId('msg')
    const index = this.#open({ type: 'message', id, status: 'in_progress', role: 'assistant', content: [] })
    const content = [this.#refusal({ id, index }, 0, refusal)]
    this.#close(index, { type: 'message', id, status: 'completed', role: 'assistant', content })
  }

  #refusal(
    { id, index }: Pick<Spoken, 'id' | 'index'>,
    content: number,
    refusal: string,
  ): MessageItem['content'][0] {
    const at = { item_id: id, output_index: index, content_index: content }
    const emitter = this.#emitter
    emitter.event('response.content_part.added', { ...at, part: { type: 'refusal', refusal: '' } })
    emitter.delta('response.refusal.delta', at, refusal)
    emitter.event('response.refusal.done', { ...at, refusal })
    emitter.event('response.content_part.done', { ...at, part: { type: 'refusal', refusal } })
    return { type: 'refusal', refusal }
  }

  #openReasoning(): Spoken {
    const id = this.newId('rs')
    const index = this.#open({ type: 'reasoning', id, summary: [] })
    const spoken: Spoken = { kind: 'thinking', id, index, text: '' }
    this.#emitter.event('response.reasoning_summary_part.added', {
      ...inSummary(spoken),
      part: summaryPart(''),
    })
    return spoken
  }

  #closeReasoning(spoken: Spoken): void {
    const { id, index, text } = spoken
    const part = summaryPart(text)
    this.#emitter.event('response.reasoning_summary_text.done', { ...inSummary(spoken), text })
    this.#emitter.event('response.reasoning_summary_part.done', { ...inSummary(spoken), part })
    const item: ReasoningItem = { type: 'reasoning', id, summary: [part] }
    this.#close(index, item)
  }

  /** What the model's maker wants back, for the client to carry. */
  carry(sealed: string): void {
    this.whole({ type: 'reasoning', id: this.newId('rs'), summary: [], encrypted_content: sealed })
  }

  // ---- calls that the client runs -----------------------------------------------------------------------------------

  openCall(
    { id, name, form }: Pick<CallPart, 'id' | 'name' | 'form'>,
    newId: NewId = this.reserve(),
  ): OpenCall {
    this.endSpeech('completed')
    const status = 'in_progress'
    const item: CallItem =
      form === 'text'
        ? { type: 'custom_tool_call', id: newId('ctc'), call_id: id, name, input: '', status }
        : { type: 'function_call', id: newId('fc'), call_id: id, name, arguments: '', status }
    return { index: this.#open(item), item, text: '' }
  }

  growCall(call: OpenCall, text: string): void {
    call.text += text
    this.#emitter.delta(argumentEvents[call.item.type].delta, inCall(call), text)
  }

  closeCall(call: OpenCall): void {
    const { index, item, text } = call
    const { name } = item
    if (item.type === 'function_call') {
      this.#emitter.event('response.function_call_arguments.done', { ...inCall(call), name, arguments: text })
      this.#close(index, { ...item, arguments: text, status: 'completed' })
    } else {
      this.#emitter.event('response.custom_tool_call_input.done', { ...inCall(call), name, input: text })
      this.#close(index, { ...item, input: text, status: 'completed' })
    }
  }

  // ---- calls that the server runs -------------------------------------------------------------------------------------

  openServerCall(item: ServerCallItem): OpenServerCall {
    const call: OpenServerCall = { index: this.#open({ ...item, arguments: '' }), item }
    const at = { item_id: item.id, output_index: call.index }
    this.#emitter.delta('response.mcp_call_arguments.delta', at, item.arguments)
    this.#emitter.event('response.mcp_call_arguments.done', { ...at, arguments: item.arguments })
    this.#emitter.event('response.mcp_call.in_progress', at)
    return call
  }

  closeServerCall(
    { index, item }: OpenServerCall,
    ended: Pick<ServerCallItem, 'output' | 'error' | 'status'>,
  ): void {
    const at = { item_id: item.id, output_index: index }
    this.#emitter.event(ended.error ? 'response.mcp_call.failed' : 'response.mcp_call.completed', at)
    this.#close(index, { ...item, ...ended })
  }
}

const argumentEvents = {
  function_call: { delta: 'response.function_call_arguments.delta' },
  custom_tool_call: { delta: 'response.custom_tool_call_input.delta' },
} as const

function inContent({ id, index }: Spoken): object {
  return { item_id: id, output_index: index, content_index: 0 }
}

function inSummary({ id, index }: Spoken): object {
  return { item_id: id, output_index: index, summary_index: 0 }
}

function inCall({ index, item }: OpenCall): object {
  return { item_id: item.id, output_index: index, call_id: item.call_id }
}

function textPart(text: string): OutputText {
  return { type: 'output_text', text, annotations: [], logprobs: [] }
}

function summaryPart(text: string): ReasoningItem['summary'][0] {
  return { type: 'summary_text', text }
}
