// WebSockets on the HTTP server: who may open one, and which wire gets it. The checks are those of every request (Host,
// Origin, key), since a browser lets any page open a socket to any server. The wire speaks over it.
import { type IncomingMessage, STATUS_CODES } from 'node:http'
import type { Duplex } from 'node:stream'
import type { WebSocket, WebSocketServer } from 'ws'
import { type AdmittedKey, type Keys, localOwner } from '../callers/keys.ts'
import type { Account, OwnerAccounts } from '../callers/owner-limits.ts'
import type { Tokens } from '../callers/tokens/tokens.ts'
import { publicError, TurnwireError, wordsOf } from '../language/errors.ts'
import { sha256 } from '../lib/json/hash.ts'
import { checkHost, checkOrigin, parseBearer } from '../lib/net/http.ts'
import { closeReason } from '../lib/text/index.ts'
import type { Log } from '../log.ts'
import type { Principal } from '../wires/host.ts'
import type { UpgradeRoute } from '../wires/wire.ts'
import { toWireRequest } from './refusals.ts'
import type { WireTable } from './wires.ts'

export type UpgradeGate = {
  table: WireTable
  keys: Keys
  /** Absent: no issuer of tokens is configured. */
  tokens?: Tokens | undefined
  /** Names under which this server is reached. */
  hosts: readonly string[]
  origins: readonly string[]
  limits: { bodyBytes: number; heartbeatMs: number }
  accounts: OwnerAccounts
  log: Log
  /** It is mounted in another server, which checks the Host. */
  anyHost?: true
  /** Asks the application who calls. */
  identify?: (request: IncomingMessage) => Promise<Principal | undefined>
}

/** Carries a key for browsers, whose sockets cannot have headers: `new WebSocket(url, ['turnwire', 'bearer.<key>'])`. */
const bearerProtocol = 'bearer.'

/** `close` ends every socket: an open one would keep the server from closing. */
export type Sockets = {
  /** Whether there is a WebSocket at the address of this request, and it asks for one. */
  serves(request: IncomingMessage): boolean
  accept(request: IncomingMessage, stream: Duplex, head: Buffer): void
  close(): void
}

export function acceptUpgrades(gate: UpgradeGate, routes: readonly UpgradeRoute[]): Sockets {
  let accepting: Promise<Accepting> | undefined
  const checks: KeyChecks = new WeakMap()
  const open = (asked: Asked, { route, params }: FoundRoute, { principal, holds }: AdmittedKey): void => {
    const { request, stream, head } = asked
    const account = route.anonymous ? undefined : gate.accounts.of(principal.owner)
    account?.request()
    if (account) stream.once('close', account.open())
    accepting ??= startAccepting(gate, checks)
    accepting
      .then(({ sockets }) =>
        sockets.handleUpgrade(request, stream, head, socket => {
          socket.on('error', () => socket.terminate())
          if (account) {
            checks.set(socket, checkFrames(socket, holds))
            countFrames(socket, account)
            countUnfinished(stream, socket, account)
          }
          route.open({ socket, principal, params, request })
        }),
      )
      .catch((error: unknown) => {
        gate.log('error', 'A WebSocket could not be opened.', { path: route.path, error: wordsOf(error) })
        stream.destroy()
      })
  }
  const accept = (request: IncomingMessage, stream: Duplex, head: Buffer): void => {
    stream.on('error', () => stream.destroy())
    const refuse = (error: unknown): void => refuseUpgrade(gate.table, request, stream, error)
    const asked = { request, stream, head }
    try {
      const found = findUpgradeRoute(routes, request)
      if (!found) throw new TurnwireError('not_found', 'There is no WebSocket here.')
      checkPlace(gate, request)
      if (found.route.anonymous) open(asked, found, nobody)
      else if (gate.identify === undefined && gate.tokens === undefined)
        open(asked, found, admit(gate, request))
      else
        admitLater(gate, request)
          .then(admitted => open(asked, found, admitted))
          .catch((error: unknown) => {
            if (!(error instanceof TurnwireError))
              gate.log('error', 'server.authenticate failed for a WebSocket.', { error: wordsOf(error) })
            refuse(error)
          })
    } catch (error) {
      refuse(error)
    }
  }
  return {
    serves: request =>
      request.headers.upgrade?.toLowerCase() === 'websocket' &&
      findUpgradeRoute(routes, request) !== undefined,
    accept,
    close: () => void accepting?.then(endAll, () => {}),
  }
}

