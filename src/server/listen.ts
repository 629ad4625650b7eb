// The HTTP server's socket: requests wait until the app is mounted, and an upgrade is offered to the wires that speak over
// WebSockets. Everything else that asks for an upgrade (`Upgrade: h2c` of curl and Java) is served as plain HTTP/1.1.
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { getRequestListener } from '@hono/node-server'
import type { Hono } from 'hono'
import { TurnwireError } from '../language/errors.ts'
import type { WireEnv } from '../wires/host.ts'
import { refuseBytes, refuseTarget } from './refusals.ts'
import type { Sockets } from './upgrades.ts'
import type { WireTable } from './wires.ts'

/** Requests that come before the app is there wait for it. */
export class MountedApp {
  readonly table: WireTable
  readonly #mounting = Promise.withResolvers<Hono<WireEnv>>()
  #app: Hono<WireEnv> | undefined
  #sockets: Sockets | undefined

  constructor(table: WireTable) {
    this.table = table
  }

  mount(app: Hono<WireEnv>, sockets: Sockets): void {
    this.#app = app
    this.#sockets = sockets
    this.#mounting.resolve(app)
  }

  readonly fetch: Hono<WireEnv>['fetch'] = (request, env) =>
    this.#app ? this.#app.fetch(request, env) : this.#mounting.promise.then(app => app.fetch(request, env))

  get sockets(): Sockets | undefined {
    return this.#sockets
  }
}

/**
 * The headers of a request arrive within `headersMs`, or within `requestMs` if that is less. `idleMs` outlives the idle time-out
 * of proxies, so that we never close a connection that one is about to use.
 */
export const connectionTimes = { headersMs: 60_000, idleMs: 75_000 }

/** `requestMs`: a request that has not arrived whole by then is refused. Looked at four times in that time. */
export function listen(app: MountedApp, hostname: string, port: number, requestMs: number): Promise<Server> {
  /** The last answer of each connection. */
  const answers = new WeakMap<object, ServerResponse>()
  const { headersMs, idleMs } = connectionTimes
  const settings = {
    shouldUpgradeCallback: (request: IncomingMessage): boolean => app.sockets?.serves(request) === true,
    requestTimeout: requestMs,
    headersTimeout: Math.min(headersMs, requestMs),
    connectionsCheckingInterval: Math.ceil(Math.min(headersMs, requestMs) / 4),
    keepAliveTimeout: idleMs,
  }
  const answer = makeListener(app)
  const server = createServer(settings, (incoming, outgoing) => {
    answers.set(incoming.socket, outgoing)
    outgoing.on('error', destroyed)
    answer(incoming, outgoing)
  })
  server.on('upgrade', (request, stream, head) => app.sockets?.accept(request, stream, head))
  server.on('clientError', (error, socket) => refuseBytes(app.table, error, socket, answers.get(socket)))
  return new Promise((resolve, reject) => {
    // It stays: a server that cannot accept a connection, because there are too many files, goes on with the others.
    server.on('error', (error: NodeJS.ErrnoException) => {
      const words =
        error.code === 'EADDRINUSE'
          ? `Port ${port} is taken. Choose another with --port <n> or PORT=<n>; 0 is any free one.`
          : `The server cannot listen on ${hostname}:${port}: ${error.message}`
      reject(new TurnwireError('config_invalid', words, { cause: error }))
    })
    server.listen(port, hostname, () => resolve(server))
  })
}

/** For an answer that cannot be written: closes the connection, and reports nothing else. */
function destroyed(this: ServerResponse): void {
  this.destroy()
}

export function makeListener({
  fetch,
  table,
}: Pick<MountedApp, 'fetch' | 'table'>): (incoming: IncomingMessage, outgoing: ServerResponse) => void {
  const answer = getRequestListener(fetch, { overrideGlobalObjects: false })
  return (incoming, outgoing) => {
    // The default. An answer that may be cached, or is a stream, replaces this header.
    outgoing.setHeader('x-content-type-options', 'nosniff')
    outgoing.setHeader('cache-control', 'no-store')
    if (isReadable(incoming)) void answer(incoming, outgoing)
    else refuseTarget(table, incoming, outgoing)
  }
}

/** Hono answers other targets with an empty 400. Most targets are plain and need no parsing. */
function isReadable({ url = '', headers: { host } }: IncomingMessage): boolean {
  if (host === undefined) return false
  if (/^\/[\w/.:~-]*$/.test(url)) return true
  const path = url.split('?', 1)[0] ?? ''
  if (path.includes('\\')) return false
  return url.startsWith('/') ? URL.canParse(`http://host${url}`) : /^https?:/.test(url) && URL.canParse(url)
}
