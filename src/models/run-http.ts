// One POST over node's own HTTP client, which costs half of what fetch does for a streamed answer. It owns the sockets
// (kept alive, through the environment's proxy if there is one) and two deadlines: until the first byte, and between two
// chunks. It knows no vendor and never follows a redirect, so that a key stays with the host that it was meant for.

import {
  type ClientRequest,
  Agent as HttpAgent,
  request as httpRequest,
  type IncomingHttpHeaders,
  type IncomingMessage,
} from 'node:http'
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https'
import { urlToHttpOptions } from 'node:url'

export type Post = {
  address: Address
  headers: Readonly<Record<string, string>>
  body: string
  firstByteMs: number
  idleMs: number
  signal: AbortSignal
  agents: Agents
}

export type PostReader = {
  /** Called once, before any chunk. The returned function takes the chunks and gives true once it wants no more. */
  open(status: number, headers: IncomingHttpHeaders): (chunk: Uint8Array) => boolean
}

/** How an exchange ended. `lost`: the connection broke; `code` is the system's error code. */
export type PostEnd =
  | { end: 'complete' }
  | { end: 'aborted' }
  | { end: 'timeout'; phase: 'first-byte' | 'idle' }
  | { end: 'lost'; code: string }

/** Where a request goes, as node's client takes it. It is kept, since parsing a URL is the costliest part of sending. */
export type Address = Readonly<{
  secure: boolean
  host: { hostname: string; port: string | number; path: string; auth?: string }
}>

/** Undefined when the text is not a web address. */
export function readAddress(text: string): Address | undefined {
  const url = URL.parse(text)
  if (url === null || (url.protocol !== 'https:' && url.protocol !== 'http:')) return undefined
  const { hostname, port, path, auth } = urlToHttpOptions(url)
  return {
    secure: url.protocol === 'https:',
    host: { hostname: hostname ?? '', port: port ?? '', path: path ?? '/', ...(auth != null && { auth }) },
  }
}

export type Agents = { http: HttpAgent; https: HttpsAgent }

/** `HTTP_PROXY`, `HTTPS_PROXY` and `NO_PROXY` of `env` are used, in either case. */
export function createAgents(env: Record<string, string | undefined> = process.env): Agents {
  const options = { keepAlive: true, proxyEnv: env }
  return { http: new HttpAgent(options), https: new HttpsAgent(options) }
}

let shared: Agents | undefined

/** One pool for the process, made at first use so that the environment is complete by then. */
export function sharedAgents(): Agents {
  shared ??= createAgents()
  return shared
}

/**
 * Rejects only with what `reader` throws, or with node's error about a header. After it resolves, `reader` is not called
 * again, and the socket is closed, or free for the next request if the answer was read to its end.
 */
export function post(options: Post, reader: PostReader): Promise<PostEnd> {
  const { body, signal } = options
  return new Promise<PostEnd>((resolve, reject) => {
    let response: IncomingMessage | undefined
    let settled = false
    let timer: NodeJS.Timeout | undefined
    const wait = (ms: number): void => {
      clearTimeout(timer)
      timer = Number.isFinite(ms) ? setTimeout(onSilence, ms) : undefined
    }
    const settle = (): void => {
      settled = true
      clearTimeout(timer)
      signal.removeEventListener('abort', onAbort)
    }
    const finish = (end: PostEnd): void => {
      if (settled) return
      settle()
      if (end.end !== 'complete') outgoing.destroy()
      else if (response?.complete === false) drain(response)
      resolve(end)
    }
    const fail = (error: unknown): void => {
      settle()
      outgoing.destroy()
      reject(error)
    }
    const onAbort = (): void => finish({ end: 'aborted' })
    const onSilence = (): void => finish({ end: 'timeout', phase: response ? 'idle' : 'first-byte' })
    const onError = (error: Error): void => finish({ end: 'lost', code: transportErrorCode(error) })

    const outgoing = openRequest(options)
    outgoing.on('error', onError)
    outgoing.on('response', incoming => {
      response = incoming
      wait(options.idleMs)
      incoming.on('error', onError)
      // It follows the end of a whole answer, too.
      incoming.on('close', () => finish(incoming.complete ? { end: 'complete' } : LOST))
      try {
        const take = reader.open(incoming.statusCode ?? 0, incoming.headers)
        incoming.on('data', (chunk: Uint8Array) => {
          if (settled) return
          timer?.refresh()
          try {
            if (take(chunk)) finish({ end: 'complete' })
          } catch (error) {
            fail(error)
          }
        })
      } catch (error) {
        fail(error)
      }
    })
    if (signal.aborted) return onAbort()
    signal.addEventListener('abort', onAbort)
    wait(options.firstByteMs)
    outgoing.end(body)
  })
}

const LOST: PostEnd = { end: 'lost', code: 'ECONNRESET' }

function openRequest({ address: { secure, host }, headers, body, agents }: Post): ClientRequest {
  return (secure ? httpsRequest : httpRequest)({
    ...host,
    method: 'POST',
    agent: secure ? agents.https : agents.http,
    headers: { ...headers, 'content-length': Buffer.byteLength(body) },
  })
}

const DRAIN_MS = 1000

/** Reads and discards the rest of an answer, so that its socket can be used again, but not for long. */
function drain(response: IncomingMessage): void {
  const timer = setTimeout(() => response.destroy(), DRAIN_MS)
  timer.unref()
  response.once('close', () => clearTimeout(timer))
}

function transportErrorCode(error: Error): string {
  return 'code' in error && typeof error.code === 'string' ? error.code : error.name
}
