// The engine in this process, behind its boundary: commands go to open sessions, readers get copies. Whatever happens in a
// session happens in session.ts and driver.ts.
import { TurnwireError } from '../language/errors.ts'
import type { Recorded } from '../language/events.ts'
import type { Abort } from '../lib/abort.ts'
import { answerOnce } from './answer-once.ts'
import { Attachment } from './attachment.ts'
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
  SessionHistory,
  SessionPage,
  SessionRef,
  SessionSummary,
} from './boundary.ts'
import { describeAgent, modelInfo } from './describe.ts'
import { Follower } from './follow.ts'
import { goneAgent } from './gone-agent.ts'
import { OpenSessions } from './open-sessions.ts'
import type { EnginePorts, ModelRequest } from './ports.ts'
import { previewRequest } from './request.ts'
import { runCommand, sealSettings } from './run-command.ts'
import { boundResults } from './seed.ts'
import { summarise, withoutSecrets } from './summary.ts'

export class LocalEngine implements Engine {
  readonly sessions: OpenSessions
  readonly #ports: EnginePorts
  /** Requests of `answerOnce` that are under way. */
  readonly #answering = new Set<Abort>()

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
   * `answerOnce` fail with `stopping`.
   */
  stop(graceMs: number): Promise<void> {
    const reason = new TurnwireError('stopping', 'The server is stopping. Try again in a moment.')
    for (const answering of this.#answering) answering.abort(reason)
    return this.sessions.stop(graceMs)
  }

  get description(): EngineDescription {
    const { models = {} } = this.#ports
    const agents = this.#ports.agents?.() ?? []
    return {
      agents: agents.map(({ agent, model }) => describeAgent(agent, model)),
      models: Object.fromEntries(Object.entries(models).map(([name, model]) => [name, modelInfo(model)])),
    }
  }

  describe(): Promise<EngineDescription> {
    return Promise.resolve(this.description)
  }

  async create(create: CreateSession): Promise<CreatedSession> {
    const { request, settings, seed, ...rest } = create
    const agent = this.sessions.agent(create.agent)
    const { entries, blobs } = boundResults(seed, agent.gate)
    const sealed = sealSettings({ agent, ports: this.#ports }, settings)
    const made = await this.sessions.make({ ...rest, settings: sealed, seed: entries }, request)
    const { id } = made.session
    if (!made.existing) for (const { name, body } of blobs) await this.#ports.store.putBlob(id, name, body)
    return { session: id, existing: made.existing }
  }

  command(ref: SessionRef, command: Command): Promise<Accepted> {
    return this.sessions.use(ref, session => runCommand(session, command))
  }

  follow(
    ref: SessionRef,
    options: FollowOptions,
    signal?: AbortSignal,
  ): AsyncIterable<readonly FollowItem[]> {
    const source = {
      hold: (of: SessionRef) => this.sessions.hold(of),
      read: (session: string, after: number, maxBytes: number) =>
        this.#ports.store.read(session, after, { maxBytes }),
    }
    return { [Symbol.asyncIterator]: () => new Follower(source, ref, options, signal) }
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
    const session = await this.sessions.hold(ref, attachment.tools)
    const leave = (): void => attachment.close()
    if (signal?.aborted) leave()
    signal?.addEventListener('abort', leave, { once: true })
    session.attachments.add(attachment)
    session.attach(attachment.tools)
    attachment.items.push({ type: 'attached' })
    try {
      yield* attachment.items
    } finally {
      signal?.removeEventListener('abort', leave)
      attachment.close()
      session.attachments.delete(attachment)
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
    const state = await this.sessions.state(ref)
    return summarise(state, this.#ports.agent(state.agent)?.limits, keys)
  }

  async history(ref: SessionRef, compacted = false, upTo?: number): Promise<SessionHistory> {
    const { entries, view, batch } = await (upTo === undefined
      ? this.sessions.state(ref)
      : this.sessions.stateAt(ref, upTo))
    return structuredClone({ entries: compacted ? view : entries, calls: batch })
  }

  async nextRequest(ref: SessionRef, text?: string): Promise<ModelRequest> {
    const state = await this.sessions.state(ref)
    return previewRequest(this.#ports.agent(state.agent) ?? goneAgent(state.agent), state, text)
  }

  async events({ owner, session }: SessionRef, after = 0, maxBytes?: number): Promise<Recorded[]> {
    await this.sessions.checkOwner(owner, session)
    return this.#ports.store.read(session, after, maxBytes === undefined ? {} : { maxBytes })
  }

  async list(owner: string, page: { after?: string; limit: number }): Promise<SessionPage> {
    const { rows, next } = await this.#ports.store.list(owner, page)
    const listed = rows.map(({ summary, ...row }) => ({
      ...row,
      summary: { ...summary, settings: withoutSecrets(summary?.settings ?? noSettings) },
    }))
    return { rows: listed, ...(next !== undefined && { next }) }
  }

  owners(): Promise<string[]> {
    return this.#ports.store.owners()
  }

  find(owner: string, key: string): Promise<string | undefined> {
    return this.#ports.store.requested(owner, key)
  }

  remove({ owner, session }: SessionRef): Promise<void> {
    return this.sessions.remove(owner, session)
  }

  blob({ owner, session }: SessionRef, name: string): Promise<string> {
    return this.sessions.blob(owner, session, name)
  }

  async keepBlob({ owner, session }: SessionRef, name: string, body: string): Promise<void> {
    await this.sessions.checkOwner(owner, session)
    await this.#ports.store.putBlob(session, name, body)
  }
}

const noSettings = { tools: null, options: {}, clientTools: [] }
