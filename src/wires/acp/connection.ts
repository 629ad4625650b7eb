// One connection of a client: its methods in the words of version 1, and the sessions that it has open.
import {
  type ContentBlock,
  type InitializeResponse,
  type ListSessionsRequest,
  type ListSessionsResponse,
  type NewSessionResponse,
  PROTOCOL_VERSION,
  type PromptResponse,
} from '@agentclientprotocol/sdk'
import type { SessionPage, SessionRef, SessionSummary } from '../../engine/index.ts'
import { hasCode, TurnwireError } from '../../language/errors.ts'
import type { Settings } from '../../language/events.ts'
import type { TraceContext } from '../../language/trace.ts'
import { type Arrival, requestKey } from './arrivals.ts'
import { decodeFolder, decodeWorkspace, type GivenFolders, type Workspace } from './decode.ts'
import { encodeTitle } from './encode-content.ts'
import { promptCommands } from './from-servers.ts'
import type { AcpHost } from './host.ts'
import type { Peer } from './peer.ts'
import { refusal } from './refusals.ts'
import { AcpSession, type Ticket } from './session.ts'
import { availableCommands } from './slash-commands.ts'

const pageSize = 50
/** Pages without a session of the wanted folder that one request looks through. */
const maxPages = 20
/** Prompts whose parameters the SDK refuses arrive and are never handled. */
const maxTickets = 1000
const environmentMethod = 'environment'

export class Connection {
  readonly #host: AcpHost
  readonly #sessions = new Map<string, AcpSession>()
  readonly #tickets = new Map<string, Ticket>()
  #closed = false
  peer: Peer | undefined

  constructor(host: AcpHost) {
    this.#host = host
  }

  /** Called in the order of arrival, before the message is handled. */
  arrived(arrival: Arrival): void {
    switch (arrival.type) {
      case 'prompt': {
        const { requestId, sessionId } = arrival
        this.#tickets.set(requestId, { sessionId, cancelled: false })
        const [oldest] = this.#tickets.keys()
        if (this.#tickets.size > maxTickets && oldest !== undefined) this.#tickets.delete(oldest)
        break
      }
      case 'cancel':
        for (const ticket of this.#tickets.values())
          if (ticket.sessionId === arrival.sessionId) ticket.cancelled = true
        void this.#sessions.get(arrival.sessionId)?.cancel()
        break
      case 'cancel-request': {
        const ticket = this.#tickets.get(arrival.requestId)
        if (!ticket) return
        ticket.cancelled = true
        const session = this.#sessions.get(ticket.sessionId)
        if (ticket.turn !== undefined) void session?.cancel()
        else if (ticket.message !== undefined) void session?.withdraw(ticket.message)
      }
    }
  }

  /** The client is gone. Nothing is cancelled. */
  async closed(): Promise<void> {
    this.#closed = true
    const sessions = [...this.#sessions.values()]
    this.#sessions.clear()
    await Promise.allSettled(sessions.map(session => session.dispose()))
  }

  // ---- before any session --------------------------------------------------------------------------------

  initialize(): InitializeResponse {
    const { info, version, mcp } = this.#host
    return {
      protocolVersion: PROTOCOL_VERSION,
      agentCapabilities: {
        loadSession: true,
        promptCapabilities: { image: info.images.data, audio: false, embeddedContext: true },
        mcpCapabilities: { http: mcp.http, sse: false },
        sessionCapabilities: { list: {}, delete: {}, resume: {}, close: {}, additionalDirectories: {} },
      },
      authMethods: this.#authMethods(),
      agentInfo: { name: 'turnwire', title: info.title ?? info.name, version },
    }
  }

  #authMethods(): { id: string; name: string; description: string }[] {
    const description = this.#missingKeys()
    return description === undefined
      ? []
      : [{ id: environmentMethod, name: 'Environment of the agent', description }]
  }

  authenticate(methodId: string): Record<string, never> {
    if (methodId !== environmentMethod) throw refusal.authMethod(methodId)
    this.#requireKeys()
    return {}
  }

  #requireKeys(): void {
    const words = this.#missingKeys()
    if (words !== undefined) throw refusal.keyMissing(words)
  }

  /** Advice about required secrets that are missing; undefined if none is missing. */
  #missingKeys(): string | undefined {
    const { info, secrets } = this.#host
    const names = info.options
      .filter(({ type, required, name }) => type === 'secret' && required && !secrets[name])
      .map(option => secretVariable(option.name))
    if (names.length === 0) return undefined
    return `This agent needs ${names.join(', ')}. Set it in the environment that the agent is started with, and start it again.`
  }

  // ---- sessions ------------------------------------------------------------------------------------------

