// The routes: one endpoint per agent, for both revisions of the protocol. A modern client sends whole requests and has no
// session. A legacy client begins a session of the protocol, which lives in memory and ends when it has been idle.
import { randomUUID } from 'node:crypto'
import {
  createMcpHandler,
  INVALID_REQUEST,
  isLegacyRequest,
  PARSE_ERROR,
  type Server,
  WebStandardStreamableHTTPServerTransport,
} from '@modelcontextprotocol/server'
import { type Context, Hono } from 'hono'
import { type ErrorCode, errorCodes, TurnwireError } from '../../language/errors.ts'
import { isJsonObject, type JsonObject } from '../../lib/json/index.ts'
import { agentNamed, type RequestPayment, type WireEnv, type WireHost } from '../host.ts'
import { readJson, withoutConnectionHeader } from '../http/index.ts'
import { KeptEvents } from './kept-events.ts'
import { paramHeaderFault } from './param-headers.ts'
import { takePayment } from './payment.ts'
import { type McpServing, mcpServerFor } from './server.ts'

/** Per owner: one that begins many ends its own oldest, never another's. */
const mostSessions = 100
const idleMs = 30 * 60_000
const headerMismatch = -32020
/** After how long a client comes back whose stream broke. */
const retryMs = 1_000
const bodyFaults: readonly ErrorCode[] = ['invalid_json', 'too_large', 'unsupported_media', 'bad_request']

type LegacySession = {
  owner: string
  agent: string
  transport: WebStandardStreamableHTTPServerTransport
  usedAt: number
}

/** `serving`: by agent, the parts of it that are served. */
export function mcpRoutes(
  host: WireHost,
  serving: ReadonlyMap<string, McpServing>,
  version: string,
): Hono<WireEnv> {
  const app = new Hono<WireEnv>()
  const served = new McpEndpoint(host, serving, version)
  app.all('/mcp/:agent', withoutConnectionHeader, c => served.serve(c, c.req.param('agent') ?? ''))
  app.all('/mcp', withoutConnectionHeader, c => served.serveOnly(c))
  return app
}

class McpEndpoint {
  readonly #host: WireHost
  readonly #serving: ReadonlyMap<string, McpServing>
  readonly #version: string
  /** By the id that the client sends, in the order in which they were last used. */
  readonly #sessions = new Map<string, LegacySession>()
  readonly #payments = new WeakMap<Request, RequestPayment>()

  constructor(host: WireHost, serving: ReadonlyMap<string, McpServing>, version: string) {
    this.#host = host
    this.#serving = serving
    this.#version = version
  }

  /** Without a name: the agent that is served, if there is one alone. */
  async serveOnly(c: Context<WireEnv>): Promise<Response> {
    const [only = '', ...others] = this.#serving.keys()
    if (others.length === 0) return this.serve(c, only)
    const paths = [only, ...others].map(name => `/mcp/${name}`).join(', ')
    throw new TurnwireError('not_found', `Several agents are served over MCP. Name one: ${paths}.`)
  }

  async serve(c: Context<WireEnv>, agent: string): Promise<Response> {
    if (!this.#serving.has(agent))
      throw new TurnwireError(
        'not_found',
        `The agent "${agent}" is not served over MCP. Set agents[].serveMcp in the configuration.`,
      )
    const parsedBody = c.req.method === 'POST' ? await this.#body(c) : undefined
    if (parsedBody instanceof Response) return parsedBody
    const payment = c.get('payment')
    if (payment?.bare) c.set('principal', { owner: payment.owner, name: payment.owner })
    const request = c.req.raw
    if (payment) this.#payments.set(request, payment)
    if (await isLegacyRequest(request, parsedBody)) return this.#serveLegacy(c, agent, parsedBody)
    const fault = this.#paramFault(agent, parsedBody, request.headers)
    if (fault !== undefined) {
      const id = parsedBody?.['id'] ?? null
      return c.json({ jsonrpc: '2.0', id, error: { code: headerMismatch, message: fault } }, 400)
    }
    const handler = createMcpHandler(() => this.#server(c, agent), {
      legacy: 'reject',
      onerror: error => this.#log(error),
      keepAliveMs: this.#host.limits.heartbeatMs,
    })
    return handler.fetch(request, { parsedBody })
  }

