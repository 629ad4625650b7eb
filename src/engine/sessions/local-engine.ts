// The engine in this process, behind its boundary: commands go to open sessions, readers get copies. The state of
// a session changes in session.ts and driver.ts, not here.
import { hasCode, TurnwireError } from '../../language/errors.ts'
import type { Recorded } from '../../language/events.ts'
import { entriesWithoutSeals, withoutSeals } from '../../language/seals.ts'
import type { Abort } from '../../lib/async/abort.ts'
import { readRange } from '../calls/kept-output.ts'
import { Follower, Readers } from '../log/follow.ts'
import { listedSession } from '../log/list-changes.ts'
import { sliceBytes } from '../log/log-pages.ts'
import type {
  Accepted,
  AttachedItem,
  AttachedReport,
  AttachedTool,
  BlobAnswer,
  BlobQuery,
  Command,
  CreatedSession,
  CreateSession,
  EngineDescription,
  FollowItem,
  FollowOptions,
  FoundPage,
  HistoryAnswer,
  HistoryQuery,
  ListedSession,
  LookUpAnswer,
  LookUpQuery,
  OnceItem,
  OnceRequest,
  ServerAnswer,
  ServerQuery,
  SessionChange,
  SessionPage,
  SessionRef,
  SessionSummary,
} from '../ports/boundary.ts'
import type { EnginePorts, FindQuery, ListedRow, ListPage } from '../ports/index.ts'
import type { EngineHere, LeftSession } from '../ports/local.ts'
import { describeAgent, modelInfo } from '../rules/describe.ts'
import { agentFor } from '../rules/gone-agent.ts'
import { previewRequest } from '../rules/request.ts'
import { boundResults } from '../rules/seed.ts'
import { shownCalls, summarise, waitingCalls } from '../rules/summary.ts'
import { runCommand, sealSettings } from '../turn/run-command.ts'
import { answerOnce } from './answer-once.ts'
import { Attachment } from './attachment.ts'
import { OpenSessions } from './open-sessions.ts'
import type { Session } from './session.ts'
import { stopSessions } from './stop-sessions.ts'
import { refuseIfWorking } from './sub-sessions.ts'

export class LocalEngine implements EngineHere {
  readonly sessions: OpenSessions
  readonly #ports: EnginePorts
  /** Requests of `answerOnce` that are under way. */
  readonly #answering = new Set<Abort>()
  readonly #readers = new Readers()

  constructor(ports: EnginePorts) {
    this.#ports = ports
    this.sessions = new OpenSessions(ports)
  }

  recover(): Promise<number> {
    return this.sessions.recover()
  }

  recoverThese(ids: readonly string[]): Promise<number> {
    return this.sessions.recoverThese(ids)
  }

