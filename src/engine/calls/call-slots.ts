// How many calls of all sessions of a process may run at the same time. A call that finds no slot is not started: it waits,
// allowed but without an intent, until one is free. Who waited longest is told first.
import type { CallCounter } from '../ports/index.ts'

export class CallSlots implements CallCounter {
  #free: number
  readonly #waiting = new Set<() => void>()

  constructor(count: number) {
    this.#free = count
  }

  /** How many wait to be told. */
  get waiting(): number {
    return this.#waiting.size
  }

  /** Takes as many as are free, at most `wanted`. */
  take(wanted: number): number {
    const taken = Math.max(Math.min(wanted, this.#free), 0)
    this.#free -= taken
    return taken
  }

  /** For calls that were started before a crash: they count, and wait for nobody. */
  force(count: number): void {
    this.#free -= count
  }

  release(): void {
    this.#free += 1
    if (this.#free <= 0) return
    const [first] = this.#waiting
    if (!first) return
    this.#waiting.delete(first)
    first()
  }

  /** Calls `run` once when a slot is free. Gives a function that takes this back. */
  whenFree(run: () => void): () => void {
    const told = (): void => run()
    this.#waiting.add(told)
    return () => void this.#waiting.delete(told)
  }
}
