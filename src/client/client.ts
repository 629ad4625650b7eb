// The client of the Agent Application Protocol, version 3: one method per endpoint, and `runTurn` for a whole turn. It
// keeps no state of a session; the server has all of it.
import { isJsonObject, type JsonObject } from '../lib/json/index.ts'
import { randomIds } from '../lib/text/random.ts'
import { AapError } from './errors.ts'
import { type RunTurnOptions, type RunTurnResult, runTurn } from './run-turn.ts'
import { AapSession } from './session.ts'
import { type ClientOptions, Transport } from './transport.ts'
import { TurnStream } from './turn-stream.ts'
import type {
  AgentChoice,
  ApplicationMessage,
  Content,
  During,
  HistoryMessage,
  HistoryType,
  Meta,
  NewSession,
  SentMessage,
  SessionInfo,
  SessionModels,
  SessionPrompts,
  SessionResources,
  SessionState,
  StreamMode,
  ToolMessage,
  ToolSpec,
} from './types.ts'
import { type Watched, type WatchOptions, watch } from './watch.ts'

export type CallOptions = { signal?: AbortSignal }

export type TurnRequest = {
  messages: ApplicationMessage[]
  /** Default `delta`. */
  stream?: StreamMode
  /** Replaces the session's server tools, and merges options. */
  agent?: Partial<AgentChoice>
  /** Replaces the session's client tools. */
  tools?: ToolSpec[]
}

/** `idempotencyKey`: requests with the same key are one request, carried out once. Default: a fresh key. */
export type SendOptions = CallOptions & { idempotencyKey?: string }

export type SayOptions = SendOptions & { during?: During }

export class AapClient {
  readonly #transport: Transport
  readonly #newId = randomIds()

  constructor(options: ClientOptions) {
    this.#transport = new Transport(options)
  }

  async getMeta({ signal }: CallOptions = {}): Promise<Meta> {
    const meta = await this.#read<Meta>('/meta', 'agents', 'list', signal)
    if (meta.version === 3) return meta
    throw new AapError(
      0,
      'unexpected_answer',
      `The server speaks version ${JSON.stringify(meta.version)} of the protocol here; this client speaks version 3.`,
    )
  }

  /** Newest first. Pages are fetched as they are needed. */
  async *listSessions({ signal }: CallOptions = {}): AsyncGenerator<SessionInfo, void, undefined> {
    let after = ''
    do {
      const path = `/sessions${after === '' ? '' : `?after=${encodeURIComponent(after)}`}`
      type Page = { sessions: SessionInfo[]; next?: string }
      const page = await this.#read<Page>(path, 'sessions', 'list', signal)
      yield* page.sessions
      after = page.next ?? ''
    } while (after !== '')
  }

