// Encodes a session for a client: items of `follow` in, updates out. A pure fold, so replaying a log and watching a turn
// are the same code. It also keeps what its session needs to know: the settings, the turn, and the approvals that wait.
// Both versions of the protocol use it; encode-draft-2.ts translates its updates.
import type { RequestError, SessionUpdate, StopReason } from '@agentclientprotocol/sdk'
import type { FollowItem, ModelInfo, SessionStatus, SessionSummary, Tool } from '../../engine/index.ts'
import type { InputPart } from '../../language/content.ts'
import type { Delta, Event, Settings } from '../../language/events.ts'
import type { AnswerPart, Entry } from '../../language/history.ts'
import {
  type Shown,
  type ShownAnswer,
  type ShownEnd,
  ShownFold,
  type ShownTurn,
} from '../../language/show.ts'
import type { ToolDeclaration } from '../../language/tools.ts'
import { CallEncoder, type PlacedTool, type WaitingApproval } from './encode-calls.ts'
import { encodeBlock, encodeStopReason, encodeTitle } from './encode-content.ts'
import { encodeModes, encodeOptions, type OptionSource } from './encode-options.ts'
import type { TerminalUpdate } from './encode-report.ts'
import type { AcpHost } from './host.ts'
import type { Abilities } from './peer.ts'
import { refusal } from './refusals.ts'

export type SessionState =
  | { state: 'running' | 'requires_action' }
  | { state: 'idle'; stopReason?: StopReason }
  | { state: 'idle'; stopReason: 'error'; error: { code: number; message: string } }

/** An update of version 1, or one that only version 2 has: our terminals, and the state of the session. */
export type AcpUpdate = SessionUpdate | TerminalUpdate | ({ sessionUpdate: 'state' } & SessionState)

export type EncoderOptions = {
  host: OptionSource & Pick<AcpHost, 'modelInfos' | 'folder'>
  abilities: Pick<Abilities, 'notices' | 'compaction' | 'states' | 'showsTerminals' | 'elicitation'>
  cwd: string
  /** False: the client has the conversation, and sees only what happens after the summary. */
  replay: boolean
  /** Tools that the connection has brought. */
  attached: () => readonly Tool[]
}

export type KnownTool = ToolDeclaration & Partial<Pick<Tool, 'exposed' | 'trust'>>

export class AcpEncoder {
  readonly #options: EncoderOptions
  readonly #calls: CallEncoder
  readonly #fold = new ShownFold()
  /** Turns that this client's prompts started. */
  readonly #own = new Set<string>()
  /** Events up to this number are history. */
  readonly #history: number
  #status: SessionStatus
  #steps = 0
  #restarts = 0
  /** Text of the current step was shown. */
  #begun = false
  #title: string | undefined
  settings: Settings
  /** The number of the last event that was taken. */
  seq: number
  /** The last turn that was started. */
  turn = ''
  /** The last item happened while this client was connected. */
  live = false
  /** The last event, as it is shown to clients. */
  shown: Shown | undefined

  constructor(options: EncoderOptions, { seq, turn, opening, settings, status }: SessionSummary) {
    this.#options = options
    this.#calls = new CallEncoder(options.cwd, options.abilities, name => this.#placedTool(name))
    this.#history = seq
    this.#status = status
    this.settings = settings
    // Without a replay, only the events of the current turn are needed.
    this.seq = options.replay ? 0 : (turn?.first ?? seq + 1) - 1
    if (!options.replay && opening !== undefined) this.#title = opening
  }

  get state(): SessionState {
    if (this.#status === 'idle') return { state: 'idle' }
    return { state: this.#status === 'waiting' ? 'requires_action' : 'running' }
  }

  /** Undefined if the session names a model that is not configured any more. */
  get model(): ModelInfo | undefined {
    const { info, modelInfos } = this.#options.host
    return this.settings.model === undefined ? info.model : modelInfos[this.settings.model]
  }

  /** The tools that the model is offered: the agent's, those of an application, those of the connection. */
  get offered(): KnownTool[] {
    const { tools: chosen } = this.settings
    const names = new Set<string>()
    return this.#knownTools().filter(({ name, exposed, trust }) => {
      const isChosen = !exposed || !chosen || chosen.some(each => each.name === name)
      if (!isChosen || trust === 'deny' || names.has(name)) return false
      names.add(name)
      return true
    })
  }

