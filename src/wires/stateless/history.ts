// A caller's history into ours, whatever its door calls things: entries in order, and the results of one batch of calls
// as one entry, in the order in which the calls were made. Doors refuse what their vendor would refuse; this only builds.
import type { Agent } from '../../engine/index.ts'
import type { CallPart, CallResult, Outcome } from '../../language/calls.ts'
import type { InputPart, Origin, ResultPart } from '../../language/content.ts'
import type { AnswerPart, Entry } from '../../language/history.ts'

export class HistoryBuilder {
  readonly #entries: Entry[] = []
  readonly #gate: Agent['gate']
  #calls: CallPart[] = []
  #outcomes = new Map<string, Outcome>()

  constructor(agent: Agent) {
    this.#gate = agent.gate
  }

  /** Calls of the last answer that have no result yet. */
  get open(): readonly CallPart[] {
    return this.#calls.filter(call => !this.#outcomes.has(call.id))
  }

  system(text: string): void {
    this.#flush()
    if (text !== '') this.#entries.push({ role: 'system', text })
  }

  user(parts: InputPart[]): void {
    this.#flush()
    this.#entries.push({ role: 'user', parts })
  }

  assistant(parts: AnswerPart[], origin?: Origin): void {
    this.#flush()
    if (parts.length === 0) return
    this.#entries.push({ role: 'assistant', parts, ...(origin && { origin }) })
    this.#calls = parts.filter((part): part is CallPart => part.type === 'call')
  }

  /** The result is bounded, redacted and labelled as any that a client sends. */
  result(callId: string, parts: ResultPart[], failed: boolean): void {
    this.#outcomes.set(callId, this.#gate.finishClient(parts, failed, callId).outcome)
  }

  done(): Entry[] {
    this.#flush()
    return this.#entries
  }

  #flush(): void {
    const results = this.#calls.flatMap((call): CallResult[] => {
      const outcome = this.#outcomes.get(call.id)
      return outcome ? [{ callId: call.id, name: call.name, outcome }] : []
    })
    if (results.length > 0) this.#entries.push({ role: 'tool', results })
    this.#calls = []
    this.#outcomes = new Map()
  }
}
