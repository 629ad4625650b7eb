// A session's status from its events alone, without its history: where a request that was accepted before came to rest or
// had to wait.
import type { Recorded } from '../../language/events.ts'
import type { SessionStatus } from '../ports/index.ts'

export class StatusTracker {
  #inTurn = false
  /** The calls of the last answer that are not settled; true: only a client or a person can answer. */
  readonly #waiting = new Map<string, boolean>()
  /** The calls that calls made: their parents, and how many of each are settled. */
  readonly #parents = new Map<string, string>()
  readonly #settled = new Map<string, number>()
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

  /** Nothing happened to its calls while it stopped. */
  #isSuspended(callId: string, seen: number): boolean {
    const hasOpen = [...this.#parents].some(([id, parent]) => parent === callId && this.#waiting.has(id))
    return hasOpen && (this.#settled.get(callId) ?? 0) <= seen
  }

  #settle(callId: string): void {
    this.#waiting.delete(callId)
    const parent = this.#parents.get(callId)
    if (parent === undefined) return
    this.#settled.set(parent, (this.#settled.get(parent) ?? 0) + 1)
    if (this.#waiting.has(parent)) this.#waiting.set(parent, false)
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
        this.#parents.clear()
        this.#settled.clear()
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
      case 'call.nested':
        this.#waiting.set(event.call.id, false)
        this.#parents.set(event.call.id, event.parent)
        break
      case 'call.postponed':
        this.#waiting.set(event.callId, true)
        break
      case 'call.suspended':
        this.#waiting.set(event.callId, this.#isSuspended(event.callId, event.seen))
        break
      case 'call.settled':
        this.#questions.delete(event.callId)
        this.#settle(event.callId)
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
