// Builds a history of whole entries from what a client sent. The results of one batch of calls become one entry, in the
// order of the calls. The wires refuse what their vendor would refuse; the engine bounds and redacts the results.
import type { CallPart, CallResult, Outcome } from '../../language/calls.ts'
import type { InputPart, Native, Origin, ResultPart } from '../../language/content.ts'
import { type AssistantEntry, type Entry, listCalls } from '../../language/history.ts'

export class HistoryBuilder {
  readonly #entries: Entry[] = []
  #calls: CallPart[] = []
  #outcomes = new Map<string, { outcome: Outcome; native?: Native }>()

  /** Calls of the last answer that have no result yet. */
  get open(): readonly CallPart[] {
    return this.#calls.filter(call => !this.#outcomes.has(call.id))
  }

  system(text: string, native?: Native): void {
    this.#addResults()
    if (text !== '') this.#entries.push({ role: 'system', text, ...(native && { native }) })
  }

  user(parts: InputPart[]): void {
    this.#addResults()
    this.#entries.push({ role: 'user', parts })
  }

  assistant(parts: AssistantEntry['parts'], origin: Origin | undefined): void {
    this.#addResults()
    if (parts.length === 0) return
    const entry: AssistantEntry = { role: 'assistant', parts, ...(origin && { origin }) }
    this.#entries.push(entry)
    this.#calls = listCalls(entry)
  }

  /** `loads`: the deferred tools that a search of the client's found. */
  result(callId: string, parts: ResultPart[], failed: boolean, native?: Native, loads?: string[]): void {
    const outcome: Outcome = { kind: failed ? 'error' : 'ok', parts, from: { source: 'client' } }
    if (loads) outcome.loads = loads
    this.#outcomes.set(callId, { outcome, ...(native && { native }) })
  }

  done(): Entry[] {
    this.#addResults()
    return this.#entries
  }

  #addResults(): void {
    const results = this.#calls.flatMap((call): CallResult[] => {
      const found = this.#outcomes.get(call.id)
      return found ? [{ callId: call.id, name: call.name, ...found }] : []
    })
    if (results.length > 0) this.#entries.push({ role: 'tool', results })
    this.#calls = []
    this.#outcomes = new Map()
  }
}
