// The one way in which Turnwire fetches something on behalf of a model. A rule says which hosts may be reached. Addresses
// are checked where the connection is made, after the name was resolved, so that no spelling of an address, no redirect
// and no change of a DNS answer reaches a private network. Size, time, redirects and rate are limited, and every request
// is reported. Gives standard Response objects.
import { type LookupAddress, type LookupAllOptions, lookup } from 'node:dns'
import { Agent as HttpAgent, type IncomingMessage, request as requestHttp } from 'node:http'
import { Agent as HttpsAgent, request as requestHttps } from 'node:https'
import { connect, isIP, type LookupFunction, type Socket } from 'node:net'
import type { Duplex, Readable } from 'node:stream'
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib'
import { errorMessage } from '../text/error-message.ts'
import { isLinkLocal, isPublicAddress } from './addresses.ts'
import { Unanswered } from './unanswered.ts'

export type EgressRules = {
  /** Hosts that may be reached: `api.example.com`, `*.example.com`, either with `:port`. Absent: every public host. */
  hosts?: readonly string[]
  /** Hosts that may also stand at private addresses, in the same form. Default: none. */
  privateHosts?: readonly string[]
  /** Bytes of one answer, after decompression. Default 64 MiB. */
  maxBytes?: number
  /** Milliseconds until the answer must have arrived whole. Default 60,000. */
  timeoutMs?: number
  /** Default 5. */
  maxRedirects?: number
  /** Requests in any minute, to all hosts together. Default 1,200. */
  perMinute?: number
}

/** The report of one request, made when it is over. `refused`: why it was not sent, or not finished. */
export type EgressReport = {
  method: string
  host: string
  status?: number
  bytes: number
  ms: number
  refused?: string
}

export type EgressInit = RequestInit & {
  /** Narrows the rule for this request: the only hosts that it, or a redirect of it, may reach. */
  hosts?: readonly string[]
  /** It may change something. Then it rejects with `Unanswered` if it was sent and not answered. Default: by its method. */
  mayChange?: boolean
  report?: (report: EgressReport) => void
}

/** The rule does not allow this request. Nothing of it reached the host that is named. */
export class EgressRefused extends Error {
  override readonly name = 'EgressRefused'
}

const defaults = { maxBytes: 64 * 1024 * 1024, timeoutMs: 60_000, maxRedirects: 5, perMinute: 1200 }
const safeMethods = new Set(['GET', 'HEAD', 'OPTIONS', 'TRACE'])
const redirectStatuses = new Set([301, 302, 303, 307, 308])
/** Everything else might be a credential, so it does not follow a redirect to another origin. */
const harmlessHeaders = new Set(['accept', 'accept-language', 'content-type', 'user-agent'])

