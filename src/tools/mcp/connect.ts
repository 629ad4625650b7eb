// Opens one connection to a server, in the revision of the protocol and over the transport that the server speaks. Over
// stdio the older revision is tried first: asking beforehand which one it speaks would start the program twice. A server that
// refuses the older one is started again with the newer one, and is known from then on. Over HTTP the newer one is tried first;
// a server that takes no POST at all gets the transport of 2024-11-05. A revision that the settings name is the only one tried.
import {
  Client,
  type ClientOptions,
  InsufficientScopeError,
  ProtocolError,
  SdkHttpError,
  UnauthorizedError,
} from '@modelcontextprotocol/client'
import { longestTimerMs } from '../../lib/async/abort.ts'
import { printable } from '../../lib/text/index.ts'
import { memoryAuthStore, ServerAuth } from './auth.ts'
import { clientCapabilities, handleRequests, type RunningCalls } from './from-server.ts'
import type { McpOptions } from './index.ts'
import { keepListening } from './listen.ts'
import { type McpServerSpec, modernRevision } from './spec.ts'
import { showTasks, speaksModern } from './task.ts'
import { clientInfo, type HttpTransport, openTransport, type TransportKind } from './transport.ts'

type Negotiation = NonNullable<ClientOptions['versionNegotiation']>

const legacy: Negotiation = { mode: 'legacy' }
const modern: Negotiation = { mode: { pin: modernRevision } }
const either: Negotiation = { mode: 'auto' }

export type ConnectionEvents = {
  warn(words: string): void
  /** The server says that its tools, or its resources and prompts, are others now. */
  changed(client: Client, what: 'tools' | 'resources'): void
  closed(client: Client): void
}

export type Connected = { client: Client; kind: TransportKind }

/** How often a person is asked to log in before a connection, or a call, is given up. */
const mostLogins = 2

export class McpConnector {
  readonly #spec: McpServerSpec
  readonly #options: McpOptions
  readonly #events: ConnectionEvents
  readonly #calls: RunningCalls
  readonly #auth: ServerAuth | undefined
  #isModern: boolean
  #isSse = false
  #transport: HttpTransport | undefined

  constructor(spec: McpServerSpec, options: McpOptions, events: ConnectionEvents, calls: RunningCalls) {
    this.#spec = spec
    this.#options = options
    this.#events = events
    this.#calls = calls
    this.#isModern = spec.protocolVersion === modernRevision
    if ('url' in spec && !hasOwnToken(spec.headers))
      this.#auth = new ServerAuth(spec, options.auth?.store ?? memoryAuthStore(), options.auth?.person)
  }

  async connect(): Promise<Connected> {
    if ('url' in this.#spec) return this.authorised(() => this.#connectHttp())
    if (this.#isModern) return this.#open(modern, 'stdio')
    if (this.#spec.protocolVersion !== undefined) return this.#open(legacy, 'stdio')
    try {
      return await this.#open(legacy, 'stdio')
    } catch (error) {
      if (!(error instanceof ProtocolError)) throw error
      const connected = await this.#open(modern, 'stdio')
      this.#isModern = true
      return connected
    }
  }

  /** Does something that may need a login, or one with more scopes, and does it again after the login. */
  async authorised<Result>(act: () => Promise<Result>): Promise<Result> {
    for (let logins = 0; ; logins += 1) {
      try {
        return await act()
      } catch (error) {
        if (error instanceof InsufficientScopeError && this.#auth)
          throw this.#auth.wantScope(error.requiredScope)
        const returned = this.#auth?.takeReturned()
        if (!(error instanceof UnauthorizedError) || !returned || !this.#transport || logins >= mostLogins)
          throw error
        await this.#transport.finishAuth(returned)
      }
    }
  }

  async #connectHttp(): Promise<Connected> {
    if (this.#isSse) return this.#open(legacy, 'sse')
    const isPinned = this.#spec.protocolVersion !== undefined
    try {
      return await this.#open(this.#isModern ? modern : isPinned ? legacy : either, 'http')
    } catch (error) {
      if (this.#isModern || !isNotStreamable(error)) throw error
      try {
        const connected = await this.#open(legacy, 'sse')
        this.#isSse = true
        return connected
      } catch {
        // The first failure is shown: the failure of the older transport says nothing.
        throw error
      }
    }
  }

  async #open(versionNegotiation: Negotiation, kind: TransportKind): Promise<Connected> {
    const { connectTimeoutMs = 30_000, maxMessageBytes = 8 * 1024 * 1024, log, fetchOther } = this.#options
    const client = this.#client(versionNegotiation)
    const transport = openTransport(this.#spec, kind, {
      maxMessageBytes,
      ...(this.#auth && { authProvider: this.#auth.provider }),
      ...(fetchOther && { fetchOther }),
      log: (level, message, fields) => log?.(level, message, fields),
    })
    if ('finishAuth' in transport) this.#transport = transport
    showTasks(transport)
    // The time limit does not run while a person logs in.
    const isTimed = this.#options.auth?.person === undefined
    try {
      await client.connect(transport, {
        timeout: isTimed ? connectTimeoutMs : longestTimerMs,
        ...(isTimed && { signal: AbortSignal.timeout(connectTimeoutMs) }),
      })
      await this.#askForLog(client)
      this.#keepListening(client)
      return { client, kind }
    } catch (error) {
      await client.close().catch(() => {})
      await transport.close().catch(() => {})
      throw error
    }
  }

  #keepListening(client: Client): void {
    const changed = (): void => {
      this.#events.changed(client, 'tools')
      this.#events.changed(client, 'resources')
    }
    keepListening(client, changed).catch((error: unknown) =>
      this.#events.warn(
        `Changes of the MCP server "${this.#spec.name}" are noticed late: ${printable(String(error), 300)}`,
      ),
    )
  }

  /** In 2026-07-28 each call asks for it. */
  async #askForLog(client: Client): Promise<void> {
    const { logLevel } = this.#options
    if (logLevel === undefined || speaksModern(client) || !client.getServerCapabilities()?.logging) return
    await client.setLoggingLevel(logLevel).catch(() => {})
  }

  #client(versionNegotiation: Negotiation): Client {
    const events = this.#events
    const { protocolVersion } = this.#spec
    const watched = { autoRefresh: false, onChanged: () => events.changed(client, 'resources') } as const
    const client = new Client(clientInfo, {
      versionNegotiation,
      ...(protocolVersion !== undefined && { supportedProtocolVersions: [protocolVersion] }),
      capabilities: clientCapabilities(this.#options),
      listChanged: {
        tools: { autoRefresh: false, onChanged: () => events.changed(client, 'tools') },
        resources: watched,
        prompts: watched,
      },
    })
    client.onerror = error => {
      // `connect` rejects with it, in better words.
      if (!isStartFailure(error))
        events.warn(
          `The MCP server "${this.#spec.name}" broke the protocol: ${printable(error.message, 300)}`,
        )
    }
    client.onclose = () => events.closed(client)
    handleRequests(client, this.#spec.name, this.#options, this.#calls)
    return client
  }
}

/** The program could not be started at all. */
function isStartFailure(error: Error & { syscall?: string }): boolean {
  return error.syscall?.startsWith('spawn') === true
}

function hasOwnToken(headers: Readonly<Record<string, string>> = {}): boolean {
  return Object.keys(headers).some(name => name.toLowerCase() === 'authorization')
}

/** A server that knows only the transport of 2024-11-05 answers a POST with one of these statuses. */
function isNotStreamable(error: unknown): boolean {
  return error instanceof SdkHttpError && [400, 404, 405].includes(error.status ?? 0)
}