  /** Returns the session's id. Nothing runs yet. */
  async createSession(session: NewSession, options: SendOptions = {}): Promise<string> {
    const made = await this.#transport.json({
      method: 'POST',
      path: '/sessions',
      body: session,
      headers: { 'Idempotency-Key': options.idempotencyKey ?? this.#newId('req') },
      signal: options.signal,
      repeatable: true,
    })
    if (!isJsonObject(made) || typeof made['sessionId'] !== 'string') throw unexpected('/sessions')
    return made['sessionId']
  }

  async getSession(sessionId: string, { signal }: CallOptions = {}): Promise<SessionInfo> {
    return this.#read(sessionPath(sessionId), 'sessionId', 'string', signal)
  }

  /** `compacted`: what the model reads. `full`: everything, if the agent offers it. */
  async getHistory(
    sessionId: string,
    type: HistoryType = 'compacted',
    { signal }: CallOptions = {},
  ): Promise<HistoryMessage[]> {
    const path = `${sessionPath(sessionId)}/history?type=${type}`
    type Answer = { history: Partial<Record<HistoryType, HistoryMessage[]>> | null }
    const { history } = await this.#read<Answer>(path, 'history', 'object', signal)
    const messages = history?.[type]
    if (!Array.isArray(messages)) throw unexpected(path)
    return messages
  }

  async deleteSession(sessionId: string, { signal }: CallOptions = {}): Promise<void> {
    await this.#transport.request({
      method: 'DELETE',
      path: sessionPath(sessionId),
      signal,
      repeatable: false,
    })
  }

  /** Starts a turn, or continues one that stopped for `tool_use`. Iterate over its events, or await its `answer()`. */
  async sendTurn(sessionId: string, request: TurnRequest, options: SendOptions = {}): Promise<TurnStream> {
    const stream = request.stream ?? 'delta'
    const response = await this.#transport.request({
      method: 'POST',
      path: `${sessionPath(sessionId)}/turns`,
      body: { ...request, stream },
      accept: stream === 'none' ? 'application/json' : 'text/event-stream',
      headers: { 'Idempotency-Key': options.idempotencyKey ?? this.#newId('req') },
      signal: options.signal,
      repeatable: true,
    })
    return new TurnStream(response)
  }

  /**
   * Says something, and resolves once it is recorded; the turn is read with `watch`. `during`: what becomes of it while a turn is
   * under way. An extension of Turnwire to the protocol.
   */
  async say(sessionId: string, content: Content, options: SayOptions = {}): Promise<SentMessage> {
    const { during = 'refuse', idempotencyKey = this.#newId('req'), signal } = options
    const response = await this.#transport.request({
      method: 'POST',
      path: `${sessionPath(sessionId)}/turns`,
      body: { messages: [{ role: 'user', content }], stream: 'message', during },
      accept: 'text/event-stream',
      headers: { 'Idempotency-Key': idempotencyKey },
      signal,
      repeatable: true,
    })
    if (response.status === 202) return (await response.json()) as SentMessage // The extension's own answer.
    await response.body?.cancel()
    return { state: 'delivered' }
  }

  /** Takes back a message that waits. Throws `message_delivered` if it waits no longer. An extension of Turnwire. */
  async withdraw(sessionId: string, messageId: string, { signal }: CallOptions = {}): Promise<void> {
    const path = `${sessionPath(sessionId)}/messages/${encodeURIComponent(messageId)}`
    await this.#transport.request({ method: 'DELETE', path, signal, repeatable: false })
  }

  /** Stops one call; the others and the turn go on. `reason`: told to the model. An extension of Turnwire. */
  async cancelCall(
    sessionId: string,
    toolCallId: string,
    { reason, signal }: CallOptions & { reason?: string } = {},
  ): Promise<void> {
    const path = `${sessionPath(sessionId)}/calls/${encodeURIComponent(toolCallId)}/cancel`
    const body = reason === undefined ? {} : { body: { reason } }
    await this.#transport.request({ method: 'POST', path, ...body, signal, repeatable: false })
  }

  /** Asks the tool of a call what became of it, if it may have taken effect. An extension of Turnwire. */
  async reconcile(
    sessionId: string,
    toolCallId: string,
    { signal }: CallOptions = {},
  ): Promise<'ran' | 'did-not-run' | 'unknown'> {
    const path = `${sessionPath(sessionId)}/calls/${encodeURIComponent(toolCallId)}/reconcile`
    const response = await this.#transport.request({ method: 'POST', path, signal, repeatable: true })
    return ((await response.json()) as { found: 'ran' | 'did-not-run' | 'unknown' }).found // The extension's own answer.
  }

  /** Has a call undone, by a call of its own that may have to be approved. An extension of Turnwire. */
  async undo(sessionId: string, toolCallId: string, { signal }: CallOptions = {}): Promise<void> {
    const path = `${sessionPath(sessionId)}/calls/${encodeURIComponent(toolCallId)}/undo`
    const response = await this.#transport.request({ method: 'POST', path, signal, repeatable: false })
    await response.body?.cancel()
  }

  /**
   * Stops the turn that is running or waiting. `withdraw`: messages that wait are withdrawn too. An extension of Turnwire to the
   * protocol.
   */
  async cancel(
    sessionId: string,
    { signal, withdraw }: CallOptions & { withdraw?: boolean } = {},
  ): Promise<void> {
    const path = `${sessionPath(sessionId)}/cancel${withdraw ? '?withdraw=true' : ''}`
    await this.#transport.request({ method: 'POST', path, signal, repeatable: true })
  }

  /** Where the session stands: enough to go on after a reload. An extension of Turnwire to the protocol. */
  async getState(sessionId: string, { signal }: CallOptions = {}): Promise<SessionState> {
    return this.#read(`${sessionPath(sessionId)}/state`, 'lastEvent', 'number', signal)
  }

  /**
   * This client runs a call of one of the application's tools, and others leave it alone for `forMs`. Throws `call_claimed`
   * if another has it. An extension of Turnwire to the protocol.
   */
  async claim(sessionId: string, toolCallId: string, claimant: string, forMs?: number): Promise<void> {
    const body = { toolCallId, claimant, ...(forMs !== undefined && { forMs }) }
    const path = `${sessionPath(sessionId)}/claims`
    await this.#transport.json({ method: 'POST', path, body, repeatable: false })
  }

  /** The session with this id, with turns that run tools and ask for approvals by themselves. */
  session(sessionId: string): AapSession {
    return new AapSession(this, sessionId)
  }

  /** Resolves after `ms`, or when the signal aborts. */
  async pause(ms: number, signal?: AbortSignal): Promise<void> {
    await this.#transport.sleep(ms, signal).catch(() => {})
  }

  /** The whole result of a call whose result was cut for the model. An extension of Turnwire to the protocol. */
  async getResult(sessionId: string, toolCallId: string, { signal }: CallOptions = {}): Promise<ToolMessage> {
    const path = `${sessionPath(sessionId)}/results/${encodeURIComponent(toolCallId)}`
    const result = await this.#read<ToolMessage>(path, 'role', 'string', signal)
    if (result.role !== 'tool') throw unexpected(path)
    return result
  }

  /** The models that the session can use, by name, and the one that was chosen. An extension of Turnwire to the protocol. */
  async getModels(sessionId: string, { signal }: CallOptions = {}): Promise<SessionModels> {
    return this.#read(`${sessionPath(sessionId)}/model`, 'models', 'list', signal)
  }

  /** Goes on with another model from the next message on. An extension of Turnwire to the protocol. */
  async setModel(sessionId: string, model: string, { signal }: CallOptions = {}): Promise<void> {
    const path = `${sessionPath(sessionId)}/model`
    await this.#transport.request({ method: 'PUT', path, body: { model }, signal, repeatable: true })
  }

  /** The resources of the agent's tool servers, to attach to a message. An extension of Turnwire to the protocol. */
  async getResources(sessionId: string, { signal }: CallOptions = {}): Promise<SessionResources> {
    return this.#read(`${sessionPath(sessionId)}/resources`, 'resources', 'list', signal)
  }

  /** A resource as the content of a message. */
  async readResource(
    sessionId: string,
    { server, uri }: { server: string; uri: string },
    { signal }: CallOptions = {},
  ): Promise<{ content: Content }> {
    return this.#post(`${sessionPath(sessionId)}/resources`, { server, uri }, signal)
  }

  /** The prompts of the tool servers of the session's agent. An extension of Turnwire to the protocol. */
  async getPrompts(sessionId: string, { signal }: CallOptions = {}): Promise<SessionPrompts> {
    return this.#read(`${sessionPath(sessionId)}/prompts`, 'prompts', 'list', signal)
  }

  /** The messages of a prompt. */
  async getPrompt(
    sessionId: string,
    { server, name, values }: { server: string; name: string; values: Readonly<Record<string, string>> },
    { signal }: CallOptions = {},
  ): Promise<{ messages: { role: 'user' | 'assistant'; content: Content }[] }> {
    const path = `${sessionPath(sessionId)}/prompts`
    return this.#post(path, { server, name, arguments: { ...values } }, signal)
  }

  /** The session's log from the beginning or from `after`, then live. Reconnects by itself. */
  watch(sessionId: string, options: WatchOptions = {}): AsyncGenerator<Watched, void, undefined> {
    return watch(this.#transport, sessionId, options)
  }

  /** Runs a turn to its end: runs your tools and asks for permissions until the model has answered. */
  runTurn(options: RunTurnOptions): Promise<RunTurnResult> {
    return runTurn(this, options)
  }

  /** `Answer` is the extension's own, and not checked. */
  async #post<Answer>(path: string, body: JsonObject, signal: AbortSignal | undefined): Promise<Answer> {
    return (await this.#transport.json({ method: 'POST', path, body, signal, repeatable: true })) as Answer
  }

  /** `Answer` is the protocol's type. Only one member is checked: another server may answer here. */
  async #read<Answer>(
    path: string,
    member: string,
    type: 'list' | 'number' | 'object' | 'string',
    signal: AbortSignal | undefined,
  ): Promise<Answer> {
    const answer = await this.#transport.json({ method: 'GET', path, signal, repeatable: true })
    const value = isJsonObject(answer) ? answer[member] : undefined
    if ((Array.isArray(value) ? 'list' : typeof value) === type) return answer as Answer
    throw unexpected(path)
  }
}

function sessionPath(sessionId: string): string {
  return `/sessions/${encodeURIComponent(sessionId)}`
}

function unexpected(path: string): AapError {
  return new AapError(
    0,
    'unexpected_answer',
    `The answer of ${path} is not what the protocol says: is this the address of an AAP server?`,
  )
}
