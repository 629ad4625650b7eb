// What the server itself refuses, before a wire sees the request: no key, too many requests, no such route. Each answer
// has the error body that clients of that path understand.
import { type IncomingMessage, type ServerResponse, STATUS_CODES } from 'node:http'
import type { Duplex } from 'node:stream'
import type { Context } from 'hono'
import { type PublicError, publicError, TurnwireError } from '../language/errors.ts'
import { deltakitErrorBody } from '../wires/deltakit/index.ts'
import { geminiErrorBody } from '../wires/gemini/index.ts'
import type { WireEnv, WireHost } from '../wires/host.ts'
import { failureOf, sendFailure } from '../wires/http/index.ts'
import { messagesErrorBody } from '../wires/messages/index.ts'
import { openAiCode } from '../wires/openai-refusal.ts'
import { errorBody } from '../wires/responses/index.ts'

/** `anthropic`: the request carries a header that only clients of Anthropic's API send. */
export function refusalBody(path: string, anthropic: boolean, refusal: PublicError): object {
  if (isUnder(path, '/v1beta')) return geminiErrorBody(refusal)
  if (isUnder(path, '/v1/messages') || (anthropic && isUnder(path, '/v1'))) return messagesErrorBody(refusal)
  const { code, message, status } = refusal
  if (isUnder(path, '/v1')) {
    // The server itself finds nothing missing but routes.
    const reason = code === 'not_found' ? 'unknown_url' : openAiCode(code)
    return errorBody(status, message, null, reason)
  }
  if (isUnder(path, '/api')) return deltakitErrorBody(refusal)
  return { error: message, code }
}

function isUnder(path: string, base: string): boolean {
  return path === base || path.startsWith(`${base}/`)
}

export function sendRefusal(c: Context<WireEnv>, error: unknown, log: WireHost['log']): Response {
  const refusal = failureOf(error, log)
  const anthropic = c.req.header('anthropic-version') !== undefined
  return sendFailure(c, refusal, refusalBody(c.req.path, anthropic, refusal))
}

export function noRoute(c: Context<WireEnv>): TurnwireError {
  const path = c.req.path.slice(0, 200).toWellFormed()
  return new TurnwireError('not_found', `There is nothing at ${c.req.method} ${path}. ${switchFor(path)}`)
}

/** Some routes are there only if the configuration says so. */
function switchFor(path: string): string {
  if (isUnder(path, '/mcp')) return 'An agent is served here if its configuration has serveMcp.'
  if (isUnder(path, '/acp')) return 'The protocol is served here if the configuration has server.acp.'
  if (isUnder(path, '/v1/providers') || isUnder(path, '/auth'))
    return 'This is served if the configuration has relay.'
  if (isUnder(path, '/v1/wallet')) return 'This is served if the configuration has payments.'
  return 'GET / lists what there is.'
}

/** For a request whose target is no address: hono would answer it with an empty 400. */
export function refuseTarget(incoming: IncomingMessage, outgoing: ServerResponse): void {
  const path = pathOf(incoming)
  const words = 'The address of this request cannot be read. Send a path without backslashes, and a Host.'
  const refusal = publicError(new TurnwireError('bad_request', words))
  const body = JSON.stringify(refusalBody(path, isAnthropic(incoming), refusal))
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
export function refuseBytes(error: NodeJS.ErrnoException, socket: Duplex, last?: ServerResponse): void {
  if (!socket.writable || !mayAnswer(last)) {
    socket.destroy()
    return
  }
  const [status, words] = brokenRequests[error.code ?? ''] ?? [400, 'This is no HTTP/1.1 request.']
  const body = JSON.stringify(brokenBody({ code: 'bad_request', message: words, status }, last))
  // The times of the HTTP server no longer apply to this socket.
  socket.once('finish', () => setTimeout(() => socket.destroy(), lingerMs).unref())
  socket.end(
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nConnection: close\r\nContent-Type: application/json\r\n` +
      `Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  )
}

/** Two answers at once, or one inside another, could not be told apart. */
function mayAnswer(last?: ServerResponse): boolean {
  if (!last) return true
  return last.req.complete ? last.writableFinished : !last.headersSent
}

/** In the words of the wire, if the headers of the broken request have arrived. */
function brokenBody(refusal: PublicError, last?: ServerResponse): object {
  if (!last || last.req.complete) return refusalBody('/', false, refusal)
  return refusalBody(pathOf(last.req), isAnthropic(last.req), refusal)
}

function pathOf({ url = '' }: IncomingMessage): string {
  return url.replaceAll('\\', '/').split('?', 1)[0] ?? ''
}

function isAnthropic({ headers }: IncomingMessage): boolean {
  return headers['anthropic-version'] !== undefined
}
