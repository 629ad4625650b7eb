// The HTTP server: who may speak to it, and which wires it serves. A request passes the checks here in the order in which
// they are written, before a wire sees it.
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
import type { AcpOverHttp } from './acp.ts'
import { Keys, localOwner, readKeys } from './keys.ts'
import { rateLimit } from './rate-limit.ts'
import type { Runtime } from './runtime.ts'
import { runtimeOf, type Turnwire } from './turnwire.ts'
import { acceptUpgrades, type UpgradeRoute } from './upgrades.ts'

export type Running = { url: string; port: number; open: boolean; stop(): Promise<void> }

export type ServeOptions = { host?: string; port?: number }

const MiB = 1024 * 1024

/** Serves over HTTP. The server keeps the data folder: processes that use it go on through this one. */
export function startServer(turnwire: Turnwire, options: ServeOptions = {}): Promise<Running> {
  return serveRuntime(runtimeOf(turnwire), options)
}

/** `shared`: the folder is left to another server, if there is one. */
export async function serveRuntime(
  runtime: Runtime,
  options: ServeOptions & { shared?: true } = {},
): Promise<Running> {
  const { server: config = {} } = runtime.config
  const hostname = options.host ?? config.host ?? '127.0.0.1'
  const keys = new Keys([
    ...(config.keys ?? []),
    ...(runtime.folder === undefined ? [] : readKeys(runtime.folder)),
  ])
  if (keys.size === 0 && !isLoopback(hostname))
    throw new TurnwireError(
      'config_invalid',
      `The server would be open to everyone on ${hostname}. Make a key first: turnwire keys add <name>. Or listen on 127.0.0.1.`,
    )
  // The port comes first: a server that cannot listen must not take the folder from anyone.
  const mounted = new MountedApp()
  const server = await listen(mounted, hostname, options.port ?? config.port ?? 4117)
  try {
    if (!options.shared) {
      await runtime.becomeServer()
      await runtime.recover()
    }
    const host = await hostOf(runtime)
    const acp = config.acp === true ? await openAcp(runtime, host) : undefined
    mounted.mount(createApp({ runtime, keys, hostname, host, acp: acp?.routes }))
    const gate = {
      keys,
      hosts: hostNames(config.hosts ?? [], hostname),
      origins: config.origins ?? [],
      limits: host.limits,
    }
    const closeSockets = acceptUpgrades(server, gate, [...socketRoutes(host), ...(acp?.sockets ?? [])])
    return running(server, hostname, keys, () => stop(server, runtime, closeSockets, acp))
  } catch (error) {
    server.close()
    throw error
  }
}

function running(server: NodeServer, hostname: string, keys: Keys, close: () => Promise<void>): Running {
  const { port } = server.address() as AddressInfo // It listens on TCP, so its address is never a path.
  const shown = hostname.includes(':') ? `[${hostname}]` : hostname
  let stopped: Promise<void> | undefined
  return {
    url: `http://${shown}:${port}`,
    port,
    open: keys.size === 0,
    stop: () => (stopped ??= close()),
  }
}

/** Requests that come before the app is there wait for it. */
class MountedApp {
  readonly #mounting = Promise.withResolvers<Hono<WireEnv>>()
  #app: Hono<WireEnv> | undefined

  mount(app: Hono<WireEnv>): void {
    this.#app = app
    this.#mounting.resolve(app)
  }

  readonly fetch: Hono<WireEnv>['fetch'] = (request, env) =>
    this.#app ? this.#app.fetch(request, env) : this.#mounting.promise.then(app => app.fetch(request, env))
}

/** What every wire is given. */
export async function hostOf(runtime: Runtime): Promise<WireHost> {
  const { config, engine, log } = runtime
  return {
    engine,
    about: await engine.describe(),
    serverTools: new Set(
      config.agents.filter(agent => agent.responses?.serverTools === true).map(agent => agent.name),
    ),
    seal: text => runtime.vault.seal(text),
    unseal: sealed => runtime.vault.open(sealed),
    limits: {
      bodyBytes: config.server?.bodyBytes ?? 20 * MiB,
      jsonDepth: 64,
      heartbeatMs: config.server?.heartbeatMs ?? 15_000,
      unsentBytes: config.server?.unsentBytes ?? 4 * MiB,
      stallMs: config.server?.stallMs ?? 30_000,
    },
    log,
  }
}

/** Loaded only when needed: few servers have it. */
async function openAcp(runtime: Runtime, { limits }: WireHost): Promise<AcpOverHttp> {
  const { serveAcpOverHttp } = await import('./acp.ts')
  return serveAcpOverHttp(runtime, limits)
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

export type AppOptions = {
  runtime: Runtime
  keys: Keys
  hostname: string
  host: WireHost
  acp?: Hono<WireEnv> | undefined
}

export function createApp({ runtime, keys, hostname, host, acp }: AppOptions): Hono<WireEnv> {
  const { config, log } = runtime
  const { agents } = host.about
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
  app.get('/', c => c.json({ turnwire: 'is served here', agents: agents.map(({ name }) => name), wires }))
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

/** What `GET /` shows. */
const wires = {
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
function hostNames(hosts: readonly string[], hostname: string): string[] {
  return [...hosts, ...(hostname === '0.0.0.0' || hostname === '::' ? [] : [hostname])]
}

/** Host and Origin are checked before anything else: a web page must not reach a server on the user's machine. */
function checkCaller(
  hosts: readonly string[],
  origins: readonly string[],
  hostname: string,
): MiddlewareHandler<WireEnv> {
  const allowed = hostNames(hosts, hostname)
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

/** In the form that the clients of each wire expect. */
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
    const bearer = parseBearer(c.req.header('authorization') ?? bearerOf(own))
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

/** Clients reconnect event streams by themselves, again and again: the one request that needs a limit. */
function limitStreams(): MiddlewareHandler<WireEnv> {
  const take = rateLimit(100, 400)
  return async (c, next) => {
    if (c.req.method === 'GET' && c.req.path.endsWith('/events')) take(c.get('principal').owner)
    return next()
  }
}

/** Some vendors' clients send the key under a header of their own. */
function bearerOf(key: string | undefined): string | undefined {
  return key === undefined ? undefined : `Bearer ${key}`
}

function isLoopback(hostname: string): boolean {
  return hostname === 'localhost' || hostname === '::1' || /^127\.\d+\.\d+\.\d+$/.test(hostname)
}

function listen(app: MountedApp, hostname: string, port: number): Promise<NodeServer> {
  return new Promise((resolve, reject) => {
    // With no createServer option it is node:http's server.
    const server = serve({ fetch: app.fetch, hostname, port, overrideGlobalObjects: false }, () =>
      resolve(server),
    ) as NodeServer
    server.requestTimeout = 120_000
    // Outlives the idle time-out of proxies, so that we never close a connection that one is about to use.
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

/** Refuses new connections, stops the engine, then closes the streams. */
async function stop(
  server: NodeServer,
  runtime: Runtime,
  closeSockets: () => void,
  acp: AcpOverHttp | undefined,
): Promise<void> {
  const closed = new Promise<void>(resolve => void server.close(() => resolve()))
  server.closeIdleConnections()
  await runtime.close()
  closeSockets()
  await acp?.close()
  setTimeout(() => server.closeAllConnections(), 500).unref()
  await closed
}
