// The library: sessions of a configuration, in this process. Its runtime is private; the server and the command get it
// from `runtimeOf`.

import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import { localOwner } from '../callers/keys.ts'
import type { AgentTypes, WrittenAgents, WrittenConfig } from '../config/config.ts'
import type { AppContext, CreateSession, SessionRow } from '../engine/index.ts'
import type { InputPart } from '../language/content.ts'
import { wordsOf } from '../language/errors.ts'
import type { AskedName } from '../language/model-names.ts'
import { promptParts } from '../language/prompt-line.ts'
import type { ReceiptKey } from '../language/receipt-keys.ts'
import type { ServerPrompt, ServerResource, ToolServerInfo } from '../language/servers.ts'
import { type OpenOptions, Runtime } from '../runtime.ts'
import type { Mount } from '../server/mount.ts'
import { ControlHandle } from './control-handle.ts'
import type { Reply, ResultOf } from './reply.ts'
import { SessionHandle, toResultParts } from './session-handle.ts'
import { type SessionOptions, toSettings } from './session-options.ts'
import { TurnHandle } from './turn-handle.ts'

export type OwnerOptions = {
  /** The owner of the session. Default: `local`. */
  owner?: string
}

/** `context`: the value that tools get as `context.app`. */
export type RunOptions<ModelName extends string = string, OwnName extends string = string> = SessionOptions<
  ModelName,
  OwnName
> & {
  context?: Partial<AppContext>
}

/** `opening`: the beginning of the first message. */
export type ListedSession = Omit<SessionRow, 'head'> & { opening?: string }

/** For the server and the command. */
export let runtimeOf: (turnwire: Turnwire) => Runtime

/** `Server`: the names of its MCP servers. After a hand-over another agent's tools run, so that a session may have those of all. */
type SessionTypes<Agent extends AgentTypes, Name, Server extends string, OwnName extends string> = {
  result: ResultOf<Agent['tool'], `${Server}__${string}` | OwnName>
  answer: Extract<Agent, { name: Name }>['answer']
}

export class Turnwire<
  Name extends string = string,
  ModelName extends string = string,
  Agent extends AgentTypes = AgentTypes,
  Server extends string = string,
