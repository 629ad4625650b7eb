// The lease of a simulated node: begun, renewed, trusted for its length less a margin from when the renewal was sent, and
// lost. A node without trust writes nothing and is ended. It also takes up the sessions of nodes whose lease has ended.
import type { NodeStore, Store } from '../../src/engine/index.ts'
import { TurnwireError } from '../../src/language/errors.ts'
import type { Machine, Scheduler } from './scheduler.ts'

export const leaseMs = 600
const marginMs = 100
const mostTaken = 20

/** What a node does with a store beside reading and writing sessions. */
export type NodeCalls = Pick<NodeStore, 'join' | 'renew' | 'leave' | 'abandoned'>

export type LeaseParts = {
  machine: Machine
  scheduler: Scheduler
  calls: NodeCalls
  /** Continues these sessions here. */
  recover(ids: readonly string[]): Promise<unknown>
  onLost(): void
}

export class SimulatedLease {
  readonly #parts: LeaseParts
  #trustedUntil = -Infinity
  #ended = false
  #isTaking = false

  constructor(parts: LeaseParts) {
    this.#parts = parts
  }

  async begin(): Promise<void> {
    const { machine, scheduler, calls } = this.#parts
    const sentAt = scheduler.now
    await calls.join({ id: machine.name, version: '1' }, leaseMs)
    this.#trustFrom(sentAt)
    this.#later()
  }

  /** The store as the engine of the node uses it. */
  fence(store: Store): Store {
    const trusted = <Result>(write: () => Promise<Result>): Promise<Result> => {
      if (this.#parts.scheduler.now < this.#trustedUntil) return write()
      this.#lose()
      return Promise.reject(new TurnwireError('lease_lost', 'The lease was not renewed in time.'))
    }
    return {
      ...store,
      create: session => trusted(() => store.create(session)),
      claim: (id, recovering) => trusted(() => store.claim(id, recovering)),
      append: batch => trusted(() => store.append(batch)),
      remove: (...given) => trusted(() => store.remove(...given)),
      putBlob: (...given) => trusted(() => store.putBlob(...given)),
      addPiece: (...given) => trusted(() => store.addPiece(...given)),
    }
  }

  async end(): Promise<void> {
    if (this.#ended) return
    this.#ended = true
    await this.#parts.calls.leave()
  }

  #trustFrom(sentAt: number): void {
    this.#trustedUntil = sentAt + leaseMs - marginMs
  }

  #later(): void {
    const { scheduler, machine } = this.#parts
    scheduler.after(leaseMs / 4, () => void this.#beat(), machine)
  }

  async #beat(): Promise<void> {
    const { scheduler, calls } = this.#parts
    if (this.#ended) return
    const sentAt = scheduler.now
    try {
      if (!(await calls.renew())) {
        this.#lose()
        return
      }
      this.#trustFrom(sentAt)
      void this.#takeOver()
    } catch (error) {
      // A store that fails is asked again; the trust ends by itself.
      if (!(error instanceof TurnwireError)) throw error
    }
    if (scheduler.now >= this.#trustedUntil) this.#lose()
    else this.#later()
  }

  /** Beside the renewals, which must not wait for it. */
  async #takeOver(): Promise<void> {
    if (this.#isTaking) return
    this.#isTaking = true
    const { calls } = this.#parts
    try {
      const found = await calls.abandoned('', mostTaken)
      if (found.length > 0) await this.#parts.recover(found.map(({ id }) => id))
    } catch (error) {
      // Another node was faster, or the store fails: the next renewal looks again.
      if (!(error instanceof TurnwireError)) throw error
    }
    this.#isTaking = false
  }

  #lose(): void {
    if (this.#ended) return
    this.#ended = true
    this.#parts.onLost()
  }
}
