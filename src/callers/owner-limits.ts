// The limits of one owner over all wires, so that no owner uses up what the others need. `OwnerAccounts` counts
// requests per second, open requests and sockets, and bodies that are being read. The engine counts running turns,
// sessions and stored bytes: `WorkLimits` keeps upper bounds of these numbers, and asks the engine only when a bound
// reaches its limit or has become old, so that an ordinary command costs nothing more.

import type { Engine, OwnerUsage } from '../engine/ports/boundary.ts'
import { TurnwireError } from '../language/errors.ts'
import { anyWallet, isWallet } from '../language/payments.ts'
import { IdleMap } from '../lib/async/idle-map.ts'
import type { OwnerAccount } from './caller.ts'

export type OwnerLimits = {
  /** Requests per second, on average. A frame on a socket counts as one. Default 1,000. */
  requests: number
  /** Requests that may come at once after a pause. Default 10,000. */
  burst: number
  /** Requests and sockets that are open at the same time, event streams among them. Default 10,000. */
  streams: number
  /** Turns and stateless requests that are at work at the same time. Default 1,000. */
  turns: number
  /** Sessions that are kept. Default 1,000,000. */
  sessions: number
  /** Bytes that these sessions may take. Default 64 GiB. */
  bytes: number
}

/** Of all wallets together. Stored data is limited for each wallet alone: counting all would read every session. */
export type WalletLimits = Omit<OwnerLimits, 'sessions' | 'bytes'>

export const defaultWalletLimits: WalletLimits = {
  requests: 1_000,
  burst: 10_000,
  streams: 10_000,
  turns: 1_000,
}

export const defaultOwnerLimits: OwnerLimits = {
  ...defaultWalletLimits,
  sessions: 1_000_000,
  bytes: 64 * 1024 ** 3,
}

const elapsed = performance.now.bind(performance)

/** How many bodies of the largest size one owner may send at the same time. */
const largestBodies = 8

/** Limits for each owner, and for all wallets together: anyone can make any number of wallets. */
export type LimitSettings = { perOwner?: Partial<OwnerLimits>; allWallets?: Partial<WalletLimits> }

// ---- requests ------------------------------------------------------------------------------------------------

/** The accounts of all owners: names of keys, and wallets that pay. An account that is idle is as good as a new one. */
export class OwnerAccounts {
  /** That of all wallets together. */
  readonly wallets: Account
  readonly #accounts: IdleMap<Account>
  /** Open requests of callers that may be any wallet. */
  #bare = 0

  /** `bodyBytes`: the largest body. `now`: milliseconds of a clock that is never set back. */
  constructor({ perOwner, allWallets }: LimitSettings, bodyBytes: number, now = elapsed) {
    const limits = { ...defaultOwnerLimits, ...perOwner }
    const mostBodyBytes = largestBodies * bodyBytes
    this.wallets = new Account({ ...defaultWalletLimits, ...allWallets }, mostBodyBytes, now, 'all wallets')
    this.#accounts = new IdleMap(owner => {
      const account = new Account(limits, mostBodyBytes, now)
      if (isWallet(owner)) account.within = this.wallets
      return account
    })
  }

  /** Requests and sockets of all owners that are open. */
  get open(): number {
    return this.#accounts.values().reduce((sum, account) => sum + account.opened, this.#bare)
  }

  /**
   * Counts a request, and that it is open. `bare`: its sender can claim to be any wallet, so it is counted only on the
   * account of all wallets. Gives the account that its body is counted on, and a function that ends the request.
   */
  enter(owner: string, bare: boolean): { account: Account; leave: () => void } {
    const account = bare ? this.wallets : this.#accounts.of(owner)
    account.within?.request()
    account.request()
    const leaveAll = account.within?.open()
    try {
      const leave = account.open()
      if (bare) this.#bare += 1
      if (!bare && !leaveAll) return { account, leave }
      let isOpen = true
      const leaveBoth = (): void => {
        if (bare && isOpen) this.#bare -= 1
        isOpen = false
        leave()
        leaveAll?.()
      }
      return { account, leave: leaveBoth }
    } catch (error) {
      leaveAll?.()
      throw error
    }
  }

  of(owner: string): Account {
    return this.#accounts.of(owner)
  }
}

export class Account implements OwnerAccount {
  readonly #limits: WalletLimits
  readonly #mostBodyBytes: number
  readonly #now: () => number
  readonly #who: string
  /** Requests left in the bucket, and when that was so. */
  #left: number
  #at: number
  #open = 0
  #bodyBytes = 0
  /** Of a wallet: the account of all wallets together. */
  within: Account | undefined

