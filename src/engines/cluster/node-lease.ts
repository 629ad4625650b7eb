// The lease of this node: begun, renewed, trusted and given up. The node trusts it for its length less a margin,
// counted from when the renewal was sent. Past that the node stops itself and joins again under a new id.

import type { Log } from '../../engine/ports/local.ts'
import type { NodeStore, SeenNode } from '../../engine/ports/node.ts'
import { TurnwireError, wordsOf } from '../../language/errors.ts'
import { realTiming, type Timing } from './timing.ts'

export type LeaseOptions = {
  store: Pick<NodeStore, 'join' | 'renew' | 'leave' | 'nodes'>
  leaseMs: number
  newId: () => string
  /** Where others reach this node; undefined: nowhere. */
  address: () => string | undefined
  version: string
  /** Rejects if this node could not do its work now: then the lease is not renewed. */
  canWork(): Promise<void>
  /** The sessions of this node may be those of others from here on. */
  onLost(reason: TurnwireError): void
  /** This node joined again, under a new id. */
  onJoined(): void
  /** Called after each renewal with all nodes that the store knows. */
  onSeen(nodes: readonly SeenNode[]): void
  log: Log
  timing?: Timing
}

type State = 'new' | 'held' | 'lost' | 'over'

/** A renewal is sent so often within the length of a lease. */
const renewals = 3
const marginMs = 1_000
/** How often a node that is alone looks whether it still is. */
const aloneMs = 100
/** How soon a renewal that failed is tried again. */
const retryMs = 250

export class NodeLease {
  readonly #options: LeaseOptions
  readonly #timing: Timing
  #id = ''
  /** The id under which it tries to join: an attempt whose answer was lost may have succeeded. */
  #joining: string | undefined
  #state: State = 'new'
  #trustedUntil = -Infinity
  /** No other node lived when the store was last asked. */
  #alone = true
  /** When another node was heard of, which may not have joined yet. */
  #metAt = -Infinity
  #stopBeat: (() => void) | undefined
  #stopWatch: (() => void) | undefined
  #failure: TurnwireError | undefined
  #isBeating = false
  /** The last attempt to renew failed, and that was logged. */
  #isFailing = false

  constructor(options: LeaseOptions) {
    this.#options = options
    this.#timing = options.timing ?? realTiming()
  }

  /** The id of this node, until it has to join again. */
  get id(): string {
    return this.#id
  }

  get held(): boolean {
    return this.#state === 'held' && this.#isTrusted
  }

  /** Why this node may not work now. */
  get failure(): TurnwireError | undefined {
    if (this.held) return undefined
    return this.#failure ?? leaseLost('This node has no lease.')
  }

  /** Rejects if the store cannot be written. */
  async begin(): Promise<void> {
    await this.#join()
    this.#schedule(this.#options.leaseMs / renewals)
  }

  /** Another node has been heard of: from here on this one stops itself in time. */
  meetOther(): void {
    this.#alone = false
    this.#metAt = this.#timing.now()
  }

  /** Throws `lease_lost` unless the lease is trusted. A lease that is found to be over is lost from here on. */
  check(): void {
    if (this.held) return
    if (this.#state === 'held') this.#lose('The lease was not renewed in time.')
    throw this.failure
  }

  /** Others may have its sessions at once. */
  async end(): Promise<void> {
    const wasHeld = this.#state === 'held'
    this.#state = 'over'
    this.#stopBeat?.()
    this.#stopWatch?.()
    if (wasHeld) await this.#options.store.leave()
  }

  get #isTrusted(): boolean {
    return this.#alone || this.#timing.now() < this.#trustedUntil
  }

