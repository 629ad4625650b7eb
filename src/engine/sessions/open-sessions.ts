// The sessions that are in memory: opens them from the store for their owner, recovers those that a crash left unfinished,
// and drops idle ones. A session that waits for a person lives in the store. There is never more than one copy of a session:
// everyone who needs a copy to stay counts as a use of it.
import { sessionNotFound, TurnwireError } from '../../language/errors.ts'
import type { Recorded } from '../../language/events.ts'
import { roughSize } from '../../lib/json/plain.ts'
import type { CallSession } from '../calls/call-session.ts'
import { BesideLog } from '../log/beside-log.ts'
import type { FollowSource, Resting } from '../log/follow.ts'
import { LightStates } from '../log/light-states.ts'
import { ListChanges } from '../log/list-changes.ts'
import { LogPages } from '../log/log-pages.ts'
import { mayPass } from '../log/passing-failure.ts'
import { loadState, readState } from '../log/read-state.ts'
import { type SessionChanged, SessionChanges } from '../log/session-changes.ts'
import type { RequestKey, SessionRef } from '../ports/boundary.ts'
import type { Agent, EnginePorts, ListedRow, ListPage, NewSession, SessionRow, Tool } from '../ports/index.ts'
import type { Create } from '../rules/commands.ts'
import { decideCreate } from '../rules/decide.ts'
import { evolve } from '../rules/evolve.ts'
import { agentFor } from '../rules/gone-agent.ts'
import type { HistoryFold } from '../rules/history-fold.ts'
import { stoppedEngine } from '../rules/outcomes.ts'
import { emptyState, type SessionState, summariseForList } from '../rules/state.ts'
import { nextDeadline } from '../turn/deadlines.ts'
import { claimSession, movedMeanwhile, stopping } from './claim-session.ts'
import { RecentSessions } from './idle-sessions.ts'
import { leftAlone, Recovery, recoverTurn } from './recovery.ts'
import { Session } from './session.ts'
import type { Claim, SessionHome } from './session-home.ts'
import { stopSessions } from './stop-sessions.ts'
import { SubSessions } from './sub-sessions.ts'

/**
 * `attached`: tools that a session which was at work is offered before it goes on. `cancelling`: its turn is about to be
 * ended, so that a session which is left alone is loaded too, and not continued. `recovering`: counts as an attempt to
 * continue it after a start. `passed`: a deadline of a question that is over, whatever the clock says.
 */
export type LoadOptions = {
  attached?: readonly Tool[]
  cancelling?: boolean
  recovering?: true
  passed?: number
}

export type MadeSession = { id: string; existing: boolean; session?: Session }

/** A new session before anything of it is written. */
type DecidedSession = { agent: Agent; state: SessionState; bytes: number; created: NewSession }

/** With which every store creates a session. */
const firstEpoch = 1

export class OpenSessions implements SessionHome, FollowSource {
  readonly ports: EnginePorts
  readonly #open = new RecentSessions<Session>()
  readonly #opening = new Map<string, Promise<Session>>()
  #stopping = false
  /** How often every copy was lost. Work that began before the last time is given up. */
  #timesLost = 0
  readonly #recovery: Recovery
  readonly #changes = new SessionChanges()
  readonly listChanges = new ListChanges()
  readonly #light: LightStates
  readonly pages: LogPages
  readonly #beside: BesideLog
  readonly subSessions = new SubSessions(this)

  constructor(ports: EnginePorts) {
    this.ports = ports
    this.#recovery = new Recovery(ports, (id, options) => this.#load(id, options))
    this.#light = new LightStates(ports)
    this.pages = new LogPages(ports.store, () => ports.world.elapsed())
    this.#beside = new BesideLog(ports.store, id => this.#find(id))
  }

  agent(name: string): Agent {
    const agent = this.ports.agent(name)
    if (!agent) throw new TurnwireError('unknown_agent', `There is no agent named "${name}".`)
    return agent
  }

  async create(create: Create, request?: RequestKey): Promise<Session> {
    const { id, session } = await this.make(create, request)
    return session ?? this.open(create.owner, id)
  }

