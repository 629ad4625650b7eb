// The HTTP server: who may speak to it, and which wires it serves. A request passes the checks here in the order in which
// they are written, before a wire sees it.
import type { IncomingMessage, Server as NodeServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type Context, Hono, type MiddlewareHandler, type Next } from 'hono'
import { BoundEngine } from '../callers/bound-engine.ts'
import type { RouteHost } from '../callers/caller.ts'
import { environmentKeys } from '../callers/environment-keys.ts'
import { Keys } from '../callers/keys.ts'
import type { OidcSignIn } from '../callers/oidc/sign-in.ts'
import { OwnerAccounts, WorkLimits } from '../callers/owner-limits.ts'
import type { Tokens } from '../callers/tokens/tokens.ts'
import { type ServerConfig, serverDefaults } from '../config/config.ts'
import { reportFlow } from '../config/flow-report.ts'
import { startRetention } from '../data/retention.ts'
import { ownVersion } from '../data/version.ts'
import { publicError, TurnwireError } from '../language/errors.ts'
import { receiptKeysPath } from '../language/receipt-keys.ts'
import { readTrace } from '../language/trace.ts'
import { checkHost, checkOrigin } from '../lib/net/http.ts'
import { runtimeOf, type Turnwire } from '../library/turnwire.ts'
import type { Payments } from '../payments/serve.ts'
import type { RelayServer } from '../relay/server/index.ts'
import type { Runtime } from '../runtime.ts'
import { type Measures, metricsRoute } from '../telemetry/index.ts'
import type { WireEnv, WireHost } from '../wires/host.ts'
import { plainErrors, readJsonObject, sendJson } from '../wires/http/index.ts'
import { requireOperator } from '../wires/operator/index.ts'
import type { ServedWire } from '../wires/wire.ts'
import { killer } from '../world.ts'
import { checkSignInAddress, isEveryAddress, isGuarded, isLoopback } from './access.ts'
import { logRequests } from './access-log.ts'
import { authenticate, identifyCaller, identifySocket, identifyToken, unlessKnown } from './authenticate.ts'
import { ConsoleCookies } from './console-cookie.ts'
import { consoleRoutes, missingPage } from './console-files.ts'
import { listen, MountedApp } from './listen.ts'
import { operatorBackend } from './operator.ts'
import { openSignIn } from './people.ts'
import { noRoute, sendRefusal } from './refusals.ts'
import type { OpenRelay } from './relay.ts'
import { acceptUpgrades, type Sockets } from './upgrades.ts'
import { chooseWires, type ServedHost, WireTable, type wires } from './wires.ts'

export type Running = { url: string; port: number; open: boolean; stop(): Promise<void> }

export type ServeOptions = { host?: string; port?: number }

/** Serves over HTTP. The server keeps the data folder: processes that use it go on through this one. */
export function startServer(turnwire: Turnwire, options: ServeOptions = {}): Promise<Running> {
  return serveRuntime(runtimeOf(turnwire), options)
}

/** `shared`: the folder is left to another server, if there is one. `wires`: in place of all that there are. */
export async function serveRuntime(
  runtime: Runtime,
  options: ServeOptions & { shared?: true; wires?: typeof wires } = {},
): Promise<Running> {
  const { server: config = {} } = runtime.config
  const hostname = options.host ?? config.host ?? '127.0.0.1'
  const fixed = [...(config.keys ?? []), ...environmentKeys()]
  const keys = new Keys(fixed, runtime.folder, isGuarded(config))
  if (keys.open && !isLoopback(hostname))
    throw new TurnwireError(
      'config_invalid',
      `The server would be open to everyone on ${hostname}. Make a key first: turnwire keys add <name>, or give its hash in TURNWIRE_KEYS. Or listen on 127.0.0.1.`,
    )
  checkSignInAddress(config, hostname)
  // The port comes first: a server that cannot listen must not take the folder from anyone.
  const table = new WireTable(options.wires ?? chooseWires(config.wires))
  const mounted = new MountedApp(table)
  const { requestMs = serverDefaults.requestMs } = config
  const server = await listen(mounted, hostname, options.port ?? config.port ?? 4117, requestMs)
  try {
    runtime.serveAt(config.publicUrl ?? serverAddress(server, hostname).url)
    const service = await openService(runtime, { table, keys, hostname, shared: options.shared === true })
    mounted.mount(service.app, service.sockets)
    return running(server, hostname, keys, () => stop(server, runtime, service))
  } catch (error) {
    server.close()
    throw error
  }
}

export type ServiceOptions = {
  table: WireTable
  keys: Keys
  /** Undefined: it is mounted in another server, which has the port and checks the Host. */
  hostname: string | undefined
  /** The folder is left to another server, if there is one. */
  shared: boolean
}

