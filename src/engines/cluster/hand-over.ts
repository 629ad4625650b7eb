// Gives the sessions of a stopping node to the others, in turn, as soon as nothing runs in them here.
import type { LeftSession, Log } from '../../engine/ports/local.ts'
import type { NodeStore } from '../../engine/ports/node.ts'
import { wordsOf } from '../../language/errors.ts'
import { soon } from '../../lib/async/promises.ts'

/** Takes sessions: another node. */
export type Taker = { takeOver(sessions: readonly string[]): Promise<void> }

export class HandOver {
  readonly #store: Pick<NodeStore, 'release'>
  readonly #takers: Promise<Taker[]>
  readonly #log: Log
  readonly #under = new Set<Promise<void>>()
  #batch: string[] = []
  #next = 0

  constructor(store: Pick<NodeStore, 'release'>, takers: Promise<Taker[]>, log: Log) {
    this.#store = store
    this.#takers = takers
    this.#log = log
  }

  /** Nothing of the session runs here any more, and all of it is durable. */
  give({ id, epoch, isUnfinished }: LeftSession): void {
    this.#track(
      this.#store.release(id, epoch).then(() => {
        if (isUnfinished) this.#offer(id)
      }),
    )
  }

  /** Resolves once everything was released and offered. */
  async done(): Promise<void> {
    while (this.#under.size > 0) await Promise.all(this.#under)
  }

  /** Those that are released together are offered to one node. */
  #offer(id: string): void {
    this.#batch.push(id)
    if (this.#batch.length > 1) return
    this.#track(
      new Promise<void>(resolve => soon(resolve)).then(async () => {
        const sessions = this.#batch
        this.#batch = []
        const takers = await this.#takers
        const shares = takers.map((_, index) =>
          sessions.filter((__, place) => (place + this.#next) % takers.length === index),
        )
        this.#next += sessions.length
        const offers = takers.flatMap((taker, index) => {
          const share = shares[index] ?? []
          return share.length > 0 ? [taker.takeOver(share)] : []
        })
        await Promise.all(offers)
      }),
    )
  }

  #track(work: Promise<unknown>): void {
    const tracked = work
      .catch(error =>
        this.#log('warn', 'Sessions could not be handed over; they are taken over without it.', {
          error: wordsOf(error),
        }),
      )
      .then(() => void this.#under.delete(tracked))
    this.#under.add(tracked)
  }
}