  /** `who`: whose it is, in what a caller is told. */
  constructor(limits: WalletLimits, mostBodyBytes: number, now: () => number, who = 'this key') {
    this.#limits = limits
    this.#who = who
    this.#mostBodyBytes = mostBodyBytes
    this.#now = now
    this.#left = limits.burst
    this.#at = now()
  }

  /** Counts a request. Throws `rate_limited` if too many came in a short time. */
  request(): void {
    this.#fill()
    if (this.#left < 1) {
      const wait = ((1 - this.#left) / this.#limits.requests) * 1000
      throw rateLimited('Too many requests in a short time. Wait, then send fewer.', wait)
    }
    this.#left -= 1
  }

  /** Counts a frame of a socket. It has been read already, so it is taken also from an empty bucket. */
  frame(): void {
    this.#fill()
    this.#left -= 1
  }

  /** The milliseconds until frames may be read again: 0 if they may now. */
  get debtMs(): number {
    this.#fill()
    return this.#left >= 0 ? 0 : (-this.#left / this.#limits.requests) * 1000
  }

  /** Nothing is open, and it may send as many requests as anyone. */
  get isIdle(): boolean {
    this.#fill()
    return this.#open === 0 && this.#bodyBytes === 0 && this.#left === this.#limits.burst
  }

  get opened(): number {
    return this.#open
  }

  /** Counts a request or a socket as open. Throws `rate_limited` if too many are. Gives a function that ends it. */
  open(): () => void {
    const { streams } = this.#limits
    if (this.#open >= streams)
      throw rateLimited(`${streams} requests and streams of ${this.#who} are open. Close some first.`)
    this.#open += 1
    let isOpen = true
    return () => {
      if (isOpen) this.#open -= 1
      isOpen = false
    }
  }

  takeBody(bytes: number): void {
    if (this.#bodyBytes + bytes > this.#mostBodyBytes)
      throw rateLimited('Too many large bodies are being sent at once. Send one after the other.')
    this.#bodyBytes += bytes
  }

  releaseBody(bytes: number): void {
    this.#bodyBytes -= bytes
  }

  #fill(): void {
    const { requests, burst } = this.#limits
    const now = this.#now()
    this.#left = Math.min(burst, this.#left + ((now - this.#at) / 1000) * requests)
    this.#at = now
  }
}

// ---- work ----------------------------------------------------------------------------------------------------

/** How long a count is good for: this long, or a hundred times as long as the counting took. */
const goodForMs = 1_000

export class WorkLimits {
  readonly #owners: IdleMap<OwnerBounds>

  constructor(engine: Engine, { perOwner, allWallets }: LimitSettings = {}, now = elapsed) {
    const limits = { ...defaultOwnerLimits, ...perOwner }
    const shared = { ...defaultWalletLimits, ...allWallets, sessions: Infinity, bytes: Infinity }
    const wallets = new OwnerBounds(
      () => engine.lookUp({ get: 'usage', owner: anyWallet, all: true }),
      shared,
      now,
      'all wallets',
    )
    this.#owners = new IdleMap(owner => {
      const bounds = new OwnerBounds(() => engine.lookUp({ get: 'usage', owner }), limits, now)
      if (isWallet(owner)) bounds.within = wallets
      return bounds
    })
  }

  /** Makes a session if the owner may have one more. */
  creating<Result>(owner: string, make: () => Promise<Result>): Promise<Result> {
    const bounds = this.#owners.of(owner)
    const act = (): Promise<Result> => bounds.creating(make)
    return bounds.full('sessions') ? countFirst(bounds, 'sessions', act) : act()
  }

  /** Starts a turn of this session if the owner may have one more at work. */
  starting<Result>(owner: string, session: string, start: () => Promise<Result>): Promise<Result> {
    const bounds = this.#owners.of(owner)
    const act = (): Promise<Result> => bounds.starting(session, start)
    return bounds.full('turns') ? countFirst(bounds, 'turns', act) : act()
  }

  /** Counts a stateless request until the signal aborts. Throws `rate_limited`. */
  answering(owner: string, signal: AbortSignal | undefined): void {
    const own = this.#owners.of(owner)
    const all = own.within ? [own.within, own] : [own]
    for (const bounds of all) bounds.refuseAnswering()
    if (!signal || signal.aborted) return
    for (const bounds of all) bounds.answering += 1
    const answered = (): void => {
      for (const bounds of all) bounds.answering -= 1
    }
    signal.addEventListener('abort', answered, { once: true })
  }
}

async function countFirst<Result>(
  bounds: OwnerBounds,
  what: 'sessions' | 'turns',
  act: () => Promise<Result>,
): Promise<Result> {
  const all = bounds.within ? [bounds.within, bounds] : [bounds]
  for (const each of all) if (each.reached(what)) await each.count()
  for (const each of all) each.refuseFull(what)
  return act()
}

/** The most that one owner can have, by the last count and what was begun since. */
class OwnerBounds {
  readonly #usage: () => Promise<OwnerUsage>
  readonly #limits: OwnerLimits
  readonly #now: () => number
  readonly #who: Bounded
  #sessions = 0
  #bytes = 0
  #running = new Set<string>()
  #goodUntil = -Infinity
  #counting: Promise<void> | undefined
  /** Sessions with a command under way, and how many. */
  readonly #starting = new Map<string, number>()
  #creating = 0
  /** Stateless requests that are at work. */
  answering = 0
  /** Of a wallet: the bounds of all wallets together. */
  within: OwnerBounds | undefined