  /** `existing`: the request key was used before, for this session. Without `session` it is not in memory. */
  async make(create: Create, request?: RequestKey): Promise<MadeSession> {
    const lost = this.#timesLost
    const { world, store, observer } = this.ports
    const decided = this.#decide(create)
    const { id } = decided.created.row
    const begun = world.elapsed()
    const creating = store.create({ ...decided.created, ...(request && { request }) })
    const made = await (observer?.wrote
      ? creating.finally(() => observer.wrote?.((world.elapsed() - begun) / 1000))
      : creating)
    if ('existing' in made) {
      if (made.hash !== request?.hash)
        throw new TurnwireError('idempotency_conflict', 'This Idempotency-Key was used for another request.')
      return { id: made.existing, existing: true }
    }
    if (lost !== this.#timesLost) return { id, existing: false }
    const session = this.#addNew(decided, { epoch: made.epoch })
    this.listChanges.changed(session)
    return { id, existing: false, session }
  }

  /** A new session that is created in the store with its first write, which `act` makes: one commit instead of two. */
  async begin<Result>(create: Create, act: (session: Session) => Promise<Result>): Promise<Result> {
    const decided = this.#decide(create)
    const session = this.#addNew(decided, { epoch: firstEpoch, unwritten: decided.created })
    session.uses += 1
    try {
      return await act(session)
    } catch (error) {
      // Nobody knows its id.
      session.lose(error)
      throw error
    } finally {
      session.uses -= 1
    }
  }

  #decide(create: Create): DecidedSession {
    this.refuseIfStopping()
    const { world } = this.ports
    const known = this.agent(create.agent)
    const agent = known.forOwner?.(create.owner) ?? known
    const [id, now] = [world.id('sess'), world.now()]
    const events = decideCreate(create, { agent, now, id: prefix => world.id(prefix) })
    const state = emptyState(id)
    for (const event of events) evolve(state, event)
    const row = { id, owner: create.owner, agent: agent.name, status: 'idle' as const, createdAt: now }
    const created = { row, events, summary: summariseForList(state) }
    // Throws for a history that no store could write.
    return { agent, state, bytes: roughSize(events), created }
  }

