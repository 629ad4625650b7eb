// The sessions that are in memory: opens them from the store for their owner, recovers those that a crash left unfinished,
// and drops idle ones. A session that waits for a person lives in the store. There is never more than one copy of a session:
// everyone who needs a copy to stay counts as a use of it.
import { TurnwireError } from '../language/errors.ts'
import type { Recorded } from '../language/events.ts'
import { toolHash } from '../language/tools.ts'
import type { RequestKey, SessionRef } from './boundary.ts'
import { type Create, decideCreate } from './decide.ts'
import { decideRecovery } from './decide-turn.ts'
import { evolve } from './evolve.ts'
import { goneAgent } from './gone-agent.ts'
import { stoppedEngine } from './outcomes.ts'
import type { Agent, EnginePorts, ListedRow, Tool } from './ports.ts'
import { Session } from './session.ts'
import { type CallState, emptyState, listSummaryOf, type SessionState } from './state.ts'

/** Idle sessions that stay in memory. */
const mostIdle = 256
const pageBytes = 1024 * 1024

export class OpenSessions {
  readonly ports: EnginePorts
  /** In the order in which they were last used. */
  readonly #open = new Map<string, Session>()
  readonly #opening = new Map<string, Promise<Session>>()
  #stopping = false
  /** How often the recovery of a session was tried. */
  readonly #recoveries = new Map<string, number>()

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
  async use<Result>(ref: SessionRef, act: (session: Session) => Result | Promise<Result>): Promise<Result> {
    const session = await this.hold(ref)
    try {
      return await act(session)
    } finally {
      session.uses -= 1
    }
  }

  /**
   * Opens the session and counts as a use of it. The caller subtracts the use when it is done. `attached`: tools to offer
   * before a recovery continues its turn.
   */
  async hold({ owner, session: id }: SessionRef, attached?: readonly Tool[]): Promise<Session> {
    for (;;) {
      const session = await this.open(owner, id, attached)
      // It may have been dropped or lost since it was opened.
      if (this.#find(id) !== session) continue
      session.uses += 1
      return session
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

  /** The whole of a result that was cut for the model. */
  async blob(owner: string, id: string, name: string): Promise<string> {
    const row = await this.ports.store.row(id)
    const body = row?.owner === owner ? await this.ports.store.blob(id, name) : undefined
    if (body === undefined) throw new TurnwireError('not_found', 'There is nothing kept under this name.')
    return body
  }

  /** Continues every session that was at work when its writer went away. */
  async recover(): Promise<number> {
    const ids = await this.ports.store.unfinished()
    // Together, so that they share their commits.
    await Promise.all(ids.map(id => this.#recover(id)))
    return ids.length
  }

  async #recover(id: string): Promise<void> {
    try {
      if ((await this.ports.store.row(id))?.status === 'running') await this.#load(id)
      this.#recoveries.delete(id)
    } catch (error) {
      if (this.#stopping) return
      this.ports.log('error', 'A session could not be recovered.', { session: id, error: String(error) })
      if (mayPass(error)) this.#recoverLater(id)
    }
  }

  /** The store failed in a way that may pass: recovery is tried again, at longer and longer intervals. */
  #recoverLater(id: string): void {
    const tries = (this.#recoveries.get(id) ?? 0) + 1
    this.#recoveries.set(id, tries)
    this.ports.world.timer(Math.min(500 * 2 ** tries, 60_000), () => {
      if (!this.#stopping) void this.#recover(id)
    })
  }

  /** Model steps are dropped (they are asked again at the next start); running calls get `graceMs` to finish. */
  async stop(graceMs: number): Promise<void> {
    this.#stopping = true
    const reason = stoppedEngine()
    const sessions = [...this.#open.values()].filter(session => !session.lost)
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

  /** The copy in memory. */
  #find(id: string): Session | undefined {
    const session = this.#open.get(id)
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
    await recoverTurn(session)
    return session
  }

  #keep(session: Session): Session {
    session.stopping ||= this.#stopping
    this.#open.delete(session.id)
    this.#open.set(session.id, session)
    if (this.#open.size > mostIdle) this.#dropIdle(session)
    return session
  }

  /** Drops idle sessions, the least recently used first, but not the one that is being opened. */
  #dropIdle(opening: Session): void {
    for (const [id, session] of this.#open) {
      if (this.#open.size <= mostIdle) return
      if (session !== opening && session.isIdle) this.#open.delete(id)
    }
  }

  #forget(session: Session, reason: unknown): void {
    if (this.#open.get(session.id) !== session) return
    this.#open.delete(session.id)
    // Memory was ahead of the log, so the store says whether there is work left.
    if (!this.#stopping && mayPass(reason)) this.#recoverLater(session.id)
  }

  refuseIfStopping(): void {
    if (this.#stopping) throw new TurnwireError('stopping', 'Turnwire is stopping. Try again in a moment.')
  }
}

/** Finishes the calls that a writer left unfinished, or settles them as unknown, before anything else happens. */
async function recoverTurn(session: Session): Promise<void> {
  if (session.status !== 'running') return
  const started = session.state.batch.filter(call => call.stage === 'started')
  const mayRepeat = (call: CallState): boolean => {
    const offered = session.offer.byName.get(call.part.name)
    if (offered?.side !== 'server' || toolHash(offered.tool) !== call.toolHash) return false
    // A tool that crashes the process must not do so at every start.
    return (offered.tool.readOnly || offered.tool.idempotent) && call.attempt <= offered.tool.retries + 2
  }
  const events = decideRecovery(session.state, mayRepeat, session.context)
  if (events.length > 0) await session.save(events)
  // Under manual control the rest is up to the person.
  if (session.state.controlledBy !== undefined) return
  await session.driver.run(started.filter(call => call.stage === 'started'))
  session.driver.wake()
}

/** The store may be full, locked or failing for a while. A lost lease or a deletion does not pass. */
function mayPass(reason: unknown): boolean {
  return reason instanceof TurnwireError && reason.code.startsWith('store_') && reason.retry
}

export function fold(id: string, events: readonly Recorded[]): SessionState {
  const state = emptyState(id)
  for (const { event } of events) evolve(state, event)
  return state
}

function notFound(): TurnwireError {
  return new TurnwireError('session_not_found', 'Session not found')
}