export type Service = {
  app: Hono<WireEnv>
  sockets: Sockets
  /** Ends everything but the wires and the runtime. */
  close(): void
  closeWires(): Promise<void>
}

/** What is served, without a port. */
export async function openService(runtime: Runtime, options: ServiceOptions): Promise<Service> {
  const { table, keys, hostname, shared } = options
  const { server: config = {}, relay: relayed } = runtime.config
  // The relay comes before interrupted sessions are resumed: some may be for attached agents.
  const relay = relayed && (await loadRelay(runtime))
  if (!shared) {
    await runtime.becomeServer()
    await runtime.recover()
  }
  const bounds = new WorkLimits(runtime.engine, config)
  const plain = await makeHost(runtime, bounds)
  const payments = await openPayments(runtime, plain, bounds, keys, table)
  const host: WireHost = { ...plain, ...(payments && { engineFor: payments.engineFor }) }
  const accounts = new OwnerAccounts(config, host.limits.bodyBytes)
  const measures = measured(runtime, accounts)
  if (relay) host.relay = relay.join(payments?.desk)
  const people = config.oidc && (await openSignIn(runtime, config.oidc, keys))
  const cookies = new ConsoleCookies(keys, runtime.vault, people)
  const served = await table.serve(await servedHost(runtime, host, keys, cookies, people))
  const { origins = [], hosts = [] } = config
  const { limits, log } = host
  const identify = config.authenticate
  const tokens = config.jwt && (await openTokens(runtime, config.jwt, keys))
  const gate = {
    ...{ table, keys, tokens, hosts: hostNames(hosts, hostname), origins, limits, accounts, log },
    ...(hostname === undefined && hosts.length === 0 && { anyHost: true as const }),
    ...(identify && { identify: (request: IncomingMessage) => identifySocket(identify, request) }),
  }
  const sockets = acceptUpgrades(gate, [
    ...served.flatMap(({ sockets = [] }) => sockets),
    ...(relay?.sockets ?? []),
  ])
  const given = {
    runtime,
    table,
    served,
    keys,
    tokens,
    cookies,
    hostname,
    host,
    accounts,
    measures,
    payments,
  }
  const stopRetention = shared ? undefined : await startRetention(runtime)
  return {
    app: createApp({ ...given, relay: relay?.server }),
    sockets,
    close: () => {
      stopRetention?.()
      payments?.stop()
      // Attached machines are told to come back before all sockets are closed.
      relay?.close()
      sockets.close()
    },
    closeWires: async () => void (await Promise.all(served.map(async wire => wire.close?.()))),
  }
}

/** Loaded only when issuers are configured. */
async function openTokens(
  runtime: Runtime,
  issuers: NonNullable<ServerConfig['jwt']>,
  keys: Keys,
): Promise<Tokens> {
  const { Tokens } = await import('../callers/tokens/tokens.ts')
  const { log } = runtime
  return new Tokens(issuers, { fetch: runtime.fetchIssuer(), isTaken: name => keys.hasName(name), log })
}

function measured(runtime: Runtime, accounts: OwnerAccounts): Measures {
  return runtime.telemetry.measure({
    queuedCalls: () => runtime.callSlots.waiting,
    streams: () => accounts.open,
    storeUp: () => runtime.storeFailure() === undefined,
  })
}

/** Where it is reached from this machine. */
function serverAddress(server: NodeServer, hostname: string): { url: string; port: number } {
  const { port } = server.address() as AddressInfo // It listens on TCP, so its address is never a path.
  const name = isEveryAddress(hostname) ? '127.0.0.1' : hostname
  return { url: `http://${name.includes(':') ? `[${name}]` : name}:${port}`, port }
}

function running(server: NodeServer, hostname: string, keys: Keys, close: () => Promise<void>): Running {
  let stopped: Promise<void> | undefined
  return {
    ...serverAddress(server, hostname),
    open: keys.open,
    stop: () => (stopped ??= close()),
  }
}

/** Makes the host that every wire is given. */
export async function makeHost(
  runtime: Runtime,
  limits = new WorkLimits(runtime.engine, runtime.config.server),
): Promise<WireHost> {
  const { config, engine, log } = runtime
  const { anyModel = config.relay !== undefined, responses } = config.server ?? {}
  const about: WireHost['about'] = {
    ...(await engine.describe()),
    anyModel,
    storesResponses: responses?.store ?? true,
    flow: reportFlow(runtime.config),
  }
  runtime.onTools(() => {
    // The engine may be stopping: then the last description stays.
    void engine.describe().then(
      now => void Object.assign(about, now),
      () => {},
    )
  })
  return {
    engineFor: caller => new BoundEngine(engine, limits, caller),
    about,
    serverTools: new Set(
      config.agents.filter(agent => agent.responses?.serverTools === true).map(agent => agent.name),
    ),
    seal: (text, use) => runtime.vault.seal(text, use),
    sign: text => runtime.vault.sign(text),
    unseal: (sealed, use) => runtime.vault.open(sealed, use),
    limits: hostLimits(config),
    log,
  }
}

