// One connection of a client: the methods of version 1, each a few words to the engine or to a session that is open here.
import {
  type AgentApp,
  type AgentConnection,
  agent as agentApp,
  type ClientCapabilities,
  type InitializeResponse,
  type ListSessionsRequest,
  type ListSessionsResponse,
  type McpServer,
  type NewSessionResponse,
  PROTOCOL_VERSION,
  type Stream,
} from '@agentclientprotocol/sdk'
import type { ListedRow, Session } from '../../engine/index.ts'
import { TurnwireError } from '../../language/errors.ts'
import type { OptionValue, Settings } from '../../language/events.ts'
import { availableCommands } from './commands.ts'
import { decodeFolder, decodeServers } from './decode.ts'
import { titleOf } from './encode.ts'
import { failureOf, keyMissing, refuseParams, unknownSession } from './failure.ts'
import type { AcpHost } from './host.ts'
import { type Arrival, noteArrivals, requestKey } from './intake.ts'
import { OpenSession, type Ticket } from './open-session.ts'
import { type Abilities, noAbilities, type Peer, peerOf } from './peer.ts'

export type Folders = { cwd: string; additionalDirectories?: string[]; mcpServers: readonly McpServer[] }

const pageSize = 50
const maxPages = 20
/** Prompts that were noted and never handled, since their parameters were refused. */
const maxTickets = 1000
const keyMethod = 'environment'

export class Connection {
  readonly #host: AcpHost
  readonly #open = new Map<string, OpenSession>()
  readonly #tickets = new Map<string, Ticket>()
  #closed = false
  peer: Peer | undefined

  constructor(host: AcpHost) {
    this.#host = host
  }