/** A request for a WebSocket, as Node's server gives it. */
type Asked = { request: IncomingMessage; stream: Duplex; head: Buffer }
type FoundRoute = { route: UpgradeRoute; params: Record<string, string> }

/** Nothing that is spoken over sockets is for operators. */
function alwaysHolds({ owner, name }: Principal): AdmittedKey {
  return { principal: { owner, name }, holds: () => true }
}

/** A client that sends too many frames is read more slowly. */
function countFrames(socket: WebSocket, account: Account): void {
  const resume = (): void => {
    const { debtMs } = account
    if (debtMs > 0) setTimeout(resume, debtMs)
    else socket.resume()
  }
  socket.on('message', () => {
    account.frame()
    if (socket.isPaused || account.debtMs === 0) return
    socket.pause()
    resume()
  })
}

/** The close code for a client that is to try again later. */
const tryLater = 1013
/** A client that is refused has this long to read why. */
const lingerMs = 1_000

/** Of a masked control frame. */
const controlHeader = 6

/** The bytes of a message that has not arrived whole count as those of a body do. */
function countUnfinished(stream: Duplex, socket: WebSocket, account: Account): void {
  let unfinished = 0
  const release = (bytes = unfinished): void => {
    account.releaseBody(bytes)
    unfinished -= bytes
  }
  /** A control frame may come within a message, and is no part of it. */
  const passed = (data: Buffer): void => release(Math.min(unfinished, controlHeader + data.length))
  // Before the socket takes them: it may tell of a whole message at once.
  stream.prependListener('data', (bytes: Buffer) => {
    try {
      account.takeBody(bytes.length)
      unfinished += bytes.length
    } catch (error) {
      socket.close(tryLater, closeReason(publicError(error).message))
      socket.pause()
      setTimeout(() => socket.terminate(), lingerMs).unref()
    }
  })
  socket.on('message', () => release())
  socket.on('ping', passed).on('pong', passed)
  stream.once('close', () => release())
}

/** The close code for a client that may not speak here. */
const policyViolation = 1008

/** By socket: closes it if its key is gone, and says whether it was. */
type KeyChecks = WeakMap<WebSocket, () => boolean>

/** From the moment that the key is gone no wire sees a frame of the socket, and none is sent. */
function checkFrames(socket: WebSocket, holds: () => boolean): () => boolean {
  const isRevoked = (): boolean => {
    if (holds()) return false
    socket.close(policyViolation, 'The key was revoked.')
    return true
  }
  const emit = socket.emit.bind(socket) as (event: string | symbol, ...given: unknown[]) => boolean // for any event
  socket.emit = (event: string | symbol, ...given: unknown[]): boolean =>
    event === 'message' && isRevoked() ? false : emit(event, ...given)
  const send = socket.send.bind(socket) as (...given: unknown[]) => void // it has several forms
  socket.send = (...given: unknown[]): void => {
    if (!isRevoked()) send(...given)
  }
  return isRevoked
}

type Accepting = { sockets: WebSocketServer; stopPings: () => void }

/** The package is loaded with the first socket: most servers never see one. */
async function startAccepting(gate: UpgradeGate, checks: KeyChecks): Promise<Accepting> {
  const { WebSocketServer } = await import('ws')
  const sockets = new WebSocketServer({
    noServer: true,
    maxPayload: gate.limits.bodyBytes,
    perMessageDeflate: false,
    handleProtocols: offered =>
      [...offered].find(name => !name.startsWith(bearerProtocol)) ?? firstOffered(offered),
  })
  return { sockets, stopPings: pingAll(sockets, checks, gate.limits.heartbeatMs) }
}

function endAll({ sockets, stopPings }: Accepting): void {
  stopPings()
  // Wires send their last frames first.
  setImmediate(() => {
    for (const socket of sockets.clients) {
      socket.close(1001, 'The server is stopping.')
      setTimeout(() => socket.terminate(), 500).unref()
    }
  })
}

function firstOffered(offered: Set<string>): string | false {
  return [...offered][0] ?? false
}

function findUpgradeRoute(
  routes: readonly UpgradeRoute[],
  { url = '/' }: IncomingMessage,
): FoundRoute | undefined {
  const path = url.split('?', 1)[0]!.split('/')
  for (const route of routes) {
    const params = matchPath(route.path.split('/'), path)
    if (params) return { route, params }
  }
  return undefined
}

