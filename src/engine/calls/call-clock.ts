// How long one attempt at a call may take. The clock stands still while the call waits for a person's answer.
import type { World } from '../ports/index.ts'

export class CallClock {
  readonly #world: Pick<World, 'elapsed' | 'timer'>
  #left: number
  #startedAt = 0
  #pauses = 0
  #over: (() => void) | undefined
  #stop: (() => void) | undefined

  constructor(world: Pick<World, 'elapsed' | 'timer'>, ms: number) {
    this.#world = world
    this.#left = ms
  }

  /** Calls `over` when the time is used up, unless the function that it gives is called before. */
  start(over: () => void): () => void {
    this.#over = over
    if (this.#pauses === 0) this.#run()
    return () => {
      this.#over = undefined
      this.#stop?.()
    }
  }

  /** Gives a function that ends this pause. */
  pause(): () => void {
    this.#pauses += 1
    if (this.#pauses === 1 && this.#over) {
      this.#stop?.()
      this.#left = Math.max(this.#left - Math.max(this.#world.elapsed() - this.#startedAt, 0), 0)
    }
    return () => {
      this.#pauses -= 1
      if (this.#pauses === 0) this.#run()
    }
  }

  #run(): void {
    if (!this.#over) return
    this.#startedAt = this.#world.elapsed()
    this.#stop = this.#world.timer(this.#left, this.#over)
  }
}