  /** Noted in the order of arrival, before any handler runs. */
  arrived(arrival: Arrival): void {
    if (arrival.type === 'prompt') {
      const { requestId, sessionId } = arrival
      this.#tickets.set(requestId, { sessionId, cancelled: false })
      const [oldest] = this.#tickets.keys()
      if (this.#tickets.size > maxTickets && oldest !== undefined) this.#tickets.delete(oldest)
      return
    }
    for (const ticket of this.#tickets.values())
      if (ticket.sessionId === arrival.sessionId) ticket.cancelled = true
    void this.#open.get(arrival.sessionId)?.cancel()
  }

  async closed(): Promise<void> {
    this.#closed = true
    const sessions = [...this.#open.values()]
    this.#open.clear()
    await Promise.allSettled(sessions.map(session => session.dispose()))
  }

  // ---- before any session --------------------------------------------------------------------------------

  initialize(): InitializeResponse {
    const { agent, version, mcp } = this.#host
    return {
      protocolVersion: PROTOCOL_VERSION,
      agentCapabilities: {
        loadSession: true,
        promptCapabilities: { image: agent.images.data, audio: false, embeddedContext: true },
        mcpCapabilities: { http: mcp.http, sse: false },
        sessionCapabilities: { list: {}, delete: {}, resume: {}, close: {}, additionalDirectories: {} },
      },
      authMethods: this.#keyMethods(),
      agentInfo: { name: 'turnwire', title: agent.title ?? agent.name, version },
    }
  }

  #missingKeys(): string[] {
    const { agent, secrets } = this.#host
    return agent.options
      .filter(({ type, required, name }) => type === 'secret' && required && !secrets[name])
      .map(option => option.name)
  }

  #keyMethods(): { id: string; name: string; description: string }[] {
    return this.#missingKeys().length === 0
      ? []
      : [{ id: keyMethod, name: 'Environment of the agent', description: this.#keyWords() }]
  }

  #keyWords(): string {
    const names = this.#missingKeys().map(secretVariable).join(', ')
    return `This agent needs ${names}. Set it in the environment that the agent is started with, and start it again.`
  }

  authenticate(methodId: string): Record<string, never> {
    if (methodId !== keyMethod) throw refuseParams(`There is no authentication method "${methodId}".`)
    this.#requireKeys()
    return {}
  }

  #requireKeys(): void {
    if (this.#missingKeys().length > 0) throw keyMissing(this.#keyWords())
  }

  // ---- sessions ------------------------------------------------------------------------------------------

  async newSession(folders: Folders): Promise<NewSessionResponse> {
    this.#requireKeys()
    const { old: engine, agent, principal, secrets } = this.#host
    const { roots, servers } = this.#decode(folders)
    const options: Record<string, OptionValue> = {}
    for (const { name, type } of agent.options)
      if (type === 'secret' && secrets[name]) options[name] = { sealed: this.#host.seal(secrets[name]) }
    const session = await engine.create({
      owner: principal.owner,
      agent: agent.name,
      wire: 'acp',
      settings: { tools: null, options, clientTools: [], wires: { acp: { cwd: roots[0] } } },
      seed: [],
    })
    const open = await this.#begin(session, roots, servers, 'silent')
    return { sessionId: session.id, ...this.#choices(open) }
  }

  async openSession(sessionId: string, folders: Folders, how: 'replay' | 'silent') {
    this.#requireKeys()
    const { old: engine, agent, principal } = this.#host
    const { roots, servers } = this.#decode(folders)
    if (this.#open.get(sessionId)?.isBusy)
      throw new TurnwireError('busy', 'A prompt is being answered in this session on this connection.')
    const session = await engine.open(principal.owner, sessionId).catch((error: unknown) => {
      throw isMissing(error) ? unknownSession(sessionId) : error
    })
    if (session.state.agent !== agent.name) throw unknownSession(sessionId)
    const cwd = folderOf(session.state.settings)
    if (cwd !== undefined && cwd !== roots[0])
      throw refuseParams(
        'This session belongs to another folder: open it with the cwd that it was made with.',
        { cwd },
      )
    const open = await this.#begin(session, roots, servers, how)
    return this.#choices(open)
  }

  #decode({ cwd, additionalDirectories = [], mcpServers }: Folders) {
    const first = decodeFolder(cwd, 'cwd')
    const others = additionalDirectories.map(path => decodeFolder(path, 'additionalDirectories'))
    const roots: readonly [string, ...string[]] = [first, ...others]
    return { roots, servers: decodeServers(mcpServers, first, this.#host) }
  }

  async #begin(
    session: Session,
    roots: readonly [string, ...string[]],
    servers: ReturnType<typeof decodeServers>,
    how: 'replay' | 'silent',
  ): Promise<OpenSession> {
    const open = new OpenSession({ host: this.#host, peer: this.#required(), session, roots, servers })
    const before = this.#open.get(session.id)
    this.#open.set(session.id, open)
    try {
      await before?.dispose()
      await open.begin(how)
      if (this.#closed) await open.dispose()
    } catch (error) {
      this.#open.delete(session.id)
      await open.dispose()
      throw error
    }
    // After the response: until then the client does not know the session, or has not drawn it.
    setImmediate(() => {
      this.peer?.update(session.id, { sessionUpdate: 'available_commands_update', availableCommands })
      open.takeUp()
    })
    return open
  }

  #choices({ configOptions, modes }: OpenSession) {
    return { ...(configOptions.length > 0 && { configOptions }), ...(modes && { modes }) }
  }

  #required(): Peer {
    if (!this.peer) throw new TurnwireError('bad_request', 'The connection is not initialized.')
    return this.peer
  }

  async list({ cwd, cursor }: ListSessionsRequest): Promise<ListSessionsResponse> {
    const { old: engine, principal } = this.#host
    const folder = cwd === undefined || cwd === null ? undefined : decodeFolder(cwd, 'cwd')
    const sessions: ListSessionsResponse['sessions'] = []
    let after = cursor ?? undefined
    for (let page = 0; page < maxPages && sessions.length === 0; page += 1) {
      const { rows, next } = await engine.list(principal.owner, {
        limit: pageSize,
        ...(after !== undefined && { after }),
      })
      for (const row of rows) {
        const info = row.agent === this.#host.agent.name ? await this.#infoOf(row, folder) : undefined
        if (info) sessions.push(info)
      }
      after = next
      if (next === undefined) break
    }
    return { sessions, ...(after !== undefined && { nextCursor: after }) }
  }

  /** A session that was made without a folder is at home in every one. */
  async #infoOf({ id, updatedAt, summary }: ListedRow, folder: string | undefined) {
    const { old: engine, principal } = this.#host
    const about =
      summary ??
      (await engine.peek(principal.owner, id).catch((error: unknown) => {
        if (isMissing(error)) return undefined
        throw error
      }))
    if (!about) return undefined
    const cwd = folderOf(about.settings) ?? folder ?? process.cwd()
    if (folder !== undefined && cwd !== folder) return undefined
    const title = about.opening === undefined ? undefined : titleOf([{ type: 'text', text: about.opening }])
    return {
      sessionId: id,
      cwd,
      updatedAt: new Date(updatedAt).toISOString(),
      ...(title !== undefined && { title }),
    }
  }

  async close(sessionId: string): Promise<Record<string, never>> {
    const open = this.get(sessionId)
    this.arrived({ type: 'cancel', sessionId })
    await open.close()
    this.#open.delete(sessionId)
    return {}
  }

  async remove(sessionId: string): Promise<Record<string, never>> {
    const { old: engine, principal } = this.#host
    await engine.remove(principal.owner, sessionId).catch((error: unknown) => {
      if (!isMissing(error)) throw error
    })
    await this.#open.get(sessionId)?.dispose()
    this.#open.delete(sessionId)
    return {}
  }

  has(sessionId: string): boolean {
    return this.#open.has(sessionId)
  }

  get(sessionId: string): OpenSession {
    const open = this.#open.get(sessionId)
    if (!open) throw unknownSession(sessionId)
    return open
  }

  /** The note of a prompt's arrival, which a cancellation may have marked already. */
  async withTicket<T>(
    requestId: unknown,
    sessionId: string,
    use: (ticket: Ticket) => Promise<T>,
  ): Promise<T> {
    const key = requestKey(requestId)
    const ticket = this.#tickets.get(key) ?? { sessionId, cancelled: false }
    try {
      return await use(ticket)
    } finally {
      if (this.#tickets.get(key) === ticket) this.#tickets.delete(key)
    }
  }
}

export function secretVariable(option: string): string {
  return `TURNWIRE_SECRET_${option.toUpperCase().replace(/[^A-Z0-9]+/g, '_')}`
}

function isMissing(error: unknown): boolean {
  return error instanceof TurnwireError && error.code === 'session_not_found'
}

export function abilitiesOf(capabilities: ClientCapabilities | undefined): Abilities {
  if (!capabilities) return noAbilities
  const { fs, terminal, session, elicitation } = capabilities
  return {
    readFiles: fs?.readTextFile === true,
    writeFiles: fs?.writeTextFile === true,
    terminals: terminal === true,
    notices: session?.notices != null,
    compaction: session?.compaction != null,
    elicitation: (['form', 'url'] as const).filter(mode => elicitation?.[mode] != null),
  }
}

// ---- version 1 -------------------------------------------------------------------------------------------------

export function connectVersion1(host: AcpHost, stream: Stream): AgentConnection {
  const connection = new Connection(host)
  const link = version1(host, connection, error => link.close(error)).connect(
    noteArrivals(stream, arrival => connection.arrived(arrival)),
  )
  void link.closed.then(() => connection.closed())
  return link
}

function version1(host: AcpHost, connection: Connection, hangUp: (error: Error) => void): AgentApp {
  const guard = guardOf(host)
  return agentApp({ name: 'turnwire' })
    .onRequest('initialize', ({ params, client }) =>
      guard(async () => {
        connection.peer = peerOf(client, abilitiesOf(params.clientCapabilities), hangUp)
        return connection.initialize()
      }),
    )
    .onRequest('authenticate', ({ params }) => guard(async () => connection.authenticate(params.methodId)))
    .onRequest('session/new', ({ params }) => guard(() => connection.newSession(params)))
    .onRequest('session/load', ({ params }) =>
      guard(() => connection.openSession(params.sessionId, params, 'replay')),
    )
    .onRequest('session/resume', ({ params }) =>
      guard(() =>
        connection.openSession(
          params.sessionId,
          { ...params, mcpServers: params.mcpServers ?? [] },
          'silent',
        ),
      ),
    )
    .onRequest('session/list', ({ params }) => guard(() => connection.list(params)))
    .onRequest('session/close', ({ params }) => guard(() => connection.close(params.sessionId)))
    .onRequest('session/delete', ({ params }) => guard(() => connection.remove(params.sessionId)))
    .onRequest('session/set_mode', ({ params }) =>
      guard(async () => {
        await connection.get(params.sessionId).setMode(params.modeId)
        return {}
      }),
    )
    .onRequest('session/set_config_option', ({ params }) =>
      guard(async () => {
        const open = connection.get(params.sessionId)
        await open.setOption(params.configId, params.value)
        return { configOptions: open.configOptions }
      }),
    )
    .onRequest('session/prompt', ({ params, requestId, signal }) =>
      guard(() =>
        connection.withTicket(requestId, params.sessionId, ticket => {
          const open = connection.get(params.sessionId)
          const withdraw = (): void => {
            ticket.cancelled = true
            void open.cancel()
          }
          signal.addEventListener('abort', withdraw, { once: true })
          return open
            .prompt(params.prompt, ticket)
            .finally(() => signal.removeEventListener('abort', withdraw))
        }),
      ),
    )
    .onNotification('session/cancel', () => {}) // It was heeded when it arrived.
}

/** Nothing that is thrown reaches the client but as an error that the protocol has. */
export function guardOf(host: AcpHost): <T>(run: () => Promise<T>) => Promise<T> {
  return async run => {
    try {
      return await run()
    } catch (error) {
      const failure = failureOf(error)
      if (failure.code === -32603)
        host.log('error', 'A request failed.', {
          wire: 'acp',
          error: error instanceof Error ? error.message : String(error),
        })
      throw failure
    }
  }
}

/** The folder that the session was made with. */
function folderOf({ wires }: Settings): string | undefined {
  const cwd = wires?.['acp']?.['cwd']
  return typeof cwd === 'string' ? cwd : undefined
}
