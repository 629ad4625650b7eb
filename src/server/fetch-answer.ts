// A web-standard request and response in the form of Node's, which the wires read and write. An answer begins when its first bytes or its
// headers are written, and is read at its reader's pace.
import type { IncomingMessage, ServerResponse } from 'node:http'
import { Readable, Writable } from 'node:stream'
import type { ReadableStream as NodeStream } from 'node:stream/web'

type HeaderValue = string | number | readonly string[]

export function incomingFrom(request: Request, target: string): IncomingMessage {
  // The same class; the types of the web and of Node name it differently.
  const body = request.body as NodeStream<Uint8Array> | null
  const stream = body === null ? Readable.from([], { objectMode: false }) : Readable.fromWeb(body)
  const { host = new URL(request.url).host, ...headers } = Object.fromEntries(request.headers)
  // The members of Node's request that the server and the wires read.
  return Object.assign(stream, {
    method: request.method,
    url: target,
    httpVersion: '1.1',
    headers: { host, ...headers },
    socket: {},
  }) as unknown as IncomingMessage
}

/** Of one connection, which the application's server has. */
const hopByHop = new Set(['connection', 'keep-alive', 'transfer-encoding'])

export class FetchAnswer extends Writable {
  readonly req: IncomingMessage
  statusCode = 200
  headersSent = false
  /** Breaks the answer off once everything before has been read. */
  readonly socket = { destroySoon: (): void => void this.write('', () => this.destroy()) }
  readonly #headers = new Headers({ 'x-content-type-options': 'nosniff', 'cache-control': 'no-store' })
  readonly #begun = Promise.withResolvers<Response>()
  #reader: ReadableStreamDefaultController<Uint8Array> | undefined
  /** Called when its reader wants more. */
  #wanted: (() => void) | undefined

  constructor(req: IncomingMessage, gone: AbortSignal) {
    super({ decodeStrings: true })
    this.req = req
    // Without a listener a broken answer would end the process.
    this.on('error', () => {})
    const leave = (): void => void this.destroy()
    if (gone.aborted) leave()
    else gone.addEventListener('abort', leave, { once: true })
    this.once('close', () => gone.removeEventListener('abort', leave))
  }

  /** It has the members of Node's response that the server and the wires use. */
  asNode(): ServerResponse {
    return this as unknown as ServerResponse
  }

  /** `given`: what the routes gave, or the mark that they wrote the answer themselves. */
  async settle(given: Response): Promise<Response> {
    if (given.headers.has('x-hono-already-sent')) return this.#begun.promise
    const headers = new Headers(this.#headers)
    for (const [name, value] of given.headers) headers.set(name, value)
    for (const name of hopByHop) headers.delete(name)
    this.headersSent = true
    this.statusCode = given.status
    const body = given.body?.pipeThrough(new TransformStream({ flush: () => void this.end() }))
    if (!body) this.end()
    return new Response(body ?? null, { status: given.status, headers })
  }

  setHeader(name: string, value: HeaderValue): this {
    this.#headers.delete(name)
    for (const each of Array.isArray(value) ? value : [value]) this.#headers.append(name, String(each))
    return this
  }

  getHeader(name: string): string | undefined {
    return this.#headers.get(name) ?? undefined
  }

  hasHeader(name: string): boolean {
    return this.#headers.has(name)
  }

  removeHeader(name: string): void {
    this.#headers.delete(name)
  }

  getHeaders(): Record<string, string> {
    return Object.fromEntries(this.#headers)
  }

  writeHead(status: number, headers: Readonly<Record<string, HeaderValue>> = {}): this {
    this.statusCode = status
    for (const [name, value] of Object.entries(headers)) this.setHeader(name, value)
    return this
  }

  flushHeaders(): void {
    if (this.headersSent) return
    this.headersSent = true
    for (const name of hopByHop) this.#headers.delete(name)
    const { statusCode: status } = this
    const hasBody = status !== 204 && status !== 304 && this.req.method !== 'HEAD'
    const body = new ReadableStream<Uint8Array>({
      start: reader => {
        this.#reader = reader
      },
      pull: () => this.#wanted?.(),
      cancel: () => void this.destroy(),
    })
    this.#begun.resolve(new Response(hasBody ? body : null, { status, headers: this.#headers }))
    if (!hasBody) this.#reader = undefined
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: () => void): void {
    this.flushHeaders()
    const reader = this.#reader
    if (reader && chunk.length > 0) reader.enqueue(new Uint8Array(chunk))
    if (!reader || chunk.length === 0 || (reader.desiredSize ?? 1) > 0) done()
    else
      this.#wanted = () => {
        this.#wanted = undefined
        done()
      }
  }

  override _final(done: () => void): void {
    this.flushHeaders()
    this.#reader?.close()
    this.#reader = undefined
    done()
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    if (!this.writableFinished) {
      try {
        this.#reader?.error(error ?? new Error('The answer was broken off.'))
      } catch {
        // Its reader has left.
      }
      // Nobody reads it: the application's server has lost its client.
      this.#begun.resolve(new Response(null, { status: 499 }))
    }
    done(error)
  }
}