  #knownTools(): KnownTool[] {
    const { host, attached } = this.#options
    return [...host.info.tools, ...this.settings.clientTools, ...attached()]
  }

  /** The agent's own tools do not know the folder of the session; the client's tools, and those of a connection, do. */
  #placedTool(name: string): PlacedTool | undefined {
    const { host, attached, cwd } = this.#options
    const own = host.info.tools.find(tool => tool.name === name)
    if (own)
      return own.folder === undefined && host.folder !== undefined ? { ...own, folder: host.folder } : own
    const other = [...this.settings.clientTools, ...attached()].find(tool => tool.name === name)
    return other && { ...other, folder: cwd }
  }

  get approvals(): WaitingApproval[] {
    return this.#calls.approvals
  }

  /** This client's prompt started the turn. */
  own(turn: string): void {
    this.#own.add(turn)
  }

  take(item: FollowItem): AcpUpdate[] {
    if (item.type === 'event') this.seq = item.seq
    this.shown = item.type === 'event' ? this.#fold.take(item.event) : undefined
    this.live = item.type === 'event' ? item.seq > this.#history : this.seq >= this.#history
    this.#calls.shown = this.live || this.#options.replay
    const updates = this.#encode(item)
    return this.#calls.shown ? updates : []
  }

  /** A call runs in a terminal of the client. */
  terminal(callId: string, terminalId: string): AcpUpdate[] {
    this.#calls.shown = true
    return this.#calls.terminal(callId, terminalId)
  }

  #encode(item: FollowItem): AcpUpdate[] {
    switch (item.type) {
      case 'event':
        return this.#event(item.event, item.seq)
      case 'delta':
        return this.#delta(item.delta)
      case 'running':
      case 'waiting':
        if (item.type === this.#status) return []
        this.#status = item.type
        return [{ sessionUpdate: 'state', ...this.state }]
      case 'ended':
        // The client learns why from the end of the turn.
        this.#status = 'idle'
        return []
      case 'lost':
        return []
    }
  }

  // ---- events --------------------------------------------------------------------------------------------

  #event(event: Event, seq: number): AcpUpdate[] {
    const { shown } = this
    if (!shown) return this.#aside(event, seq)
    switch (shown.type) {
      case 'turn':
        return this.#started(shown.turn)
      case 'answer':
        return this.#answered(shown.answer)
      case 'call':
        return this.#calls.asked(shown.call.part, shown.call.parent, shown.call.elsewhere)
      case 'message':
        // One that starts a turn is shown with the turn.
        return shown.state === 'delivered' && shown.parts ? userChunks(shown.parts, shown.message) : []
      case 'end':
        return this.#ended(shown.end)
      default:
        return this.#calls.show(shown)
    }
  }

  /** Events that are about neither a turn nor a call. */
  #aside(event: Event, seq: number): AcpUpdate[] {
    switch (event.type) {
      case 'session.created':
        return event.seed.flatMap((entry, index) => this.#seeded(entry, `seed-${index}`))
      case 'session.configured':
        return this.live ? this.#configured(event.settings) : []
      case 'history.compacted':
        return this.#compacted(event.entries, seq)
      default:
        return []
    }
  }

  #configured(settings: Partial<Settings>): AcpUpdate[] {
    this.settings = { ...this.settings, ...settings }
    const configOptions = encodeOptions(this.#options.host, this.settings)
    const modes = encodeModes(this.#options.host, this.settings)
    const updates: AcpUpdate[] = []
    if (configOptions.length > 0) updates.push({ sessionUpdate: 'config_option_update', configOptions })
    if (modes) updates.push({ sessionUpdate: 'current_mode_update', currentModeId: modes.currentModeId })
    return updates
  }

  #started({ turn, parts, at }: ShownTurn): AcpUpdate[] {
    this.turn = turn
    this.#steps = 0
    this.#restarts = 0
    this.#begun = false
    const updates = this.#isToldElsewhere(turn) ? [] : userChunks(parts, userMessageId(turn))
    if (this.#title !== undefined) return updates
    const title = encodeTitle(parts)
    if (title === undefined) return updates
    this.#title = title
    return [...updates, { sessionUpdate: 'session_info_update', title, updatedAt: isoTime(at) }]
  }

  /** The client has shown the message itself, and gets the error with the response to its prompt. */
  #isToldElsewhere(turn: string): boolean {
    return this.#own.has(turn) && !this.#options.abilities.states
  }

  #answered({ parts, usage, warnings }: ShownAnswer): AcpUpdate[] {
    const updates = this.#callsIn(parts, this.#messageId)
    updates.push(...this.#calls.dropUnfinished())
    this.#steps += 1
    this.#restarts = 0
    this.#begun = false
    const size = this.model?.contextTokens
    if (usage && size !== undefined)
      updates.push({ sessionUpdate: 'usage_update', used: usage.input + usage.output, size })
    if (this.#options.abilities.notices && this.live)
      for (const title of warnings ?? [])
        updates.push({ sessionUpdate: 'notice', severity: 'warning', title })
    return updates
  }

  #ended(event: ShownEnd): AcpUpdate[] {
    const updates: AcpUpdate[] = this.#calls.dropUnfinished()
    this.#begun = false
    if (!this.live) return updates
    const { turn, error } = event
    if (error && this.#options.abilities.notices && !this.#isToldElsewhere(turn))
      updates.push({ sessionUpdate: 'notice', severity: 'error', title: error.message })
    updates.push({ sessionUpdate: 'session_info_update', updatedAt: isoTime(event.at) })
    // Of its own turn the client is told when its next prompt would be taken.
    if (!this.#own.has(turn)) updates.push({ sessionUpdate: 'state', ...encodeIdle(event) })
    return updates
  }

  #compacted(entries: readonly Entry[], seq: number): AcpUpdate[] {
    if (!this.#options.abilities.compaction) return []
    // The model wrote it, so it is the assistant's text.
    const summary = entries.flatMap(entry =>
      entry.role === 'assistant'
        ? entry.parts.flatMap(part => (part.type === 'text' ? [encodeBlock(part)] : []))
        : [],
    )
    return [
      { sessionUpdate: 'compaction_update', compactionId: `compaction-${seq}`, status: 'completed', summary },
    ]
  }

  // ---- deltas --------------------------------------------------------------------------------------------

  #delta(delta: Delta): AcpUpdate[] {
    switch (delta.type) {
      case 'step.started':
      case 'step.reset':
        return this.#restarted()
      case 'text':
      case 'thinking':
        this.#begun = true
        return [agentChunk(delta.type, delta.text, this.#messageId)]
      case 'block':
        return []
      default:
        // In a replay the arguments follow at once, so the call is announced with them.
        return this.#calls.delta(delta, this.live)
    }
  }

  /** Text that was shown cannot be taken back: it stays as a message of its own, and the calls of the step fail. */
  #restarted(): AcpUpdate[] {
    const updates = this.#calls.dropUnfinished()
    if (this.#begun || updates.length > 0) this.#restarts += 1
    this.#begun = false
    return updates
  }

  get #messageId(): string {
    const restarts = this.#restarts === 0 ? '' : `:${this.#restarts}`
    return `${this.turn}:${this.#steps + 1}${restarts}`
  }

  // ---- messages ------------------------------------------------------------------------------------------

  #seeded(entry: Entry, id: string): AcpUpdate[] {
    if (entry.role === 'user') return userChunks(entry.parts, id)
    if (entry.role === 'assistant')
      return entry.parts.flatMap(part =>
        part.type === 'text' || part.type === 'thinking'
          ? [agentChunk(part.type, part.text, id)]
          : this.#callsIn([part], id),
      )
    if (entry.role === 'tool')
      return entry.results.flatMap(({ callId, outcome }) => this.#calls.settled(callId, outcome))
    return []
  }

  /** The calls of an answer, and what the vendor's own tools did. Its texts come as deltas. */
  #callsIn(parts: readonly AnswerPart[], id: string): AcpUpdate[] {
    return parts.flatMap((part): AcpUpdate[] => {
      if (part.type === 'call') return this.#calls.asked(part)
      return part.type === 'hosted' ? [agentChunk('hosted', `${part.tool}: ${part.summary}`, id)] : []
    })
  }
}

export function userMessageId(turn: string): string {
  return `${turn}:user`
}

function encodeIdle({ stop, limit, error }: ShownEnd): SessionState {
  if (stop !== 'error') return { state: 'idle', stopReason: encodeStopReason(stop, limit) }
  return encodeFailed(refusal.failedTurn(error))
}

export function encodeFailed({ code, message }: RequestError): SessionState {
  return { state: 'idle', stopReason: 'error', error: { code, message } }
}

function userChunks(parts: readonly InputPart[], messageId: string): AcpUpdate[] {
  return parts.map(part => ({ sessionUpdate: 'user_message_chunk', messageId, content: encodeBlock(part) }))
}

function agentChunk(type: 'text' | 'thinking' | 'hosted', text: string, id: string): AcpUpdate {
  const content = { type: 'text' as const, text }
  if (type === 'text') return { sessionUpdate: 'agent_message_chunk', messageId: id, content }
  const messageId = `${id}:${type === 'thinking' ? 'thought' : type}`
  return { sessionUpdate: 'agent_thought_chunk', messageId, content }
}

function isoTime(at: number): string {
  return new Date(at).toISOString()
}