> {
  readonly #runtime: Runtime
  #mounted: Promise<Mount> | undefined

  /**
   * Answers a web-standard request on the wires, inside a server of the application: `export const POST = turnwire.fetch`. The
   * configuration says where it is mounted (`server.path`), which wires there are (`server.wires`) and who calls
   * (`server.authenticate`). Opens no port.
   */
  readonly fetch = async (request: Request): Promise<Response> => (await this.#mount()).fetch(request)

  /**
   * The same for a request of Node's: `createServer(turnwire.node)`, `app.use(turnwire.node)`. `given`: the body, if the
   * framework has read it, or `next` of Express.
   */
  readonly node = async (
    request: IncomingMessage,
    response: ServerResponse,
    given?: unknown,
  ): Promise<void> => {
    const mount = await this.#mount().catch((error: unknown) => {
      this.#runtime.log('error', 'Requests cannot be served.', { error: wordsOf(error) })
      if (typeof given === 'function') given(error)
      else response.writeHead(500, { 'content-type': 'application/json' }).end('{"error":"internal"}')
    })
    mount?.node(request, response, given)
  }

  /**
   * Takes WebSockets of Node's servers: `server.on('upgrade', turnwire.upgrade)`. A request elsewhere is left to other
   * listeners.
   */
  readonly upgrade = async (request: IncomingMessage, stream: Duplex, head: Buffer): Promise<void> => {
    const mount = await this.#mount().catch((error: unknown) => {
      this.#runtime.log('error', 'WebSockets cannot be served.', { error: wordsOf(error) })
      stream.destroy()
    })
    mount?.upgrade(request, stream, head)
  }

  static {
    runtimeOf = turnwire => turnwire.#runtime
  }

  private constructor(runtime: Runtime) {
    this.#runtime = runtime
  }

  /** Opens the store, and resumes sessions that were at work when their process ended. */
  static async open<
    Name extends string,
    const Names extends readonly string[],
    const Tools extends readonly unknown[],
    const Answers extends readonly unknown[],
    ModelName extends string = never,
    Server extends string = never,
  >(
    config: WrittenConfig<Name, ModelName, Server, Names, Tools, Answers>,
    options: OpenOptions = {},
  ): Promise<Turnwire<Name, AskedName<ModelName>, WrittenAgents<Names, Tools, Answers>, Server>> {
    return new Turnwire(await Runtime.open(config, options))
  }

  /** A new session of an agent. Default: the first of the configuration. */
  async session<Own extends Name, OwnName extends string = never>(
    agent?: Own,
    options: SessionOptions<ModelName, OwnName> = {},
  ): Promise<SessionHandle<ModelName, SessionTypes<Agent, Own, Server, OwnName>>> {
    const { engine } = this.#runtime
    const create = this.#newSession(agent, options)
    const { session } = await engine.create(create)
    return new SessionHandle(this.#runtime, create.owner, session)
  }

  #newSession(agent: string | undefined, options: SessionOptions): CreateSession {
    const { owner = localOwner, history = [] } = options
    const name = agent ?? this.#runtime.config.agents[0]?.name ?? ''
    return { owner, agent: name, wire: 'library', settings: toSettings(options), seed: history }
  }

  /** One message in a session of its own. The reply names the session, in which calls that wait can be answered. */
  async run<Own extends Name, OwnName extends string = never>(
    agent: Own,
    message: string | readonly InputPart[],
    { context, ...options }: RunOptions<ModelName, OwnName> = {},
  ): Promise<Reply<Extract<Agent, { name: Own }>['answer']> & { session: string }> {
    const create = this.#newSession(agent, options)
    const parts = toResultParts(message, 'run')
    const say = { do: 'say', wire: 'library', parts, ...(context && { app: context }) } as const
    const { session, accepted } = await this.#runtime.engine.create({ ...create, say })
    const started = Promise.resolve({ from: accepted?.first ?? 0, calls: [] })
    const turn = new TurnHandle<SessionTypes<Agent, Own, Server, OwnName>>(
      this.#runtime,
      { owner: create.owner, session },
      started,
    )
    return { ...(await turn), session }
  }

  /** A session that exists, by its id. */
  async resume(
    id: string,
    { owner = localOwner }: OwnerOptions = {},
  ): Promise<SessionHandle<ModelName, SessionTypes<Agent, Name, Server, never>>> {
    await this.#runtime.engine.summary({ owner, session: id })
    return new SessionHandle(this.#runtime, owner, id)
  }

  /** The sessions of an owner, newest first. */
  async *sessions({ owner = localOwner }: OwnerOptions = {}): AsyncGenerator<ListedSession> {
    let after: string | undefined
    do {
      const page = { limit: 100, ...(after !== undefined && { after }) }
      const { rows, next } = await this.#runtime.engine.list(owner, page)
      for (const { head: _, summary, ...row } of rows)
        yield { ...row, ...(summary.opening !== undefined && { opening: summary.opening }) }
      after = next
    } while (after !== undefined)
  }

  /** Deletes a session for good. */
  remove(id: string, { owner = localOwner }: OwnerOptions = {}): Promise<void> {
    return this.#runtime.engine.remove({ owner, session: id })
  }

  /** The MCP servers of the configuration: how each one is, and which revision of the protocol it speaks. */
  async servers(): Promise<ToolServerInfo[]> {
    return (await this.#runtime.engine.describe()).servers ?? []
  }

  /** Resources of an agent and of its MCP servers, to attach to messages. */
  resources(agent: Name): Promise<ServerResource[]> {
    return this.#runtime.engine.fromServers(agent, { get: 'resources' })
  }

  /** A resource as parts of a message: `session.send([...parts, { type: 'text', text }])`. */
  readResource(agent: Name, resource: { server: string; uri: string }): Promise<InputPart[]> {
    return this.#runtime.engine.fromServers(agent, { get: 'resource', ...resource })
  }

  prompts(agent: Name): Promise<ServerPrompt[]> {
    return this.#runtime.engine.fromServers(agent, { get: 'prompts' })
  }

  /** A prompt as parts of a message. */
  async prompt(
    agent: Name,
    {
      server,
      name,
      values = {},
    }: { server: string; name: string; values?: Readonly<Record<string, string>> },
  ): Promise<InputPart[]> {
    return promptParts(await this.#runtime.engine.fromServers(agent, { get: 'prompt', server, name, values }))
  }

  /** Takes a session under manual control. `force` takes it from someone else who controls it. */
  control(
    id: string,
    {
      by = 'operator',
      owner = localOwner,
      force = false,
    }: OwnerOptions & { by?: string; force?: boolean } = {},
  ): Promise<ControlHandle> {
    return ControlHandle.take(this.#runtime.engine, { owner, session: id }, by, force)
  }

  /** The public keys with which receipts of this program are checked. Empty: its logs are not signed. */
  receiptKeys(): ReceiptKey[] {
    return this.#runtime.receiptKeys?.published() ?? []
  }

  /** Model steps are dropped, and asked again at the next start; running tools get time to finish. */
  async close(): Promise<void> {
    await this.#runtime.close()
    await (await this.#mounted?.catch(() => undefined))?.close()
  }

  /** Loaded with the first request: most programs have none. */
  #mount(): Promise<Mount> {
    this.#mounted ??= import('../server/mount.ts').then(({ openMount }) => openMount(this.#runtime))
    return this.#mounted
  }
}
