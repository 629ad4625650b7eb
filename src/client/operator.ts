// The client of the operator API: one method per route. In a page of the console the cookie of the sign-in goes along by
// itself; elsewhere give a key.
import type { Recorded } from '../language/events.ts'
import { AapError } from './errors.ts'
import { jsonOf, readLive, type WatchOptions } from './live.ts'
import type {
  AttachedAgent,
  CommandAccepted,
  FollowedItem,
  OperatorAgents,
  OperatorApproval,
  OperatorCommand,
  OperatorKeyInfo,
  OperatorMe,
  OperatorPayments,
  OperatorSession,
  OperatorSessionState,
  OperatorSystem,
  SessionChanged,
  SessionQuery,
  VendorProtocol,
  VendorRequest,
} from './operator-types.ts'
import { type ClientOptions, Transport } from './transport.ts'

type Options = { signal?: AbortSignal }

/** Tells the server that a request with a cookie comes from the console and not from a page of another site. */
const headers = { 'X-Turnwire-Console': '1' }

export class OperatorClient {
  readonly #transport: Transport

  constructor(options: ClientOptions) {
    this.#transport = new Transport(options)
  }

  me(options?: Options): Promise<OperatorMe> {
    return this.#get('/me', options)
  }
  signIn(key: string): Promise<void> {
    return this.#send('POST', '/sign-in', { key })
  }
  signOut(): Promise<void> {
    return this.#send('POST', '/sign-out')
  }
  agents(options?: Options): Promise<OperatorAgents> {
    return this.#get('/agents', options)
  }

  sessions(
    query: SessionQuery = {},
    options?: Options,
  ): Promise<{ sessions: OperatorSession[]; next?: string }> {
    const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== '')
    const search = new URLSearchParams(given.map(([name, value]) => [name, String(value)]))
    return this.#get(`/sessions?${search}`, options)
  }

  /** What lists show, whenever it changes. After `open` the list is to be read again. */
  async *changes(options?: Omit<WatchOptions, 'after'>): AsyncGenerator<SessionChanged, void, undefined> {
    for await (const message of readLive(this.#transport, '/operator/changes', options)) {
      const value = jsonOf(message)
      // The types are the server's own and are not checked.
      if (message.event === 'open') yield { type: 'open' }
      if (message.event === 'session') yield { type: 'session', session: value as OperatorSession }
      if (message.event === 'removed') yield { type: 'removed', id: (value as { id: string }).id }
    }
  }

  create(session: {
    agent: string
    model?: string
    owner?: string
    tools?: { name: string; description: string; parameters: object }[]
  }): Promise<{ id: string }> {
    return this.#send('POST', '/sessions', session)
  }
  session(id: string, options?: Options): Promise<OperatorSessionState> {
    return this.#get(pathOf(id), options)
  }
  remove(id: string): Promise<void> {
    return this.#send('DELETE', pathOf(id))
  }

  /** One page of the log. */
  events(id: string, after = 0, options?: Options): Promise<{ events: Recorded[]; end: boolean }> {
    return this.#get(`${pathOf(id)}/events?after=${after}`, options)
  }

  /** The log from an event on, then live. Reconnects by itself. */
  async *follow(id: string, options: WatchOptions = {}): AsyncGenerator<FollowedItem, void, undefined> {
    for await (const message of readLive(this.#transport, `/operator${pathOf(id)}/follow`, options)) {
      const value = jsonOf(message) as object
      const { event: type } = message
      // The types are the server's own and are not checked.
      if (type === 'delta') yield { type, delta: value } as FollowedItem
      else if (type === 'event' || type === 'status' || type === 'lost')
        yield { type, ...value } as FollowedItem
    }
  }

  command(id: string, command: OperatorCommand): Promise<CommandAccepted> {
    return this.#send('POST', `${pathOf(id)}/commands`, command)
  }
  fork(
    id: string,
    fork: { upTo?: number; agent?: string; model?: string; text?: string } = {},
  ): Promise<{ id: string }> {
    return this.#send('POST', `${pathOf(id)}/fork`, fork)
  }
  /** What the model would be sent next, as one vendor receives it. */
  request(id: string, protocol: VendorProtocol, options?: Options): Promise<VendorRequest> {
    return this.#get(`${pathOf(id)}/request?protocol=${protocol}`, options)
  }
  async blob(id: string, name: string, options?: Options): Promise<string> {
    const path = `${pathOf(id)}/blobs/${encodeURIComponent(name)}`
    const { text } = await this.#get<{ text: string }>(path, options)
    return text
  }
  /** The address of the whole log as JSON lines. */
  exportPath(id: string): string {
    return `/operator${pathOf(id)}/export`
  }

  approvals(options?: Options): Promise<{ approvals: OperatorApproval[]; more: boolean }> {
    return this.#get('/approvals', options)
  }
  system(options?: Options): Promise<OperatorSystem> {
    return this.#get('/system', options)
  }
  /** The newest payments. Only on a server that takes some. */
  payments(limit = 200, options?: Options): Promise<OperatorPayments> {
    return this.#get(`/payments?limit=${limit}`, options)
  }
  /** The agents that owners have attached. Only on a relay. */
  attachedAgents(options?: Options): Promise<{ agents: AttachedAgent[]; next?: number }> {
    return this.#get('/relay', options)
  }
  refund(payment: string): Promise<{ id: string; state: string }> {
    return this.#send('POST', `/payments/${encodeURIComponent(payment)}/refund`)
  }
  /** Says what the chain shows of a payment that is unclear: the transaction that moved it, or "none". */
  resolve(payment: string, transaction: string): Promise<{ id: string; state: string }> {
    return this.#send('POST', `/payments/${encodeURIComponent(payment)}/resolve`, { transaction })
  }
  keys(options?: Options): Promise<{ keys: OperatorKeyInfo[] }> {
    return this.#get('/keys', options)
  }
  addKey(name: string, operator = false): Promise<{ name: string; key: string }> {
    return this.#send('POST', '/keys', { name, operator })
  }
  removeKey(name: string): Promise<void> {
    return this.#send('DELETE', `/keys/${encodeURIComponent(name)}`)
  }

  /** `Answer` is what the route gives. It is not checked. */
  async #get<Answer>(path: string, { signal }: Options = {}): Promise<Answer> {
    const request = { method: 'GET', path: `/operator${path}`, signal, repeatable: true } as const
    return (await this.#transport.json(request)) as Answer
  }

  async #send<Answer>(method: 'POST' | 'DELETE', path: string, body?: object): Promise<Answer> {
    const response = await this.#transport.request({
      method,
      path: `/operator${path}`,
      ...(body && { body }),
      headers,
      repeatable: false,
    })
    if (response.status === 204) return undefined as Answer
    try {
      return (await response.json()) as Answer
    } catch (cause) {
      throw new AapError(response.status, 'unexpected_answer', `The answer of ${path} is not JSON.`, {
        cause,
      })
    }
  }
}

function pathOf(id: string): string {
  return `/sessions/${encodeURIComponent(id)}`
}
