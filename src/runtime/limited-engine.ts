// The engine as callers of the server may use it: no owner has more turns at work, sessions or stored bytes than its limits
// allow. It keeps upper bounds of these numbers, and asks the engine for the real ones only when a bound reaches its limit
// or has become old, so that an ordinary command costs nothing more.
import type { Command, Engine, OwnerUsage } from '../engine/index.ts'
import type { TurnwireError } from '../language/errors.ts'
import type { TraceContext } from '../language/trace.ts'
import { IdleMap } from '../lib/idle-map.ts'
import { type CallName, ForwardingEngine } from './engine-socket/index.ts'
import { type OwnerLimits, rateLimited } from './owner-limits.ts'

/** How long a count is good for: this long, or a hundred times as long as the counting took. */
const goodForMs = 1_000

/** Commands that set a session to work. */
const startsTurn: ReadonlySet<Command['do']> = new Set(['say', 'respond', 'call', 'complete'])

export class LimitedEngine extends ForwardingEngine {
  readonly #engine: Engine
  readonly #limits: OwnerLimits
  readonly #trace: () => TraceContext | undefined
  readonly #owners: IdleMap<OwnerBounds>

  /** `trace`: of the request that is being served. */
  constructor(
    engine: Engine,
    limits: OwnerLimits,
    trace: () => TraceContext | undefined = () => undefined,
    now = () => performance.now(),
  ) {
    super()
    this.#trace = trace
    this.#engine = engine
    this.#limits = limits
    this.#owners = new IdleMap(owner => new OwnerBounds(() => engine.usage(owner), limits, now))
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
    const bounds = this.#of(create.owner)
    const make = (): ReturnType<Engine['create']> => bounds.creating(() => this.#engine.create(create))
    return bounds.full('sessions') ? this.#countFirst(create.owner, 'sessions', make) : make()
  }

  override command(...[ref, command]: Parameters<Engine['command']>): ReturnType<Engine['command']> {
    const traced = this.#traced(command)
    const act = (): ReturnType<Engine['command']> => this.#engine.command(ref, traced)
    // Others start no turn.
    if (!startsTurn.has(command.do)) return act()
    const bounds = this.#of(ref.owner)
    const start = (): ReturnType<Engine['command']> => bounds.starting(ref.session, act)
    return bounds.full('turns') ? this.#countFirst(ref.owner, 'turns', start) : start()
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
    const bounds = this.#of(request.owner)
    if (bounds.answering >= this.#limits.turns) throw refusals.turns(this.#limits)
    // The signal of a caller aborts at the latest when its answer has been sent.
    if (signal && !signal.aborted) {
      bounds.answering += 1
      signal.addEventListener('abort', () => bounds.answered(), { once: true })
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

  #of(owner: string): OwnerBounds {
    return this.#owners.of(owner)
  }

  async #countFirst<Result>(
    owner: string,
    what: 'sessions' | 'turns',
    act: () => Promise<Result>,
  ): Promise<Result> {
    const bounds = this.#of(owner)
    await bounds.count()
    const full = bounds.full(what)
    if (full) throw refusals[full](this.#limits)
    return act()
  }
}

/** The most that one owner can have, by the last count and what was begun since. */
class OwnerBounds {
  readonly #usage: () => Promise<OwnerUsage>
  readonly #limits: OwnerLimits
  readonly #now: () => number
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

  constructor(usage: () => Promise<OwnerUsage>, limits: OwnerLimits, now: () => number) {
    this.#usage = usage
    this.#limits = limits
    this.#now = now
  }

  /** Nothing is under way, and the numbers would be counted anew. */
  get isIdle(): boolean {
    const isWorking = this.answering > 0 || this.#creating > 0 || this.#starting.size > 0 || this.#counting
    return !isWorking && this.#now() >= this.#goodUntil
  }

  answered(): void {
    this.answering -= 1
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

const refusals: Record<'turns' | 'sessions' | 'bytes', (limits: OwnerLimits) => TurnwireError> = {
  turns: ({ turns }) => rateLimited(`${turns} turns of this key are at work. Wait until some have ended.`),
  sessions: ({ sessions }) =>
    rateLimited(`This key has ${sessions} sessions, which is its limit. Delete some first.`, 60_000),
  bytes: ({ bytes }) =>
    rateLimited(
      `The sessions of this key take ${bytes} bytes, which is its limit. Delete some first.`,
      60_000,
    ),
}