  /** `who`: whose they are, in what a caller is told. */
  constructor(
    usage: () => Promise<OwnerUsage>,
    limits: OwnerLimits,
    now: () => number,
    who: Bounded = 'this key',
  ) {
    this.#usage = usage
    this.#who = who
    this.#limits = limits
    this.#now = now
  }

  /** Nothing is under way, and the numbers would be counted anew. */
  get isIdle(): boolean {
    const isWorking = this.answering > 0 || this.#creating > 0 || this.#starting.size > 0 || this.#counting
    return !isWorking && this.#now() >= this.#goodUntil
  }

  refuseAnswering(): void {
    if (this.answering >= this.#limits.turns) throw refusals.turns(this.#limits, this.#who)
  }

  refuseFull(what: 'sessions' | 'turns'): void {
    const full = this.reached(what)
    if (full) throw refusals[full](this.#limits, this.#who)
  }

  /** One of the bounds of the owner is reached, or must be counted anew. */
  full(what: 'sessions' | 'turns'): boolean {
    return this.reached(what) !== undefined || this.within?.reached(what) !== undefined
  }

  /** The limit that is reached, or must be counted anew before one more is let in. */
  reached(what: 'sessions' | 'turns'): 'sessions' | 'turns' | 'bytes' | undefined {
    const { turns, sessions, bytes } = this.#limits
    if (this.#now() >= this.#goodUntil) return what
    if (what === 'turns' ? this.#running.size >= turns : this.#sessions >= sessions) return what
    return this.#bytes >= bytes ? 'bytes' : undefined
  }

  /** Callers that wait for a count share it. */
  count(): Promise<void> {
    this.#counting ??= this.#count().finally(() => {
      this.#counting = undefined
    })
    return this.#counting
  }

  async #count(): Promise<void> {
    const begun = this.#now()
    const { sessions, bytes, running } = await this.#usage()
    this.#sessions = sessions + this.#creating
    this.#bytes = bytes
    this.#running = new Set(running)
    for (const session of this.#starting.keys()) this.#running.add(session)
    const now = this.#now()
    this.#goodUntil = now + Math.max(goodForMs, 100 * (now - begun))
  }

  async creating<Result>(make: () => Promise<Result>): Promise<Result> {
    this.#sessions += 1
    this.#creating += 1
    try {
      return await (this.within ? this.within.creating(make) : make())
    } finally {
      this.#creating -= 1
    }
  }

  async starting<Result>(session: string, act: () => Promise<Result>): Promise<Result> {
    this.#running.add(session)
    this.#starting.set(session, (this.#starting.get(session) ?? 0) + 1)
    try {
      return await (this.within ? this.within.starting(session, act) : act())
    } finally {
      const left = (this.#starting.get(session) ?? 1) - 1
      if (left > 0) this.#starting.set(session, left)
      else this.#starting.delete(session)
    }
  }
}

type Bounded = 'this key' | 'all wallets'

const refusals: Record<'turns' | 'sessions' | 'bytes', (limits: OwnerLimits, who: Bounded) => TurnwireError> =
  {
    turns: ({ turns }, who) =>
      rateLimited(`${turns} turns of ${who} are at work. Wait until some have ended.`),
    sessions: ({ sessions }, who) => kept(`${sessions} sessions of ${who} are kept`),
    bytes: ({ bytes }, who) => kept(`The sessions of ${who} take ${bytes} bytes`),
  }

function kept(words: string): TurnwireError {
  return rateLimited(`${words}, which is the limit. Delete some first.`, 60_000)
}

function rateLimited(message: string, retryAfterMs = 1000): TurnwireError {
  return new TurnwireError('rate_limited', message, { retryAfterMs })
}