  async newSession(folders: GivenFolders): Promise<NewSessionResponse> {
    this.#requireKeys()
    const { engine, info, principal, secrets, mcp } = this.#host
    const workspace = decodeWorkspace(folders, mcp)
    const options: Record<string, string> = {}
    for (const { name, type } of info.options)
      if (type === 'secret' && secrets[name]) options[name] = secrets[name]
    const { session: sessionId } = await engine.create({
      owner: principal.owner,
      agent: info.name,
      wire: 'acp',
      settings: { tools: null, options, clientTools: [], wires: { acp: { cwd: workspace.roots[0] } } },
      seed: [],
    })
    const summary = await engine.summary(this.#ref(sessionId))
    return { sessionId, ...(await this.#begin(summary, workspace, false)) }
  }

  async openSession(sessionId: string, folders: GivenFolders, replay: boolean) {
    this.#requireKeys()
    const { engine, info, mcp } = this.#host
    const workspace = decodeWorkspace(folders, mcp)
    if (this.#sessions.get(sessionId)?.isBusy)
      throw new TurnwireError('busy', 'A prompt is being answered in this session on this connection.')
    const summary = await engine.summary(this.#ref(sessionId)).catch((error: unknown) => {
      throw hasCode(error, 'session_not_found') ? refusal.unknownSession(sessionId) : error
    })
    if (summary.agent !== info.name) throw refusal.unknownSession(sessionId)
    const cwd = editorFolder(summary.settings)
    if (cwd !== undefined && cwd !== workspace.roots[0]) throw refusal.otherFolder(cwd)
    return this.#begin(summary, workspace, replay)
  }

  async #begin(summary: SessionSummary, workspace: Workspace, replay: boolean) {
    const { id } = summary
    const peer = this.peer
    if (!peer) throw refusal.notInitialized()
    const context = { host: this.#host, peer, ref: this.#ref(id), workspace }
    const session = new AcpSession(context, summary, replay)
    const before = this.#sessions.get(id)
    this.#sessions.set(id, session)
    try {
      await before?.dispose()
      await session.begin()
      if (this.#closed) await session.dispose()
    } catch (error) {
      if (this.#sessions.get(id) === session) this.#sessions.delete(id)
      await session.dispose()
      throw error
    }
    // After the response: until then the client does not know the session, or has not drawn it.
    setImmediate(() => {
      peer.update(id, { sessionUpdate: 'available_commands_update', availableCommands })
      session.start()
      void promptCommands(this.#host).then(prompts => {
        const all = [...availableCommands, ...prompts]
        if (prompts.length > 0)
          peer.update(id, { sessionUpdate: 'available_commands_update', availableCommands: all })
      })
    })
    const { configOptions, modes } = session
    return { ...(configOptions.length > 0 && { configOptions }), ...(modes && { modes }) }
  }

  #ref(session: string): SessionRef {
    return { owner: this.#host.principal.owner, session }
  }

  async list({ cwd, cursor }: ListSessionsRequest): Promise<ListSessionsResponse> {
    const { engine, principal } = this.#host
    const folder = cwd === undefined || cwd === null ? undefined : decodeFolder(cwd, 'cwd')
    const sessions: ListSessionsResponse['sessions'] = []
    let after = cursor ?? undefined
    for (let page = 0; page < maxPages && sessions.length === 0; page += 1) {
      const { rows, next } = await engine.list(principal.owner, {
        limit: pageSize,
        ...(after !== undefined && { after }),
      })
      sessions.push(...rows.flatMap(row => this.#encodeRow(row, folder)))
      after = next
      if (next === undefined) break
    }
    return { sessions, ...(after !== undefined && { nextCursor: after }) }
  }

  /** A session that was made without a folder is listed in every folder. */
  #encodeRow(
    { id, agent, updatedAt, summary }: SessionPage['rows'][number],
    folder: string | undefined,
  ): ListSessionsResponse['sessions'] {
    const cwd = editorFolder(summary.settings) ?? folder ?? process.cwd()
    if (agent !== this.#host.info.name || (folder !== undefined && cwd !== folder)) return []
    const title = encodeTitle([{ type: 'text', text: summary.opening ?? '' }])
    const info = { sessionId: id, cwd, updatedAt: new Date(updatedAt).toISOString() }
    return [title === undefined ? info : { ...info, title }]
  }

  async close(sessionId: string): Promise<Record<string, never>> {
    const session = this.get(sessionId)
    this.arrived({ type: 'cancel', sessionId })
    await session.close()
    this.#sessions.delete(sessionId)
    return {}
  }

  async remove(sessionId: string): Promise<Record<string, never>> {
    const session = this.#sessions.get(sessionId)
    try {
      await this.#host.engine.remove(this.#ref(sessionId))
      // The client is shown how the turn ended.
      await session?.ended
    } catch (error) {
      if (!hasCode(error, 'session_not_found')) throw error
      session?.lost(error)
    }
    await session?.dispose()
    this.#sessions.delete(sessionId)
    return {}
  }

  /** Refused as a wrong parameter if there is no such call, or it has ended. */
  async cancelCall(sessionId: string, toolCallId: string): Promise<Record<string, never>> {
    const session = this.get(sessionId)
    await session.cancelCall(toolCallId).catch((error: unknown) => {
      throw hasCode(error, 'call_settled', 'unknown_call') ? refusal.notCancellable(toolCallId) : error
    })
    return {}
  }

  has(sessionId: string): boolean {
    return this.#sessions.has(sessionId)
  }

  get(sessionId: string): AcpSession {
    const session = this.#sessions.get(sessionId)
    if (!session) throw refusal.unknownSession(sessionId)
    return session
  }

  /** `inserted`: the request is answered once the message is in the session, not at the end of the turn. */
  async prompt(
    requestId: unknown,
    sessionId: string,
    blocks: readonly ContentBlock[],
    trace: TraceContext | undefined,
    inserted?: (messageId: string) => void,
  ): Promise<PromptResponse> {
    const key = requestKey(requestId)
    const ticket: Ticket = this.#tickets.get(key) ?? { sessionId, cancelled: false }
    if (trace) ticket.trace = trace
    const done = (): void => {
      if (this.#tickets.get(key) === ticket) this.#tickets.delete(key)
    }
    try {
      const tell =
        inserted &&
        ((messageId: string): void => {
          done()
          inserted(messageId)
        })
      return await this.get(sessionId).prompt(blocks, ticket, tell)
    } finally {
      done()
    }
  }
}

export function secretVariable(option: string): string {
  return `TURNWIRE_SECRET_${option.toUpperCase().replace(/[^A-Z0-9]+/g, '_')}`
}

/** The folder that the session was made with. */
function editorFolder({ wires }: Settings): string | undefined {
  const cwd = wires?.['acp']?.['cwd']
  return typeof cwd === 'string' ? cwd : undefined
}
