// A session's status from its events alone, without its history: where a request that was accepted before came to rest or
// had to wait.
import type { Recorded } from '../language/events.ts'
import type { SessionStatus } from './ports.ts'

export class StatusTracker {
  #inTurn = false
  /** The calls of the last answer that are not settled; true: only a client or a person can answer. */
  readonly #waiting = new Map<string, boolean>()
  /** Events that the request itself recorded and that are still to come. */
  #own = 0
  #begun = false
  /** Open questions of running calls, by call. */
  readonly #questions = new Map<string, Set<string>>()

  get status(): SessionStatus {
    if (!this.#inTurn) return 'idle'
    if (this.#waiting.size === 0) return 'running'
    return [...this.#waiting.values()].every(waits => waits) ? 'waiting' : 'running'
  }

  /** The request has been recorded whole, and the session rests or waits. */
  get stopped(): boolean {
    return this.#begun && this.#own === 0 && this.status !== 'running'
  }

  /** `first`: the number of the first event of the request. */
  take({ seq, event }: Recorded, first: number): void {
    if (seq === first) {
      this.#begun = true
      this.#own = event.type === 'request.accepted' ? event.events : 0
    } else if (this.#own > 0) this.#own -= 1
    switch (event.type) {
      case 'turn.started':
        this.#inTurn = true
        break
      case 'turn.ended':
        this.#inTurn = false
        break
      case 'model.answered':
        this.#waiting.clear()
        for (const part of event.parts) if (part.type === 'call') this.#waiting.set(part.id, false)
        break
      case 'call.handed':
      case 'approval.requested':
        this.#waiting.set(event.callId, true)
        break
      case 'approval.decided':
        if (event.granted) this.#waiting.set(event.callId, false)
        break
      case 'call.allowed':
        this.#waiting.set(event.callId, false)
        break
      case 'call.started':
        this.#waiting.set(event.callId, (this.#questions.get(event.callId)?.size ?? 0) > 0)
        break
      case 'question.asked':
        this.#question(event, true)
        break
      case 'question.answered':
      case 'question.expired':
      case 'question.withdrawn':
        this.#question(event, false)
        break
      case 'call.settled':
        this.#waiting.delete(event.callId)
        this.#questions.delete(event.callId)
        break
      default:
        break
    }
  }

  #question({ callId, question }: { callId: string; question: string }, asked: boolean): void {
    const open = this.#questions.get(callId) ?? new Set()
    if (asked) open.add(question)
    else open.delete(question)
    this.#questions.set(callId, open)
    if (this.#waiting.has(callId)) this.#waiting.set(callId, open.size > 0)
  }
}
