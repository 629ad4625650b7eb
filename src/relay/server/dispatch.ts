// Gives requests to machines. A request that no machine can take waits, in order, until one can or its time is over.
import { TurnwireError } from '../../language/errors.ts'
import { deadline } from '../../lib/async/abort.ts'
import type { AnyMachine, Choice, Registry, Route } from './registry.ts'

/** A place at a machine. `release` it once, when the request is over. */
export type Slot = Choice & { release(): void }

type Waiting = { route: Route; tried: ReadonlySet<AnyMachine>; give(slot: Slot): void }

export type QueueLimits = { queueMs: number; mostWaiting: number }

/** How often requests that wait are looked at although nothing happened: agents come back from their rest. */
const lookAgainMs = 250

export class Dispatch {
  readonly #registry: Registry
  readonly #limits: QueueLimits
  readonly #waiting = new Set<Waiting>()
  #timer: NodeJS.Timeout | undefined

  constructor(registry: Registry, limits: QueueLimits) {
    this.#registry = registry
    this.#limits = limits
  }

  get waiting(): number {
    return this.#waiting.size
  }

  /** Rejects with `agent_unavailable`, or as the signal says. `tried`: machines that are not to get the request. */
  async slot(route: Route, tried: ReadonlySet<AnyMachine>, signal: AbortSignal): Promise<Slot> {
    signal.throwIfAborted()
    // Those that wait come first.
    const free = this.#waiting.size === 0 ? this.#take(route, tried) : undefined
    if (free) return free
    if (this.#waiting.size >= this.#limits.mostWaiting)
      throw unavailable('Too many requests wait for an attached agent.')
    const { promise, resolve, reject } = Promise.withResolvers<Slot>()
    const waiting: Waiting = { route, tried, give: resolve }
    this.#waiting.add(waiting)
    this.look()
    const limit = deadline(this.#limits.queueMs, signal)
    const giveUp = (): void => {
      // A slot that was given in the same moment is not lost: the promise has it already.
      if (!this.#waiting.delete(waiting)) return
      reject(signal.aborted ? signal.reason : unavailable('No attached agent was free in time.'))
    }
    limit.signal.addEventListener('abort', giveUp, { once: true })
    try {
      return await promise
    } finally {
      limit.signal.removeEventListener('abort', giveUp)
      limit.clear()
    }
  }

  /** Something changed: a machine came, a slot is free, an agent has rested. */
  look(): void {
    for (const waiting of this.#waiting) {
      const slot = this.#take(waiting.route, waiting.tried)
      if (!slot) continue
      this.#waiting.delete(waiting)
      waiting.give(slot)
    }
    if (this.#waiting.size === 0) {
      clearInterval(this.#timer)
      this.#timer = undefined
    } else this.#timer ??= setInterval(() => this.look(), lookAgainMs).unref()
  }

  #take(route: Route, tried: ReadonlySet<AnyMachine>): Slot | undefined {
    const chosen = this.#registry.choose(route, tried)
    if (!chosen) return undefined
    const { machine } = chosen
    machine.taken += 1
    let released = false
    const release = (): void => {
      if (released) return
      released = true
      machine.taken -= 1
      this.look()
    }
    return { ...chosen, release }
  }
}

export function unavailable(message: string): TurnwireError {
  return new TurnwireError('agent_unavailable', `${message} Try again in a moment.`, { retryAfterMs: 5_000 })
}