type ResolveName = (
  host: string,
  options: LookupAllOptions,
  callback: (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void,
) => void

export class Egress {
  readonly #rules: EgressRules & typeof defaults
  readonly #agents: { 'http:': HttpAgent; 'https:': HttpsAgent }
  readonly #resolveName: ResolveName
  #sent: number[] = []

  constructor(rules: EgressRules = {}, resolveName: ResolveName = lookup) {
    this.#resolveName = resolveName
    this.#rules = { ...defaults, ...rules }
    const options = { keepAlive: true, maxSockets: 64, maxFreeSockets: 16 }
    this.#agents = { 'http:': new HttpAgent(options), 'https:': new HttpsAgent(options) }
  }

  /**
   * Rejects with `EgressRefused` when the rule does not allow it, with `Unanswered` when it may have changed something, and
   * with an ordinary error when the network fails otherwise.
   */
  async fetch(input: string | URL, init: EgressInit = {}): Promise<Response> {
    const { hosts, report, signal, mayChange, ...rest } = init
    const url = new URL(input)
    const method = (rest.method ?? 'GET').toUpperCase()
    const exchange = new Exchange(method, url.host, this.#rules, signal ?? undefined, report)
    exchange.mayChange = mayChange ?? !safeMethods.has(method)
    try {
      this.#check(url, hosts)
      // A Request gives every kind of body as bytes, with the right content type.
      const request = new Request(url, { ...rest, ...(rest.body != null && { duplex: 'half' }) })
      const body = rest.body == null ? undefined : Buffer.from(await request.arrayBuffer())
      const headers = Object.fromEntries(request.headers)
      const follows = rest.redirect !== 'error'
      return await this.#follow({ url, method, headers, body, hosts, follows }, exchange)
    } catch (error) {
      exchange.end(error)
      throw exchange.asUnanswered(error)
    }
  }

  /**
   * A connection to a host that the rule allows, for protocols that are not fetched. Names are checked here, and addresses
   * where the connection is made. `hosts` narrows the rule.
   */
  connect(url: URL, hosts?: readonly string[]): Promise<Socket> {
    const { promise, resolve, reject } = Promise.withResolvers<Socket>()
    try {
      this.#check(url, hosts)
      this.#countRequest()
      const port = effectivePort(url)
      const host = url.hostname.replace(/^\[|\]$/g, '')
      const socket = connect({ host, port: Number(port), lookup: this.#lookup(port) })
      socket.setTimeout(this.#rules.timeoutMs, () => socket.destroy(new Error(`${url.host} went silent.`)))
      // It stays: a later failure that nobody listens to would end the process. The socket closes in any case.
      socket.on('error', reject)
      socket.once('connect', () => resolve(socket))
    } catch (error) {
      reject(error)
    }
    return promise
  }

  /** Closes the connections that are kept for later requests. */
  close(): void {
    this.#agents['http:'].destroy()
    this.#agents['https:'].destroy()
  }

  async #follow(sent: Sent, exchange: Exchange): Promise<Response> {
    let { url, method, headers, body } = sent
    for (let count = 0; ; count += 1) {
      this.#check(url, sent.hosts)
      this.#countRequest()
      const answer = await this.#send({ url, method, headers, body }, exchange)
      const { statusCode: status = 0 } = answer
      const location = answer.headers.location
      if (!redirectStatuses.has(status) || location === undefined) return exchange.response(answer, url)
      // Nobody reads the body of a redirect, and it may never end.
      answer.destroy()
      if (!sent.follows)
        throw new EgressRefused(`${url.host} redirected a request that may not be redirected.`)
      if (count >= this.#rules.maxRedirects)
        throw new EgressRefused(`${url.host} redirected more than ${this.#rules.maxRedirects} times.`)
      const next = URL.parse(location, url)
      if (!next) throw new EgressRefused(`${url.host} redirected to an address that is none.`)
      if (next.origin !== url.origin)
        headers = Object.fromEntries(Object.entries(headers).filter(([name]) => harmlessHeaders.has(name)))
      const becomesGet = status === 303 ? method !== 'HEAD' : status < 303 && method === 'POST'
      if (becomesGet) [method, body] = ['GET', undefined]
      url = next
    }
  }

  /** Names are checked here, addresses of names when the connection is made. */
  #check(url: URL, narrowed: readonly string[] | undefined): void {
    if (url.protocol !== 'http:' && url.protocol !== 'https:')
      throw new EgressRefused(`Only http: and https: addresses are fetched, not ${url.protocol}`)
    if (url.username !== '' || url.password !== '')
      throw new EgressRefused('An address with a user name or password in it is not fetched.')
    const { hosts } = this.#rules
    const isAllowed =
      !hosts || isListed(url, hosts) || this.#isPrivateAllowed(url.hostname, effectivePort(url))
    if (!isAllowed || (narrowed && !isListed(url, narrowed)))
      throw new EgressRefused(`The host ${url.host} is not on the list of hosts that may be reached.`)
    const address = url.hostname.replace(/^\[|\]$/g, '')
    if (isIP(address) !== 0) this.#checkAddress(address, url.hostname, effectivePort(url))
  }

  #checkAddress(address: string, host: string, port: string): void {
    if (isPublicAddress(address)) return
    if (!isLinkLocal(address) && this.#isPrivateAllowed(host, port)) return
    throw new EgressRefused(
      `${host} stands at the private address ${address}, which is not reached. ` +
        (isLinkLocal(address)
          ? 'Link-local addresses cannot be allowed.'
          : 'If that is intended, name the host in egress.privateHosts.'),
    )
  }

  #isPrivateAllowed(host: string, port: string): boolean {
    const { privateHosts = [] } = this.#rules
    return privateHosts.some(pattern => matchesHost(pattern, host, port))
  }

  /** Resolves names for connections to this port. Fails if an address may not be reached. */
  #lookup(port: string): LookupFunction {
    return (host, options, callback) => {
      this.#resolveName(host, { ...options, all: true }, (error, addresses) => {
        if (error) {
          callback(error, [])
          return
        }
        try {
          // One private address among public ones is an attempt at rebinding, or a mistake.
          for (const { address } of addresses) this.#checkAddress(address, host, port)
        } catch (refusal) {
          callback(refusal as EgressRefused, []) // Only this is thrown.
          return
        }
        if (options.all) callback(null, addresses)
        else callback(null, addresses[0]?.address ?? '', addresses[0]?.family)
      })
    }
  }

  #countRequest(): void {
    const now = performance.now()
    this.#sent = this.#sent.filter(at => now - at < 60_000)
    if (this.#sent.length >= this.#rules.perMinute)
      throw new EgressRefused(`More than ${this.#rules.perMinute} requests in a minute. Try again later.`)
    this.#sent.push(now)
  }

  #send(
    { url, method, headers, body }: Omit<Sent, 'hosts' | 'follows'>,
    exchange: Exchange,
  ): Promise<IncomingMessage> {
    const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>()
    const isHttps = url.protocol === 'https:'
    const sending = (isHttps ? requestHttps : requestHttp)(url, {
      method,
      agent: isHttps ? this.#agents['https:'] : this.#agents['http:'],
      lookup: this.#lookup(effectivePort(url)),
      signal: exchange.signal,
      headers: {
        'accept-encoding': 'gzip, deflate, br',
        'user-agent': 'turnwire',
        ...headers,
        ...(body && { 'content-length': body.length }),
      },
    })
    sending.on('socket', socket => {
      const isConnected = sending.reusedSocket || (!isHttps && !socket.connecting)
      if (isConnected) exchange.sent = true
      else socket.once(isHttps ? 'secureConnect' : 'connect', () => (exchange.sent = true))
    })
    sending.on('response', resolve)
    sending.on('error', error => reject(exchange.failure ?? error))
    sending.end(body)
    return promise
  }
}

