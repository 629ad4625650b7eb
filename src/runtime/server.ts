// The HTTP server: who may speak to it, and which wires it serves. A request passes the checks here in the order in which
// they are written, before a wire sees it.
import type { Server as NodeServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type Context, Hono, type MiddlewareHandler, type Next } from 'hono'
import { publicError, TurnwireError } from '../language/errors.ts'
import { readTrace } from '../language/trace.ts'
import { checkHost, checkOrigin } from '../lib/http.ts'
import type { RelayServer } from '../relay/server/index.ts'
import { aapRoutes } from '../wires/aap/index.ts'
import { aguiRoutes } from '../wires/agui/index.ts'
import { callbackRoutes } from '../wires/callbacks/index.ts'
import { chatRoutes } from '../wires/chat/index.ts'
import { deltakitRoutes, deltakitSocket } from '../wires/deltakit/index.ts'
import { geminiRoutes, refuseQueryKeys } from '../wires/gemini/index.ts'
import type { WireEnv, WireHost } from '../wires/host.ts'
import { messagesRoutes } from '../wires/messages/index.ts'
import { operatorRoutes, signInRoute } from '../wires/operator/index.ts'
import { responsesRoutes, responsesSocket } from '../wires/responses/index.ts'
import { uiRoutes } from '../wires/ui/index.ts'
import { logRequests } from './access-log.ts'
import type { AcpOverHttp } from './acp.ts'
import { authenticate } from './authenticate.ts'
import { serverDefaults } from './config.ts'
import { ConsoleCookies } from './console-cookie.ts'
import { consoleRoutes, missingPage } from './console-files.ts'
import { Keys } from './keys.ts'
import { LimitedEngine } from './limited-engine.ts'
import { listen, MountedApp } from './listen.ts'
import { operatorBackend } from './operator.ts'
import { OwnerAccounts } from './owner-limits.ts'
import type { Payments } from './payments.ts'
import { noRoute, sendRefusal } from './refusals.ts'
import type { OpenRelay } from './relay.ts'
import { startRetention } from './retention.ts'
import type { Runtime } from './runtime.ts'
import { type Measures, metricsRoute, type Telemetry } from './telemetry/index.ts'
import { runtimeOf, type Turnwire } from './turnwire.ts'
import { acceptUpgrades, type UpgradeRoute } from './upgrades.ts'
import { ownVersion } from './version.ts'

export type Running = { url: string; port: number; open: boolean; stop(): Promise<void> }

export type ServeOptions = { host?: string; port?: number }

/** Serves over HTTP. The server keeps the data folder: processes that use it go on through this one. */
export function startServer(turnwire: Turnwire, options: ServeOptions = {}): Promise<Running> {
  return serveRuntime(runtimeOf(turnwire), options)
}

/** `shared`: the folder is left to another server, if there is one. */
export async function serveRuntime(
  runtime: Runtime,
  options: ServeOptions & { shared?: true } = {},
): Promise<Running> {
  const { server: config = {}, relay: relayed } = runtime.config
  const hostname = options.host ?? config.host ?? '127.0.0.1'
  const keys = new Keys(config.keys ?? [], runtime.folder)
  if (keys.open && !isLoopback(hostname))
    throw new TurnwireError(
      'config_invalid',
      `The server would be open to everyone on ${hostname}. Make a key first: turnwire keys add <name>. Or listen on 127.0.0.1.`,
    )
  // The port comes first: a server that cannot listen must not take the folder from anyone.
  const mounted = new MountedApp()
  const { requestMs = serverDefaults.requestMs } = config
  const server = await listen(mounted, hostname, options.port ?? config.port ?? 4117, requestMs)
  try {
    runtime.serveAt(config.publicUrl ?? addressOf(server, hostname).url)
    // Before sessions go on that were at work: some may be for attached agents.
    const relay = relayed && (await loadRelay(runtime))
    if (!options.shared) {
      await runtime.becomeServer()
      await runtime.recover()
    }
    const plain = await hostOf(runtime)
    const payments = await openPayments(runtime, plain, keys)
    const host = payments?.host ?? plain
    const accounts = new OwnerAccounts(config, host.limits.bodyBytes)
    const measures = measured(runtime, accounts)
    const acp = config.acp === true ? await openAcp(runtime, host) : undefined
    const mcp = await openMcp(runtime, host)
    if (relay) host.relay = relay.join(payments?.desk)
    const { origins = [], hosts = [] } = config
    const gate = { keys, hosts: hostNames(hosts, hostname), origins, limits: host.limits, accounts }
    const sockets = acceptUpgrades(gate, [
      ...socketRoutes(host),
      ...(acp?.sockets ?? []),
      ...(relay?.sockets ?? []),
    ])
    const given = { runtime, keys, hostname, host, accounts, measures, acp: acp?.routes, mcp, payments }
    mounted.mount(createApp({ ...given, relay: relay?.server }), sockets)
    const stopRetention = options.shared ? undefined : await startRetention(runtime)
    const close = (): void => {
      stopRetention?.()
      payments?.stop()
      // Attached machines are told to come back before all sockets are closed.
      relay?.close()
      sockets.close()
    }
    return running(server, hostname, keys, () => stop(server, runtime, close, acp))
  } catch (error) {
    server.close()
    throw error
  }
}

