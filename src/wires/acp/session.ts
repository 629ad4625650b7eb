// One session on one connection. It sends commands to the engine, shows the client what comes of them, and answers prompts.
// Closing it takes nothing from the session but the tools of the connection.
import {
  type ContentBlock,
  type PromptResponse,
  RequestError,
  type SessionConfigOption,
  type SessionModeState,
} from '@agentclientprotocol/sdk'
import type { Command, FollowItem, SessionSummary } from '../../engine/index.ts'
import type { InputPart } from '../../language/content.ts'
import { hasCode, TurnwireError, wordsOf } from '../../language/errors.ts'
import type { ShownEnd, ShownMessage } from '../../language/show.ts'
import type { TraceContext } from '../../language/trace.ts'
import { AgentGrants } from './agent-grants.ts'
import { decodeOption, decodePrompt } from './decode.ts'
import { AcpEncoder, type AcpUpdate, encodeFailed, type SessionState, userMessageId } from './encode.ts'
import { encodeStopReason } from './encode-content.ts'
import { encodeModes, encodeOptions, modeOption } from './encode-options.ts'
import { attachResources, expandPrompt } from './from-servers.ts'
import type { SessionContext } from './host.ts'
import { Permissions } from './permissions.ts'
import { Questions } from './questions.ts'
import { encodeFailure, refusal } from './refusals.ts'
import { SessionReader } from './session-reader.ts'
import { SessionTools } from './session-tools.ts'
import { decodeSlashCommand, type SlashCommand } from './slash-commands.ts'

/**
 * A prompt that has arrived. `cancelled`: it was cancelled since. `turn`: the turn that it started. `message`: its message, which
 * waits for a turn that is under way.
 */
export type Ticket = {
  sessionId: string
  cancelled: boolean
  turn?: string
  message?: string
  trace?: TraceContext
}

type EndOfTurn = Pick<ShownEnd, 'stop' | 'limit' | 'error'>
type OpenPrompt = { turn: string; ended: PromiseWithResolvers<EndOfTurn> }

export class AcpSession {
  readonly #context: SessionContext
  readonly #summary: SessionSummary
  readonly #encoder: AcpEncoder
  readonly #tools: SessionTools
  readonly #grants: AgentGrants
  readonly #permissions: Permissions
  readonly #questions: Questions
  readonly #reader: SessionReader
  /** The turn that this client may cancel: the one that it found unfinished, later that of its last prompt. */
  #turn: string | undefined
  #prompt: OpenPrompt | undefined
  #busy: Promise<unknown> | undefined
  /** A message that steers has started a turn right after that of the prompt. */
  #goesOn = false
  /** By message: prompts that are answered when it is inserted. */
  readonly #waiting = new Map<string, PromiseWithResolvers<string>>()
  #failure: unknown
  #disposed = false

