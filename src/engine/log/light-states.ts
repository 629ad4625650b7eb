// States of sessions that are not in memory, without their histories. Summaries read them, and claim no session for it.
// The log of a session is folded once, page by page; later reads fold only the events that were added.

import type { EnginePorts } from '../ports/index.ts'
import { HistoryFold } from '../rules/history-fold.ts'
import { laterTurn } from './later-turn.ts'

const pageBytes = 1024 * 1024
const mostKept = 256

type Known = { fold: HistoryFold; reading: Promise<void> | undefined }

export class LightStates {
  readonly #ports: Pick<EnginePorts, 'store' | 'world'>
  /** The least recently used comes first. */
  readonly #known = new Map<string, Known>()

  constructor(ports: Pick<EnginePorts, 'store' | 'world'>) {
    this.#ports = ports
  }

  /** The durable state. It goes on changing after the caller has awaited something else. */
  async of(id: string): Promise<HistoryFold> {
    const known = this.#known.get(id) ?? { fold: new HistoryFold(id), reading: undefined }
    this.#known.delete(id)
    this.#known.set(id, known)
    for (const [oldest] of this.#known) {
      if (this.#known.size <= mostKept) break
      this.#known.delete(oldest)
    }
    // A reading that is under way may have passed the end of the log before the caller's last write.
    await known.reading?.catch(() => {})
    known.reading ??= this.#readOn(id, known)
    await known.reading
    return known.fold
  }

  forget(id: string): void {
    this.#known.delete(id)
  }

  async #readOn(id: string, known: Known): Promise<void> {
    try {
      for (let pages = 0; ; pages++) {
        const page = await this.#ports.store.read(id, known.fold.state.seq, { maxBytes: pageBytes })
        if (page.length === 0) return
        // Pages are parsed on the event loop: others are served between two.
        if (pages > 0) await laterTurn(this.#ports.world)
        for (const recorded of page) known.fold.take(recorded)
      }
    } catch (error) {
      if (this.#known.get(id) === known) this.#known.delete(id)
      throw error
    } finally {
      known.reading = undefined
    }
  }
}