function hostLimits({ server = {} }: Runtime['config']): WireHost['limits'] {
  return {
    bodyBytes: server.bodyBytes ?? serverDefaults.bodyBytes,
    jsonDepth: 64,
    heartbeatMs: server.heartbeatMs ?? serverDefaults.heartbeatMs,
    unsentBytes: server.unsentBytes ?? serverDefaults.unsentBytes,
    stallMs: server.stallMs ?? serverDefaults.stallMs,
  }
}

/** Undefined: no MCP server has accounts of owners. */
function connectBackend(runtime: Runtime): ServedHost['connections'] {
  const { connections } = runtime.accounts
  if (!connections) return undefined
  return {
    servers: connections.servers,
    address: () => runtime.address ?? '',
    begin: (wanted, redirectUrl) => connections.begin(wanted, redirectUrl),
    finish: (returned, browser) => connections.finish(returned, browser),
    list: owner => connections.list(owner),
    forget: (server, owner) => connections.forget(server, owner),
  }
}

/** The host, with the parts that single wires need. */
export async function servedHost(
  runtime: Runtime,
  host: WireHost,
  keys: Keys,
  cookies: ConsoleCookies,
  people?: OidcSignIn,
): Promise<ServedHost> {
  const { agents, server } = runtime.config
  return {
    ...host,
    version: ownVersion(),
    operator: operatorBackend(runtime, keys, cookies, people),
    connections: connectBackend(runtime),
    mcp: new Map(agents.flatMap(({ name, serveMcp }) => (serveMcp ? [[name, serveMcp]] : []))),
    // Loaded only when needed: few servers have it.
    acp: server?.acp === true ? await (await import('./acp.ts')).acpHostFor(runtime, host) : undefined,
  }
}

/** Loaded only when it is configured. */
async function loadRelay(runtime: Runtime): Promise<OpenRelay | undefined> {
  const { openRelay } = await import('./relay.ts')
  return openRelay(runtime, hostLimits(runtime.config))
}

/** Loaded only when payments are configured. */
async function openPayments(
  runtime: Runtime,
  host: WireHost,
  limits: WorkLimits,
  keys: Keys,
  table: WireTable,
): Promise<Payments | undefined> {
  const { payments } = runtime.config
  if (!payments) return undefined
  if (keys.open)
    throw new TurnwireError(
      'config_invalid',
      'Payments are configured, but the server has no key, so whoever reaches it would be its operator and pay nothing. Make a key first: turnwire keys add <name> --operator.',
    )
  const { startPayments } = await import('../payments/serve.ts')
  const { engine, config, log, priceSource: source } = runtime
  const setup = { engine, store: runtime.payments, agents: config.agents, config: payments, source, log }
  return startPayments(
    { ...setup, nodes: () => runtime.nodes(), killer },
    {
      limits,
      routes: routeHost(host),
      vault: host,
      publicUrl: config.server?.publicUrl,
      isPayable: request => table.isPayable(request),
    },
  )
}

/** For routes beside the wires. */
function routeHost(host: WireHost): RouteHost {
  return {
    app: () => new Hono<WireEnv>().onError(plainErrors(host)),
    readBody: (c, bodyBytes) => readJsonObject(c, { ...host.limits, bodyBytes }),
    send: (c, body) => sendJson(c, body),
    requireOperator,
  }
}

export type AppOptions = {
  runtime: Runtime
  table: WireTable
  served: readonly ServedWire[]
  keys: Keys
  tokens?: Tokens | undefined
  cookies: ConsoleCookies
  hostname: string | undefined
  host: WireHost
  accounts: OwnerAccounts
  measures?: Measures
  payments?: Payments | undefined
  relay?: RelayServer | undefined
}

