// One HTTP request, as every method of the client makes it: address, key, JSON, errors, and a second try where
// that cannot do anything twice. It knows no endpoint.
import { AapError, errorOf } from './errors.ts'

export type ClientOptions = {
  /** Where the protocol is served, with any prefix: `http://127.0.0.1:4117` or `https://host/aap/v3`. */
  baseUrl: string
  apiKey?: string
  /** Default: the platform's. */
  fetch?: typeof globalThis.fetch
  /** How often a request that no answer came to is made again. Default 2. */
  retries?: number
  /** How waiting passes. Default: real time. */
  sleep?: (ms: number, signal?: AbortSignal) => Promise<void>
}

export type Ask = {
  method: 'GET' | 'POST' | 'DELETE'
  path: string
  body?: unknown
  accept?: string
  headers?: Record<string, string>
  signal?: AbortSignal | undefined
  /** Safe to make again: it reads, or carries an idempotency key. */
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

  /** The answer when it is a success; throws an AapError for every other. */
  async ask(ask: Ask): Promise<Response> {
    for (let tried = 0; ; tried += 1) {
      try {
        return await this.#once(ask)
      } catch (error) {
        if (!(error instanceof AapError) || tried >= this.#retries || !mayRepeat(error, ask)) throw error
        await this.sleep(waitFor(tried, error), ask.signal)
      }
    }
  }

  async json(ask: Ask): Promise<unknown> {
    const response = await this.ask({ accept: 'application/json', ...ask })
    try {
      return await response.json()
    } catch (cause) {
      throw new AapError(
        response.status,
        'unexpected_answer',
        `The answer to ${ask.method} ${ask.path} is not JSON: is this the address of an AAP server?`,
        { cause },
      )
    }
  }

  async #once({ method, path, body, accept, headers, signal }: Ask): Promise<Response> {
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
      throw new AapError(0, 'connection_failed', `No answer from ${this.#base}: is the server running?`, {
        cause,
      })
    }
    if (!response.ok) throw await errorOf(response)
    return response
  }
}

/** A server that stops or is overloaded has done nothing yet when it says so. */
function mayRepeat({ status, code }: AapError, { repeatable }: Ask): boolean {
  return repeatable && (status === 0 || status === 429 || (status === 503 && code !== 'lease_lost'))
}

const longest = 30_000

/** Doubles from a quarter of a second; the server's own word is heeded up to half a minute. */
export function waitFor(tried: number, error?: AapError): number {
  if (error?.retryAfter !== undefined) return Math.min(longest, error.retryAfter * 1000)
  return Math.min(longest, 250 * 2 ** tried)
}

function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = (): void => {
      clearTimeout(timer)
      // The caller aborts with whatever reason it likes; that is what `fetch` rejects with too.
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