  #addNew(
    { agent, state, bytes, created }: DecidedSession,
    claim: Pick<Claim, 'epoch' | 'unwritten'>,
  ): Session {
    const session = new Session(this.ports, agent, state, { ...claim, bytes, blobBytes: 0 }, this)
    session.signer?.takeFirst(created.events)
    return this.#keep(session)
  }

  /** The session, ready to take commands. To anyone but its owner it does not exist. */
  async open(owner: string, id: string, options?: LoadOptions): Promise<Session> {
    const open = this.#usable(owner, id)
    if (open) return open
    // Whether it is in memory must not show in how soon a stranger is turned away.
    const row = await this.ports.store.row(id)
    if (row?.owner !== owner) throw sessionNotFound()
    const session = await this.#load(id, options)
    if (session.state.owner !== owner) throw sessionNotFound()
    return session
  }

  /** If it is in memory. Throws if the engine stops. */
  #usable(owner: string, id: string): Session | undefined {
    this.refuseIfStopping()
    const open = this.#find(id)
    return open?.state.owner === owner ? this.#keep(open) : undefined
  }

  /** Why nobody continues the turn of this session. */
  async leftAlone({ owner, session: id }: SessionRef): Promise<TurnwireError | undefined> {
    if (this.#find(id)) return undefined
    const row = await this.ports.store.row(id)
    return row?.owner === owner && this.isLeftAlone(row) ? leftAlone(row, this.ports.world) : undefined
  }

  isLeftAlone(row: SessionRow): boolean {
    const isAtWork = row.status === 'running' && !this.#find(row.id)
    return isAtWork && leftAlone(row, this.ports.world) !== undefined
  }

  inMemory({ owner, session: id }: SessionRef): Session | undefined {
    const session = this.#find(id)
    return session?.state.owner === owner ? session : undefined
  }

  /** The sessions of this owner that are at work. */
  running(owner: string, all = false): string[] {
    const isMeant = (name: string): boolean => (all ? name.startsWith(owner) : name === owner)
    const own = this.#open.values().filter(({ state, lost }) => isMeant(state.owner) && !lost)
    return [...own.filter(({ status }) => status === 'running').map(({ id }) => id)]
  }

  /** A look that claims nothing: another process may be its writer. */
  async peek(owner: string, id: string): Promise<SessionState> {
    const session = this.#find(id)
    if (session?.state.owner === owner && session.state.status !== 'running' && session.clean)
      return session.state
    const row = await this.ports.store.row(id)
    if (row?.owner !== owner) throw sessionNotFound()
    return (await loadState(this.ports, id)).state
  }

  /** The durable state but for its history, which is read nowhere else than in memory. */
  async light(ref: SessionRef): Promise<SessionState | HistoryFold> {
    const { owner, session: id } = ref
    const session = this.inMemory(ref)
    if (session && !session.clean) await session.flushed().catch(() => {})
    if (session?.clean && !session.lost && !session.released) return session.state
    await this.checkOwner(owner, id)
    return this.#light.of(id)
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
    return readState(this.ports, id, recorded => recorded.seq > seq)
  }

  // ---- following -------------------------------------------------------------------------------------------

  onChange(session: string, changed: SessionChanged): () => void {
    return this.#changes.on(session, changed)
  }

  find(ref: SessionRef): Session | Promise<Session | Resting> {
    this.refuseIfStopping()
    return this.inMemory(ref) ?? this.#findStored(ref)
  }

  /** Loads only a session that is at work. One that cannot be loaded, or claimed, is read in the store. */
  async #findStored(ref: SessionRef): Promise<Session | Resting> {
    const { owner, session: id } = ref
    const over = this.#overLater()
    const row = await this.ports.store.row(id)
    const reason = over()
    if (reason) throw reason
    if (row?.owner !== owner) throw sessionNotFound()
    const loaded = this.inMemory(ref)
    if (loaded) return loaded
    const resting = { head: row.head, status: row.status }
    if (row.status !== 'running') return resting
    const stuck = leftAlone(row, this.ports.world)
    if (stuck) return { ...resting, stuck }
    try {
      return await this.#load(id)
    } catch (error) {
      if (mayPass(error)) return resting
      throw error
    }
  }

  // ---- using -----------------------------------------------------------------------------------------------

  /** Keeps the session in memory while something is done with it. */
  async use<Result>(
    ref: SessionRef,
    act: (session: Session) => Result | Promise<Result>,
    options?: LoadOptions,
  ): Promise<Result> {
    const session = await this.hold(ref, options)
    try {
      return await act(session)
    } finally {
      session.uses -= 1
    }
  }

  /** Opens the session and counts as a use of it. The caller subtracts the use when it is done. */
  async hold({ owner, session: id }: SessionRef, options?: LoadOptions): Promise<Session> {
    for (;;) {
      const session = this.#usable(owner, id) ?? (await this.open(owner, id, options))
      // The store refuses to continue it, and would do so again.
      if (session.lost && mayPass(session.lostBecause)) throw session.lostBecause
      // It may have been dropped or lost since it was opened.
      if (this.#find(id) !== session) continue
      session.uses += 1
      return session
    }
  }

  read(id: string, after: number, maxBytes: number): Promise<Recorded[]> {
    return this.ports.store.read(id, after, { maxBytes })
  }

  async events(owner: string, id: string, after = 0): Promise<Recorded[]> {
    await this.checkOwner(owner, id)
    return this.ports.store.read(id, after)
  }

  async checkOwner(owner: string, id: string): Promise<void> {
    if ((await this.ports.store.row(id))?.owner !== owner) throw sessionNotFound()
  }

  list(owner: string, page: ListPage): Promise<{ rows: ListedRow[] }> {
    return this.ports.store.list(owner, page)
  }

  async remove(owner: string, id: string): Promise<void> {
    await this.checkOwner(owner, id)
    const session = this.#find(id)
    await session?.cancel()
    const deleted = new TurnwireError('session_not_found', 'The session was deleted.')
    session?.lose(deleted)
    if (session) await this.ports.store.remove(id, session.epoch)
    else await this.#beside.write(id, this.#opening.get(id), epoch => this.ports.store.remove(id, epoch))
    for (const kept of [this.#light, this.pages]) kept.forget(id)
    this.#changes.tell(id, deleted)
    this.listChanges.removed(owner, id)
  }

  /** Keeps text beside the log. A session that is not in memory stays so. */
  async keepBlob({ owner, session: id }: SessionRef, name: string, body: string): Promise<void> {
    await this.checkOwner(owner, id)
    const put = (epoch: number): Promise<void> => this.ports.store.putBlob(id, name, body, epoch)
    await this.#beside.write(id, this.#opening.get(id), put)
  }

  /** The whole of a result that was cut for the model. */
  async blob(owner: string, id: string, name: string): Promise<string> {
    const row = await this.ports.store.row(id)
    const body = row?.owner === owner ? await this.ports.store.blob(id, name) : undefined
    if (body === undefined) throw new TurnwireError('not_found', 'There is nothing kept under this name.')
    return body
  }

  /** Continues every session that was at work when its writer went away. */
  recover(): Promise<number> {
    return this.#recovery.all()
  }

  /** The same for these sessions. */
  recoverThese(ids: readonly string[]): Promise<number> {
    return this.#recovery.these(ids)
  }

  /**
   * Model steps are dropped (they are asked again at the next start); running calls get `graceMs` to finish. A session is
   * given up as soon as nothing runs in it any more; `left` is called with each. One that is just being loaded is given back.
   */
  async stop(graceMs: number, left?: (session: Session) => void): Promise<void> {
    this.#stopping = true
    const reason = stoppedEngine()
    this.#recovery.stop()
    this.#changes.tellAll(reason)
    this.listChanges.end()
    const sessions = [...this.#open.values()].filter(session => !session.lost)
    const opening = Promise.allSettled(this.#opening.values())
    await Promise.all([stopSessions(sessions, { graceMs, world: this.ports.world, reason, left }), opening])
  }

  /** Others may write to every session of this engine: its copies no longer count, and those who follow them are told. */
  loseAll(reason: TurnwireError): void {
    this.#timesLost += 1
    for (const session of [...this.#open.values()]) session.lose(reason)
    this.#changes.tellAll(reason)
  }

  // ---- keeping -------------------------------------------------------------------------------------------

  /** The copy in memory. */
  #find(id: string): Session | undefined {
    const session = this.#open.get(id)
    return session?.lost || session?.released ? undefined : session
  }

  async #load(id: string, options?: LoadOptions): Promise<Session> {
    const open = this.#find(id)
    if (open) return this.#keep(open)
    const opening = this.#opening.get(id)
    if (opening) return opening
    const loading = this.#claim(id, options).finally(() => this.#opening.delete(id))
    this.#opening.set(id, loading)
    return loading
  }

  async #claim(id: string, { attached, passed, ...options }: LoadOptions = {}): Promise<Session> {
    const over = this.#overLater()
    await this.#beside.writing(id)
    const { row, state, claim, isEnding } = await claimSession(this.ports, id, options, over)
    const agent = agentFor(this.ports, state.agent, state.owner)
    // A call that runs again needs its tool.
    if (agent.ready) await agent.ready()
    const session = new Session(this.ports, agent, state, claim, this)
    this.#keep(session)
    if (attached) session.attach(attached)
    this.#changes.tell(id)
    session.deadlines.watch(passed)
    if (!isEnding) await recoverTurn(session, row)
    session.snapshots?.consider()
    return session
  }

  #keep(session: Session): Session {
    session.stopping ||= this.#stopping
    for (const dropped of this.#open.use(session)) this.#awaitDeadline(dropped)
    return session
  }

  /** A session that left memory is loaded when the time of one of its questions is over, to record that. */
  #awaitDeadline({ id, state }: Session): void {
    const { world } = this.ports
    const deadline = nextDeadline(state)
    if (deadline === undefined) return
    world.timer(Math.max(deadline - world.now(), 0), () => {
      const open = this.#find(id)
      if (open) open.deadlines.watch(deadline)
      else if (!this.#stopping) void this.#load(id, { passed: deadline }).catch(() => {})
    })
  }

  lost(session: CallSession, reason: unknown): void {
    if (this.#open.get(session.id) !== session) return
    this.#open.forget(session.id)
    this.ports.observer?.lost(session.id)
    // Memory was ahead of the log, so the store says whether there is work left.
    if (!this.#stopping && mayPass(reason)) this.#recovery.later(session.id)
  }

  refuseIfStopping(): void {
    if (this.#stopping) throw stopping()
  }

  /** Says why work that begins now is to be given up: the engine stops, or every copy was lost since. */
  #overLater(): () => TurnwireError | undefined {
    const lost = this.#timesLost
    return () => (this.#stopping ? stopping() : lost === this.#timesLost ? undefined : movedMeanwhile())
  }
}
