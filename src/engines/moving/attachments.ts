// The tools that this process runs for sessions of engines elsewhere: for which sessions, and whether they are attached to the
// present engine. When a folder changes hands they are attached to the next engine first, and everything else waits: otherwise
// a session would go on without its tools.
import { setTimeout as pause } from 'node:timers/promises'

/** How long to wait for the readers of attachments. */
const readerPatienceMs = 2000

export class Attachments {
  /** How many there are, by session. */
  readonly #live = new Map<string, number>()
  #missing = 0
  #done = Promise.resolve()
  #allAttached: () => void = () => {}

  get any(): boolean {
    return this.#live.size > 0
  }

  has(session: string): boolean {
    return this.#live.has(session)
  }

  /** Resolves once the tools are attached to the present engine. */
  get done(): Promise<void> {
    return this.#done
  }

  add(session: string): void {
    this.#live.set(session, (this.#live.get(session) ?? 0) + 1)
  }

  remove(session: string): void {
    const left = (this.#live.get(session) ?? 1) - 1
    if (left > 0) this.#live.set(session, left)
    else this.#live.delete(session)
    this.attached()
  }

  /** The engine is gone: all of them have to be attached to the next. Then `onAll` is called. */
  begin(onAll: () => void): void {
    this.#missing = this.#live.values().reduce((sum, count) => sum + count, 0)
    if (this.#missing === 0) return
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#allAttached = () => {
      onAll()
      resolve()
    }
    this.#done = Promise.race([promise, pause(readerPatienceMs, undefined, { ref: false })])
  }

  /** One of them is attached to the new engine. */
  attached(): void {
    if (this.#missing === 0) return
    this.#missing -= 1
    if (this.#missing === 0) this.#allAttached()
  }
}
