// The HTTP server: who may speak to it at all, and which wires hang on it. Everything that a request passes before
// a wire sees it stands here, in the order in which it is passed.
import type { Server as NodeServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { serve } from '@hono/node-server'
import { type Context, Hono, type MiddlewareHandler, type Next } from 'hono'
import { publicError, TurnwireError } from '../language/errors.ts'
import { checkHost, checkOrigin, parseBearer } from '../lib/http.ts'
import { aapRoutes } from '../wires/aap/index.ts'
import { aguiRoutes } from '../wires/agui/index.ts'
import { chatRoutes } from '../wires/chat/index.ts'
import { deltakitRoutes, deltakitSocket } from '../wires/deltakit/index.ts'
import { geminiRoutes, refuseQueryKeys } from '../wires/gemini/index.ts'
import type { WireEnv, WireHost } from '../wires/host.ts'
import { messagesRoutes } from '../wires/messages/index.ts'
import { errorBody, responsesRoutes } from '../wires/responses/index.ts'
import { uiRoutes } from '../wires/ui/index.ts'
import type { AcpDoor } from './acp.ts'
import { Keys, readKeys } from './keys.ts'
import { rateLimit } from './rate-limit.ts'
import { localOwner, type Turnwire } from './turnwire.ts'
import { acceptUpgrades, type UpgradeRoute } from './upgrades.ts'

export type Running = { url: string; port: number; open: boolean; stop(): Promise<void> }

export type ServeOptions = { host?: string; port?: number }

const MiB = 1024 * 1024

export async function startServer(turnwire: Turnwire, options: ServeOptions = {}): Promise<Running> {
  const { server: config = {} } = turnwire.config
  const hostname = options.host ?? config.host ?? '127.0.0.1'
  const keys = new Keys([
    ...(config.keys ?? []),
    ...(turnwire.folder === undefined ? [] : readKeys(turnwire.folder)),
  ])
  if (keys.size === 0 && !isLoopback(hostname))
    throw new TurnwireError(
      'config_invalid',
      `The server would be open to everyone on ${hostname}. Make a key first: turnwire keys add <name>. Or listen on 127.0.0.1.`,
    )
  const host = hostOf(turnwire)
  const acp = config.acp === true ? await openAcp(turnwire, host) : undefined
  const app = createApp(turnwire, keys, hostname, host, acp?.routes)
  const server = await listen(app, hostname, options.port ?? config.port ?? 4117)
  const hosts = namesOf(config.hosts ?? [], hostname)
  const gate = { keys, hosts, origins: config.origins ?? [], limits: host.limits }
  const closeSockets = acceptUpgrades(server, gate, [...socketRoutes(host), ...(acp?.sockets ?? [])])
  const { port } = server.address() as AddressInfo // It listens on TCP, so its address is never a path.
  const shown = hostname.includes(':') ? `[${hostname}]` : hostname
  let stopped: Promise<void> | undefined
  return {
    url: `http://${shown}:${port}`,
    port,
    open: keys.size === 0,
    stop: () => (stopped ??= stop(server, turnwire, closeSockets, acp)),
  }
}

/** What every wire is given. */
function hostOf({ config, local, engine, ephemeral, agents, vault, log }: Turnwire): WireHost {
  return {
    engine: local,
    about: local.description,
    old: engine,
    ephemeral,
    agents,
    models: Object.keys(config.models ?? {}),
    serverTools: new Set(
      config.agents.filter(agent => agent.responses?.serverTools === true).map(agent => agent.name),
    ),
    seal: text => vault.seal(text),
    unseal: sealed => vault.open(sealed),
    limits: {
      bodyBytes: config.server?.bodyBytes ?? 20 * MiB,
      jsonDepth: 64,
      heartbeatMs: config.server?.heartbeatMs ?? 15_000,
      unsentBytes: config.server?.unsentBytes ?? 4 * MiB,
    },
    log,
  }
}

/** Loaded only when needed: few servers have it. */
async function openAcp(turnwire: Turnwire, { limits }: WireHost): Promise<AcpDoor> {
  const { serveAcpOverHttp } = await import('./acp.ts')
  return serveAcpOverHttp(turnwire, limits)
}

/** The wires that speak over WebSockets. */
function socketRoutes(host: WireHost): UpgradeRoute[] {
  return [
    { path: '/api/ws', open: ({ socket, principal }) => deltakitSocket(host, socket, principal) },
    {
      path: '/api/ws/:agent',
      open: ({ socket, principal, params }) => deltakitSocket(host, socket, principal, params['agent']),
    },
  ]
}

export function createApp(
  turnwire: Turnwire,
  keys: Keys,
  hostname: string,
  host: WireHost = hostOf(turnwire),
  acp?: Hono<WireEnv>,
): Hono<WireEnv> {
  const { config, agents, log } = turnwire
  const app = new Hono<WireEnv>()
  app.onError((error, c) => {
    const { code, message, status } = publicError(error)
    if (status >= 500) log('error', 'A request failed.', { path: c.req.path, code, error: String(error) })
    return c.json({ error: message, code }, status as 500) // Every status in the list is one that hono takes.
  })
  app.notFound(c =>
    c.json({ error: `There is nothing at ${c.req.method} ${c.req.path}.`, code: 'not_found' }, 404),
  )
  app.use(checkCaller(config.server?.hosts ?? [], config.server?.origins ?? [], hostname))
  app.get('/health', c => c.json({ status: 'ok', agents: agents.length }))
  app.use('/v1beta/*', refuseQueryKeys)
  app.use(authenticate(keys))
  app.use('*', limitStreams())
  app.get('/', c => c.json({ turnwire: 'is served here', agents: agents.map(({ name }) => name), doors }))
  app.route('/', deltakitRoutes(host))
  app.route('/', aguiRoutes(host))
  app.route('/', uiRoutes(host))
  app.route('/', aapRoutes(host))
  app.route('/', responsesRoutes(host))
  app.route('/', chatRoutes(host))
  app.route('/', messagesRoutes(host))
  app.route('/', geminiRoutes(host))
  if (acp) app.route('/', acp)
  return app
}

/** For whoever opens the address to see what is there. */
const doors = {
  '/health': 'whether it is up',
  '/meta, /sessions': 'Agent Application Protocol: docs/protocols/aap.md',
  '/v1/responses, /v1/models': 'OpenAI Responses: docs/protocols/responses.md',
  '/v1/chat/completions': 'OpenAI Chat Completions: docs/protocols/chat.md',
  '/v1/messages': 'Anthropic Messages: docs/protocols/messages.md',
  '/v1beta/models': 'Gemini generateContent: docs/protocols/gemini.md',
  '/api/chat, /api/jobs, /api/ws': 'DeltaKit: docs/protocols/deltakit.md',
  '/agui/<agent>': 'AG-UI: docs/protocols/agui.md',
  '/ui/<agent>': 'AI SDK UI: docs/protocols/ai-sdk-ui.md',
}

/** The names under which this server is reached. */
function namesOf(hosts: readonly string[], hostname: string): string[] {
  return [...hosts, ...(hostname === '0.0.0.0' || hostname === '::' ? [] : [hostname])]
}

/** Host and Origin are checked before anything else: a web page must not reach a server on the user's machine. */
function checkCaller(
  hosts: readonly string[],
  origins: readonly string[],
  hostname: string,
): MiddlewareHandler<WireEnv> {
  const allowed = namesOf(hosts, hostname)
  return async (c, next) => {
    const host = c.req.header('host')
    if (!checkHost(host, allowed))
      throw new TurnwireError(
        'forbidden_host',
        'This server does not answer to that Host. Add it to server.hosts.',
      )
    const origin = c.req.header('origin')
    if (!checkOrigin(origin, origins, host))
      throw new TurnwireError(
        'forbidden_origin',
        'This web origin may not call this server. Add it to server.origins.',
      )
    if (origin === undefined) return next()
    return answerBrowser(c, origin, next)
  }
}

/** A page of an allowed origin may read the answer, and ask beforehand whether it may. */
async function answerBrowser(c: Context<WireEnv>, origin: string, next: Next): Promise<Response | undefined> {
  c.env.outgoing
    .setHeader('Access-Control-Allow-Origin', origin)
    .setHeader('Access-Control-Expose-Headers', 'Retry-After, X-Session-Id')
    .setHeader('Vary', 'Origin')
  if (c.req.method === 'OPTIONS' && c.req.header('access-control-request-method') !== undefined)
    return c.body(null, 204, {
      'Access-Control-Allow-Methods': 'GET, POST, PUT, DELETE',
      'Access-Control-Allow-Headers':
        'Authorization, Content-Type, Idempotency-Key, Last-Event-ID, X-Api-Key, X-Goog-Api-Key, X-Session-Id',
      'Access-Control-Max-Age': '600',
    })
  await next()
  return undefined
}

/** As the clients of each door look for it. */
function unauthorized(path: string, message: string): object {
  if (path.startsWith('/v1beta/')) return { error: { code: 401, message, status: 'UNAUTHENTICATED' } }
  if (path.startsWith('/v1/messages'))
    return { type: 'error', error: { type: 'authentication_error', message } }
  if (path.startsWith('/v1/')) return errorBody(401, message, null, 'invalid_api_key')
  return { error: message, code: 'unauthorized' }
}

function authenticate(keys: Keys): MiddlewareHandler<WireEnv> {
  return async (c, next) => {
    if (keys.size === 0) {
      c.set('principal', { owner: localOwner, name: localOwner })
      return next()
    }
    const own = c.req.header('x-api-key') ?? c.req.header('x-goog-api-key')
    const bearer = parseBearer(c.req.header('authorization') ?? fromApiKey(own))
    const principal = typeof bearer === 'string' ? undefined : keys.find(bearer.token)
    if (!principal) {
      c.header('WWW-Authenticate', 'Bearer')
      const words =
        bearer === 'malformed'
          ? 'The Authorization header must be: Bearer <key>.'
          : 'A valid key is needed: Authorization: Bearer <key>.'
      return c.json(unauthorized(c.req.path, words), 401)
    }
    c.set('principal', principal)
    return next()
  }
}

/** Reconnecting event streams are the one request that a client sends without being asked, again and again. */
function limitStreams(): MiddlewareHandler<WireEnv> {
  const take = rateLimit(100, 400)
  return async (c, next) => {
    if (c.req.method === 'GET' && c.req.path.endsWith('/events')) take(c.get('principal').owner)
    return next()
  }
}

/** Some vendors' clients send the key under a header of their own. */
function fromApiKey(key: string | undefined): string | undefined {
  return key === undefined ? undefined : `Bearer ${key}`
}

function isLoopback(hostname: string): boolean {
  return hostname === 'localhost' || hostname === '::1' || /^127\.\d+\.\d+\.\d+$/.test(hostname)
}

function listen(app: Hono<WireEnv>, hostname: string, port: number): Promise<NodeServer> {
  return new Promise((resolve, reject) => {
    // With no createServer option it is node:http's server.
    const server = serve({ fetch: app.fetch, hostname, port, overrideGlobalObjects: false }, () =>
      resolve(server),
    ) as NodeServer
    server.requestTimeout = 120_000
    // Longer than proxies keep a connection that nobody uses: whoever closes it first must not be the one who is asked.
    server.keepAliveTimeout = 75_000
    server.once('error', (error: NodeJS.ErrnoException) => {
      const words =
        error.code === 'EADDRINUSE'
          ? `Port ${port} is taken. Choose another with PORT=<number>, or PORT=0 for any free one.`
          : `The server cannot listen on ${hostname}:${port}: ${error.message}`
      reject(new TurnwireError('config_invalid', words, { cause: error }))
    })
  })
}

/** No new connections; turns and tools come to a stop that loses nothing; then the streams are closed. */
async function stop(
  server: NodeServer,
  turnwire: Turnwire,
  closeSockets: () => void,
  acp: AcpDoor | undefined,
): Promise<void> {
  const closed = new Promise<void>(resolve => void server.close(() => resolve()))
  server.closeIdleConnections()
  await turnwire.close()
  closeSockets()
  await acp?.close()
  setTimeout(() => server.closeAllConnections(), 500).unref()
  await closed
}