function matchPath(wanted: readonly string[], given: readonly string[]): Record<string, string> | undefined {
  if (wanted.length !== given.length) return undefined
  const params: Record<string, string> = {}
  for (const [at, name] of wanted.entries()) {
    const part = decodedPart(given[at]!)
    if (part === undefined || (name.startsWith(':') ? part === '' : part !== name)) return undefined
    if (name.startsWith(':')) params[name.slice(1)] = part
  }
  return params
}

function decodedPart(part: string): string | undefined {
  try {
    return decodeURIComponent(part)
  } catch {
    return undefined
  }
}

const nobody: AdmittedKey = { principal: { owner: '', name: '' }, holds: () => true }

function checkPlace(gate: UpgradeGate, { headers }: IncomingMessage): void {
  const { host, origin } = headers
  if ((!gate.anyHost && !checkHost(host, gate.hosts)) || !checkOrigin(origin, gate.origins, host))
    throw new TurnwireError(
      'forbidden_origin',
      'This Host or web origin may not call this server. Add it to server.hosts or server.origins.',
    )
}

function admit(gate: UpgradeGate, { headers }: IncomingMessage): AdmittedKey {
  const anyone = gate.keys.admitAnyone()
  // Nothing that is spoken over sockets is for operators.
  if (anyone) return { ...anyone, principal: { owner: localOwner, name: localOwner } }
  const token = socketBearer({ headers })
  const admitted = token === undefined ? undefined : gate.keys.admit(sha256(token))
  if (admitted) return admitted
  throw new TurnwireError(
    'unauthorized',
    'A valid key is needed: Authorization: Bearer <key>, or the subprotocol bearer.<key>.',
  )
}

/** By the application, then by a token of a named issuer, then by a key. */
async function admitLater(gate: UpgradeGate, request: IncomingMessage): Promise<AdmittedKey> {
  const known = await gate.identify?.(request)
  if (known) return alwaysHolds(known)
  const token = gate.tokens && socketBearer(request)
  return (token === undefined ? undefined : await gate.tokens?.admit(token)) ?? admit(gate, request)
}

function socketBearer({ headers }: Pick<IncomingMessage, 'headers'>): string | undefined {
  const apiKey = headers['x-api-key']
  const offered = (headers['sec-websocket-protocol'] ?? '').split(',').map(name => name.trim())
  const carried =
    offered.find(name => name.startsWith(bearerProtocol))?.slice(bearerProtocol.length) ??
    (typeof apiKey === 'string' ? apiKey : undefined)
  const bearer = parseBearer(
    headers.authorization ?? (carried === undefined ? undefined : `Bearer ${carried}`),
  )
  return typeof bearer === 'string' ? undefined : bearer.token
}

function refuseUpgrade(table: WireTable, request: IncomingMessage, stream: Duplex, error: unknown): void {
  const failure = publicError(error)
  const { status, retryAfterMs } = failure
  const body = JSON.stringify(table.errorBody(toWireRequest(request), failure, error))
  const more =
    status === 401
      ? 'WWW-Authenticate: Bearer\r\n'
      : status === 429
        ? `Retry-After: ${Math.ceil((retryAfterMs ?? 1000) / 1000)}\r\n`
        : ''
  // The timeouts of the HTTP server no longer apply to this socket, so a peer that does not close it would hold it open.
  stream.once('finish', () => stream.destroy())
  stream.end(
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nConnection: close\r\nContent-Type: application/json\r\n` +
      'X-Content-Type-Options: nosniff\r\nCache-Control: no-store\r\n' +
      `Content-Length: ${Buffer.byteLength(body)}\r\n${more}\r\n${body}`,
  )
}

/** Pings every socket whose key holds. One that has not answered by the next ping is closed. */
function pingAll(sockets: WebSocketServer, checks: KeyChecks, everyMs: number): () => void {
  const unanswered = new Set<WebSocket>()
  const timer = setInterval(() => {
    for (const socket of unanswered) {
      unanswered.delete(socket)
      socket.terminate()
    }
    for (const socket of sockets.clients) {
      if (socket.readyState !== socket.OPEN || checks.get(socket)?.()) continue
      unanswered.add(socket)
      socket.once('pong', () => unanswered.delete(socket))
      socket.ping()
    }
  }, everyMs).unref()
  return () => clearInterval(timer)
}
