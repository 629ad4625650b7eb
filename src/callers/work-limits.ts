// How many turns at work, sessions and stored bytes an owner may have, and how many turns at work all wallets together. It keeps
// upper bounds of these numbers, and asks the engine for the real ones only when a bound reaches its limit or has become old,
// so that an ordinary command costs nothing more.
import type { Engine, OwnerUsage } from '../engine/ports/boundary.ts'
import type { TurnwireError } from '../language/errors.ts'
import { anyWallet, isWallet } from '../language/payments.ts'
import { IdleMap } from '../lib/async/idle-map.ts'
import {
  defaultOwnerLimits,
  defaultWalletLimits,
  type LimitSettings,
  type OwnerLimits,
  rateLimited,
} from './owner-limits.ts'

/** How long a count is good for: this long, or a hundred times as long as the counting took. */
const goodForMs = 1_000

export class WorkLimits {
  readonly #owners: IdleMap<OwnerBounds>
  readonly #wallets: OwnerBounds

  constructor(engine: Engine, { perOwner, allWallets }: LimitSettings = {}, now = () => performance.now()) {
    const limits = { ...defaultOwnerLimits, ...perOwner }
    this.#owners = new IdleMap(
      owner => new OwnerBounds(() => engine.lookUp({ get: 'usage', owner }), limits, now),
    )
    const shared = { ...defaultWalletLimits, ...allWallets, sessions: Infinity, bytes: Infinity }
    this.#wallets = new OwnerBounds(
      () => engine.lookUp({ get: 'usage', owner: anyWallet, all: true }),
      shared,
      now,
      'all wallets',
    )
  }

  /** Makes a session if the owner may have one more. */
  creating<Result>(owner: string, make: () => Promise<Result>): Promise<Result> {
    return this.#within(owner, 'sessions', (bounds, act) => bounds.creating(act), make)
  }

  /** Starts a turn of this session if the owner may have one more at work. */
  starting<Result>(owner: string, session: string, start: () => Promise<Result>): Promise<Result> {
    return this.#within(owner, 'turns', (bounds, act) => bounds.starting(session, act), start)
  }

  /** Counts a stateless request until the signal aborts. Throws `rate_limited`. */
  answering(owner: string, signal: AbortSignal | undefined): void {
    const all = this.#of(owner)
    for (const bounds of all) bounds.refuseAnswering()
    if (!signal || signal.aborted) return
    for (const bounds of all) bounds.answering += 1
    const answered = (): void => {
      for (const bounds of all) bounds.answering -= 1
    }
    signal.addEventListener('abort', answered, { once: true })
  }

  /** What bounds this owner. */
  #of(owner: string): OwnerBounds[] {
    const own = this.#owners.of(owner)
    return isWallet(owner) ? [this.#wallets, own] : [own]
  }

  /** Acts if no bound of the owner is reached. `during`: while it acts, it counts. */
  #within<Result>(
    owner: string,
    what: 'sessions' | 'turns',
    during: (bounds: OwnerBounds, act: () => Promise<Result>) => Promise<Result>,
    act: () => Promise<Result>,
  ): Promise<Result> {
    const all = this.#of(owner)
    const counted = all.reduce((inner, bounds) => () => during(bounds, inner), act)
    return all.some(bounds => bounds.full(what)) ? countFirst(all, what, counted) : counted()
  }
}

async function countFirst<Result>(
  all: readonly OwnerBounds[],
  what: 'sessions' | 'turns',
  act: () => Promise<Result>,
): Promise<Result> {
  for (const bounds of all) if (bounds.full(what)) await bounds.count()
  for (const bounds of all) bounds.refuseFull(what)
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
    const full = this.full(what)
    if (full) throw refusals[full](this.#limits, this.#who)
  }

  /** The limit that is reached, or must be counted anew before one more is let in. */
  full(what: 'sessions' | 'turns'): 'sessions' | 'turns' | 'bytes' | undefined {
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
      return await make()
    } finally {
      this.#creating -= 1
    }
  }

  async starting<Result>(session: string, act: () => Promise<Result>): Promise<Result> {
    this.#running.add(session)
    this.#starting.set(session, (this.#starting.get(session) ?? 0) + 1)
    try {
      return await act()
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