  stop(graceMs: number, left?: (session: LeftSession) => void): Promise<void> {
    const reason = new TurnwireError('stopping', 'The server is stopping. Try again in a moment.')
    for (const answering of this.#answering) answering.abort(reason)
    return this.sessions.stop(
      graceMs,
      left &&
        (({ id, epoch, status, driver }) =>
          left({ id, epoch, isUnfinished: status === 'running' || driver.callsRunning > 0 })),
    )
  }

  running(owner: string, all: boolean): string[] {
    return this.sessions.running(owner, all)
  }

  heldEpoch(ref: SessionRef): number | undefined {
    return this.sessions.inMemory(ref)?.epoch
  }

  async giveUp(ref: SessionRef, epoch: number, graceMs: number, reason: TurnwireError): Promise<void> {
    const session = this.sessions.inMemory(ref)
    if (session?.epoch === epoch) await stopSessions([session], { graceMs, world: this.#ports.world, reason })
  }

  loseAll(reason: TurnwireError): void {
    this.sessions.loseAll(reason)
  }

  get description(): EngineDescription {
    const { models = {} } = this.#ports
    const agents = this.#ports.agents?.() ?? []
    const servers = this.#ports.servers?.describe() ?? []
    return {
      ...(servers.length > 0 && { servers }),
      agents: agents.map(({ agent, model }) => describeAgent(agent, model)),
      models: Object.fromEntries(Object.entries(models).map(([name, model]) => [name, modelInfo(model)])),
    }
  }

  describe(): Promise<EngineDescription> {
    return Promise.resolve(this.description)
  }

  async fromServers<Query extends ServerQuery>(agent: string, query: Query): Promise<ServerAnswer<Query>> {
    // Each question has the answer of its type.
    return this.#askServers(this.sessions.agent(agent).name, query) as Promise<ServerAnswer<Query>>
  }

  async #askServers(agent: string, query: ServerQuery): Promise<ServerAnswer<ServerQuery>> {
    const { servers } = this.#ports
    if (!servers) {
      if (query.get === 'resources' || query.get === 'prompts') return []
      throw new TurnwireError('not_found', 'No servers of tools are configured.')
    }
    if (query.get === 'resources') return servers.resources(agent)
    if (query.get === 'prompts') return servers.prompts(agent)
    if (query.get === 'resource') return servers.read(agent, query.server, query.uri)
    return servers.prompt(agent, query.server, query.name, query.values)
  }

  async create(create: CreateSession): Promise<CreatedSession> {
    const { request, settings, seed, say, ...rest } = create
    const agent = this.sessions.agent(create.agent)
    const { entries, blobs } = boundResults(seed, agent.gate)
    const sealed = sealSettings({ agent, ports: this.#ports }, settings)
    const decided = { ...rest, settings: sealed, seed: entries }
    if (say && !request && blobs.length === 0)
      return this.sessions.begin(decided, async session => {
        const accepted = await runCommand(session, say)
        return { session: session.id, existing: false, accepted }
      })
    const { id, existing, session } = await this.sessions.make(decided, request)
    const ref = { owner: create.owner, session: id }
    for (const { name, body } of existing ? [] : blobs)
      await (session?.keepBlob({ name, body }) ?? this.sessions.keepBlob(ref, name, body))
    if (!say || existing) return { session: id, existing }
    return { session: id, existing, accepted: await this.command(ref, say) }
  }

  command(ref: SessionRef, command: Command): Promise<Accepted> {
    if (command.do === 'keep') return this.#keep(ref, command)
    const cancelling = command.do === 'cancel'
    const run = (session: Session): Promise<Accepted> => {
      if (session.state.parent) refuseIfWorking(session.state.parent, command)
      return runCommand(session, command)
    }
    return this.sessions.use(ref, run, { cancelling })
  }

  async #keep(ref: SessionRef, { name, text }: Extract<Command, { do: 'keep' }>): Promise<Accepted> {
    await this.sessions.keepBlob(ref, name, text)
    const known = await this.sessions.light(ref)
    const { seq, updatedAt, turn, batch } = 'state' in known ? known.state : known
    return {
      first: seq + 1,
      count: 0,
      at: updatedAt,
      waited: waitingCalls(batch),
      replayed: false,
      ...(turn && { turn: turn.id }),
    }
  }

  follow(
    ref: SessionRef,
    options: FollowOptions,
    signal?: AbortSignal,
  ): AsyncIterable<readonly FollowItem[]> {
    const items = { [Symbol.asyncIterator]: () => new Follower(this.sessions, ref, options, signal) }
    return options.as === undefined ? items : this.#readers.counted(ref.session, options.as, items)
  }

  answerOnce(request: OnceRequest, signal?: AbortSignal): AsyncIterable<readonly OnceItem[]> {
    this.sessions.refuseIfStopping()
    return answerOnce(this.#ports, this.sessions.agent(request.agent), request, this.#answering, signal)
  }

  async *attach(
    ref: SessionRef,
    tools: readonly AttachedTool[],
    signal?: AbortSignal,
  ): AsyncIterable<readonly AttachedItem[]> {
    const attachment = new Attachment(tools, prefix => this.#ports.world.id(prefix))
    const session = await this.sessions.hold(ref, { attached: attachment.tools })
    const leave = (): void => attachment.close()
    if (signal?.aborted) leave()
    signal?.addEventListener('abort', leave, { once: true })
    session.attachments = [...session.attachments, attachment]
    session.attach(attachment.tools)
    attachment.items.push({ type: 'attached' })
    try {
      yield* attachment.items
    } finally {
      signal?.removeEventListener('abort', leave)
      attachment.close()
      session.attachments = session.attachments.filter(each => each !== attachment)
      if (session.attached === attachment.tools) session.attach([])
      session.uses -= 1
    }
  }

  /** Also while the engine stops: tools that run have time to finish. */
  async report(ref: SessionRef, report: AttachedReport): Promise<void> {
    const attachments = this.sessions.inMemory(ref)?.attachments ?? []
    for (const attachment of attachments) if (attachment.report(report)) return
  }

  async summary(ref: SessionRef, keys?: readonly string[]): Promise<SessionSummary> {
    const known = await this.sessions.light(ref)
    const { agent } = 'state' in known ? known.state : known
    const summary = summarise(known, this.#ports.agent(agent)?.limits, keys)
    const left = await this.sessions.leftAlone(ref)
    const readers = this.#readers.of(ref.session)
    return {
      ...summary,
      ...(left && { leftAlone: left.code }),
      ...(readers.length > 0 && { readers }),
    }
  }

  async history<Query extends HistoryQuery>(ref: SessionRef, query: Query): Promise<HistoryAnswer<Query>> {
    // Each question has the answer of its type.
    return this.#readHistory(ref, query) as Promise<HistoryAnswer<Query>>
  }

  async #readHistory(ref: SessionRef, query: HistoryQuery): Promise<HistoryAnswer<HistoryQuery>> {
    if (query.get === 'request') {
      const state = await this.sessions.state(ref)
      return previewRequest(agentFor(this.#ports, state.agent, state.owner), state, query.text)
    }
    const { entries, view, batch } = await (query.upTo === undefined
      ? this.sessions.state(ref)
      : this.sessions.stateAt(ref, query.upTo))
    const calls = batch.filter(({ parent }) => parent === undefined)
    return structuredClone({
      entries: entriesWithoutSeals(query.get === 'view' ? view : entries),
      calls: shownCalls(calls),
    })
  }

  async events({ owner, session }: SessionRef, after = 0, maxBytes?: number): Promise<Recorded[]> {
    await this.sessions.checkOwner(owner, session)
    if (maxBytes !== undefined && maxBytes <= sliceBytes) {
      const items = await this.sessions.pages.after(session, after)
      return items.map(({ seq, event }) => ({ seq, event: withoutSeals(event) }))
    }
    const page = await this.#ports.store.read(session, after, maxBytes === undefined ? {} : { maxBytes })
    return page.map(({ seq, event }) => ({ seq, event: withoutSeals(event) }))
  }

  async list(owner: string | null, page: ListPage): Promise<SessionPage> {
    const { rows, next } = await this.#ports.store.list(owner, page)
    // Sessions that work for calls are found through those.
    const own = rows.filter(({ summary }) => summary?.parent === undefined)
    return { rows: own.map(row => this.#listed(row)), ...(next !== undefined && { next }) }
  }

  changes(signal?: AbortSignal): AsyncIterable<readonly SessionChange[]> {
    return this.sessions.listChanges.watch(signal)
  }

  async lookUp<Query extends LookUpQuery>(query: Query): Promise<LookUpAnswer<Query>> {
    // Each question has the answer of its type.
    return this.#lookUp(query) as Promise<LookUpAnswer<Query>>
  }

  async #lookUp(query: LookUpQuery): Promise<LookUpAnswer<LookUpQuery>> {
    const { store } = this.#ports
    if (query.get === 'session') return store.requested(query.owner, query.key)
    if (query.get === 'owner') return (await store.row(query.session))?.owner
    if (query.get === 'sessions') return this.#find(query)
    if (query.get === 'activity') return store.finder?.activity(query)
    const { owner, all = false } = query
    const stored = all ? { sessions: 0, bytes: 0 } : await store.usage(owner)
    return { ...stored, running: this.sessions.running(owner, all) }
  }

  async #find(query: FindQuery): Promise<FoundPage | undefined> {
    const found = await this.#ports.store.finder?.find(query)
    return found && { ...found, rows: found.rows.map(row => ({ ...row, ...this.#listed(row) })) }
  }

  #listed(row: ListedRow): ListedSession {
    return { ...listedSession(row), ...(this.sessions.isLeftAlone(row) && { leftAlone: true as const }) }
  }

  /** With the sessions that worked for its calls. */
  async remove(ref: SessionRef): Promise<void> {
    const { owner, session } = ref
    const known = await this.sessions.light(ref)
    const { workers = [] } = 'state' in known ? known.state : known
    await this.sessions.remove(owner, session)
    for (const worker of workers) await this.remove({ owner, session: worker }).catch(ignoreMissing)
  }

  async blob<Query extends BlobQuery>(ref: SessionRef, query: Query): Promise<BlobAnswer<Query>> {
    // Each question has the answer of its type.
    return this.#readBlob(ref, query) as Promise<BlobAnswer<Query>>
  }

  #readBlob({ owner, session }: SessionRef, query: BlobQuery): Promise<BlobAnswer<BlobQuery>> {
    if (query.get === 'text') return this.sessions.blob(owner, session, query.name)
    return readRange(this.#ports.store, { owner, session }, query.name, query.from, query.length)
  }
}

function ignoreMissing(error: unknown): void {
  if (!hasCode(error, 'session_not_found')) throw error
}
