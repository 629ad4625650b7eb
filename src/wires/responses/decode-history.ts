// A conversation's items, into entries that any model can be sent: every call has exactly one output, which stands
// directly after the answer that made it. A conversation in which calls and outputs do not pair is refused, in the words
// of the API. Bounding and redacting results is the engine's work.
import type { CallPart, CallResult, Outcome } from '../../language/calls.ts'
import type { ResultPart } from '../../language/content.ts'
import { type AnswerPart, callsOf, type Entry } from '../../language/history.ts'
import { refuseParameter } from '../openai-refusal.ts'
import type { InputItem } from './decode-items.ts'
import { type Sealed, unsealAnswer } from './sealed.ts'
import { noApprovalRequest, noCallFor, noOutputFor, nounOf } from './wordings.ts'

/** Calls of the answer before the items. Some may have their outcome already. */
export type EarlierCalls = readonly { part: CallPart; outcome?: Outcome }[]

export function decodeHistory(items: readonly InputItem[], open: EarlierCalls = []): Entry[] {
  const builder = new HistoryBuilder(pairOutcomes(items, open))
  builder.addResults(open.map(({ part }) => part))
  for (const item of items) builder.take(item)
  return builder.finish()
}

/** The outcome of each call, by its id. */
function pairOutcomes(items: readonly InputItem[], open: EarlierCalls): Map<string, Outcome> {
  const calls = new Map(open.map(({ part }) => [part.id, part]))
  const outcomes = new Map(open.flatMap(({ part, outcome }) => (outcome ? [[part.id, outcome]] : [])))
  for (const item of items) {
    if (item.kind === 'call' || item.kind === 'ran') {
      const { id } = item.part
      if (calls.has(id)) refuseDuplicate(id, item.path)
      calls.set(id, item.part)
      if (item.kind === 'ran') outcomes.set(id, clientOutcome(item.output, item.failed))
    } else if (item.kind === 'output') {
      const { callId, noun, output, loads } = item
      const call = calls.get(callId)
      if (!call || nounOf(call) !== noun || outcomes.has(callId)) noCallFor(noun, callId)
      outcomes.set(callId, { ...clientOutcome(output, false), ...(loads && { loads }) })
    } else if (item.kind === 'approval') noApprovalRequest(item.id)
  }
  return outcomes
}

function refuseDuplicate(callId: string, path: string): never {
  const message = `Duplicate call_id '${callId}' in input. Every call has an id of its own.`
  return refuseParameter(message, `${path}.call_id`, 'duplicate_call_id')
}

function clientOutcome(parts: ResultPart[], failed: boolean): Outcome {
  return { kind: failed ? 'error' : 'ok', parts, from: { source: 'client' } }
}

class HistoryBuilder {
  readonly #outcomes: ReadonlyMap<string, Outcome>
  readonly #entries: Entry[] = []
  #parts: AnswerPart[] = []
  #cut = new Set<string>()
  #sealed: Sealed | undefined
  /** The server ran calls of this answer: text that follows belongs to another answer. */
  #ran = false

  constructor(outcomes: ReadonlyMap<string, Outcome>) {
    this.#outcomes = outcomes
  }

  take(item: InputItem): void {
    switch (item.kind) {
      case 'said':
        if (this.#ran) this.#closeAnswer()
        this.#parts.push(item.part)
        break
      case 'ran':
        this.#ran = true
        this.#parts.push(item.part)
        break
      case 'call':
        this.#parts.push(item.part)
        if (item.cut) this.#cut.add(item.part.id)
        break
      case 'sealed':
        // Two in a row belong to two answers.
        if (this.#sealed || this.#ran) this.#closeAnswer()
        this.#sealed = item.sealed
        break
      case 'user':
        this.#closeAnswer()
        this.#entries.push({ role: 'user', parts: item.parts })
        break
      case 'system':
        this.#closeAnswer()
        this.#entries.push({ role: 'system', text: item.text })
        break
      case 'output':
      case 'approval':
        this.#closeAnswer()
        break
    }
  }

  finish(): Entry[] {
    this.#closeAnswer()
    return this.#entries
  }

  /** The results of an answer's calls, in the order in which the model asked. */
  addResults(calls: readonly CallPart[]): void {
    if (calls.length === 0) return
    const results = calls.map((call): CallResult => {
      const outcome = this.#outcomes.get(call.id) ?? noOutputFor(call)
      return { callId: call.id, name: call.name, outcome }
    })
    this.#entries.push({ role: 'tool', results })
  }

  #closeAnswer(): void {
    const sealed = this.#sealed
    const kept = this.#parts.filter(
      part => part.type !== 'call' || !this.#cut.has(part.id) || this.#outcomes.has(part.id),
    )
    const parts = sealed ? unsealAnswer(kept, sealed) : vendorsFirst(kept)
    this.#parts = []
    this.#cut = new Set()
    this.#sealed = undefined
    this.#ran = false
    if (parts.length === 0) return
    const { origin, continuity } = sealed ?? {}
    const entry = {
      role: 'assistant',
      parts,
      ...(origin && { origin }),
      ...(continuity && { continuity }),
    } as const
    this.#entries.push(entry)
    this.addResults(callsOf(entry))
  }
}

/**
 * A vendor takes its own items back only from the beginning of an answer, a program before the calls that it made. They may
 * have been shown after what the model said.
 */
function vendorsFirst(parts: AnswerPart[]): AnswerPart[] {
  if (!parts.some(part => part.type === 'hosted')) return parts
  const rank = ({ type, native }: AnswerPart): number =>
    type === 'hosted' ? 0 : native === undefined ? 2 : 1
  return parts.toSorted((a, b) => rank(a) - rank(b))
}
