// The client of the operator API: one method per route. With a key, or in a page of the server itself after a sign-in: the
// browser sends the cookie of that, and this client the secret that goes with it.

import type { Recorded } from '../language/events.ts'
import type { Receipt } from '../language/make-receipt.ts'
import type { ServerConnections } from '../wires/connect/schema.ts'
import { parseMessage, readLive, type WatchOptions } from './live.ts'
import type {
  AttachedAgent,
  CommandAccepted,
  FollowedItem,
  ForkRequest,
  JudgeAnswer,
  JudgeRequest,
  OperatorActivity,
  OperatorAgents,
  OperatorApproval,
  OperatorCommand,
  OperatorKeyInfo,
  OperatorMe,
  OperatorPayments,
  OperatorPolicy,
  OperatorQuestion,
  OperatorSession,
  OperatorSessionState,
  OperatorSessions,
  OperatorSystem,
  SessionChanged,
  SessionQuery,
  TrialAnswer,
  TrialRequest,
  VendorProtocol,
  VendorRequest,
} from './operator-types.ts'
import { type ClientOptions, Transport } from './transport.ts'

type Options = { signal?: AbortSignal }

/** Where a page keeps the secret of its sign-in. No other site may read it: `localStorage`, for one. */
export type SecretPlace = { read(): string | undefined; write(secret: string | undefined): void }

export type OperatorOptions = ClientOptions & {
  /** Default: this object. */
  secret?: SecretPlace
}

export class OperatorClient {
  readonly #transport: Transport
  readonly #secret: SecretPlace

  constructor({ secret = placeInMemory(), ...options }: OperatorOptions) {
    this.#secret = secret
    this.#transport = new Transport({ ...options, fetch: withSecret(options.fetch, secret) })
  }

  me(options?: Options): Promise<OperatorMe> {
    return this.#get('/me', options)
  }
  async signIn(key: string): Promise<void> {
    const { secret } = await this.#send<{ secret: string }>('POST', '/sign-in', { key })
    this.#secret.write(secret)
  }
  /** Gives the address at which one is signed out at the identity provider too, if that is configured. */
  async signOut(): Promise<string | undefined> {
    try {
      return (await this.#send<{ address: string } | undefined>('POST', '/sign-out'))?.address
    } finally {
      this.#secret.write(undefined)
    }
  }
  agents(options?: Options): Promise<OperatorAgents> {
    return this.#get('/agents', options)
  }

  sessions(query: SessionQuery = {}, options?: Options): Promise<OperatorSessions> {
    const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== '')
    const search = new URLSearchParams(given.map(([name, value]) => [name, String(value)]))
    return this.#get(`/sessions?${search}`, options)
  }