function measured(runtime: Runtime, accounts: OwnerAccounts): Measures {
  return runtime.telemetry.measure({
    queuedCalls: () => runtime.callSlots.waiting,
    streams: () => accounts.open,
    storeUp: () => runtime.storeFailure() === undefined,
  })
}

function addressOf(server: NodeServer, hostname: string): { url: string; port: number } {
  const { port } = server.address() as AddressInfo // It listens on TCP, so its address is never a path.
  const shown = hostname.includes(':') ? `[${hostname}]` : hostname
  return { url: `http://${shown}:${port}`, port }
}

function running(server: NodeServer, hostname: string, keys: Keys, close: () => Promise<void>): Running {
  let stopped: Promise<void> | undefined
  return {
    ...addressOf(server, hostname),
    open: keys.open,
    stop: () => (stopped ??= close()),
  }
}

/** What every wire is given. */
export async function hostOf(runtime: Runtime): Promise<WireHost> {
  const { config, log } = runtime
  const engine = new LimitedEngine(runtime.engine, config.server ?? {}, () =>
    runtime.telemetry.incoming.getStore(),
  )
  const about = await engine.describe()
  runtime.onTools(() => {
    // The engine may be stopping: what was known stays.
    void engine.describe().then(
      now => void Object.assign(about, now),
      () => {},
    )
  })
  return {
    engine,
    about,
    serverTools: new Set(
      config.agents.filter(agent => agent.responses?.serverTools === true).map(agent => agent.name),
    ),
    seal: text => runtime.vault.seal(text),
    sign: text => runtime.vault.sign(text),
    unseal: sealed => runtime.vault.open(sealed),
    limits: limitsOf(config),
    log,
  }
}

function limitsOf({ server = {} }: Runtime['config']): WireHost['limits'] {
  return {
    bodyBytes: server.bodyBytes ?? serverDefaults.bodyBytes,
    jsonDepth: 64,
    heartbeatMs: server.heartbeatMs ?? serverDefaults.heartbeatMs,
    unsentBytes: server.unsentBytes ?? serverDefaults.unsentBytes,
    stallMs: server.stallMs ?? serverDefaults.stallMs,
  }
}

/** Loaded only when needed: few servers have it. */
async function openAcp(runtime: Runtime, { limits, engine }: WireHost): Promise<AcpOverHttp> {
  const { serveAcpOverHttp } = await import('./acp.ts')
  return serveAcpOverHttp({ engine, log: runtime.log }, limits)
}

/** Loaded only when an agent is served over it. */
async function openMcp({ config }: Runtime, host: WireHost): Promise<Hono<WireEnv> | undefined> {
  const serving = new Map(config.agents.flatMap(({ name, serveMcp }) => (serveMcp ? [[name, serveMcp]] : [])))
  if (serving.size === 0) return undefined
  const { mcpRoutes } = await import('../wires/mcp/index.ts')
  return mcpRoutes(host, serving, ownVersion())
}

