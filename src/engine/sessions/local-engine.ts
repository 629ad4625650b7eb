// The engine in this process, behind its boundary: commands go to open sessions, readers get copies. Whatever happens in a
// session happens in session.ts and driver.ts.
import type { InputPart } from '../../language/content.ts'
import { TurnwireError } from '../../language/errors.ts'
import type { Recorded } from '../../language/events.ts'
import { entriesWithoutSeals, withoutSeals } from '../../language/seals.ts'
import type { PromptMessage, ServerPrompt, ServerResource } from '../../language/servers.ts'
import type { Abort } from '../../lib/async/abort.ts'
import { readRange } from '../calls/kept-output.ts'
import { Follower } from '../log/follow.ts'
import { listedSession } from '../log/list-changes.ts'
import { sliceBytes } from '../log/log-pages.ts'
import { Readers } from '../log/readers.ts'
import type {
  Accepted,
  AttachedItem,
  AttachedReport,
  AttachedTool,
  Command,
  CreatedSession,
  CreateSession,
  Engine,
  EngineDescription,
  FollowItem,
  FollowOptions,
  OnceItem,
  OnceRequest,
  OwnerUsage,
  SessionChange,
  SessionHistory,
  SessionPage,
  SessionRef,
  SessionSummary,
} from '../ports/boundary.ts'
import type { BlobRange, EnginePorts, ListPage, ModelRequest } from '../ports/index.ts'
import { describeAgent, modelInfo } from '../rules/describe.ts'
import { goneAgent } from '../rules/gone-agent.ts'
import { previewRequest } from '../rules/request.ts'
import { boundResults } from '../rules/seed.ts'
import { shownCalls, summarise } from '../rules/summary.ts'
import { runCommand, sealSettings } from '../turn/run-command.ts'
import { answerOnce } from './answer-once.ts'
import { Attachment } from './attachment.ts'
import { OpenSessions } from './open-sessions.ts'
import type { Session } from './session.ts'
import { refuseIfWorking } from './sub-sessions.ts'

export class LocalEngine implements Engine {
  readonly sessions: OpenSessions
  readonly #ports: EnginePorts
  /** Requests of `answerOnce` that are under way. */
  readonly #answering = new Set<Abort>()
  readonly #readers = new Readers()

  constructor(ports: EnginePorts) {
    this.#ports = ports
    this.sessions = new OpenSessions(ports)
  }

  /** Continues every session that was at work when its writer went away. Gives how many there were. */
  recover(): Promise<number> {
    return this.sessions.recover()
  }

  /**
   * Model steps are dropped (they are asked again at the next start); running calls get `graceMs` to finish. Requests of
   * `answerOnce` fail with `stopping`. `left`: called with each session once nothing of it runs here any more.
   */
  stop(graceMs: number, left?: (session: Session) => void): Promise<void> {
    const reason = new TurnwireError('stopping', 'The server is stopping. Try again in a moment.')
    for (const answering of this.#answering) answering.abort(reason)
    return this.sessions.stop(graceMs, left)
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

  async resources(agent: string): Promise<ServerResource[]> {
    return (await this.#ports.servers?.resources(this.sessions.agent(agent).name)) ?? []
  }

  async readResource(agent: string, { server, uri }: { server: string; uri: string }): Promise<InputPart[]> {
    return this.#servers.read(this.sessions.agent(agent).name, server, uri)
  }

  async prompts(agent: string): Promise<ServerPrompt[]> {
    return (await this.#ports.servers?.prompts(this.sessions.agent(agent).name)) ?? []
  }

  async prompt(agent: string, wanted: Parameters<Engine['prompt']>[1]): Promise<PromptMessage[]> {
    const { server, name, values } = wanted
    return this.#servers.prompt(this.sessions.agent(agent).name, server, name, values)
  }

  get #servers(): NonNullable<EnginePorts['servers']> {
    const { servers } = this.#ports
    if (!servers) throw new TurnwireError('not_found', 'No servers of tools are configured.')
    return servers
  }

  async create(create: CreateSession): Promise<CreatedSession> {
    const { request, settings, seed, ...rest } = create
    const agent = this.sessions.agent(create.agent)
    const { entries, blobs } = boundResults(seed, agent.gate)
    const sealed = sealSettings({ agent, ports: this.#ports }, settings)
    const { id, existing, session } = await this.sessions.make(
      { ...rest, settings: sealed, seed: entries },
      request,
    )
    const ref = { owner: create.owner, session: id }
    for (const { name, body } of existing ? [] : blobs)
      await (session?.keepBlob({ name, body }) ?? this.sessions.keepBlob(ref, name, body))
    return { session: id, existing }
  }

  command(ref: SessionRef, command: Command): Promise<Accepted> {
    const cancelling = command.do === 'cancel'
    const run = (session: Session): Promise<Accepted> => {
      refuseIfWorking(session, command)
      return runCommand(session, command)
    }
    return this.sessions.use(ref, run, { cancelling })
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

  async history(ref: SessionRef, compacted = false, upTo?: number): Promise<SessionHistory> {
    const { entries, view, batch } = await (upTo === undefined
      ? this.sessions.state(ref)
      : this.sessions.stateAt(ref, upTo))
    const calls = batch.filter(({ parent }) => parent === undefined)
    return structuredClone({
      entries: entriesWithoutSeals(compacted ? view : entries),
      calls: shownCalls(calls),
    })
  }

  async nextRequest(ref: SessionRef, text?: string): Promise<ModelRequest> {
    const state = await this.sessions.state(ref)
    return previewRequest(this.#ports.agent(state.agent) ?? goneAgent(state.agent), state, text)
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
    const listed = own.map(row => ({
      ...listedSession(row),
      ...(this.sessions.isLeftAlone(row) && { leftAlone: true as const }),
    }))
    return { rows: listed, ...(next !== undefined && { next }) }
  }

  changes(signal?: AbortSignal): AsyncIterable<readonly SessionChange[]> {
    return this.sessions.listChanges.watch(signal)
  }

  async ownerOf(session: string): Promise<string | undefined> {
    return (await this.#ports.store.row(session))?.owner
  }

  owners(): Promise<string[]> {
    return this.#ports.store.owners()
  }

  async usage(owner: string, all = false): Promise<OwnerUsage> {
    const stored = all ? { sessions: 0, bytes: 0 } : await this.#ports.store.usage(owner)
    return { ...stored, running: this.sessions.running(owner, all) }
  }

  find(owner: string, key: string): Promise<string | undefined> {
    return this.#ports.store.requested(owner, key)
  }

  /** With the sessions that worked for its calls. */
  async remove(ref: SessionRef): Promise<void> {
    const { owner, session } = ref
    const known = await this.sessions.light(ref)
    const { workers = [] } = 'state' in known ? known.state : known
    await this.sessions.remove(owner, session)
    for (const worker of workers) await this.remove({ owner, session: worker }).catch(ignoreMissing)
  }

  blobRange({ owner, session }: SessionRef, name: string, from: number, length: number): Promise<BlobRange> {
    return readRange(this.#ports.store, { owner, session }, name, from, length)
  }

  blob({ owner, session }: SessionRef, name: string): Promise<string> {
    return this.sessions.blob(owner, session, name)
  }

  keepBlob(ref: SessionRef, name: string, body: string): Promise<void> {
    return this.sessions.keepBlob(ref, name, body)
  }
}

function ignoreMissing(error: unknown): void {
  if (!(error instanceof TurnwireError) || error.code !== 'session_not_found') throw error
}
