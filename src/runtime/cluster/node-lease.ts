// The lease of this node: begun, renewed, trusted and given up. The node trusts it for its length less a margin, counted from
// when the renewal was sent. Past that the node stops itself and joins again under a new id. Time is that of a clock which
// is never set, and which goes on while the process is stopped.
import { uptime } from 'node:os'
import type { NodeStore, SeenNode } from '../../engine/index.ts'
import { TurnwireError, wordsOf } from '../../language/errors.ts'
import type { Log } from '../log.ts'

export type LeaseOptions = {
  store: NodeStore
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
  /** What the store knows of all nodes, after each renewal. */
  onSeen(nodes: readonly SeenNode[]): void
  log: Log
  /** Milliseconds. */
  clock?: () => number
}

type State = 'new' | 'held' | 'lost' | 'over'

/** A renewal is sent so often within the length of a lease. */
const renewals = 3
const marginMs = 1_000
/** How often a node that is alone looks whether it still is. */
const aloneMs = 100
/** How soon a renewal that failed is tried again. */
const retryMs = 250

/** The most that has passed by either clock: one stops while the machine sleeps, the other is coarse. */
export function passingTime(): () => number {
  const [began, up] = [performance.now(), uptime()]
  return () => Math.max(performance.now() - began, (uptime() - up) * 1000 - 20)
}

export class NodeLease {
  readonly #options: LeaseOptions
  readonly #clock: () => number
  #id = ''
  #state: State = 'new'
  #trustedUntil = -Infinity
  /** No other node lived when the store was last asked. */
  #alone = true
  /** When another node was heard of, which may not have joined yet. */
  #metAt = -Infinity
  #timer: NodeJS.Timeout | undefined
  #watchdog: NodeJS.Timeout | undefined
  #failure: TurnwireError | undefined
  /** The last attempt to renew failed, and that was logged. */
  #isFailing = false

  constructor(options: LeaseOptions) {
    this.#options = options
    this.#clock = options.clock ?? passingTime()
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
    this.#metAt = this.#clock()
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
    clearTimeout(this.#timer)
    clearTimeout(this.#watchdog)
    if (wasHeld) await this.#options.store.leave()
  }

  get #isTrusted(): boolean {
    return this.#alone || this.#clock() < this.#trustedUntil
  }

  async #join(): Promise<void> {
    const { store, leaseMs, newId, address, version } = this.#options
    const id = newId()
    const where = address()
    const sentAt = this.#clock()
    await store.join({ id, version, ...(where !== undefined && { address: where }) }, leaseMs)
    if (this.#state === 'over') return
    this.#id = id
    this.#held(sentAt)
    await this.#look()
  }

  #held(sentAt: number): void {
    const { leaseMs } = this.#options
    this.#state = 'held'
    this.#failure = undefined
    this.#trustedUntil = sentAt + leaseMs - Math.min(marginMs, leaseMs / 4)
    this.#watch(this.#trustedUntil - this.#clock())
  }

  /** A node that is alone goes on, and looks again whether it still is. */
  #watch(ms: number): void {
    clearTimeout(this.#watchdog)
    this.#watchdog = setTimeout(() => {
      if (this.#state !== 'held') return
      if (!this.#isTrusted) this.#lose('The lease was not renewed in time.')
      else this.#watch(Math.max(this.#trustedUntil - this.#clock(), aloneMs))
    }, ms)
    this.#watchdog.unref()
  }

  async #look(): Promise<void> {
    const nodes = await this.#options.store.nodes()
    const hasOthers = nodes.some(({ id, leftMs }) => id !== this.#id && leftMs > 0)
    this.#alone = !hasOthers && this.#clock() - this.#metAt > this.#options.leaseMs
    this.#options.onSeen(nodes)
  }

  #schedule(ms: number): void {
    clearTimeout(this.#timer)
    if (this.#state === 'over') return
    // Nodes that started together do not renew together.
    this.#timer = setTimeout(() => void this.#beat(), ms * (0.8 + Math.random() * 0.2))
    this.#timer.unref()
  }

  async #beat(): Promise<void> {
    const { leaseMs, log } = this.#options
    try {
      if (this.#state === 'lost') await this.#rejoin()
      else await within(leaseMs, this.#renew())
      this.#isFailing = false
      this.#schedule(this.#state === 'lost' ? 0 : leaseMs / renewals)
    } catch (error) {
      if (!this.#isFailing && this.#state !== 'over')
        log('warn', 'The lease of this node could not be renewed.', { node: this.#id, error: wordsOf(error) })
      this.#isFailing = true
      this.#schedule(Math.min(retryMs, leaseMs / 10))
    }
  }

  async #renew(): Promise<void> {
    const id = this.#id
    await this.#options.canWork()
    const sentAt = this.#clock()
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
    clearTimeout(this.#watchdog)
    this.#options.log('error', 'This node lost its lease, and stops its work.', { node: this.#id, why })
    this.#options.onLost(this.#failure)
    this.#schedule(0)
  }
}

function leaseLost(why: string): TurnwireError {
  return new TurnwireError('lease_lost', `${why} Other nodes may have its sessions; ask again.`)
}

async function within<Result>(ms: number, work: Promise<Result>): Promise<Result> {
  const late = Promise.withResolvers<never>()
  const timer = setTimeout(() => late.reject(new Error(`There was no answer within ${ms} ms.`)), ms)
  timer.unref()
  try {
    return await Promise.race([work, late.promise])
  } finally {
    clearTimeout(timer)
  }
}