type Sent = {
  url: URL
  method: string
  headers: Record<string, string>
  body: Buffer | undefined
  hosts: readonly string[] | undefined
  /** False: a redirect is a failure. */
  follows: boolean
}

/** One request with its redirects: its time, the bytes of its answer, and its report. */
class Exchange {
  readonly #report: EgressReport
  readonly #tell: ((report: EgressReport) => void) | undefined
  readonly #maxBytes: number
  readonly #started = performance.now()
  readonly #stop = new AbortController()
  readonly #timer: NodeJS.Timeout
  readonly #unlisten: () => void
  readonly #caller: AbortSignal | undefined
  /** A connection was there, so some of the request may have left. */
  sent = false
  mayChange = false
  #ended = false

  constructor(
    method: string,
    host: string,
    rules: typeof defaults,
    signal: AbortSignal | undefined,
    tell: ((report: EgressReport) => void) | undefined,
  ) {
    this.#report = { method, host, bytes: 0, ms: 0 }
    this.#tell = tell
    this.#maxBytes = rules.maxBytes
    this.#caller = signal
    const late = (): void =>
      this.#stop.abort(new Error(`${host} did not answer within ${rules.timeoutMs} ms.`))
    // While the request is at work its socket keeps the process alive; an answer that nobody reads must not.
    this.#timer = setTimeout(late, rules.timeoutMs).unref()
    const leave = (): void => this.#stop.abort(signal?.reason)
    if (signal?.aborted) leave()
    signal?.addEventListener('abort', leave, { once: true })
    this.#unlisten = () => signal?.removeEventListener('abort', leave)
  }

  get signal(): AbortSignal {
    return this.#stop.signal
  }

  /** Why the request was stopped from this side. */
  get failure(): Error | undefined {
    const { aborted, reason } = this.#stop.signal
    return aborted ? (reason instanceof Error ? reason : new Error('The request was stopped.')) : undefined
  }

  /** The same error, or `Unanswered` if the request may have changed something. Not if the caller aborted it. */
  asUnanswered(error: unknown): unknown {
    const { status = 0, host } = this.#report
    const isOpen = this.sent && this.mayChange && status < 400 && !this.#caller?.aborted
    if (!isOpen || error instanceof EgressRefused) return error
    const code = error instanceof Error && 'code' in error ? ` (${String(error.code)})` : ''
    const words = this.failure ? errorMessage(this.failure) : `${host} gave no whole answer${code}.`
    return new Unanswered(words, { cause: error })
  }

