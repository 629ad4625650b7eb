// The engine as callers of the server may use it: no owner has more turns at work, sessions or stored bytes than its limits
// allow, and all wallets together have no more turns at work than theirs. It keeps upper bounds of these numbers, and asks the
// engine for the real ones only when a bound reaches its limit or has become old, so that an ordinary command costs nothing more.
import type { Command, Engine, OwnerUsage } from '../engine/index.ts'
import type { TurnwireError } from '../language/errors.ts'
import { anyWallet, isWallet } from '../language/payments.ts'
import type { TraceContext } from '../language/trace.ts'
import { IdleMap } from '../lib/idle-map.ts'
import { type CallName, ForwardingEngine } from './engine-socket/index.ts'
import {
  defaultOwnerLimits,
  defaultWalletLimits,
  type LimitSettings,
  type OwnerLimits,
  rateLimited,
} from './owner-limits.ts'

/** How long a count is good for: this long, or a hundred times as long as the counting took. */
const goodForMs = 1_000

/** Commands that set a session to work. */
const startsTurn: ReadonlySet<Command['do']> = new Set(['say', 'respond', 'call', 'complete'])

export class LimitedEngine extends ForwardingEngine {
  readonly #engine: Engine
  readonly #trace: () => TraceContext | undefined
  readonly #owners: IdleMap<OwnerBounds>
  readonly #wallets: OwnerBounds

  /** `trace`: of the request that is being served. */
  constructor(
    engine: Engine,
    { perOwner, allWallets }: LimitSettings,
    trace: () => TraceContext | undefined = () => undefined,
    now = () => performance.now(),
  ) {
    super()
    this.#trace = trace
    this.#engine = engine
    const limits = { ...defaultOwnerLimits, ...perOwner }
    this.#owners = new IdleMap(owner => new OwnerBounds(() => engine.usage(owner), limits, now))
    const shared = { ...defaultWalletLimits, ...allWallets, sessions: Infinity, bytes: Infinity }
    this.#wallets = new OwnerBounds(() => engine.usage(anyWallet, true), shared, now, 'all wallets')
  }

  protected override forward<Name extends CallName>(
    name: Name,
    ...args: Parameters<Engine[Name]>
  ): ReturnType<Engine[Name]> {
    // The arguments and the answer are those of the call of this name.
    const call = this.#engine[name] as (...given: unknown[]) => ReturnType<Engine[Name]>
    return call.apply(this.#engine, args)
  }

  override create(create: Parameters<Engine['create']>[0]): ReturnType<Engine['create']> {
    const make = (): ReturnType<Engine['create']> => this.#engine.create(create)
    return this.#within(create.owner, 'sessions', (bounds, act) => bounds.creating(act), make)
  }

  override command(...[ref, command]: Parameters<Engine['command']>): ReturnType<Engine['command']> {
    const traced = this.#traced(command)
    const act = (): ReturnType<Engine['command']> => this.#engine.command(ref, traced)
    // Others start no turn.
    if (!startsTurn.has(command.do)) return act()
    return this.#within(ref.owner, 'turns', (bounds, start) => bounds.starting(ref.session, start), act)
  }

  override follow(...args: Parameters<Engine['follow']>): ReturnType<Engine['follow']> {
    return this.#engine.follow(...args)
  }

  override changes(...args: Parameters<Engine['changes']>): ReturnType<Engine['changes']> {
    return this.#engine.changes(...args)
  }

  override attach(...args: Parameters<Engine['attach']>): ReturnType<Engine['attach']> {
    return this.#engine.attach(...args)
  }

  override answerOnce(
    ...[request, signal]: Parameters<Engine['answerOnce']>
  ): ReturnType<Engine['answerOnce']> {
    const all = this.#of(request.owner)
    for (const bounds of all) bounds.refuseAnswering()
    // The signal of a caller aborts at the latest when its answer has been sent.
    if (signal && !signal.aborted) {
      for (const bounds of all) bounds.answering += 1
      const answered = (): void => {
        for (const bounds of all) bounds.answering -= 1
      }
      signal.addEventListener('abort', answered, { once: true })
    }
    const trace = request.trace ?? this.#trace()
    return this.#engine.answerOnce(trace ? { ...request, trace } : request, signal)
  }

  /** A turn that it starts belongs to the trace of the request. */
  #traced(command: Command): Command {
    if ((command.do !== 'say' && command.do !== 'call') || command.trace) return command
    const trace = this.#trace()
    return trace ? { ...command, trace } : command
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
