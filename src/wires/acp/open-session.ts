// One session on one connection: what it is watched with, which tools the connection brings it, and the prompt that is
// being answered. It commands the engine and shows what comes of it; closing the connection takes nothing from the
// session but the connection's own tools.
import type {
  ContentBlock,
  PromptResponse,
  SessionConfigOption,
  SessionModeState,
  SessionUpdate,
} from '@agentclientprotocol/sdk'
import type { FeedItem, Session, SessionStatus, Tool } from '../../engine/index.ts'
import { TurnwireError } from '../../language/errors.ts'
import type { Event } from '../../language/events.ts'
import { findCommand } from './commands.ts'
import { chooseOption, configOptions, modeOption, modeState } from './config.ts'
import { decodePrompt } from './decode.ts'
import { idleAfter, stopReasonOf } from './encode.ts'
import { busy, failedTurn, failureOf } from './failure.ts'
import type { AcpHost, NamedServer } from './host.ts'
import type { Peer, SessionState } from './peer.ts'
import { Questions } from './questions.ts'
import { SessionTools } from './session-tools.ts'
import { Transcript, userMessageId } from './transcript.ts'

/** A prompt as it arrived: a cancellation that comes after it, and before its turn has begun, is noted here. */
export type Ticket = { sessionId: string; cancelled: boolean }

type Ended = Extract<Event, { type: 'turn.ended' }>
type Prompt = { turn: string; ended: PromiseWithResolvers<Ended> }
/** `idle`: how the session stands once it is over. */
export type Inserted = { messageId: string; ended: Promise<PromptResponse>; idle: Promise<SessionState> }

export type OpenOptions = {
  host: AcpHost
  peer: Peer
  session: Session
  roots: readonly [string, ...string[]]
  servers: readonly NamedServer[]
}

/** How long tools may take to stop after a cancellation. */
const patienceMs = 10_000

export class OpenSession {
  readonly #options: OpenOptions
  readonly #transcript: Transcript
  readonly #questions: Questions
  readonly #tools: SessionTools
  /** Turns that this client may cancel: its own, and the one that it found unfinished. */
  readonly #mine = new Set<string>()
  #session: Session
  #attached: readonly Tool[] = []
  #unwatch: () => void = () => {}
  #seq = 0
  #prompt: Prompt | undefined
  #busy: Promise<unknown> | undefined
  #gone = false

