// One HTTP request, as every method of the client makes it: address, key, JSON, errors, and retries where a repeated
// request cannot act twice. It knows no endpoint.
import { AapError, readAapError } from './errors.ts'

export type ClientOptions = {
  /** Where the protocol is served, including any prefix: `http://127.0.0.1:4117` or `https://host/aap/v3`. */
  baseUrl: string
  apiKey?: string
  /** Default: the platform's. */
  fetch?: typeof globalThis.fetch
  /** How often an unanswered request is repeated. Default 2. */
  retries?: number
  /** Default: a timer. */
  sleep?: (ms: number, signal?: AbortSignal) => Promise<void>
}

type ApiRequest = {
  method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  path: string
  body?: unknown
  accept?: string
  headers?: Record<string, string>
  signal?: AbortSignal | undefined
  /** Safe to repeat: it only reads, or it carries an idempotency key. */
  repeatable: boolean
}

export class Transport {
  readonly #base: string
  readonly #key: string | undefined
  readonly #fetch: typeof globalThis.fetch
  readonly #retries: number
  readonly sleep: (ms: number, signal?: AbortSignal) => Promise<void>

  constructor(options: ClientOptions) {
    if (!URL.canParse(options.baseUrl))
      throw new TypeError(
        `baseUrl must be a whole address such as http://127.0.0.1:4117, not "${options.baseUrl}".`,
      )
    this.#base = options.baseUrl.replace(/\/+$/, '')
    this.#key = options.apiKey
    // A browser's fetch must be called on its window.
    this.#fetch = options.fetch ?? ((input, init) => globalThis.fetch(input, init))
    this.#retries = options.retries ?? 2
    this.sleep = options.sleep ?? sleep
  }

  /** Returns the response if it is a success. Throws an AapError for any other. */
  async request(request: ApiRequest): Promise<Response> {
    for (let tried = 0; ; tried += 1) {
      try {
        return await this.#once(request)
      } catch (error) {
        if (!(error instanceof AapError) || tried >= this.#retries || !mayRepeat(error, request)) throw error
        await this.sleep(retryDelay(tried, error), request.signal)
      }
    }
  }

  async json(request: ApiRequest): Promise<unknown> {
    const response = await this.request({ accept: 'application/json', ...request })
    if (response.status === 204) return undefined
    try {
      return await response.json()
    } catch (cause) {
      throw new AapError(
        response.status,
        'unexpected_answer',
        `The answer to ${request.method} ${request.path} is not JSON: is this the address of an AAP server?`,
        { cause },
      )
    }
  }

  async #once({ method, path, body, accept, headers, signal }: ApiRequest): Promise<Response> {
    const init: RequestInit = {
      method,
      headers: {
        ...(accept !== undefined && { Accept: accept }),
        ...(body !== undefined && { 'Content-Type': 'application/json' }),
        ...(this.#key !== undefined && { Authorization: `Bearer ${this.#key}` }),
        ...headers,
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
      ...(signal && { signal }),
    }
    let response: Response
    try {
      response = await this.#fetch(this.#base + path, init)
    } catch (cause) {
      if (signal?.aborted) throw cause
      throw await this.#noAnswer(cause)
    }
    if (!response.ok) throw await readAapError(response)
    return response
  }

  /**
   * A browser gives the same failure for a server that is away and for one that refuses the page. A request whose answer
   * the page may not read tells them apart.
   */
  async #noAnswer(cause: unknown): Promise<AapError> {
    const origin = pageOrigin()
    if (origin !== undefined && origin !== new URL(this.#base).origin && (await this.#answersUnread()))
      return new AapError(
        0,
        'forbidden_origin',
        `${this.#base} does not let pages of ${origin} call it. Add "${origin}" to server.origins in its configuration.`,
        { cause },
      )
    return new AapError(0, 'connection_failed', `No answer from ${this.#base}: is the server running?`, {
      cause,
    })
  }

  async #answersUnread(): Promise<boolean> {
    try {
      await this.#fetch(this.#base, { mode: 'no-cors' })
      return true
    } catch {
      return false
    }
  }
}

/** The origin of the web page that runs this, if there is one. */
function pageOrigin(): string | undefined {
  const location: unknown = Reflect.get(globalThis, 'location')
  const isPage = typeof location === 'object' && location !== null && 'origin' in location
  return isPage && typeof location.origin === 'string' ? location.origin : undefined
}

/** A server that refuses because it is stopping or overloaded has done nothing yet. */
function mayRepeat({ status, code }: AapError, { repeatable }: ApiRequest): boolean {
  if (code === 'forbidden_origin') return false
  return repeatable && (status === 0 || status === 429 || (status === 503 && code !== 'lease_lost'))
}

const longestDelayMs = 30_000

/** The server's Retry-After, else a quarter of a second that doubles with each try. At most half a minute. */
export function retryDelay(tried: number, error?: AapError): number {
  if (error?.retryAfter !== undefined) return Math.min(longestDelayMs, error.retryAfter * 1000)
  return Math.min(longestDelayMs, 250 * 2 ** tried)
}

function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = (): void => {
      clearTimeout(timer)
      // Reject with the caller's own reason, as `fetch` does. It may be any value.
      reject(signal?.reason as Error)
    }
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', stop)
      resolve()
    }, ms)
    if (signal?.aborted) stop()
    else signal?.addEventListener('abort', stop, { once: true })
  })
}
