// Finds the event at which the session rested or waited after a request that was accepted before. It folds the status
// from the events alone, without the history.
import type { Recorded } from '../../language/events.ts'
import { ShownFold } from '../../language/show.ts'
import type { SessionStatus } from '../ports/index.ts'

export class StatusTracker {
  readonly #shown = new ShownFold()
  /** Events that the request itself recorded and that are still to come. */
  #own = 0
  #begun = false

  get status(): SessionStatus {
    return this.#shown.status
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
    this.#shown.take(event)
  }
}