  response(answer: IncomingMessage, url: URL): Response {
    const status = answer.statusCode ?? 0
    this.#report.host = url.host
    this.#report.status = status
    try {
      if (status < 200 || status > 599)
        throw new Error(`${url.host} answered with the status ${status}, which HTTP does not have.`)
      const headers = new Headers()
      for (const [name, values] of Object.entries(answer.headersDistinct))
        for (const value of values ?? []) headers.append(name, value)
      // The body is given as it is read: its old length and coding no longer describe it.
      headers.delete('content-encoding')
      headers.delete('content-length')
      const response = new Response(this.#answerBody(answer, status), { status, headers })
      // As `fetch` has it: the address after redirects, without its fragment.
      Object.defineProperty(response, 'url', { value: url.href.replace(/#.*/s, '') })
      return response
    } catch (error) {
      answer.destroy()
      throw error
    }
  }

  #answerBody(answer: IncomingMessage, status: number): ReadableStream<Uint8Array> | null {
    const hasBody = status !== 204 && status !== 205 && status !== 304 && this.#report.method !== 'HEAD'
    if (hasBody) return this.#limited(decoded(answer))
    // A 205 may be followed by bytes all the same; after the others the connection is free.
    if (status === 205) answer.destroy()
    else answer.resume()
    this.end()
    return null
  }

  #limited(stream: Readable): ReadableStream<Uint8Array> {
    const chunks = stream[Symbol.asyncIterator]()
    const left = new Error('The answer was not read to its end.')
    // The reader is told of a failure. Without this listener, a failure that nobody reads would end the process.
    stream.on('error', () => {})
    stream.once('close', () => {
      if (!stream.readableEnded) this.end(this.failure ?? left)
    })
    const pull = async (controller: ReadableStreamDefaultController<Uint8Array>): Promise<void> => {
      try {
        const { value, done } = await chunks.next()
        if (done) {
          this.end()
          controller.close()
          return
        }
        const bytes = value as Buffer // No encoding is set, so the stream gives bytes.
        this.#report.bytes += bytes.length
        if (this.#report.bytes > this.#maxBytes)
          throw new EgressRefused(`The answer has more than ${this.#maxBytes} bytes.`)
        controller.enqueue(bytes)
      } catch (error) {
        const failure = this.failure ?? error
        this.end(failure)
        stream.destroy()
        controller.error(this.asUnanswered(failure))
      }
    }
    const cancel = (): void => {
      this.end(left)
      stream.destroy()
    }
    return new ReadableStream({ pull, cancel }, { highWaterMark: 0 })
  }

  /** Only the first call has an effect. */
  end(error?: unknown): void {
    if (this.#ended) return
    this.#ended = true
    clearTimeout(this.#timer)
    this.#unlisten()
    this.#report.ms = Math.round(performance.now() - this.#started)
    if (error !== undefined) this.#report.refused = errorMessage(error)
    try {
      this.#tell?.(this.#report)
    } catch {
      // The report may run in a callback of a stream, where nobody could catch this.
    }
  }
}

function decoded(answer: IncomingMessage): Readable {
  const decoders: Record<string, () => Duplex> = {
    gzip: createGunzip,
    deflate: createInflate,
    br: createBrotliDecompress,
  }
  const decoder = decoders[answer.headers['content-encoding']?.trim().toLowerCase() ?? '']?.()
  if (!decoder) return answer
  answer.on('error', error => decoder.destroy(error))
  decoder.on('close', () => answer.destroy())
  return answer.pipe(decoder)
}

// ---- hosts -------------------------------------------------------------------------------------------------------

function effectivePort(url: URL): string {
  return url.port || (url.protocol === 'https:' ? '443' : '80')
}

function isListed(url: URL, hosts: readonly string[]): boolean {
  return hosts.some(pattern => matchesHost(pattern, url.hostname, effectivePort(url)))
}

const hostPattern = /^(\*\.)?(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::([0-9]{1,5}))?$/i

export function isListedHost(url: URL, hosts: readonly string[]): boolean {
  return isListed(url, hosts)
}

export function isHostPattern(pattern: string): boolean {
  return hostPattern.test(pattern)
}

function matchesHost(pattern: string, host: string, port: string): boolean {
  const [, isWild, name = '', wantedPort] = hostPattern.exec(pattern) ?? []
  if (wantedPort !== undefined && wantedPort !== port) return false
  const [wanted, given] = [name.toLowerCase(), host.toLowerCase().replace(/\.$/, '')]
  return isWild === undefined ? given === wanted : given.endsWith(`.${wanted}`)
}