  /** An answer that took longer than the lease is trusted says nothing: it is asked again, under the same id. */
  async #join(): Promise<void> {
    const { store, leaseMs, newId, address, version } = this.#options
    this.#joining ??= newId()
    const id = this.#joining
    const where = address()
    let sentAt: number
    do {
      sentAt = this.#timing.now()
      await store.join({ id, version, ...(where !== undefined && { address: where }) }, leaseMs)
      if (this.#state === 'over') return
    } while (this.#timing.now() >= sentAt + this.#trustMs)
    this.#joining = undefined
    this.#id = id
    this.#held(sentAt)
    await this.#look()
  }

  get #trustMs(): number {
    const { leaseMs } = this.#options
    return leaseMs - Math.min(marginMs, leaseMs / 4)
  }

  #held(sentAt: number): void {
    this.#state = 'held'
    this.#failure = undefined
    this.#trustedUntil = sentAt + this.#trustMs
    this.#watch(Math.max(this.#trustedUntil - this.#timing.now(), 0))
  }

  /** A node that is alone goes on, and looks again whether it still is. A timer can fire a moment early: it is set again. */
  #watch(ms: number): void {
    this.#stopWatch?.()
    this.#stopWatch = this.#timing.after(ms, () => {
      if (this.#state !== 'held') return
      if (!this.#isTrusted) this.#lose('The lease was not renewed in time.')
      else this.#watch(Math.max(this.#trustedUntil - this.#timing.now(), this.#alone ? aloneMs : 1))
    })
  }

  async #look(): Promise<void> {
    const nodes = await this.#options.store.nodes()
    const hasOthers = nodes.some(({ id, leftMs }) => id !== this.#id && leftMs > 0)
    this.#alone = !hasOthers && this.#timing.now() - this.#metAt > this.#options.leaseMs
    this.#options.onSeen(nodes)
  }

  #schedule(ms: number): void {
    this.#stopBeat?.()
    if (this.#state === 'over') return
    // Nodes that started together do not renew together.
    this.#stopBeat = this.#timing.after(ms * (0.8 + this.#timing.random() * 0.2), () => void this.#beat())
  }

  async #beat(): Promise<void> {
    const { leaseMs, log } = this.#options
    // It goes on by itself: two attempts to join could answer in any order.
    if (this.#isBeating) return
    this.#isBeating = true
    try {
      if (this.#state === 'lost') await this.#rejoin()
      else await this.#within(leaseMs, this.#renew())
      this.#isFailing = false
      this.#schedule(this.#state === 'lost' ? 0 : leaseMs / renewals)
    } catch (error) {
      if (!this.#isFailing && this.#state !== 'over')
        log('warn', 'The lease of this node could not be renewed.', { node: this.#id, error: wordsOf(error) })
      this.#isFailing = true
      this.#schedule(Math.min(retryMs, leaseMs / 10))
    } finally {
      this.#isBeating = false
    }
  }

  async #renew(): Promise<void> {
    const id = this.#id
    await this.#options.canWork()
    const sentAt = this.#timing.now()
    const isRenewed = await this.#options.store.renew()
    if (this.#state !== 'held' || this.#id !== id) return
    if (isRenewed) {
      this.#held(sentAt)
      await this.#look()
    } else this.#lose('Other nodes live, and saw the lease of this one end.')
  }

  async #rejoin(): Promise<void> {
    await this.#options.canWork()
    await this.#join()
    if (this.#state !== 'held') return
    this.#options.log('warn', 'This node joined again.', { node: this.#id })
    this.#options.onJoined()
  }

  #lose(why: string): void {
    this.#state = 'lost'
    this.#failure = leaseLost(why)
    this.#stopWatch?.()
    this.#options.log('error', 'This node lost its lease, and stops its work.', { node: this.#id, why })
    this.#options.onLost(this.#failure)
    this.#schedule(0)
  }

  async #within<Result>(ms: number, work: Promise<Result>): Promise<Result> {
    const late = Promise.withResolvers<never>()
    const stop = this.#timing.after(ms, () => late.reject(new Error(`There was no answer within ${ms} ms.`)))
    try {
      return await Promise.race([work, late.promise])
    } finally {
      stop()
    }
  }
}

function leaseLost(why: string): TurnwireError {
  return new TurnwireError('lease_lost', `${why} Other nodes may have its sessions; ask again.`)
}