export function createApp(options: AppOptions): Hono<WireEnv> {
  const { runtime, table, served, keys, cookies, hostname, host, accounts, measures, payments, relay } =
    options
  const { config, log } = runtime
  const { agents } = host.about
  const app = new Hono<WireEnv>()
  app.onError((error, c) => sendRefusal(c, error, table, log))
  // Its pages are at the root of a server of ours, or under the path of a mount. At the root of another server they would hide its own.
  const mount = hostname === undefined ? (config.server?.path ?? '') : ''
  const showsConsole =
    hostname !== undefined || (mount !== '' && table.wires.some(({ name }) => name === 'operator'))
  app.notFound(
    c => (showsConsole ? missingPage(c, mount) : undefined) ?? sendRefusal(c, noRoute(c, table), table, log),
  )
  if (config.server?.log === 'debug') app.use(logRequests(log))
  app.use(checkCaller(config.server?.hosts ?? [], config.server?.origins ?? [], hostname, log))
  app.get('/health/live', c => c.json({ status: 'ok' }))
  app.get('/health', c => {
    const node = runtime.nodeFailure()
    if (node) return c.json({ status: 'failing', agents: agents.length, node }, 503)
    const failure = runtime.storeFailure()
    const plugins = relay && { plugins: relay.machines }
    const warnings = [...runtime.nodeWarnings(), ...ruleWarnings(runtime)]
    const shown = { agents: agents.length, ...plugins, ...(warnings.length > 0 && { warnings }) }
    if (!failure) return c.json({ status: 'ok', ...shown })
    const { code, message } = publicError(new TurnwireError(failure.code, failure.message))
    return c.json({ status: 'failing', agents: agents.length, store: { code, error: message } }, 503)
  })
  const receiptKeys = runtime.receiptKeys
  if (receiptKeys) app.get(receiptKeysPath, c => c.json({ keys: receiptKeys.published() }))
  const console = showsConsole ? consoleRoutes(mount) : undefined
  if (console) app.route('/', console)
  if (relay) app.route('/', relay.routes(routeHost(host)))
  if (payments) app.route('/', payments.signInRoutes())
  for (const { keyless } of served) if (keyless) app.route('/', keyless)
  const identify = config.server?.authenticate
  if (identify) app.use(identifyCaller(identify))
  if (options.tokens) app.use(identifyToken(options.tokens))
  const byKey = authenticate(table, keys, host, cookies, payments, relay)
  const admit = identify || options.tokens ? unlessKnown(byKey) : byKey
  const [count, bind] = [countRequests(accounts), bindEngine(host)]
  if (payments) app.use(inTurn(admit), payments.middleware, inTurn(count, bind))
  else app.use(inTurn(admit, count, bind))
  const wires = table.list()
  app.get('/', c => c.json({ turnwire: 'is served here', agents: agents.map(({ name }) => name), wires }))
  for (const { routes } of served) if (routes) app.route('/', routes)
  if (relay) app.route('/', relay.operatorRoutes(routeHost(host)))
  if (measures) app.route('/', metricsRoute(measures, runtime.engine))
  if (payments) app.route('/', payments.routes())
  return app
}

/** Without the details: anyone may ask. The log and the operator API have them. */
function ruleWarnings({ rulesFile }: Runtime): string[] {
  return rulesFile?.problem === undefined
    ? []
    : ['The file of rules cannot be used: the rules before it stay in force. The log says why.']
}

/** The names under which this server is reached. */
function hostNames(hosts: readonly string[], hostname: string | undefined): string[] {
  return hostname === undefined || isEveryAddress(hostname) ? [...hosts] : [...hosts, hostname]
}

/** Host and Origin are checked before anything else: a web page must not reach a server on the user's machine. */
function checkCaller(
  hosts: readonly string[],
  origins: readonly string[],
  hostname: string | undefined,
  log: WireHost['log'],
): MiddlewareHandler<WireEnv> {
  const allowed = hostNames(hosts, hostname)
  // Every caller has a key or is known to the application, so a page that lies about its Host gains nothing.
  const anyHost = hostname === undefined && hosts.length === 0
  return (c, next) => {
    const host = c.req.header('host')
    if (!anyHost && !checkHost(host, allowed))
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

/** A step of a request that waits for nothing. It throws to refuse the request. */
type RequestStep = (c: Context<WireEnv>) => void

/** One function of the framework for all of them, since each costs several promises. */
function inTurn(...steps: RequestStep[]): MiddlewareHandler<WireEnv> {
  return (c, next) => {
    for (const step of steps) step(c)
    return next()
  }
}

/** Counts every request, and every open one, for its owner. */
function countRequests(accounts: OwnerAccounts): RequestStep {
  return c => {
    const { account, leave } = accounts.enter(c.get('principal').owner, c.get('payment')?.bare === true)
    c.env.outgoing.once('close', leave)
    c.set('account', account)
  }
}

/** Binds the engine of a request to its caller, and to the trace that its headers name. */
function bindEngine(host: WireHost): RequestStep {
  return c => {
    const parent = c.req.header('traceparent')
    const trace = parent === undefined ? undefined : readTrace(parent, c.req.header('tracestate'))
    c.set('engine', host.engineFor({ ...c.get('principal'), trace, payment: c.get('payment') }))
  }
}

/** Refuses new connections, stops the engine, then closes the streams. */
async function stop(server: NodeServer, runtime: Runtime, service: Service): Promise<void> {
  const closed = new Promise<void>(resolve => void server.close(() => resolve()))
  server.closeIdleConnections()
  await runtime.close()
  service.close()
  await service.closeWires()
  setTimeout(() => server.closeAllConnections(), 500).unref()
  await closed
}
