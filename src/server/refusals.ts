// Error answers for requests that fail: refused by the server, before a wire sees it (no key, too many requests, no
// such route), or by a wire. Each answer has the error body of the wire whose path it is.
import { type IncomingMessage, type ServerResponse, STATUS_CODES } from 'node:http'
import type { Duplex } from 'node:stream'
import type { Context } from 'hono'
import { publicError, TurnwireError } from '../language/errors.ts'
import type { WireEnv, WireHost } from '../wires/host.ts'
import { sendFailure, toFailure } from '../wires/http/index.ts'
import type { WireRequest } from '../wires/wire.ts'
import type { WireTable } from './wires.ts'

/** For all that was thrown while a request was served, by the server or by a wire. */
export function sendRefusal(
  c: Context<WireEnv>,
  error: unknown,
  table: WireTable,
  log: WireHost['log'],
): Response {
  const failure = toFailure(error, log)
  return sendFailure(c, failure, table.errorBody(c.req, failure, error, c.env.outgoing))
}

export function noRoute({ req }: Context<WireEnv>, table: WireTable): TurnwireError {
  const path = req.path.slice(0, 200).toWellFormed()
  const advice = table.at(req)?.needs ?? 'GET / lists what there is.'
  return new TurnwireError('not_found', `There is nothing at ${req.method} ${path}. ${advice}`)
}

/** For a request whose target is no address: hono would answer it with an empty 400. */
export function refuseTarget(table: WireTable, incoming: IncomingMessage, outgoing: ServerResponse): void {
  const words = 'The address of this request cannot be read. Send a path without backslashes, and a Host.'
  const refusal = publicError(new TurnwireError('bad_request', words))
  const body = JSON.stringify(table.errorBody(toWireRequest(incoming), refusal))
  // Its body, if it has one, is not read.
  outgoing.writeHead(refusal.status, {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(body),
    connection: 'close',
  })
  outgoing.end(body)
}

const brokenRequests: Record<string, [status: number, words: string]> = {
  HPE_HEADER_OVERFLOW: [431, 'The headers are too large. Send fewer or shorter ones.'],
  HPE_CHUNK_EXTENSIONS_OVERFLOW: [413, 'The extensions of a chunk are too large.'],
  ERR_HTTP_REQUEST_TIMEOUT: [408, 'The request did not arrive in time.'],
}

/** A client that does not close its side has this long to read the answer. */
const lingerMs = 1_000

/**
 * For bytes that are no HTTP request, and for those that do not come. `last`: the last answer of the connection, whose request
 * may not have arrived whole.
 */
export function refuseBytes(
  table: WireTable,
  error: NodeJS.ErrnoException,
  socket: Duplex,
  last?: ServerResponse,
): void {
  if (!socket.writable || !mayAnswer(last)) {
    socket.destroy()
    return
  }
  const [status, words] = brokenRequests[error.code ?? ''] ?? [400, 'This is no HTTP/1.1 request.']
  const body = JSON.stringify(
    table.errorBody(brokenRequest(last), { code: 'bad_request', message: words, status }),
  )
  // The times of the HTTP server no longer apply to this socket.
  socket.once('finish', () => setTimeout(() => socket.destroy(), lingerMs).unref())
  socket.end(
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nConnection: close\r\nContent-Type: application/json\r\n` +
      'X-Content-Type-Options: nosniff\r\nCache-Control: no-store\r\n' +
      `Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  )
}

/** Two answers at once, or one inside another, could not be told apart. */
function mayAnswer(last?: ServerResponse): boolean {
  if (!last) return true
  return last.req.complete ? last.writableFinished : !last.headersSent
}

/** The broken request itself, if its headers have arrived. */
function brokenRequest(last?: ServerResponse): WireRequest {
  return last && !last.req.complete
    ? toWireRequest(last.req)
    : { method: '', path: '/', header: () => undefined }
}

export function toWireRequest({ method = '', url = '', headers }: IncomingMessage): WireRequest {
  const [path = ''] = url.replaceAll('\\', '/').split('?', 1)
  return { method, path, header: name => headers[name]?.toString() }
}