  /** `replay`: shows the whole conversation first. */
  constructor(context: SessionContext, summary: SessionSummary, replay: boolean) {
    const { host, peer, ref, workspace } = context
    this.#context = context
    this.#summary = summary
    this.#turn = summary.turn?.id
    this.#tools = new SessionTools(context, (callId, terminalId) =>
      this.#show(this.#encoder.terminal(callId, terminalId)),
    )
    const { abilities } = peer
    const cwd = workspace.roots[0]
    this.#encoder = new AcpEncoder({ host, abilities, cwd, replay, attached: () => this.#tools.all }, summary)
    this.#grants = new AgentGrants(context)
    this.#permissions = new Permissions(context, this.#grants, () => void this.cancel())
    this.#questions = new Questions(context)
    this.#reader = new SessionReader(
      {
        engine: host.engine,
        ref,
        take: item => this.#take(item),
        lost: error => this.lost(error),
        pace: () => peer.drained(),
      },
      this.#encoder.seq,
    )
  }

  get isBusy(): boolean {
    return this.#busy !== undefined
  }

  /** Connects the client's servers, attaches the tools, and shows the conversation so far if that is wanted. */
  async begin(): Promise<void> {
    await this.#tools.connect(this.#encoder.offered.map(tool => tool.name))
    await this.#tools.attach()
    if (this.#grants.isOffered || this.#summary.grants.some(({ copyOf }) => copyOf !== undefined))
      await this.#grants.apply()
    if (this.#disposed) return this.#tools.close()
    this.#reader.open()
    const shown = await this.#reader.taken(this.#summary.seq)
    if (!shown && !this.#disposed) throw this.#failure
  }

  /** The client knows the session now: it learns what failed, and is asked about the calls that wait for a person. */
  start(): void {
    if (this.#disposed) return
    if (this.#context.peer.abilities.notices)
      for (const title of this.#tools.warnings)
        this.#show([{ sessionUpdate: 'notice', severity: 'warning', title }])
    this.#permissions.ask(this.#encoder.approvals)
  }

  showState(): void {
    this.#show([{ sessionUpdate: 'state', ...this.#encoder.state }])
  }

  /** Resolves when nothing more is shown of the session. */
  get ended(): Promise<void> {
    return this.#reader.ended
  }

  /** Calls that run go on, and calls that wait stay in the store. */
  async dispose(): Promise<void> {
    this.#disposed = true
    this.#reader.close()
    this.#permissions.dropAll()
    await this.#tools.close()
  }

  // ---- prompts -------------------------------------------------------------------------------------------

  /** Resolves when the turn is over. `inserted` is called with the id of the message once it is in the session. */
  async prompt(
    blocks: readonly ContentBlock[],
    ticket: Ticket,
    inserted?: (messageId: string) => void,
  ): Promise<PromptResponse> {
    const isUnderWay = this.#busy !== undefined || this.#encoder.state.state !== 'idle'
    if (inserted && isUnderWay) return this.#insert(blocks, ticket, inserted)
    if (this.#busy) throw refusal.busy()
    this.#goesOn = false
    let isInserted = false
    const answering = this.#answer(blocks, ticket, messageId => {
      isInserted = true
      inserted?.(messageId)
    })
    this.#busy = answering.catch(() => {})
    const over = (state: SessionState): void => {
      this.#busy = undefined
      this.#prompt = undefined
      if (isInserted && !this.#goesOn) this.#show([{ sessionUpdate: 'state', ...state }])
    }
    try {
      const { stopReason } = await answering
      over({ state: 'idle', stopReason })
      return { stopReason }
    } catch (error) {
      over(encodeFailed(encodeFailure(error)))
      throw error
    }
  }

  async #answer(
    blocks: readonly ContentBlock[],
    ticket: Ticket,
    inserted: (messageId: string) => void,
  ): Promise<PromptResponse> {
    const { host } = this.#context
    const slash = decodeSlashCommand(blocks)
    const parts = decodePrompt(blocks, host.info)
    await this.#ready()
    if (ticket.cancelled) return { stopReason: 'cancelled' }
    if (slash) return this.#answerSlash(slash, blocks, inserted)
    const said = (await expandPrompt(host, blocks)) ?? (await attachResources(host, blocks, parts))
    const { turn, ended } = await this.#say(said, ticket.trace)
    ticket.turn = turn
    inserted(userMessageId(turn))
    if (ticket.cancelled) void this.cancel()
    const { stop, limit, error } = await ended.promise
    if (stop === 'error') throw refusal.failedTurn(error)
    // Tools of this turn must not run on beside the next one. A session that is gone has none.
    if (stop === 'cancelled') await this.#command({ do: 'cancel', turn, settled: true }).catch(() => {})
    return { stopReason: encodeStopReason(stop, limit) }
  }

  /** A prompt while a turn is under way steers it. It is answered once the model is given the message. */
  async #insert(
    blocks: readonly ContentBlock[],
    ticket: Ticket,
    inserted: (messageId: string) => void,
  ): Promise<PromptResponse> {
    const { host } = this.#context
    if (decodeSlashCommand(blocks)) throw refusal.busy()
    const parts = await attachResources(host, blocks, decodePrompt(blocks, host.info))
    const given = Promise.withResolvers<string>()
    given.promise.catch(() => {})
    const trace = ticket.trace && { trace: ticket.trace }
    const { message, turn } = await this.#reader.hold(async () => {
      const taken = await this.#command({ do: 'say', wire: 'acp', parts, during: 'steer', ...trace })
      if (taken.message) this.#waiting.set(taken.message.id, given)
      // The turn had just ended, and the message has started the next one.
      else this.#goesOn = true
      return taken
    })
    if (message) ticket.message = message.id
    if (message && ticket.cancelled) void this.withdraw(message.id)
    if (!message) this.#turn = turn
    inserted(message ? await given.promise : userMessageId(turn ?? ''))
    return { stopReason: 'end_turn' }
  }

  /** Takes back a message that waits. Its prompt is answered as cancelled. */
  async withdraw(message: string): Promise<void> {
    const by = this.#context.host.principal.name
    // It may have been inserted meanwhile.
    await this.#command({ do: 'withdraw', message, by }).catch(() => {})
  }

  /** Stops one call of the turn. */
  async cancelCall(callId: string): Promise<void> {
    await this.#command({ do: 'cancel-call', callId, by: this.#context.host.principal.name })
  }

  async #say(parts: InputPart[], trace: TraceContext | undefined): Promise<OpenPrompt> {
    try {
      return await this.#reader.hold(() => this.#startTurn(parts, trace))
    } catch (error) {
      if (!hasCode(error, 'lease_lost')) throw error
      // Another process has written to the session, so nothing was recorded. Follow it again and repeat the message.
      await this.#open()
      return this.#reader.hold(() => this.#startTurn(parts, trace))
    }
  }

  /** Its items are held back meanwhile: the encoder must know that the turn is the client's own. */
  async #startTurn(parts: InputPart[], trace: TraceContext | undefined): Promise<OpenPrompt> {
    // Another session may have been given one since.
    if (this.#grants.isOffered) await this.#grants.apply()
    const { turn } = await this.#command({ do: 'say', wire: 'acp', parts, ...(trace && { trace }) })
    if (turn === undefined) throw new TurnwireError('internal', 'The message started no turn.')
    const ended = Promise.withResolvers<EndOfTurn>()
    ended.promise.catch(() => {})
    this.#turn = turn
    this.#encoder.own(turn)
    this.#prompt = { turn, ended }
    return this.#prompt
  }

  async #answerSlash(
    slash: SlashCommand,
    blocks: readonly ContentBlock[],
    inserted: (messageId: string) => void,
  ): Promise<PromptResponse> {
    const messageId = `msg_${crypto.randomUUID()}`
    const question = userMessageId(messageId)
    inserted(question)
    if (this.#context.peer.abilities.states)
      this.#show(
        blocks.map(content => ({ sessionUpdate: 'user_message_chunk', messageId: question, content })),
      )
    this.#show([{ sessionUpdate: 'state', state: 'running' }])
    const text = await this.#runSlash(slash)
    this.#show([{ sessionUpdate: 'agent_message_chunk', messageId, content: { type: 'text', text } }])
    return { stopReason: 'end_turn' }
  }

  async #runSlash(slash: SlashCommand): Promise<string> {
    const { host, ref } = this.#context
    try {
      if (this.#grants.isOffered) await this.#grants.apply()
      return await slash({
        info: host.info,
        summary: await host.engine.summary(ref),
        model: this.#encoder.model?.id ?? 'unknown',
        tools: this.#encoder.offered,
        warnings: this.#tools.warnings,
        resources: () => host.engine.fromServers(host.info.name, { get: 'resources' }),
        by: host.principal.name,
        agentGrants: this.#grants,
        command: command => this.#command(command),
        setOption: (name, value) => this.setOption(name, value),
      })
    } catch (error) {
      return encodeFailure(error).message
    }
  }

  /** Cancels the turn of this client, and no other. Resolves once its tools have stopped and its end is shown. */
  async cancel(): Promise<void> {
    const turn = this.#turn
    if (turn === undefined || !this.#reader.isOpen) return
    if (this.#encoder.turn === turn) this.#permissions.dropAll()
    try {
      const withdraw = this.#context.host.principal.name
      await this.#commandAndShow({ do: 'cancel', turn, settled: true, withdraw })
    } catch (error) {
      const { host, ref } = this.#context
      const fields = { session: ref.session, error: wordsOf(error) }
      host.log('error', 'A turn could not be cancelled.', fields)
    }
  }

  async close(): Promise<void> {
    await this.cancel()
    await this.#busy
    await this.dispose()
  }

  // ---- options -------------------------------------------------------------------------------------------

  get configOptions(): SessionConfigOption[] {
    return encodeOptions(this.#context.host, this.#encoder.settings)
  }

  get modes(): SessionModeState | undefined {
    return encodeModes(this.#context.host, this.#encoder.settings)
  }

  async setOption(id: string, value: unknown): Promise<void> {
    await this.#ready()
    const settings = decodeOption(this.#context.host, this.#encoder.settings, id, value)
    await this.#commandAndShow({ do: 'configure', settings })
  }

  async setMode(modeId: string): Promise<void> {
    const option = modeOption(this.#context.host.info)
    if (!option) throw refusal.noModes()
    await this.setOption(option.name, modeId)
  }

  // ---- the engine ------------------------------------------------------------------------------------------

  #command(command: Command) {
    const { host, ref } = this.#context
    return host.engine.command(ref, command)
  }

  async #commandAndShow(command: Command): Promise<void> {
    const { first, count } = await this.#command(command)
    await this.#reader.taken(first + count - 1)
  }

  /** Another process may have taken the session over: then it is followed again. */
  async #ready(): Promise<void> {
    if (!this.#reader.isOpen || !this.#tools.isAttached) await this.#open()
  }

  async #open(): Promise<void> {
    await this.#tools.attach()
    if (!this.#disposed) this.#reader.open()
  }

  #take(item: FollowItem): void {
    this.#show(this.#encoder.take(item))
    const { shown, live } = this.#encoder
    if (shown?.type === 'waits' && live) {
      if (shown.for === 'permission') this.#permissions.ask(this.#encoder.approvals)
      else if (shown.for === 'answer') this.#questions.ask(shown.callId, shown.question)
    } else if (shown?.type === 'message') this.#moved(shown)
    else if (shown?.type === 'closed') this.#questions.withdraw(shown.question)
    else if (shown?.type === 'decided' || shown?.type === 'result') this.#permissions.withdraw(shown.callId)
    else if (shown?.type === 'end' && shown.end.turn === this.#prompt?.turn)
      this.#prompt.ended.resolve(shown.end)
  }

  /** A message that waited was inserted, or taken back. */
  #moved(message: ShownMessage): void {
    if (message.state === 'queued') return
    const waiting = this.#waiting.get(message.message)
    this.#waiting.delete(message.message)
    if (message.state === 'withdrawn') {
      waiting?.reject(RequestError.requestCancelled())
      return
    }
    if (!message.parts) {
      this.#goesOn = true
      if (waiting) this.#turn = message.turn
    }
    waiting?.resolve(message.parts ? message.message : userMessageId(message.turn))
  }

  /** Nothing more comes of the session, until it is followed again. */
  lost(error: unknown): void {
    this.#failure = error
    this.#permissions.withdrawAll()
    this.#questions.withdrawAll()
    for (const waiting of this.#waiting.values()) waiting.reject(encodeFailure(error))
    this.#waiting.clear()
    const isDeleted = hasCode(error, 'session_not_found')
    if (isDeleted) this.#prompt?.ended.resolve({ stop: 'cancelled' })
    else this.#prompt?.ended.reject(encodeFailure(error))
  }

  #show(updates: readonly AcpUpdate[]): void {
    const { peer, ref } = this.#context
    if (!this.#disposed) for (const update of updates) peer.update(ref.session, update)
  }
}
