// A history as a flat list of items, and the entries that they make: every call has one result directly after its answer.
// A result is moved to its call, a second one is left out, a missing one says that none is known.

import type { CallForm, CallPart, CallResult, Outcome } from '../language/calls.ts'
import type { InputPart, Native, Origin, ResultPart } from '../language/content.ts'
import type { AnswerPart, Entry } from '../language/history.ts'

export type ResultItem = { kind: 'result'; id: string; name: string; parts: ResultPart[]; failed: boolean }
export type HistoryCallItem = {
  kind: 'call'
  id: string
  name: string
  form: CallForm
  text: string
  native?: Native
}

/** `answer`: what follows belongs to another answer. Ids are '' where the history has none. */
export type HistoryItem =
  | { kind: 'system'; text: string }
  | { kind: 'input'; part: InputPart }
  | { kind: 'said'; part: Exclude<AnswerPart, CallPart> }
  | { kind: 'answer' }
  | HistoryCallItem
  | ResultItem

const NO_RESULT: ResultPart = {
  type: 'text',
  text: 'No result of this call was recorded. It may or may not have been carried out.',
}

type OpenCall = { call: HistoryCallItem; id: string; result?: ResultItem }

export function toEntries(items: readonly HistoryItem[], origin: Origin): Entry[] {
  const builder = new EntryBuilder(items, origin)
  for (const item of items) builder.add(item)
  return builder.end()
}

class EntryBuilder {
  readonly #results: ResultItem[]
  readonly #origin: Origin
  readonly #entries: Entry[] = []
  readonly #used = new Set<ResultItem>()
  readonly #ids = new Set<string>()
  #answer: AnswerPart[] = []
  #open: OpenCall[] = []

  constructor(items: readonly HistoryItem[], origin: Origin) {
    this.#results = items.filter(item => item.kind === 'result')
    this.#origin = origin
  }

  add(item: HistoryItem): void {
    if (item.kind === 'result') {
      if (!this.#used.has(item)) this.#answerCall(this.#findCall(item), item)
      return
    }
    const isModel = item.kind === 'said' || item.kind === 'call'
    if (!isModel || this.#open.some(({ result }) => result)) this.#close()
    if (item.kind === 'call') this.#addCall(item)
    else if (item.kind === 'said') this.#answer.push(item.part)
    else if (item.kind === 'system') this.#entries.push({ role: 'system', text: item.text })
    else if (item.kind === 'input') this.#addInput(item.part)
  }

  end(): Entry[] {
    this.#close()
    return this.#entries
  }

  #addInput(part: InputPart): void {
    const last = this.#entries.at(-1)
    if (last?.role === 'user') last.parts.push(part)
    else this.#entries.push({ role: 'user', parts: [part] })
  }

  #addCall(call: HistoryCallItem): void {
    const { id: nativeId, name, form, text, native } = call
    let id = nativeId || 'call'
    for (let number = 2; this.#ids.has(id); number++) id = `${nativeId || 'call'}_${number}`
    this.#ids.add(id)
    this.#open.push({ call, id })
    const named = nativeId !== '' && { nativeId }
    this.#answer.push({ type: 'call', id, name, form, text, ...named, ...(native && { native }) })
  }

  /** By id; where ids are missing or wrong by name, and without either by order. */
  #findCall({ id, name }: ResultItem): OpenCall | undefined {
    const waiting = this.#open.filter(({ result }) => !result)
    return (
      waiting.find(({ call }) => id !== '' && call.id === id) ??
      waiting.find(({ call }) => name !== '' && call.name === name) ??
      (id === '' ? waiting[0] : undefined)
    )
  }

  #answerCall(open: OpenCall | undefined, result: ResultItem | undefined): void {
    if (!open || !result) return
    this.#used.add(result)
    open.result = result
  }

  #close(): void {
    if (this.#answer.length > 0)
      this.#entries.push({ role: 'assistant', parts: this.#answer, origin: this.#origin })
    for (const open of this.#open.filter(({ result }) => !result)) {
      const isStray = (result: ResultItem): boolean => result.id !== '' && result.id === open.call.id
      this.#answerCall(
        open,
        this.#results.find(result => isStray(result) && !this.#used.has(result)),
      )
    }
    if (this.#open.length > 0) this.#entries.push({ role: 'tool', results: this.#open.map(callResult) })
    this.#answer = []
    this.#open = []
  }
}

function callResult({ call, id, result }: OpenCall): CallResult {
  const outcome: Outcome = result
    ? { kind: result.failed ? 'error' : 'ok', parts: result.parts, from: { source: 'client' } }
    : { kind: 'unknown', parts: [NO_RESULT], from: { source: 'runtime' } }
  return { callId: id, name: call.name, outcome }
}