/** Loaded only when it is configured. */
async function loadRelay(runtime: Runtime): Promise<OpenRelay | undefined> {
  const { openRelay } = await import('./relay.ts')
  return openRelay(runtime, limitsOf(runtime.config))
}

/** Loaded only when payments are configured. */
async function openPayments(runtime: Runtime, host: WireHost, keys: Keys): Promise<Payments | undefined> {
  const { payments } = runtime.config
  if (!payments) return undefined
  if (keys.open)
    throw new TurnwireError(
      'config_invalid',
      'Payments are configured, but the server has no key, so whoever reaches it would be its operator and pay nothing. Make a key first: turnwire keys add <name> --operator.',
    )
  const { startPayments } = await import('./payments.ts')
  return startPayments(runtime, host, payments)
}

/** The wires that speak over WebSockets. */
function socketRoutes(host: WireHost): UpgradeRoute[] {
  return [
    { path: '/v1/responses', open: ({ socket, principal }) => responsesSocket(host, socket, principal) },
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
  accounts: OwnerAccounts
  measures?: Measures
  acp?: Hono<WireEnv> | undefined
  mcp?: Hono<WireEnv> | undefined
  payments?: Payments | undefined
  relay?: RelayServer | undefined
}

export function createApp(options: AppOptions): Hono<WireEnv> {
  const { runtime, keys, hostname, host, accounts, measures, acp, mcp, payments, relay } = options
  const { config, log } = runtime
  const { agents } = host.about
  const app = new Hono<WireEnv>()
  app.onError((error, c) => sendRefusal(c, error, log))
  app.notFound(c => missingPage(c) ?? sendRefusal(c, noRoute(c), log))
  if (config.server?.log === 'debug') app.use(logRequests(log))
  app.use(checkCaller(config.server?.hosts ?? [], config.server?.origins ?? [], hostname, log))
  app.get('/health/live', c => c.json({ status: 'ok' }))
  app.get('/health', c => {
    const node = runtime.nodeFailure()
    if (node) return c.json({ status: 'failing', agents: agents.length, node }, 503)
    const failure = runtime.storeFailure()
    const plugins = relay && { plugins: relay.machines }
    if (!failure) return c.json({ status: 'ok', agents: agents.length, ...plugins })
    const { code, message } = publicError(new TurnwireError(failure.code, failure.message))
    return c.json({ status: 'failing', agents: agents.length, store: { code, error: message } }, 503)
  })
  app.route('/', callbackRoutes(host))
  if (relay) app.route('/', relay.routes)
  const cookies = new ConsoleCookies(keys, runtime.vault)
  const operator = operatorBackend(runtime, keys, cookies)
  const console = consoleRoutes()
  if (console) app.route('/', console)
  app.route('/', signInRoute(host, operator))
  if (payments) app.route('/', payments.signInRoutes())
  app.use('/v1beta/*', refuseQueryKeys)
  app.use(authenticate(keys, host, cookies, payments, relay))
  if (payments) app.use(payments.middleware)
  app.use(countRequests(accounts))
  app.use(withinTrace(runtime.telemetry))
  app.get('/', c => c.json({ turnwire: 'is served here', agents: agents.map(({ name }) => name), wires }))
  app.route('/', deltakitRoutes(host))
  app.route('/', aguiRoutes(host))
  app.route('/', uiRoutes(host))
  app.route('/', aapRoutes(host))
  app.route('/', responsesRoutes(host))
  app.route('/', chatRoutes(host))
  app.route('/', messagesRoutes(host))
  app.route('/', geminiRoutes(host))
  app.route('/', operatorRoutes(host, operator))
  if (relay) app.route('/', relay.operatorRoutes(host))
  if (measures) app.route('/', metricsRoute(measures, host.engine))
  if (acp) app.route('/', acp)
  if (mcp) app.route('/', mcp)
  if (payments) app.route('/', payments.routes())
  return app
}

/** What `GET /` shows. */
const wires = {
  '/health': 'whether it can work; /health/live: whether it is up',
  '/metrics': 'for Prometheus: docs/operations/telemetry.md',
  '/meta, /sessions': 'Agent Application Protocol: docs/protocols/aap.md',
  '/v1/responses, /v1/conversations, /v1/models': 'OpenAI Responses: docs/protocols/responses.md',
  '/v1/chat/completions': 'OpenAI Chat Completions: docs/protocols/chat.md',
  '/v1/messages': 'Anthropic Messages: docs/protocols/messages.md',
  '/v1beta/models': 'Gemini generateContent: docs/protocols/gemini.md',
  '/api/chat, /api/jobs, /api/ws': 'DeltaKit: docs/protocols/deltakit.md',
  '/agui/<agent>': 'AG-UI: docs/protocols/agui.md',
  '/ui/<agent>': 'AI SDK UI: docs/protocols/ai-sdk-ui.md',
  '/callbacks/<token>': 'results of calls that their tools left for later: docs/guide/later.md',
  '/operator': 'for operators and the console: docs/protocols/operator.md',
  '/mcp/<agent>': 'MCP, for agents that are served so: docs/protocols/mcp.md',
  '/v1/providers': 'agents on their owners’ machines, if a relay is configured: docs/protocols/sixerr.md',
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
  log: WireHost['log'],
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
    if (!checkOrigin(origin, origins, host)) {
      log('warn', 'A web page of an origin that is not in server.origins was refused.', {
        origin: origin?.slice(0, 200) ?? '',
        path: c.req.path,
      })
      throw new TurnwireError(
        'forbidden_origin',
        `The web origin ${origin?.slice(0, 200)} may not call this server. Add it to server.origins.`,
      )
    }
    if (origin === undefined) return next()
    return answerBrowser(c, origin, next)
  }
}