  /** One message, or the protocol's refusal of a body that is no message. */
  async #body(c: Context<WireEnv>): Promise<JsonObject | Response> {
    const refuse = (code: number, message: string, status = 400): Response =>
      Response.json({ jsonrpc: '2.0', id: null, error: { code, message } }, { status })
    try {
      const body = await readJson(c, this.#host.limits)
      if (isJsonObject(body)) {
        takePayment(body, c.get('payment'))
        return body
      }
      return refuse(
        INVALID_REQUEST,
        Array.isArray(body)
          ? 'Batches are not taken. Send each message in a request of its own.'
          : 'The body must be a JSON-RPC message: an object.',
      )
    } catch (error) {
      if (!(error instanceof TurnwireError) || !bodyFaults.includes(error.code)) throw error
      const code = error.code === 'invalid_json' ? PARSE_ERROR : INVALID_REQUEST
      return refuse(code, error.message, errorCodes[error.code].status)
    }
  }

  #server(c: Context<WireEnv>, agent: string): Server {
    const serving = this.#serving.get(agent) ?? {}
    const principal = c.get('principal')
    // It may serve later requests of the same client too, each with a trace of its own.
    const engine = this.#host.engineFor({ ...principal, payment: c.get('payment') })
    const paymentOf = (request: Request | undefined) => request && this.#payments.get(request)
    return mcpServerFor(this.#host, { principal, engine, agent, serving, version: this.#version, paymentOf })
  }

  #paramFault(agent: string, body: unknown, headers: Headers): string | undefined {
    if (!isJsonObject(body) || body['method'] !== 'tools/call' || !isJsonObject(body['params']))
      return undefined
    const { name, arguments: given } = body['params']
    const tool = agentNamed(this.#host, agent).tools.find(each => each.name === name)
    return tool?.input.form === 'json' ? paramHeaderFault(tool.input.schema, given, headers) : undefined
  }

  async #serveLegacy(c: Context<WireEnv>, agent: string, parsedBody: unknown): Promise<Response> {
    if (c.get('payment')?.bare)
      throw new TurnwireError(
        'unauthorized',
        'A wallet without a key pays in the revision of 2026-07-28, or signs in first: docs/guide/payments.md.',
      )
    const { owner } = c.get('principal')
    this.#dropIdle(owner)
    const id = c.req.header('mcp-session-id')
    const known = id === undefined ? undefined : this.#sessions.get(id)
    // To anyone but its owner a session does not exist. The protocol's 404 makes a client begin anew.
    if (id !== undefined && (known?.owner !== owner || known.agent !== agent))
      return c.json({ jsonrpc: '2.0', id: null, error: { code: -32001, message: 'Session not found' } }, 404)
    if (known && id !== undefined) {
      known.usedAt = performance.now()
      this.#sessions.delete(id)
      this.#sessions.set(id, known)
      return known.transport.handleRequest(c.req.raw, { parsedBody })
    }
    const transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      keepAliveMs: this.#host.limits.heartbeatMs,
      eventStore: new KeptEvents(),
      retryInterval: retryMs,
      onsessioninitialized: made =>
        void this.#sessions.set(made, { owner, agent, transport, usedAt: performance.now() }),
      onsessionclosed: closed => void this.#sessions.delete(closed),
    })
    await this.#server(c, agent).connect(transport)
    return transport.handleRequest(c.req.raw, { parsedBody })
  }

  #dropIdle(owner: string): void {
    const before = performance.now() - idleMs
    const own = [...this.#sessions.values()].filter(session => session.owner === owner)
    let over = own.length - mostSessions + 1
    for (const [id, session] of this.#sessions) {
      const { usedAt, transport } = session
      const isOver = session.owner === owner && over > 0
      if (usedAt >= before && !isOver) continue
      if (isOver) over -= 1
      this.#sessions.delete(id)
      void transport.close().catch(error => this.#log(error))
    }
  }

  #log(error: unknown): void {
    this.#host.log('warn', 'An MCP client was refused.', { error: String(error) })
  }
}
