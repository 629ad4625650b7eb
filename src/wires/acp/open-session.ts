// One session on one connection: what it is watched with, which tools the connection brings it, and the prompt that is
// being answered. It commands the engine and shows what comes of it; closing the connection takes nothing from the
// session but the connection's own tools.
import type {
  ContentBlock,
  CreateElicitationRequest,
  PromptResponse,
  SessionConfigOption,
  SessionModeState,
  SessionUpdate,
} from '@agentclientprotocol/sdk'
import type { FeedItem, Session, Tool } from '../../engine/index.ts'
import { TurnwireError } from '../../language/errors.ts'
import type { Event } from '../../language/events.ts'
import { type ClientTools, clientTools } from './client-tools.ts'
import { findCommand } from './commands.ts'
import { chooseOption, configOptions, modeOption, modeState } from './config.ts'
import { decodePrompt } from './decode.ts'
import { stopReasonOf } from './encode.ts'
import { busy, failedTurn, failureOf } from './failure.ts'
import type { AcpHost, Answer, McpLink, NamedServer, Question } from './host.ts'
import type { Peer } from './peer.ts'
import { planTool } from './plan.ts'
import { Questions } from './questions.ts'
import { Transcript } from './transcript.ts'

/** A prompt as it arrived: a cancellation that comes after it, and before its turn has begun, is noted here. */
export type Ticket = { sessionId: string; cancelled: boolean }

