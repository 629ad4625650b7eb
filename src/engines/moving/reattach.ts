// Tools that this process runs for sessions are attached to the engine of a data folder. When the folder changes hands they
// are attached to the next engine first, and everything else waits: otherwise a session would go on without its tools.
import { setTimeout as pause } from 'node:timers/promises'

/** How long to wait for the readers of attachments. */
const readerPatienceMs = 2000

export class Reattachments {
  #live = 0
  #missing = 0
  #done = Promise.resolve()
  #allAttached: () => void = () => {}

  get any(): boolean {
    return this.#live > 0
  }

  /** Resolves once the tools are attached to the present engine. */
  get done(): Promise<void> {
    return this.#done
  }

  add(): void {
    this.#live += 1
  }

  remove(): void {
    this.#live -= 1
    this.attached()
  }

  /** The engine is gone: all of them have to be attached to the next. Then `onAll` is called. */
  begin(onAll: () => void): void {
    this.#missing = this.#live
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
