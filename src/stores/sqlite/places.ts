// Where the sessions that are written here stand, so that an append need not ask first. Others write to the same file, so a
// place may be out of date: the step from it is then refused, and the file is asked.
import type { Place } from './statements/find-session.ts'

/** Enough for all that are at work at one time. */
const MOST = 4096

export class Places {
  readonly #places = new Map<string, Place>()

  get(session: string): Place | undefined {
    return this.#places.get(session)
  }

  keep(session: string, place: Place): void {
    if (this.#places.size >= MOST && !this.#places.has(session)) this.#places.clear()
    this.#places.set(session, place)
  }

  forget(session: string): void {
    this.#places.delete(session)
  }
}