type Ended = Extract<Event, { type: 'turn.ended' }>
type Prompt = { turn: string; ended: PromiseWithResolvers<Ended> }

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
  readonly #client: ClientTools
  /** Turns that this client may cancel: its own, and the one that it found unfinished. */
  readonly #mine = new Set<string>()
  readonly warnings: string[] = []
  #session: Session
  #links: McpLink[] = []
  #tools: readonly Tool[] = []
  #unwatch: () => void = () => {}
  #seq = 0
  #prompt: Prompt | undefined
  #busy: Promise<unknown> | undefined
  #gone = false

  constructor(options: OpenOptions) {
    const { host, peer, session, roots } = options
    this.#options = options
    this.#session = session
    this.#client = peer.context
      ? clientTools({
          context: peer.context,
          abilities: peer.abilities,
          sessionId: session.id,
          roots,
          onTerminal: (callId, terminalId) => this.#show(this.#transcript.terminal(callId, terminalId)),
        })
      : { tools: [], previews: new Map() }
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
      previews: this.#client.previews,
      cancelTurn: () => this.cancel(),
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
    await this.#connectServers()
    this.#attach()
    this.#transcript.muted = how === 'silent'
    const { turn } = this.#session.state
    if (turn) this.#mine.add(turn.id)
    await this.#watch()
    this.#transcript.muted = false
    this.#transcript.live = true
  }

  /** What waited for a person before this client came is asked of it now. */
  takeUp(): void {
    if (!this.#gone) this.#questions.askAll()
  }

  /** The connection is done with it. What runs goes on, what waits stays in the store. */
  async dispose(): Promise<void> {
    this.#gone = true
    this.#unwatch()
    this.#questions.dropAll()
    if (this.#session.attached === this.#tools) this.#session.attach([])
    await Promise.allSettled(this.#links.map(link => link.close()))
  }

  // ---- prompts -------------------------------------------------------------------------------------------

  async prompt(blocks: readonly ContentBlock[], ticket: Ticket): Promise<PromptResponse> {
    if (this.#busy) throw busy()
    const answering = this.#answer(blocks, ticket)
    this.#busy = answering.catch(() => {})
    try {
      return await answering
    } finally {
      this.#busy = undefined
      this.#prompt = undefined
    }
  }

  async #answer(blocks: readonly ContentBlock[], ticket: Ticket): Promise<PromptResponse> {
    const command = findCommand(blocks)
    const parts = decodePrompt(blocks, this.#options.host.agent)
    const session = await this.#ready()
    if (ticket.cancelled) return { stopReason: 'cancelled' }
    if (command) return this.#command(command)
    const before = session.state.turn?.id
    const said = session.say({ parts, door: 'acp' })
    const turn = session.state.turn?.id
    // A command that was refused has changed nothing.
    if (turn === undefined || turn === before) {
      await said
      throw new TurnwireError('internal', 'The message began no turn.')
    }
    const ended = this.#follow(turn)
    await said
    return this.#responseTo(await ended)
  }

  #follow(turn: string): Promise<Ended> {
    const ended = Promise.withResolvers<Ended>()
    ended.promise.catch(() => {})
    this.#prompt = { turn, ended }
    this.#mine.add(turn)
    this.#transcript.own(turn)
    return ended.promise
  }

  async #responseTo({ stop, limit, error }: Ended): Promise<PromptResponse> {
    if (stop === 'error') throw failedTurn(error)
    // Nothing of this turn runs on behind the next one.
    if (stop === 'cancelled') await this.#stopped()
    return { stopReason: stopReasonOf(stop, limit) }
  }

  async #command(run: NonNullable<ReturnType<typeof findCommand>>): Promise<PromptResponse> {
    const text = await run({
      session: this.#session,
      by: this.#options.host.principal.name,
      warnings: [...this.warnings, ...this.#links.flatMap(link => link.warnings)],
      setOption: (name, value) => this.setOption(name, value),
    })
    this.#show([{ sessionUpdate: 'agent_message_chunk', content: { type: 'text', text } }])
    return { stopReason: 'end_turn' }
  }

  /** Takes effect before it returns, so that a prompt which follows is not touched by it. */
  cancel(): void {
    const { turn } = this.#session.state
    if (!turn || !this.#mine.has(turn.id) || this.#session.lost) return
    this.#questions.dropAll()
    this.#session.cancel().catch(error =>
      this.#options.host.log('error', 'A turn could not be cancelled.', {
        session: this.id,
        error: String(error),
      }),
    )
  }

  /** Cancels, and waits until nothing runs any more. */
  async close(): Promise<void> {
    this.cancel()
    await this.#stopped()
    await this.#busy
    if (!this.#session.lost) await this.#session.flushed()
    await this.dispose()
  }

  async #stopped(): Promise<void> {
    const { world } = this.#session.ports
    let stopClock = () => {}
    const late = new Promise<void>(resolve => {
      stopClock = world.timer(patienceMs, resolve)
    })
    await Promise.race([this.#session.driver.settle(), late])
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
    const { engine, principal } = this.#options.host
    this.#unwatch()
    this.#session = await engine.open(principal.owner, this.id)
    this.#attach()
    await this.#watch()
    return this.#session
  }

  async #watch(): Promise<void> {
    const { engine, principal } = this.#options.host
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
        break
      default:
        break
    }
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

  // ---- tools of the connection ---------------------------------------------------------------------------

  #attach(): void {
    this.#tools = [planTool, ...this.#client.tools, ...this.#links.flatMap(link => link.tools)]
    this.#session.attach(this.#tools)
  }

  async #connectServers(): Promise<void> {
    const { host, servers } = this.#options
    const taken = [planTool, ...this.#client.tools, ...this.#session.offer.declarations].map(
      tool => tool.name,
    )
    const links = await Promise.allSettled(servers.map(server => this.#connect(server, taken)))
    for (const link of links) {
      if (link.status === 'fulfilled') this.#links.push(link.value)
      else this.#warn(failureOf(link.reason).message)
    }
    for (const words of this.#links.flatMap(link => link.warnings))
      host.log('warn', words, { session: this.id })
  }

  #connect(server: NamedServer, taken: readonly string[]): Promise<McpLink> {
    const { host, peer } = this.#options
    return host.connectMcp(server, {
      log: host.log,
      taken,
      elicitModes: peer.abilities.elicitation,
      ...(peer.abilities.elicitation.length > 0 && {
        elicit: (question, about) => this.#elicit(server.name, question, about),
      }),
      onTools: () => {
        if (!this.#gone && this.#session.attached === this.#tools) this.#attach()
      },
    })
  }

  /** A server that cannot be reached costs its own tools, and the client is told. */
  #warn(words: string): void {
    const { host, peer } = this.#options
    this.warnings.push(words)
    host.log('warn', words, { session: this.id })
    if (peer.abilities.notices) this.#show([{ sessionUpdate: 'notice', severity: 'warning', title: words }])
  }

  async #elicit(
    server: string,
    question: Question,
    about: { callId?: string; signal: AbortSignal },
  ): Promise<Answer> {
    const { peer, host } = this.#options
    const scope = {
      sessionId: this.id,
      ...(about.callId !== undefined && { toolCallId: about.callId }),
      message: `The MCP server "${server}" asks: ${question.message}`,
    }
    const request: unknown =
      question.mode === 'url'
        ? {
            ...scope,
            mode: 'url',
            url: question.url,
            elicitationId: question.elicitationId ?? host.engine.ports.world.id('elicit'),
          }
        : { ...scope, mode: 'form', requestedSchema: question.requestedSchema }
    // The server's own schema goes through as it is; the client checks it.
    const answer = await peer.elicit(request as CreateElicitationRequest, about.signal)
    if (answer.action === 'accept') {
      const { content } = answer as { content?: Answer['content'] | null } // Its type is what the client checked it to be.
      return { action: 'accept', ...(content && { content }) }
    }
    return { action: answer.action === 'decline' ? 'decline' : 'cancel' }
  }
}
