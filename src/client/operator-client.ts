// The client of the operator API (docs/protocols/operator.md), exported as `turnwire/operator`: one method per route. The web
// console uses nothing else. In a browser that has signed in, the cookie is the key.
import type { Delta, Event } from '../language/events.ts'
import { decodeSse } from '../lib/sse.ts'
import { AapError } from './errors.ts'
import type {
  Catalogue,
  CommandAnswer,
  ForkRequest,
  KeyInfo,
  LogPage,
  Me,
  NewOperatorSession,
  OperatorCommand,
  PendingApproval,
  SessionDetail,
  SessionFilter,
  SessionPage,
  SessionRow,
  SystemInfo,
  VendorProtocol,
  VendorRequest,
} from './operator-types.ts'
import { type ClientOptions, retryDelay, Transport } from './transport.ts'

export { AapError as OperatorError } from './errors.ts'
export * from './operator-types.ts'

export type StreamState = 'connecting' | 'live' | 'broken'
export type FollowOptions = { after?: number; signal?: AbortSignal; onState?: (state: StreamState) => void }
export type Followed = { seq: number; event: Event } | { delta: Delta }
export type Change = { type: 'open' } | { type: 'session'; row: SessionRow } | { type: 'removed'; id: string }

export class OperatorClient {
  readonly #transport: Transport
  readonly #base: string

  constructor(options: ClientOptions) {
    this.#transport = new Transport(options)
    this.#base = options.baseUrl.replace(/\/+$/, '')
  }

  me(): Promise<Me> {
    return this.#get('/me')
  }

  async signIn(key: string): Promise<Me> {
    await this.#send('POST', '/sign-in', { key })
    return this.me()
  }

  async signOut(): Promise<void> {
    await this.#send('POST', '/sign-out')
  }

  agents(): Promise<Catalogue> {
    return this.#get('/agents')
  }

  sessions(
    filter: SessionFilter = {},
    page: { after?: string; limit?: number } = {},
    signal?: AbortSignal,
  ): Promise<SessionPage> {
    return this.#get(`/sessions${query({ ...filter, ...page })}`, signal)
  }

  create(session: NewOperatorSession): Promise<{ id: string }> {
    return this.#send('POST', '/sessions', session)
  }

  session(id: string, signal?: AbortSignal): Promise<SessionDetail> {
    return this.#get(pathOf(id), signal)
  }

  async remove(id: string): Promise<void> {
    await this.#send('DELETE', pathOf(id))
  }

  /** One page of the log. */
  events(id: string, after = 0, bytes?: number, signal?: AbortSignal): Promise<LogPage> {
    return this.#get(`${pathOf(id)}/events${query({ after, bytes })}`, signal)
  }

  command(id: string, command: OperatorCommand): Promise<CommandAnswer> {
    return this.#send('POST', `${pathOf(id)}/commands`, command)
  }

  fork(id: string, request: ForkRequest): Promise<{ id: string }> {
    return this.#send('POST', `${pathOf(id)}/fork`, request)
  }

  /** What the model would be sent next, as one vendor receives it. */
  vendorRequest(id: string, protocol: VendorProtocol, signal?: AbortSignal): Promise<VendorRequest> {
    return this.#get(`${pathOf(id)}/request${query({ protocol })}`, signal)
  }

  async blob(id: string, name: string): Promise<string> {
    const { text } = await this.#get<{ text: string }>(`${pathOf(id)}/blobs/${encodeURIComponent(name)}`)
    return text
  }

  exportAddress(id: string): string {
    return `${this.#base}/operator${pathOf(id)}/export`
  }

  async approvals(signal?: AbortSignal): Promise<PendingApproval[]> {
    const { approvals } = await this.#get<{ approvals: PendingApproval[] }>('/approvals', signal)
    return approvals
  }

  system(signal?: AbortSignal): Promise<SystemInfo> {
    return this.#get('/system', signal)
  }

