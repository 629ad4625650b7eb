// Writes that go beside a session's log (a blob, its deletion). They carry the epoch of its writer as appends do: of the copy
// in memory, or of a claim of their own, which loads nothing. Such a claim ends the epoch of a copy that is being loaded, so
// loading waits for these writes, and they wait for a copy whose loading began before them.
import { hasCode, sessionNotFound } from '../../language/errors.ts'
import type { Store } from '../ports/index.ts'

type BesideLogWriter = { readonly epoch: number }

export class BesideLog {
  readonly #store: Store
  /** The copy in memory. */
  readonly #find: (id: string) => BesideLogWriter | undefined
  /** By session: resolves when the writes so far are over. */
  readonly #writing = new Map<string, Promise<void>>()

  constructor(store: Store, find: (id: string) => BesideLogWriter | undefined) {
    this.#store = store
    this.#find = find
  }

  /** Undefined: nothing is being written. */
  writing(id: string): Promise<void> | undefined {
    return this.#writing.get(id)
  }

  /** `opening`: the copy whose loading has begun. Rejects with `session_not_found`. */
  async write(
    id: string,
    opening: Promise<BesideLogWriter> | undefined,
    write: (epoch: number) => Promise<unknown>,
  ): Promise<void> {
    const before = Promise.allSettled([opening, this.#writing.get(id)])
    const doing = before.then(() => this.#attempt(id, write))
    const over = doing.catch(() => {})
    this.#writing.set(id, over)
    try {
      await doing
    } finally {
      if (this.#writing.get(id) === over) this.#writing.delete(id)
    }
  }

  async #attempt(id: string, write: (epoch: number) => Promise<unknown>): Promise<void> {
    for (let tries = 1; ; tries++) {
      try {
        const { epoch } = this.#find(id) ?? (await this.#store.claim(id)) ?? {}
        if (epoch === undefined) throw sessionNotFound()
        await write(epoch)
        return
      } catch (error) {
        // The copy in memory was dropped meanwhile, or another process claimed the session.
        const isBehind = hasCode(error, 'lease_lost') && tries < 3
        if (!isBehind) throw error
      }
    }
  }
}