/** The headers that a page may read. */
const exposedHeaders =
  'Retry-After, Retry-After-Ms, X-Should-Retry, X-Session-Id, Request-Id, X-Request-Id, X-Vercel-AI-UI-Message-Stream, PAYMENT-REQUIRED, PAYMENT-RESPONSE, X-PAYMENT-RESPONSE, X-Payment-State'

/** A page of an allowed origin may send the headers that it asks for: every vendor's SDK has some of its own. */
function allowedHeaders(asked = ''): string {
  const names = asked.split(',', 100).map(name => name.trim())
  return ['Authorization', 'Content-Type', ...names.filter(name => /^[\w-]{1,100}$/.test(name))].join(', ')
}

/** A page of an allowed origin may read the answer, and ask beforehand whether it may. */
async function answerBrowser(c: Context<WireEnv>, origin: string, next: Next): Promise<Response | undefined> {
  c.env.outgoing
    .setHeader('Access-Control-Allow-Origin', origin)
    .setHeader('Access-Control-Expose-Headers', exposedHeaders)
    .setHeader('Vary', 'Origin')
  if (c.req.method === 'OPTIONS' && c.req.header('access-control-request-method') !== undefined)
    return c.body(null, 204, {
      'Access-Control-Allow-Methods': 'GET, POST, PUT, DELETE',
      'Access-Control-Allow-Headers': allowedHeaders(c.req.header('access-control-request-headers')),
      'Access-Control-Max-Age': '600',
    })
  await next()
  return undefined
}

/** Counts every request, and what is open, for its owner. */
function countRequests(accounts: OwnerAccounts): MiddlewareHandler<WireEnv> {
  return (c, next) => {
    const { account, leave } = accounts.enter(c.get('principal').owner, c.get('payment')?.bare === true)
    c.env.outgoing.once('close', leave)
    c.set('account', account)
    return next()
  }
}

/** What a request starts belongs to the trace that its headers name. */
function withinTrace({ incoming }: Telemetry): MiddlewareHandler<WireEnv> {
  return (c, next) => {
    const trace = readTrace(c.req.header('traceparent'), c.req.header('tracestate'))
    return trace ? incoming.run(trace, next) : next()
  }
}

function isLoopback(hostname: string): boolean {
  return hostname === 'localhost' || hostname === '::1' || /^127\.\d+\.\d+\.\d+$/.test(hostname)
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
