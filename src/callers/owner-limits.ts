// What one owner may have at a time, over all routes of all wires, so that no owner uses up what the others need: requests
// per second, open requests and sockets, and bodies that are being read are counted here. Turns, sessions and stored bytes
// are counted by the engine (work-limits.ts).

import { TurnwireError } from '../language/errors.ts'
import { isWallet } from '../language/payments.ts'
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

/** Of all wallets together. What they keep is limited for each of them alone: counting it for all would read every session. */
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

/** How many bodies of the largest size one owner may send at the same time. */
const largestBodies = 8

/** What one owner may have, and all wallets together: they are owners without an account, and a wallet costs nothing. */
export type LimitSettings = { perOwner?: Partial<OwnerLimits>; allWallets?: Partial<WalletLimits> }

/** The accounts of all owners: names of keys, and wallets that pay. An account that is idle is as good as a new one. */
export class OwnerAccounts {
  /** That of all wallets together. */
  readonly wallets: Account
  readonly #accounts: IdleMap<Account>
  /** Open requests of callers that may be any wallet. */
  #bare = 0

  /** `bodyBytes`: the largest body. `now`: milliseconds of a clock that is never set back. */
  constructor({ perOwner, allWallets }: LimitSettings, bodyBytes: number, now = () => performance.now()) {
    const limits = { ...defaultOwnerLimits, ...perOwner }
    const mostBodyBytes = largestBodies * bodyBytes
    this.#accounts = new IdleMap(() => new Account(limits, mostBodyBytes, now))
    this.wallets = new Account({ ...defaultWalletLimits, ...allWallets }, mostBodyBytes, now, 'all wallets')
  }

  /** Requests and sockets of all owners that are open. */
  get open(): number {
    return this.#accounts.values().reduce((sum, account) => sum + account.opened, this.#bare)
  }

  /**
   * Counts a request, and that it is open. `bare`: whoever sends it can claim to be any wallet, so only the account of all of
   * them is asked. Gives the account that its body is counted on, and a function that ends it.
   */
  enter(owner: string, bare: boolean): { account: Account; leave: () => void } {
    const account = bare ? this.wallets : this.of(owner)
    const all = isWallet(owner) && !bare ? [this.wallets, account] : [account]
    for (const each of all) each.request()
    const opened: (() => void)[] = []
    const leave = (): void => {
      if (bare && opened.length > 0) this.#bare -= 1
      for (const end of opened.splice(0)) end()
    }
    try {
      for (const each of all) opened.push(each.open())
    } catch (error) {
      leave()
      throw error
    }
    if (bare) this.#bare += 1
    return { account, leave }
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
    const wait = this.#take()
    if (wait > 0) throw rateLimited('Too many requests in a short time. Wait, then send fewer.', wait)
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

  /** The milliseconds until there is a request left; 0: one was left, and is taken. */
  #take(): number {
    this.#fill()
    if (this.#left < 1) return ((1 - this.#left) / this.#limits.requests) * 1000
    this.#left -= 1
    return 0
  }

  #fill(): void {
    const { requests, burst } = this.#limits
    const now = this.#now()
    this.#left = Math.min(burst, this.#left + ((now - this.#at) / 1000) * requests)
    this.#at = now
  }
}

export function rateLimited(message: string, retryAfterMs = 1000): TurnwireError {
  return new TurnwireError('rate_limited', message, { retryAfterMs })
}