  constructor(options: OpenOptions) {
    const { host, peer, session, roots } = options
    this.#options = options
    this.#session = session
    this.#tools = new SessionTools({
      host,
      peer,
      sessionId: session.id,
      roots,
      servers: options.servers,
      onTerminal: (callId, terminalId) => this.#show(this.#transcript.terminal(callId, terminalId)),
      onChange: () => {
        if (!this.#gone && this.#session.attached === this.#attached) this.#attach()
      },
    })
    this.#transcript = new Transcript({
      cwd: roots[0],
      notices: peer.abilities.notices,
      compaction: peer.abilities.compaction,
      tool: name => this.#session.offer.byName.get(name)?.tool,
      contextTokens: () => host.agent.model(this.#session.state.settings).contextTokens,
    })
    this.#questions = new Questions({
      peer,
      session: () => this.#session,
      by: host.principal.name,
      cwd: roots[0],
      previews: this.#tools.previews,
      cancelTurn: () => void this.cancel(),
      log: (message, error) => host.log('error', message, { session: this.id, error: String(error) }),
    })
  }

  get id(): string {
    return this.#session.id
  }

  get isBusy(): boolean {
    return this.#busy !== undefined
  }

  /** Connects what the client named, then shows the session from its beginning, or nothing of what has been. */
  async begin(how: 'replay' | 'silent'): Promise<void> {
    await this.#tools.connect(this.#session.offer.declarations.map(tool => tool.name))
    if (this.#gone) return this.#tools.close()
    this.#attach()
    this.#transcript.muted = how === 'silent'
    const { turn } = this.#session.state
    if (turn) this.#mine.add(turn.id)
    await this.#watch()
    if (this.#gone) this.#unwatch()
    this.#transcript.muted = false
    this.#transcript.live = true
  }

  /** What the client is told and asked once it knows the session: what failed, and what waits for a person. */
  takeUp(): void {
    if (this.#gone) return
    const { notices } = this.#options.peer.abilities
    for (const title of notices ? this.#tools.warnings : [])
      this.#show([{ sessionUpdate: 'notice', severity: 'warning', title }])
    this.#questions.askAll()
  }

  /** The connection is done with it. What runs goes on, what waits stays in the store. */
  async dispose(): Promise<void> {
    this.#gone = true
    this.#unwatch()
    this.#questions.dropAll()
    if (this.#session.attached === this.#attached) this.#session.attach([])
    await this.#tools.close()
  }

  // ---- prompts -------------------------------------------------------------------------------------------

  /** Answered when the turn is over. */
  async prompt(blocks: readonly ContentBlock[], ticket: Ticket): Promise<PromptResponse> {
    const inserted = await this.insert(blocks, ticket)
    return inserted === 'cancelled' ? { stopReason: 'cancelled' } : inserted.ended
  }

  /** Answered when the message is part of the session. A second prompt is refused until the turn is over. */
  async insert(blocks: readonly ContentBlock[], ticket: Ticket): Promise<Inserted | 'cancelled'> {
    if (this.#busy) throw busy()
    const over = Promise.withResolvers<void>()
    this.#busy = over.promise
    const free = (): void => {
      this.#busy = undefined
      this.#prompt = undefined
      over.resolve()
    }
    try {
      const inserted = await this.#insert(blocks, ticket)
      if (inserted === 'cancelled') free()
      else void inserted.ended.then(free, free).then(() => this.#tellIdle(inserted.idle))
      return inserted
    } catch (error) {
      free()
      throw error
    }
  }

  async #insert(
    blocks: readonly ContentBlock[],
    ticket: Ticket,
    again = false,
  ): Promise<Inserted | 'cancelled'> {
    const command = findCommand(blocks)
    const parts = decodePrompt(blocks, this.#options.host.agent)
    const session = await this.#ready()
    if (ticket.cancelled) return 'cancelled'
    if (command) return this.#command(command, blocks)
    const before = session.state.turn?.id
    const said = session.say({ parts, wire: 'acp' })
    const turn = session.state.turn?.id
    // A command that was refused has changed nothing.
    if (turn === undefined || turn === before) {
      await said
      throw new TurnwireError('internal', 'The message began no turn.')
    }
    const followed = this.#follow(turn)
    const ended = followed.then(event => this.#responseTo(event))
    ended.catch(() => {})
    followed.catch(() => {})
    try {
      await said
    } catch (error) {
      // Another process has written to it since: nothing of this was recorded, and it is said anew.
      if (again || !(error instanceof TurnwireError && error.code === 'lease_lost')) throw error
      return this.#insert(blocks, ticket, true)
    }
    return { messageId: userMessageId(turn), ended, idle: followed.then(idleAfter) }
  }

  #follow(turn: string): Promise<Ended> {
    const ended = Promise.withResolvers<Ended>()
    ended.promise.catch(() => {})
    this.#prompt = { turn, ended }
    this.#mine.add(turn)
    if (!this.#options.peer.state) this.#transcript.own(turn)
    return ended.promise
  }

  async #responseTo({ stop, limit, error }: Ended): Promise<PromptResponse> {
    if (stop === 'error') throw failedTurn(error)
    // Nothing of this turn runs on behind the next one.
    if (stop === 'cancelled') await this.#stopped()
    return { stopReason: stopReasonOf(stop, limit) }
  }

  /** Answered here; the session takes no notice of it. */
  #command(run: NonNullable<ReturnType<typeof findCommand>>, blocks: readonly ContentBlock[]): Inserted {
    const { host, peer } = this.#options
    const messageId = host.old.ports.world.id('msg')
    const answer = async (): Promise<PromptResponse> => {
      if (peer.state)
        this.#show(
          blocks.map(content => ({
            sessionUpdate: 'user_message_chunk',
            messageId: userMessageId(messageId),
            content,
          })),
        )
      peer.state?.(this.id, { state: 'running' })
      const text = await this.#run(run)
      this.#show([{ sessionUpdate: 'agent_message_chunk', messageId, content: { type: 'text', text } }])
      return { stopReason: 'end_turn' }
    }
    const ended = answer()
    ended.catch(() => {})
    const idle: SessionState = { state: 'idle', stopReason: 'end_turn' }
    return { messageId: userMessageId(messageId), ended, idle: Promise.resolve(idle) }
  }

  /** What a command is refused is its answer. */
  async #run(run: NonNullable<ReturnType<typeof findCommand>>): Promise<string> {
    try {
      return await run({
        session: this.#session,
        by: this.#options.host.principal.name,
        warnings: this.#tools.warnings,
        setOption: (name, value) => this.setOption(name, value),
      })
    } catch (error) {
      return failureOf(error).message
    }
  }

  /** Takes effect before it returns, so that a prompt which follows is not touched by it. Resolves once it is shown. */
  async cancel(): Promise<void> {
    const { turn } = this.#session.state
    if (!turn || !this.#mine.has(turn.id) || this.#session.lost) return
    this.#questions.dropAll()
    try {
      await this.#session.cancel()
    } catch (error) {
      const { host } = this.#options
      host.log('error', 'A turn could not be cancelled.', { session: this.id, error: String(error) })
    }
  }

  /** Cancels, and waits until nothing runs any more. */
  async close(): Promise<void> {
    const cancelled = this.cancel()
    await this.#stopped()
    await this.#busy
    if (!this.#session.lost) await this.#session.flushed()
    await cancelled
    await this.dispose()
  }

  async #stopped(): Promise<void> {
    const { world } = this.#session.ports
    let stopClock = () => {}
    const late = new Promise<void>(resolve => {
      stopClock = world.timer(patienceMs, resolve)
    })
    const { driver } = this.#session
    await Promise.race([Promise.all([driver.settle(), driver.returned()]), late])
    stopClock()
  }

  // ---- options -------------------------------------------------------------------------------------------

  get configOptions(): SessionConfigOption[] {
    const { agent, models } = this.#options.host
    return configOptions(agent, this.#session.state.settings, models)
  }

  get modes(): SessionModeState | undefined {
    return modeState(this.#options.host.agent, this.#session.state.settings)
  }

  async setOption(id: string, value: unknown): Promise<void> {
    const { agent, models } = this.#options.host
    const session = await this.#ready()
    await session.configure(chooseOption(agent, session.state.settings, models, id, value))
  }

  async setMode(modeId: string): Promise<void> {
    const option = modeOption(this.#options.host.agent)
    if (!option) throw new TurnwireError('bad_request', 'This agent has no modes.')
    await this.setOption(option.name, modeId)
  }

  // ---- what the session does -----------------------------------------------------------------------------

  /** The session as this process has it. Another one may have taken it over: then it is taken back. */
  async #ready(): Promise<Session> {
    if (!this.#session.lost) return this.#session
    const { old: engine, principal } = this.#options.host
    this.#unwatch()
    this.#session = await engine.open(principal.owner, this.id)
    this.#attach()
    await this.#watch()
    return this.#session
  }

  async #watch(): Promise<void> {
    const { old: engine, principal } = this.#options.host
    this.#unwatch = await engine.watch(principal.owner, this.id, this.#seq, item => this.#take(item))
  }

  #take(item: FeedItem): void {
    if (this.#gone) return
    if (item.type === 'closed') {
      this.#lost(item.reason)
      return
    }
    // The step in flight is no history: it is shown also to whoever wants none.
    if (item.type === 'delta') this.#transcript.muted = false
    this.#show(this.#transcript.take(item))
    if (item.type === 'status' && this.#transcript.live) this.#tellState(item.status)
    if (item.type !== 'event') return
    this.#seq = item.seq
    this.#heed(item.event)
  }

  #heed(event: Event): void {
    switch (event.type) {
      case 'approval.requested':
        if (this.#transcript.live) this.#questions.ask(event.callId)
        break
      case 'approval.decided':
      case 'call.settled':
        this.#questions.withdraw(event.callId)
        break
      case 'session.configured':
        if (this.#transcript.live) this.#showOptions()
        break
      case 'turn.ended':
        if (event.turn === this.#prompt?.turn) this.#prompt.ended.resolve(event)
        else if (this.#transcript.live) this.#options.peer.state?.(this.id, idleAfter(event))
        break
      default:
        break
    }
  }

  /** That it is idle is told with the end of a turn, which says why. */
  #tellState(status: SessionStatus): void {
    if (status === 'idle') return
    this.#options.peer.state?.(this.id, { state: status === 'waiting' ? 'requires_action' : 'running' })
  }

  /** Told only when the next prompt would be taken. */
  async #tellIdle(idle: Promise<SessionState>): Promise<void> {
    const state = await idle.catch(() => undefined)
    if (state && !this.#gone) this.#options.peer.state?.(this.id, state)
  }

  /** For whoever has not followed it: what the session is doing now. */
  tellState(): void {
    const { peer } = this.#options
    if (this.#session.status === 'idle') peer.state?.(this.id, { state: 'idle' })
    else this.#tellState(this.#session.status)
  }

  #lost(reason: unknown): void {
    this.#questions.withdrawAll()
    const deleted = reason instanceof TurnwireError && reason.code === 'session_not_found'
    const turn = this.#prompt?.turn ?? ''
    if (deleted) this.#prompt?.ended.resolve({ v: 1, at: 0, type: 'turn.ended', turn, stop: 'cancelled' })
    else this.#prompt?.ended.reject(failureOf(reason))
  }

  #show(updates: readonly SessionUpdate[]): void {
    if (!this.#gone) for (const update of updates) this.#options.peer.update(this.id, update)
  }

  #showOptions(): void {
    const { configOptions: options, modes } = this
    if (options.length > 0) this.#show([{ sessionUpdate: 'config_option_update', configOptions: options }])
    if (modes) this.#show([{ sessionUpdate: 'current_mode_update', currentModeId: modes.currentModeId }])
  }

  #attach(): void {
    this.#attached = this.#tools.all
    this.#session.attach(this.#attached)
  }
}
