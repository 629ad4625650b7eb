// WebSockets on the HTTP server: who may open one, and which wire gets it. The checks are those of every request (Host,
// Origin, key) since a browser lets any page open a socket to any server. What is said over it is the wire's matter.
import type { IncomingMessage, Server } from 'node:http'
import type { Duplex } from 'node:stream'
import type { WebSocket, WebSocketServer } from 'ws'
import { checkHost, checkOrigin, parseBearer } from '../lib/http.ts'
import type { Principal } from '../wires/host.ts'
import type { Keys } from './keys.ts'
import { localOwner } from './turnwire.ts'

export type Upgrade = {
  socket: WebSocket
  principal: Principal
  /** By name, what stands in the path at `:name`, decoded. */
  params: Readonly<Record<string, string>>
  request: IncomingMessage
}

/** `path` as in `/api/ws/:agent`. */
export type UpgradeRoute = { path: string; open(upgrade: Upgrade): void }

export type UpgradeGate = {
  keys: Keys
  /** Names under which this server is reached. */
  hosts: readonly string[]
  origins: readonly string[]
  limits: { bodyBytes: number; heartbeatMs: number }
}

/** Carries a key for browsers, whose sockets cannot have headers: `new WebSocket(url, ['turnwire', 'bearer.<key>'])`. */
const bearerProtocol = 'bearer.'

/** Gives a function that ends every socket: they would hold the server open. */
export function acceptUpgrades(
  server: Server,
  gate: UpgradeGate,
  routes: readonly UpgradeRoute[],
): () => void {
  let accepting: Promise<Accepting> | undefined
  server.on('upgrade', (request: IncomingMessage, stream: Duplex, head: Buffer) => {
    stream.on('error', () => stream.destroy())
    const found = routeOf(routes, request)
    const principal = found && admit(gate, request)
    if (!found) refuse(stream, 404, 'There is no WebSocket here.')
    else if (typeof principal !== 'object') refuse(stream, principal ?? 403, refusals[principal ?? 403])
    else {
      accepting ??= startAccepting(gate)
      void accepting.then(({ sockets }) =>
        sockets.handleUpgrade(request, stream, head, socket => {
          socket.on('error', () => socket.terminate())
          found.route.open({ socket, principal, params: found.params, request })
        }),
      )
    }
  })
  return () => void accepting?.then(endAll)
}

type Accepting = { sockets: WebSocketServer; stopBeating: () => void }

/** Loaded when the first socket comes: most servers never see one. */
async function startAccepting(gate: UpgradeGate): Promise<Accepting> {
  const { WebSocketServer } = await import('ws')
  const sockets = new WebSocketServer({
    noServer: true,
    maxPayload: gate.limits.bodyBytes,
    perMessageDeflate: false,
    handleProtocols: offered => [...offered].find(name => !name.startsWith(bearerProtocol)) ?? first(offered),
  })
  return { sockets, stopBeating: beat(sockets, gate.limits.heartbeatMs) }
}

function endAll({ sockets, stopBeating }: Accepting): void {
  stopBeating()
  // Whoever still has something to say over a socket says it first.
  setImmediate(() => {
    for (const socket of sockets.clients) {
      socket.close(1001, 'The server is stopping.')
      setTimeout(() => socket.terminate(), 500).unref()
    }
  })
}

function first(offered: Set<string>): string | false {
  return [...offered][0] ?? false
}

function routeOf(
  routes: readonly UpgradeRoute[],
  { url = '/' }: IncomingMessage,
): { route: UpgradeRoute; params: Record<string, string> } | undefined {
  const path = url.split('?', 1)[0]!.split('/')
  for (const route of routes) {
    const params = match(route.path.split('/'), path)
    if (params) return { route, params }
  }
  return undefined
}

function match(wanted: readonly string[], given: readonly string[]): Record<string, string> | undefined {
  if (wanted.length !== given.length) return undefined
  const params: Record<string, string> = {}
  for (const [at, name] of wanted.entries()) {
    const part = decoded(given[at]!)
    if (part === undefined || (name.startsWith(':') ? part === '' : part !== name)) return undefined
    if (name.startsWith(':')) params[name.slice(1)] = part
  }
  return params
}

function decoded(part: string): string | undefined {
  try {
    return decodeURIComponent(part)
  } catch {
    return undefined
  }
}

const refusals = {
  401: 'A valid key is needed: Authorization: Bearer <key>, or the subprotocol bearer.<key>.',
  403: 'This Host or web origin may not call this server. Add it to server.hosts or server.origins.',
} as const

function admit(gate: UpgradeGate, { headers }: IncomingMessage): Principal | 401 | 403 {
  const { host, origin } = headers
  if (!checkHost(host, gate.hosts) || !checkOrigin(origin, gate.origins, host)) return 403
  if (gate.keys.size === 0) return { owner: localOwner, name: localOwner }
  const apiKey = headers['x-api-key']
  const offered = (headers['sec-websocket-protocol'] ?? '').split(',').map(name => name.trim())
  const carried =
    offered.find(name => name.startsWith(bearerProtocol))?.slice(bearerProtocol.length) ??
    (typeof apiKey === 'string' ? apiKey : undefined)
  const bearer = parseBearer(
    headers.authorization ?? (carried === undefined ? undefined : `Bearer ${carried}`),
  )
  return (typeof bearer === 'string' ? undefined : gate.keys.find(bearer.token)) ?? 401
}

function refuse(stream: Duplex, status: 401 | 403 | 404, words: string): void {
  const names = { 401: 'Unauthorized', 403: 'Forbidden', 404: 'Not Found' }
  const body = JSON.stringify({ error: words })
  // No timeout of the HTTP server reaches this socket any more: a peer that does not hang up would hold it open.
  stream.once('finish', () => stream.destroy())
  stream.end(
    `HTTP/1.1 ${status} ${names[status]}\r\nConnection: close\r\nContent-Type: application/json\r\n` +
      `Content-Length: ${Buffer.byteLength(body)}\r\n${status === 401 ? 'WWW-Authenticate: Bearer\r\n' : ''}\r\n${body}`,
  )
}

/** A peer that has gone without a word is found out by its silence: it is asked, and has until the next time to answer. */
function beat(sockets: WebSocketServer, everyMs: number): () => void {
  const asked = new WeakSet<WebSocket>()
  const timer = setInterval(() => {
    for (const socket of sockets.clients) {
      if (asked.has(socket)) socket.terminate()
      else {
        asked.add(socket)
        socket.once('pong', () => asked.delete(socket))
        socket.ping()
      }
    }
  }, everyMs).unref()
  return () => clearInterval(timer)
}
