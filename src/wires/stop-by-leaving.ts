// The stop button of clients that can only close their request (AG-UI, the AI SDK): a request that started or continued a
// turn cancels it when it is closed early. A message that comes while such a turn still runs and nobody reads it any more
// ends that turn first, because the closing of a connection may be noticed after the next request.
import type { Accepted, Command, Engine, SessionRef } from '../engine/index.ts'
import { hasCode } from '../language/errors.ts'

/** How long a message waits for the readers of the turn before it to leave. */
const leaveWithinMs = 2000
/** How often readers on other nodes are looked for meanwhile. */
const lookAgainMs = 50

type Items<Item> = AsyncIterable<readonly Item[]>

export class StopByLeaving {
  readonly #wire: string
  /** By session: how many streams of this node show it now, and who waits until there are none. */
  readonly #readers = new Map<string, { count: number; left: PromiseWithResolvers<void> }>()

  constructor(wire: string) {
    this.#wire = wire
  }

  /**
   * Gives the items, which are followed `as` this wire. If the signal aborts before the session rests or waits, the turn is
   * cancelled unless it `staysOn`.
   */
  async *watch<Item extends { type: string }>(
    engine: Engine,
    ref: SessionRef,
    items: Items<Item>,
    {
      turn,
      signal,
      staysOn,
    }: { turn?: string; signal: AbortSignal; staysOn?: () => boolean | Promise<boolean> },
  ): AsyncGenerator<readonly Item[], void, undefined> {
    const leave = this.#enter(ref.session)
    let stopped = false
    try {
      for await (const batch of items) {
        stopped = isStop(batch.at(-1)?.type)
        yield batch
      }
      if (turn !== undefined && signal.aborted && !stopped && !(await staysOn?.()))
        await engine.command(ref, { do: 'cancel', turn })
    } finally {
      leave()
    }
  }

  /** Sends a message or answers. If a turn of this wire still runs without readers, it is cancelled first. */
  async command(engine: Engine, ref: SessionRef, command: Command): Promise<Accepted> {
    try {
      return await engine.command(ref, command)
    } catch (error) {
      if (!hasCode(error, 'busy') || !(await this.#endLeft(engine, ref))) throw error
      return engine.command(ref, command)
    }
  }

  /** False: the running turn is still read, or is not of this wire. */
  async #endLeft(engine: Engine, ref: SessionRef): Promise<boolean> {
    if (!(await this.#allLeft(engine, ref))) return false
    const { turn, status } = await engine.summary(ref)
    if (status !== 'running' || !turn) return true
    if (turn.wire !== this.#wire) return false
    await engine.command(ref, { do: 'cancel', turn: turn.id })
    return true
  }

  async #allLeft(engine: Engine, ref: SessionRef): Promise<boolean> {
    const until = performance.now() + leaveWithinMs
    const readers = this.#readers.get(ref.session)
    if (readers) {
      const { promise: late, resolve } = Promise.withResolvers<void>()
      const timer = setTimeout(resolve, leaveWithinMs)
      await Promise.race([readers.left.promise, late])
      clearTimeout(timer)
    }
    // Others may read it on other nodes.
    while (!this.#readers.has(ref.session)) {
      const { readers: names } = await engine.summary(ref)
      if (!names?.includes(this.#wire)) return true
      if (performance.now() > until) return false
      await new Promise(resolve => setTimeout(resolve, lookAgainMs))
    }
    return false
  }

  #enter(session: string): () => void {
    const readers = this.#readers.get(session) ?? { count: 0, left: Promise.withResolvers<void>() }
    this.#readers.set(session, readers)
    readers.count += 1
    return () => {
      readers.count -= 1
      if (readers.count > 0) return
      this.#readers.delete(session)
      readers.left.resolve()
    }
  }
}

/** The items after which a stream ends by itself. */
function isStop(type: string | undefined): boolean {
  return type === 'waiting' || type === 'ended' || type === 'lost'
}
