// Takes over the sessions of nodes whose lease has ended. Every living node takes a share of its own, in small batches
// with pauses, so that none takes everything. The first node to claim a session that is left after that gets it.

import type { Log } from '../../engine/ports/local.ts'
import type { AbandonedSession, NodeStore, SeenNode } from '../../engine/ports/node.ts'
import { wordsOf } from '../../language/errors.ts'
import { pause, realTiming, type Timing } from './timing.ts'

export type TakeOverParts = {
  store: Pick<NodeStore, 'nodes' | 'abandoned' | 'adopt'>
  /** The id of this node. */
  self(): string
  /** Continues these sessions here, except those that another node claimed first. */
  recover: (ids: readonly string[]) => Promise<number>
  /** Whether a client of this node runs tools for the session: it is continued when they are attached. */
  isAwaited(session: string): boolean
  log: Log
  timing?: Timing
}

const pageSize = 500
const batchSize = 64
/** Sessions that other nodes should have taken are left to them for so long. */
const othersMs = 400
/** How soon a take-over that failed is tried again. */
const retryMs = 1_000

export class TakeOver {
  readonly #parts: TakeOverParts
  readonly #timing: Timing
  #nodes: readonly SeenNode[] = []
  /** Nodes whose lease has ended, and whose sessions were looked for. */
  readonly #ended = new Set<string>()
  #stopLook: (() => void) | undefined
  #stopRest: (() => void) | undefined
  #sweeping: Promise<number> = Promise.resolve(0)
  #stopped = false

  constructor(parts: TakeOverParts) {
    this.#parts = parts
    this.#timing = parts.timing ?? realTiming()
  }

  /** Takes note of all nodes that the store knows now. */
  seen(nodes: readonly SeenNode[]): void {
    this.#nodes = nodes
    const ended = nodes.filter(({ leftMs }) => leftMs <= 0)
    const isNew = ended.some(({ id }) => !this.#ended.has(id))
    for (const { id } of ended) this.#ended.add(id)
    if (isNew) void this.sweep()
    this.#lookAgain()
  }

  /** Nodes are looked at again when the first lease of another one would end. */
  #lookAgain(): void {
    this.#stopLook?.()
    if (this.#stopped) return
    const left = this.#others.map(({ leftMs }) => leftMs)
    if (left.length === 0) return
    this.#stopLook = this.#timing.after(Math.min(...left) + 5, () => void this.#look())
  }

  get #others(): SeenNode[] {
    return this.#nodes.filter(({ id, leftMs }) => leftMs > 0 && id !== this.#parts.self())
  }

  async #look(): Promise<void> {
    try {
      const nodes = await this.#parts.store.nodes()
      if (!this.#stopped) this.seen(nodes)
    } catch {
      // The next renewal looks again.
    }
  }

  stop(): void {
    this.#stopped = true
    this.#stopLook?.()
    this.#stopRest?.()
  }

  /** Takes this node's share of what nobody has, and later what is left. Gives how many sessions of its share are continued. */
  sweep(): Promise<number> {
    this.#sweeping = this.#sweeping.then(() => this.#sweep(true))
    return this.#sweeping
  }

  async #sweep(shareOnly: boolean): Promise<number> {
    // Nodes that saw the same lease end do not all begin at once.
    await this.#pause(40)
    if (this.#stopped) return 0
    try {
      const count = await this.#take(shareOnly)
      if (count > 0) this.#parts.log('info', 'Unfinished sessions were resumed.', { sessions: count })
      // Nodes that should have taken their share may have died since.
      if (shareOnly && this.#others.length > 0) this.#sweepRest(othersMs)
      return count
    } catch (error) {
      this.#parts.log('error', 'Sessions could not be taken over. This is tried again.', {
        error: wordsOf(error),
      })
      this.#sweepRest(retryMs)
      return 0
    }
  }

  #sweepRest(ms: number): void {
    this.#stopRest?.()
    if (this.#stopped) return
    this.#stopRest = this.#timing.after(ms * (1 + this.#timing.random()), () => {
      this.#sweeping = this.#sweeping.then(() => this.#sweep(false))
    })
  }

  #pause(atMostMs: number): Promise<void> {
    return pause(this.#timing, this.#timing.random() * atMostMs)
  }

  async #take(shareOnly: boolean): Promise<number> {
    const { store } = this.#parts
    let count = 0
    for (let after = ''; !this.#stopped; ) {
      const page = await store.abandoned(after, pageSize)
      const mine = page.filter(each => this.#isMine(each, shareOnly))
      for (let from = 0; from < mine.length && !this.#stopped; from += batchSize) {
        count += await this.#takeBatch(mine.slice(from, from + batchSize))
        await this.#pause(10)
      }
      const last = page.at(-1)
      if (!last || page.length < pageSize) return count
      after = last.id
    }
    return count
  }

  /** A session that works for a call goes with the session of that call. */
  #isMine({ id, parent }: AbandonedSession, shareOnly: boolean): boolean {
    if (this.#parts.isAwaited(id)) return false
    if (!shareOnly) return true
    const living = [...this.#others.map(each => each.id), this.#parts.self()].sort()
    return living[spread(parent ?? id) % living.length] === this.#parts.self()
  }

  async #takeBatch(sessions: readonly AbandonedSession[]): Promise<number> {
    const { store, recover } = this.#parts
    const resting = sessions.filter(({ rests }) => rests)
    const adopted = await Promise.all(resting.map(({ id, epoch }) => store.adopt(id, epoch)))
    const ids = resting.filter((_, index) => adopted[index]).map(({ id }) => id)
    return recover([...ids, ...sessions.filter(({ rests }) => !rests).map(({ id }) => id)])
  }
}

/** The same number for the same id on every node. */
function spread(id: string): number {
  let hash = 0
  for (let index = 0; index < id.length; index++) hash = (Math.imul(hash, 31) + id.charCodeAt(index)) | 0
  return hash >>> 0
}