  /** The changes of sessions in lists, live. Read the list again after each `open`. */
  async *changes(options?: Omit<WatchOptions, 'after'>): AsyncGenerator<SessionChanged, void, undefined> {
    for await (const message of readLive(this.#transport, '/operator/changes', options)) {
      const value = parseMessage(message)
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
    return this.#get(operatorPath(id), options)
  }
  remove(id: string): Promise<void> {
    return this.#send('DELETE', operatorPath(id))
  }

  /** One page of the log. */
  events(id: string, after = 0, options?: Options): Promise<{ events: Recorded[]; end: boolean }> {
    return this.#get(`${operatorPath(id)}/events?after=${after}`, options)
  }

  /** The log from an event on, then live. Reconnects by itself. */
  async *follow(id: string, options: WatchOptions = {}): AsyncGenerator<FollowedItem, void, undefined> {
    for await (const message of readLive(this.#transport, `/operator${operatorPath(id)}/follow`, options)) {
      const value = parseMessage(message) as object
      const { event: type } = message
      // The types are the server's own and are not checked.
      if (type === 'delta') yield { type, delta: value } as FollowedItem
      else if (type === 'event' || type === 'status' || type === 'lost')
        yield { type, ...value } as FollowedItem
    }
  }

  command(id: string, command: OperatorCommand): Promise<CommandAccepted> {
    return this.#send('POST', `${operatorPath(id)}/commands`, command)
  }
  fork(id: string, fork: ForkRequest = {}): Promise<{ id: string }> {
    return this.#send('POST', `${operatorPath(id)}/fork`, fork)
  }
  /** What the session would have come to with one thing changed. No tool runs; the model is asked where nothing recorded answers. */
  try(id: string, change: TrialRequest): Promise<TrialAnswer> {
    return this.#send('POST', `${operatorPath(id)}/try`, change)
  }
  /** A file of evaluations with one case, made of the session. */
  async evalCase(id: string, options?: Options): Promise<string> {
    const { text } = await this.#get<{ text: string }>(`${operatorPath(id)}/eval`, options)
    return text
  }
  /** The next request to the model, in one vendor's form. */
  request(id: string, protocol: VendorProtocol, options?: Options): Promise<VendorRequest> {
    return this.#get(`${operatorPath(id)}/request?protocol=${protocol}`, options)
  }
  /** Proves one settled call. Rejects with 404 while its turn is under way. */
  receipt(id: string, call: string, options?: Options): Promise<Receipt> {
    return this.#get(`${operatorPath(id)}/receipts/${encodeURIComponent(call)}`, options)
  }
  async blob(id: string, name: string, options?: Options): Promise<string> {
    const path = `${operatorPath(id)}/blobs/${encodeURIComponent(name)}`
    const { text } = await this.#get<{ text: string }>(path, options)
    return text
  }
  /** The whole log as JSON lines. */
  async export(id: string, { signal }: Options = {}): Promise<Blob> {
    const path = this.exportPath(id)
    return (await this.#transport.request({ method: 'GET', path, signal, repeatable: true })).blob()
  }
  /** The address of the same, for a program that has a key. */
  exportPath(id: string): string {
    return `/operator${operatorPath(id)}/export`
  }

  /** Everything that waits for a person: calls that need a decision, and questions of running calls. */
  approvals(
    options?: Options,
  ): Promise<{ approvals: OperatorApproval[]; questions: OperatorQuestion[]; more: boolean }> {
    return this.#get('/approvals', options)
  }
  /** MCP servers at which each owner has an account of its own, and those that are connected: the caller's, or of all for operators. */
  connections(): Promise<ServerConnections> {
    return this.#get('/connections')
  }
  /** The address that a person opens to connect an account of the caller. */
  async connect(server: string): Promise<string> {
    return (await this.#send<{ url: string }>('POST', `/connections/${encodeURIComponent(server)}`)).url
  }
  /** `owner`: for operators. Default: the caller. */
  async disconnect(server: string, owner?: string): Promise<void> {
    const query = owner === undefined ? '' : `?owner=${encodeURIComponent(owner)}`
    await this.#send('DELETE', `/connections/${encodeURIComponent(server)}${query}`)
  }
  /** The rules in order, how often each decided in the last days, and where shadow rules would have decided otherwise. */
  policy(days = 7, options?: Options): Promise<OperatorPolicy> {
    return this.#get(`/policy?days=${days}`, options)
  }
  /** What the gate would say about a call that nobody made. */
  judge(call: JudgeRequest): Promise<JudgeAnswer> {
    return this.#send('POST', '/policy/judge', call)
  }
  /** What all sessions did in the last days, by the hour or by the days of a clock `zone` minutes ahead of UTC. */
  activity(
    { days = 7, zone = 0 }: { days?: number; zone?: number } = {},
    options?: Options,
  ): Promise<OperatorActivity> {
    return this.#get(`/activity?days=${days}&zone=${zone}`, options)
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
  /** Resolves an unclear payment: the transaction that moved it, or "none", as the chain shows. */
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
    const request = { method, path: `/operator${path}`, ...(body && { body }), repeatable: false }
    return (await this.#transport.json(request)) as Answer
  }
}

type Fetch = typeof globalThis.fetch

function placeInMemory(): SecretPlace {
  let kept: string | undefined
  return {
    read: () => kept,
    write: secret => {
      kept = secret
    },
  }
}

function withSecret(
  fetch: Fetch = (address, init) => globalThis.fetch(address, init),
  place: SecretPlace,
): Fetch {
  return (address, init) => {
    const secret = place.read()
    if (secret === undefined) return fetch(address, init)
    const headers = new Headers(init?.headers)
    headers.set('X-Turnwire-Console', secret)
    return fetch(address, { ...init, headers })
  }
}

function operatorPath(id: string): string {
  return `/sessions/${encodeURIComponent(id)}`
}
