// How many calls of one session may still be started: as many as one turn may run at the same time, and as there are slots
// left in the process. Each running call holds its place until it is over, or no longer waited for.
import type { Abort } from '../../lib/async/abort.ts'
import type { CallCounter } from '../ports/index.ts'

export class CallRoom {
  readonly #slots: CallCounter | undefined
  readonly #most: number
  /** Made with the first call: most sessions wait for something else. */
  #held: Set<Abort> | undefined
  /** Calls wait for room. */
  isWanted = false

  constructor(slots: CallCounter | undefined, most = Number.POSITIVE_INFINITY) {
    this.#slots = slots
    this.#most = most
  }

  /** Room for as many of the wanted calls as there is. `running`: the calls of the turn that run already. */
  take(wanted: number, running: number): number {
    const own = Math.max(Math.min(wanted, this.#most - running), 0)
    return this.#slots ? this.#slots.take(own) : own
  }

  force(count: number): void {
    this.#slots?.force(count)
  }

  /** The place that was taken belongs to this call. */
  hold(call: Abort): void {
    this.#held ??= new Set()
    this.#held.add(call)
  }

  release(call: Abort): void {
    if (this.#held?.delete(call)) this.#slots?.release()
  }

  /** `run` is called when another session has given a place back. */
  whenFree(run: () => void): () => void {
    this.isWanted = true
    const forget = this.#slots?.whenFree(run)
    return () => {
      this.isWanted = false
      forget?.()
    }
  }
}
