// All sessions of one process: creates them, finds them for their owner, takes up what a crash left unfinished,
// and lets go of those that nothing is happening in. A session that waits for a person lives in the store.
import { TurnwireError } from '../language/errors.ts'
import type { Recorded } from '../language/events.ts'
import { toolHash } from '../language/tools.ts'
import type { RequestKey, SessionRef } from './boundary.ts'
import { type Create, decideCreate } from './decide.ts'
import { decideRecovery } from './decide-turn.ts'
import { evolve } from './evolve.ts'
import type { FeedItem, Watcher } from './feed.ts'
import { goneAgent } from './gone-agent.ts'
import { ManualControl } from './manual-control.ts'
import { statusOf } from './next.ts'
import { stoppedEngine } from './outcomes.ts'
import type { Agent, EnginePorts, ListedRow, Tool } from './ports.ts'
import { Session } from './session.ts'
import { type CallState, emptyState, listSummaryOf, type SessionState } from './state.ts'

const kept = 256
const pageBytes = 1024 * 1024
/** One for all: making an error costs more than dropping a session. */
const dropped = new TurnwireError('session_not_found', 'The session was dropped.')

export class OpenSessions {
  readonly ports: EnginePorts
  /** In the order in which they were last used. */
  readonly #open = new Map<string, Session>()
  /** No longer kept, but perhaps still held by whoever is at work with it: while that is so, it is the one copy. */
  readonly #released = new Map<string, WeakRef<Session>>()
  readonly #collected = new FinalizationRegistry<string>(id => {
    if (this.#released.get(id)?.deref() === undefined) this.#released.delete(id)
  })
  readonly #opening = new Map<string, Promise<Session>>()
  #stopping = false
  /** How often each lost session was tried again. */
  readonly #takingUp = new Map<string, number>()

  constructor(ports: EnginePorts) {
    this.ports = ports
  }

  agent(name: string): Agent {
    const agent = this.ports.agent(name)
    if (!agent) throw new TurnwireError('unknown_agent', `There is no agent named "${name}".`)
    return agent
  }

  async create(create: Create, request?: RequestKey): Promise<Session> {
    return (await this.make(create, request)).session
  }

  /** `existing`: the request key was used before. */
  async make(create: Create, request?: RequestKey): Promise<{ session: Session; existing: boolean }> {
    this.refuseIfStopping()
    const { world, store } = this.ports
    const agent = this.agent(create.agent)
    const id = world.id('sess')
    const now = world.now()
    const events = decideCreate(create, { agent, now, id: prefix => world.id(prefix) })
    const state = emptyState(id)
    for (const event of events) evolve(state, event)
    const made = await store.create({
      row: { id, owner: create.owner, agent: agent.name, status: 'idle', createdAt: now },
      events,
      summary: listSummaryOf(state),
      ...(request && { request }),
    })
    if ('existing' in made) {
      if (made.hash !== request?.hash)
        throw new TurnwireError('idempotency_conflict', 'This Idempotency-Key was used for another request.')
      return { session: await this.open(create.owner, made.existing), existing: true }
    }
    const onLost = (lost: Session, reason: unknown): void => this.#forget(lost, reason)
    const session = new Session(this.ports, agent, state, made.epoch, onLost)
    return { session: this.#keep(session), existing: false }
  }

  /**
   * The session, ready to take commands. To anyone but its owner it does not exist. `attached`: tools that a session which
   * was at work is offered before it goes on.
   */
  async open(owner: string, id: string, attached?: readonly Tool[]): Promise<Session> {
    this.refuseIfStopping()
    // Whether it is in memory must not show in how soon a stranger is turned away.
    if (this.#find(id)?.state.owner !== owner) {
      const row = await this.ports.store.row(id)
      if (row?.owner !== owner) throw notFound()
    }
    const session = await this.#load(id, attached)
    if (session.state.owner !== owner) throw notFound()
    return session
  }

  inMemory({ owner, session: id }: SessionRef): Session | undefined {
    const session = this.#find(id)
    return session?.state.owner === owner ? session : undefined
  }

  /** A look that claims nothing: another process may be its writer. */
  async peek(owner: string, id: string): Promise<SessionState> {
    const session = this.#find(id)
    if (session?.state.owner === owner && session.status !== 'running' && session.clean) return session.state
    const row = await this.ports.store.row(id)
    if (row?.owner !== owner) throw notFound()
    return fold(id, await this.ports.store.read(id))
  }

  /** The durable state. A session in memory is ahead of its log only while a write is on its way. */
  async state({ owner, session: id }: SessionRef): Promise<SessionState> {
    const session = this.#find(id)
    if (session?.state.owner === owner) {
      if (!session.clean) await session.flushed().catch(() => {})
      if (session.clean && !session.lost) return session.state
    }
    return this.peek(owner, id)
  }

  /** The state after event `seq`, read from the log page by page. */
  async stateAt({ owner, session: id }: SessionRef, seq: number): Promise<SessionState> {
    await this.checkOwner(owner, id)
    const state = emptyState(id)
    while (state.seq < seq) {
      const page = await this.ports.store.read(id, state.seq, { maxBytes: pageBytes })
      if (page.length === 0) break
      for (const recorded of page) if (recorded.seq <= seq) evolve(state, recorded.event)
    }
    return state
  }

  /** Keeps the session in memory while something is done with it. */
  async use<Result>(
    { owner, session: id }: SessionRef,
    act: (session: Session) => Result | Promise<Result>,
  ): Promise<Result> {
    const session = await this.open(owner, id)
    session.uses += 1
    try {
      return await act(session)
    } finally {
      session.uses -= 1
    }
  }

  async events(owner: string, id: string, after = 0): Promise<Recorded[]> {
    await this.checkOwner(owner, id)
    return this.ports.store.read(id, after)
  }

  async checkOwner(owner: string, id: string): Promise<void> {
    if ((await this.ports.store.row(id))?.owner !== owner) throw notFound()
  }

  list(
    owner: string,
    page: { after?: string; limit: number },
  ): Promise<{ rows: ListedRow[]; next?: string }> {
    return this.ports.store.list(owner, page)
  }

  async remove(owner: string, id: string): Promise<void> {
    if ((await this.ports.store.row(id))?.owner !== owner) throw notFound()
    const session = this.#find(id)
    await session?.cancel()
    session?.lose(new TurnwireError('session_not_found', 'The session was deleted.'))
    await this.ports.store.remove(id)
  }

  /** Drops a session without a trace, whatever it is doing: for sessions that nobody will ask for again. */
  async discard(session: Session): Promise<void> {
    session.lose(dropped)
    await this.ports.store.remove(session.id)
  }

  /** The whole of a result that was cut for the model. */
  async blob(owner: string, id: string, name: string): Promise<string> {
    const row = await this.ports.store.row(id)
    const body = row?.owner === owner ? await this.ports.store.blob(id, name) : undefined
    if (body === undefined) throw new TurnwireError('not_found', 'There is nothing kept under this name.')
    return body
  }

  /**
   * Everything after number `after` that is durable, then the step in flight as a few deltas, then live. Nothing
   * is missed and nothing comes twice. Gives a function that ends it.
   */
  async watch(owner: string, id: string, after: number, watcher: Watcher): Promise<() => void> {
    const session = await this.open(owner, id)
    if (after > session.state.seq)
      throw new TurnwireError(
        'bad_request',
        `There is no event ${after} yet; the last is ${session.state.seq}.`,
      )
    // Lost between the opening and now: it is read again.
    if (session.lost) return this.watch(owner, id, after, watcher)
    const { feed } = session
    const waiting: FeedItem[] = []
    let ready = false
    let last = after
    const show = (item: FeedItem): void => {
      if (item.type === 'event' && item.seq <= last) return
      // The reader is ahead of this feed (it read the log itself): what belongs to events that it has is not news.
      if (item.type !== 'event' && item.type !== 'closed' && feed.shown < last) return
      if (item.type === 'event') last = item.seq
      watcher(item)
    }
    const unwatch = feed.watch(item => (ready ? show(item) : void waiting.push(item)))
    try {
      const log = await this.ports.store.read(id, after)
      // What is durable but not shown yet comes through the feed, in its place among the deltas.
      for (const recorded of log) if (recorded.seq <= feed.shown) show({ type: 'event', ...recorded })
      ready = true
      for (const item of waiting) if (item.type === 'event' || item.type === 'closed') show(item)
      if (session.lost) return unwatch
      for (const delta of feed.live.snapshot()) show({ type: 'delta', delta })
      show({ type: 'status', status: feed.shownStatus })
      return unwatch
    } catch (error) {
      unwatch()
      throw error
    }
  }

  /** Takes up every session that was at work when its writer went away. */
  async recover(): Promise<number> {
    const ids = await this.ports.store.unfinished()
    // Together, so that they share their commits.
    await Promise.all(ids.map(id => this.#takeUp(id)))
    return ids.length
  }

  async #takeUp(id: string): Promise<void> {
    try {
      if ((await this.ports.store.row(id))?.status === 'running') await this.#load(id)
      this.#takingUp.delete(id)
    } catch (error) {
      if (this.#stopping) return
      this.ports.log('error', 'A session could not be taken up.', { session: id, error: String(error) })
      if (mayPass(error)) this.#takeUpLater(id)
    }
  }

  /** A write failed in a way that may pass, and work was under way: it is taken up again, at longer and longer intervals. */
  #takeUpLater(id: string): void {
    const tries = (this.#takingUp.get(id) ?? 0) + 1
    this.#takingUp.set(id, tries)
    this.ports.world.timer(Math.min(500 * 2 ** tries, 60_000), () => {
      if (!this.#stopping) void this.#takeUp(id)
    })
  }

  /**
   * Someone takes the wheel of a session: the loop does nothing more until it is given back. `force` takes it from
   * whoever holds it, such as a hand that went away with its process.
   */
  async takeOver(
    owner: string,
    id: string,
    by: string,
    options: { force?: boolean } = {},
  ): Promise<ManualControl> {
    return ManualControl.take(await this.open(owner, id), by, options.force)
  }

  /** Steps in flight are dropped (they are asked again at the next start); running calls get `graceMs` to finish. */
  async stop(graceMs: number): Promise<void> {
    this.#stopping = true
    const reason = stoppedEngine()
    const sessions = [...this.#open.keys(), ...this.#released.keys()].flatMap(id => this.#find(id) ?? [])
    for (const session of sessions) {
      session.stopping = true
      session.driver.dropStep(reason)
    }
    const grace = Promise.withResolvers<void>()
    const stopClock = this.ports.world.timer(graceMs, grace.resolve)
    await Promise.race([Promise.all(sessions.map(session => session.driver.settle())), grace.promise])
    stopClock()
    await Promise.allSettled(sessions.map(session => session.flushed()))
    for (const session of sessions) session.lose(reason)
  }

  // ---- keeping -------------------------------------------------------------------------------------------

  /** The copy of this process, if there is one that still counts. */
  #find(id: string): Session | undefined {
    const session = this.#open.get(id) ?? this.#released.get(id)?.deref()
    return session?.lost ? undefined : session
  }

  async #load(id: string, attached?: readonly Tool[]): Promise<Session> {
    const open = this.#find(id)
    if (open) return this.#keep(open)
    const opening = this.#opening.get(id)
    if (opening) return opening
    const loading = this.#claim(id, attached).finally(() => this.#opening.delete(id))
    this.#opening.set(id, loading)
    return loading
  }

  async #claim(id: string, attached?: readonly Tool[]): Promise<Session> {
    const claimed = await this.ports.store.claim(id)
    if (!claimed) throw notFound()
    const state = fold(id, await this.ports.store.read(id))
    this.refuseIfStopping()
    const agent = this.ports.agent(state.agent) ?? goneAgent(state.agent)
    const session = new Session(this.ports, agent, state, claimed.epoch, (lost, reason) =>
      this.#forget(lost, reason),
    )
    this.#keep(session)
    if (attached) session.attach(attached)
    await takeUp(session)
    return session
  }

  #keep(session: Session): Session {
    session.stopping ||= this.#stopping
    this.#released.delete(session.id)
    this.#open.delete(session.id)
    this.#open.set(session.id, session)
    if (this.#open.size > kept) this.#letGo()
    return session
  }

  #letGo(): void {
    for (const [id, session] of this.#open) {
      if (this.#open.size <= kept) return
      if (session.uses > 0 || session.status === 'running' || session.feed.watched) continue
      if (session.driver.callsRunning > 0) continue
      this.#open.delete(id)
      this.#released.set(id, new WeakRef(session))
      this.#collected.register(session, id)
    }
  }

  #forget(session: Session, reason: unknown): void {
    const known = this.#open.get(session.id) ?? this.#released.get(session.id)?.deref()
    if (known !== session) return
    this.#open.delete(session.id)
    this.#released.delete(session.id)
    // What memory says is ahead of the log: whether there is work left is the store's to say.
    if (!this.#stopping && mayPass(reason)) this.#takeUpLater(session.id)
  }

  refuseIfStopping(): void {
    if (this.#stopping) throw new TurnwireError('stopping', 'Turnwire is stopping. Try again in a moment.')
  }
}

/** What a writer that went away left half done is finished, or settled as unknown, before anything else happens. */
async function takeUp(session: Session): Promise<void> {
  if (session.status !== 'running') return
  const started = session.state.batch.filter(call => call.stage === 'started')
  const mayRepeat = (call: CallState): boolean => {
    const offered = session.offer.byName.get(call.part.name)
    if (offered?.side !== 'server' || toolHash(offered.tool) !== call.toolHash) return false
    // A tool that takes the process down with it must not do so at every start.
    return (offered.tool.readOnly || offered.tool.idempotent) && call.attempt <= offered.tool.retries + 2
  }
  const events = decideRecovery(session.state, mayRepeat, session.context)
  if (events.length > 0) await session.save(events)
  // Whoever holds the wheel decides about the rest.
  if (session.state.controlledBy !== undefined) return
  await session.driver.run(started.filter(call => call.stage === 'started'))
  session.driver.wake()
}

/** The store may be full, locked or failing for a while; whoever has the session now, or deleted it, keeps it. */
function mayPass(reason: unknown): boolean {
  return reason instanceof TurnwireError && reason.code.startsWith('store_') && reason.retry
}

export function fold(id: string, events: readonly Recorded[]): SessionState {
  const state = emptyState(id)
  for (const { event } of events) evolve(state, event)
  return state
}

/** The events of a request, from its first on, until the session came to rest or had to wait. */
export function segment(
  id: string,
  events: readonly Recorded[],
  first: number,
): { events: Recorded[]; over: boolean } {
  const state = emptyState(id)
  const found: Recorded[] = []
  let own = 0
  for (const recorded of events) {
    evolve(state, recorded.event)
    if (recorded.seq < first) continue
    found.push(recorded)
    if (recorded.seq === first) own = recorded.event.type === 'request.accepted' ? recorded.event.events : 0
    else if (own > 0) own -= 1
    if (own === 0 && statusOf(state) !== 'running') return { events: found, over: true }
  }
  return { events: found, over: false }
}

function notFound(): TurnwireError {
  return new TurnwireError('session_not_found', 'Session not found')
}