  async keys(signal?: AbortSignal): Promise<KeyInfo[]> {
    return (await this.#get<{ keys: KeyInfo[] }>('/keys', signal)).keys
  }

  addKey(name: string, operator: boolean): Promise<{ name: string; key: string }> {
    return this.#send('POST', '/keys', { name, ...(operator && { operator }) })
  }

  async removeKey(name: string): Promise<void> {
    await this.#send('DELETE', `/keys/${encodeURIComponent(name)}`)
  }

  /** The session's log from `after` on, then live. Reconnects by itself; each event comes once. */
  async *watch(id: string, options: FollowOptions = {}): AsyncGenerator<Followed, void, undefined> {
    let last = options.after ?? 0
    const open = (): Promise<Response> =>
      this.#stream(`${pathOf(id)}/follow?after=${last}`, options.signal, { 'Last-Event-ID': String(last) })
    for await (const { event, data } of this.#reconnecting(open, options)) {
      if (event === 'delta') yield { delta: data as Delta } // the server's own type
      if (event !== 'event') continue
      const item = data as { seq: number; event: Event } // the server's own type
      if (item.seq <= last) continue
      last = item.seq
      yield item
    }
  }

  /** Sessions as they change. `open` comes whenever the stream has opened: read the list then. */
  async *changes(options: Omit<FollowOptions, 'after'> = {}): AsyncGenerator<Change, void, undefined> {
    const open = (): Promise<Response> => this.#stream('/changes', options.signal)
    for await (const { event, data } of this.#reconnecting(open, options)) {
      if (event === 'open') yield { type: 'open' }
      if (event === 'session') yield { type: 'session', row: data as SessionRow } // the server's own type
      if (event === 'removed') yield { type: 'removed', id: String((data as { id: string }).id) }
    }
  }

  /** The messages of a stream, over any number of connections. */
  async *#reconnecting(
    open: () => Promise<Response>,
    { signal, onState }: Omit<FollowOptions, 'after'>,
  ): AsyncGenerator<{ event: string | undefined; data: unknown }, void, undefined> {
    for (let failed = 0; !signal?.aborted; failed += 1) {
      onState?.(failed === 0 ? 'connecting' : 'broken')
      try {
        const response = await open()
        onState?.('live')
        for await (const message of decodeSse(response.body ?? new ReadableStream())) {
          failed = 0
          yield { event: message.event, data: JSON.parse(message.data) }
        }
      } catch (error) {
        if (signal?.aborted) return
        if (error instanceof AapError && error.status >= 400 && error.status < 500 && error.status !== 429)
          throw error
      }
      onState?.('broken')
      // A server that restarts is soon back: look every two seconds at least.
      await this.#transport.sleep(Math.min(2000, retryDelay(failed)), signal).catch(() => {})
    }
  }

  #stream(
    path: string,
    signal: AbortSignal | undefined,
    headers: Record<string, string> = {},
  ): Promise<Response> {
    const request = {
      method: 'GET',
      path: `/operator${path}`,
      accept: 'text/event-stream',
      repeatable: false,
    } as const
    return this.#transport.request({ ...request, headers, signal })
  }

  async #get<T>(path: string, signal?: AbortSignal): Promise<T> {
    const request = { method: 'GET', path: `/operator${path}`, signal, repeatable: true } as const
    return (await this.#transport.json(request)) as T // as the API is documented
  }

  async #send<T>(method: 'POST' | 'DELETE', path: string, body?: unknown): Promise<T> {
    const response = await this.#transport.request({
      method,
      path: `/operator${path}`,
      ...(body !== undefined && { body }),
      accept: 'application/json',
      // A page of another site cannot send this header.
      headers: { 'X-Turnwire-Console': '1' },
      repeatable: false,
    })
    const text = await response.text()
    return (text === '' ? undefined : JSON.parse(text)) as T // as the API is documented
  }
}

function pathOf(id: string): string {
  return `/sessions/${encodeURIComponent(id)}`
}

function query(members: Record<string, string | number | undefined>): string {
  const pairs = new URLSearchParams()
  for (const [name, value] of Object.entries(members))
    if (value !== undefined && value !== '') pairs.set(name, String(value))
  const text = pairs.toString()
  return text === '' ? '' : `?${text}`
}
