// Takes over the sessions of nodes whose lease has ended. Every living node takes a share of its own, in small batches with
// pauses, so that none adopts everything; what is left after that is taken by whoever comes first.
import { setTimeout as pause } from 'node:timers/promises'
import type { AbandonedSession, NodeStore, SeenNode } from '../../engine/index.ts'
import { wordsOf } from '../../language/errors.ts'
import type { Log } from '../log.ts'

export type TakeOverParts = {
  store: NodeStore
  /** The id of this node. */
  self(): string
  /** Continues these sessions here. What others were faster with is left out. */
  recover: (ids: readonly string[]) => Promise<number>
  /** Whether a client of this node runs tools for the session: it is continued when they are attached. */
  isAwaited(session: string): boolean
  log: Log
}

const pageSize = 500
const batchSize = 64
/** Sessions that other nodes should have taken are left to them for so long. */
const othersMs = 400

export class TakeOver {
  readonly #parts: TakeOverParts
  #nodes: readonly SeenNode[] = []
  /** Nodes whose lease has ended, and whose sessions were looked for. */
  readonly #ended = new Set<string>()
  #timer: NodeJS.Timeout | undefined
  #rest: NodeJS.Timeout | undefined
  #sweeping: Promise<number> = Promise.resolve(0)
  #stopped = false

  constructor(parts: TakeOverParts) {
    this.#parts = parts
  }

  /** What the store knows of all nodes now. */
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
    clearTimeout(this.#timer)
    if (this.#stopped) return
    const left = this.#others.map(({ leftMs }) => leftMs)
    if (left.length === 0) return
    this.#timer = setTimeout(() => void this.#look(), Math.min(...left) + 5)
    this.#timer.unref()
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
    clearTimeout(this.#timer)
    clearTimeout(this.#rest)
  }

  /** Takes this node's share of what nobody has, and later what is left. Gives how many sessions of its share are continued. */
  sweep(): Promise<number> {
    this.#sweeping = this.#sweeping.then(() => this.#sweep(true))
    return this.#sweeping
  }

  async #sweep(shareOnly: boolean): Promise<number> {
    // Nodes that saw the same lease end do not all begin at once.
    await pause(Math.random() * 40, undefined, { ref: false })
    if (this.#stopped) return 0
    try {
      const count = await this.#take(shareOnly)
      if (count > 0) this.#parts.log('info', 'Unfinished sessions were resumed.', { sessions: count })
      if (shareOnly && this.#others.length > 0) this.#sweepRest()
      return count
    } catch (error) {
      // The next lease that ends, or the next start, tries again.
      this.#parts.log('error', 'Sessions could not be taken over.', { error: wordsOf(error) })
      return 0
    }
  }

  /** Nodes that should have taken their share may have died since. */
  #sweepRest(): void {
    clearTimeout(this.#rest)
    this.#rest = setTimeout(
      () => {
        this.#sweeping = this.#sweeping.then(() => this.#sweep(false))
      },
      othersMs * (1 + Math.random()),
    )
    this.#rest.unref()
  }

  async #take(shareOnly: boolean): Promise<number> {
    const { store } = this.#parts
    let count = 0
    for (let after = ''; !this.#stopped; ) {
      const page = await store.abandoned(after, pageSize)
      const mine = page.filter(each => this.#isMine(each, shareOnly))
      for (let from = 0; from < mine.length && !this.#stopped; from += batchSize) {
        count += await this.#takeBatch(mine.slice(from, from + batchSize))
        await pause(Math.random() * 10, undefined, { ref: false })
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
