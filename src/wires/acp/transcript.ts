// What a client sees of a session, as a fold over its feed: durable events and live deltas in, updates out. Replaying a
// log and watching a turn are the same thing here. It asks no one, sends nothing and decides nothing.
import type { SessionUpdate } from '@agentclientprotocol/sdk'
import type { FeedItem } from '../../engine/index.ts'
import type { CallForm, CallPart, Outcome } from '../../language/calls.ts'
import type { InputPart } from '../../language/content.ts'
import type { Delta, Event } from '../../language/events.ts'
import type { AnswerPart, Entry } from '../../language/history.ts'
import type { ToolDeclaration } from '../../language/tools.ts'
import { blockOf, contentOf, rawOutputOf, showCall, titleOf } from './encode.ts'
import { planName, planOf } from './plan.ts'

export type TranscriptOptions = {
  cwd: string
  tool(name: string): ToolDeclaration | undefined
  contextTokens(): number | undefined
  notices: boolean
  compaction: boolean
}

type Call = {
  id: string
  name: string
  form: CallForm
  /** Undefined while the arguments are coming. */
  text?: string
  announced: boolean
  hasTerminal: boolean
  output: string
}

type Fields = Partial<
  Omit<Extract<SessionUpdate, { sessionUpdate: 'tool_call' }>, 'sessionUpdate' | 'toolCallId'>
>

const outputTail = 4096

export class Transcript {
  readonly #options: TranscriptOptions
  readonly #calls = new Map<string, Call>()
  /** Turns whose message the client has shown itself. */
  readonly #own = new Set<string>()
  #turn = ''
  #steps = 0
  #restarts = 0
  #text = ''
  #thought = ''
  title: string | undefined
  /** Takes note of everything and shows nothing: for a client that has the conversation already. */
  muted = false
  /** What comes now is news, not a replay. */
  live = false

  constructor(options: TranscriptOptions) {
    this.#options = options
  }

  own(turn: string): void {
    this.#own.add(turn)
  }

  take(item: FeedItem): SessionUpdate[] {
    if (item.type === 'event') return this.#shown(this.#event(item.event, item.seq))
    if (item.type === 'delta') return this.#shown(this.#delta(item.delta))
    return []
  }

  /** A call is carried out in a terminal of the client: its output is shown there. */
  terminal(callId: string, terminalId: string): SessionUpdate[] {
    const call = this.#calls.get(callId)
    if (!call) return []
    call.hasTerminal = true
    return this.#update(call, { content: [{ type: 'terminal', terminalId }] })
  }

  #shown(updates: SessionUpdate[]): SessionUpdate[] {
    return this.muted ? [] : updates
  }

  // ---- events --------------------------------------------------------------------------------------------

  #event(event: Event, seq: number): SessionUpdate[] {
    switch (event.type) {
      case 'session.created':
        return event.seed.flatMap((entry, index) => this.#seeded(entry, `seed-${index}`))
      case 'turn.started':
        return this.#started(event)
      case 'model.answered':
        return this.#answered(event)
      case 'call.edited':
        return this.#with(event.callId, call => {
          call.text = event.text
          return this.#update(call, this.#arguments(call))
        })
      case 'call.started':
        return this.#with(event.callId, call => this.#update(call, { status: 'in_progress' }))
      case 'call.settled':
        return this.#with(event.callId, call => this.#settled(call, event.outcome))
      case 'turn.ended':
        return this.#ended(event)
      case 'history.compacted':
        return this.#compacted(event.entries, seq)
      default:
        return []
    }
  }

  #started(event: Extract<Event, { type: 'turn.started' }>): SessionUpdate[] {
    this.#turn = event.turn
    this.#steps = 0
    this.#clearStep()
    this.#restarts = 0
    const updates = this.#own.has(event.turn) ? [] : userChunks(event.parts, userMessageId(event.turn))
    if (this.title !== undefined) return updates
    this.title = titleOf(event.parts)
    if (this.title === undefined) return updates
    const updatedAt = new Date(event.at).toISOString()
    return [...updates, { sessionUpdate: 'session_info_update', title: this.title, updatedAt }]
  }

  #answered(event: Extract<Event, { type: 'model.answered' }>): SessionUpdate[] {
    const updates = this.#parts(event.parts, this.#messageId)
    const asked = new Set(event.parts.flatMap(part => (part.type === 'call' ? [part.id] : [])))
    for (const call of this.#calls.values())
      if (call.text === undefined && !asked.has(call.id)) updates.push(...this.#drop(call))
    this.#steps += 1
    this.#restarts = 0
    this.#clearStep()
    const size = this.#options.contextTokens()
    if (event.usage && size !== undefined)
      updates.push({ sessionUpdate: 'usage_update', used: event.usage.input + event.usage.output, size })
    if (this.#options.notices && this.live)
      for (const title of event.warnings ?? [])
        updates.push({ sessionUpdate: 'notice', severity: 'warning', title })
    return updates
  }

  #settled(call: Call, outcome: Outcome): SessionUpdate[] {
    this.#calls.delete(call.id)
    if (call.name === planName) {
      const entries = outcome.kind === 'ok' ? planOf(call.text ?? '') : undefined
      return entries ? [{ sessionUpdate: 'plan', entries }] : []
    }
    const fields: Fields = {
      status: outcome.kind === 'ok' ? 'completed' : 'failed',
      rawOutput: rawOutputOf(outcome),
    }
    // What stands in a terminal stays there: content would take its place.
    if (!call.hasTerminal) fields.content = contentOf(outcome, this.#options.tool(call.name))
    return this.#update(call, fields)
  }

  #ended(event: Extract<Event, { type: 'turn.ended' }>): SessionUpdate[] {
    const updates = [...this.#calls.values()].flatMap(call =>
      call.text === undefined ? this.#drop(call) : [],
    )
    this.#clearStep()
    if (!this.live) return updates
    if (event.error && this.#options.notices && !this.#own.has(event.turn))
      updates.push({ sessionUpdate: 'notice', severity: 'error', title: event.error.message })
    updates.push({ sessionUpdate: 'session_info_update', updatedAt: new Date(event.at).toISOString() })
    return updates
  }

  #compacted(entries: readonly Entry[], seq: number): SessionUpdate[] {
    if (!this.#options.compaction) return []
    // The model wrote it; logs of old may hold one that stands in the user's place.
    const written = entries.flatMap(entry =>
      entry.role === 'assistant' ? entry.parts.filter(part => part.type === 'text') : [],
    )
    const summary =
      written.length > 0
        ? written.map(({ text }) => blockOf({ type: 'text', text }))
        : entries.flatMap(entry => (entry.role === 'user' ? entry.parts.map(blockOf) : []))
    return [
      { sessionUpdate: 'compaction_update', compactionId: `compaction-${seq}`, status: 'completed', summary },
    ]
  }

  // ---- deltas --------------------------------------------------------------------------------------------

  #delta(delta: Delta): SessionUpdate[] {
    switch (delta.type) {
      case 'step.started':
      case 'step.reset':
        return this.#restarted()
      case 'text':
        this.#text += delta.text
        return [chunk('agent_message_chunk', delta.text, this.#messageId)]
      case 'thinking':
        this.#thought += delta.text
        return [chunk('agent_thought_chunk', delta.text, `${this.#messageId}:thought`)]
      case 'call.opened':
        return this.#update(this.#open(delta.callId, delta.name, delta.form), {})
      case 'arguments':
      case 'block':
        return []
      case 'progress':
        return this.#with(delta.callId, call => {
          const words = progressWords(delta)
          return call.hasTerminal || words === '' ? [] : this.#update(call, { content: [said(words)] })
        })
      case 'output':
        return this.#with(delta.callId, call => {
          call.output = (call.output + delta.text).slice(-outputTail).toWellFormed()
          return call.hasTerminal ? [] : this.#update(call, { content: [said(call.output)] })
        })
    }
  }

  /** What was shown of this step cannot be taken back: it stays a message of its own, and its calls have failed. */
  #restarted(): SessionUpdate[] {
    const updates = [...this.#calls.values()].flatMap(call =>
      call.text === undefined ? this.#drop(call) : [],
    )
    if (this.#text !== '' || this.#thought !== '' || updates.length > 0) this.#restarts += 1
    this.#clearStep()
    return updates
  }

  #clearStep(): void {
    this.#text = ''
    this.#thought = ''
  }

  get #messageId(): string {
    const restarts = this.#restarts === 0 ? '' : `:${this.#restarts}`
    return `${this.#turn}:${this.#steps + 1}${restarts}`
  }

  // ---- messages ------------------------------------------------------------------------------------------

  #seeded(entry: Entry, id: string): SessionUpdate[] {
    if (entry.role === 'user') return userChunks(entry.parts, id)
    if (entry.role === 'assistant') return this.#parts(entry.parts, id)
    if (entry.role === 'tool')
      return entry.results.flatMap(({ callId, outcome }) =>
        this.#with(callId, call => this.#settled(call, outcome)),
      )
    return []
  }

  /** The parts of an answer, less what deltas have shown of them. */
  #parts(parts: readonly AnswerPart[], id: string): SessionUpdate[] {
    let text = this.#text
    let thought = this.#thought
    const updates: SessionUpdate[] = []
    for (const part of parts) {
      if (part.type === 'text') {
        const rest = unseen(part.text, text)
        text = text.slice(part.text.length)
        if (rest !== '') updates.push(chunk('agent_message_chunk', rest, id))
      } else if (part.type === 'thinking') {
        const rest = unseen(part.text, thought)
        thought = thought.slice(part.text.length)
        if (rest !== '') updates.push(chunk('agent_thought_chunk', rest, `${id}:thought`))
      } else if (part.type === 'call') updates.push(...this.#asked(part))
      else updates.push(chunk('agent_thought_chunk', `${part.tool}: ${part.summary}`, `${id}:hosted`))
    }
    return updates
  }

  #asked(part: CallPart): SessionUpdate[] {
    const call = this.#calls.get(part.id) ?? this.#open(part.id, part.name, part.form)
    call.text = part.text
    return this.#update(call, call.announced ? this.#arguments(call) : {})
  }

  // ---- calls ---------------------------------------------------------------------------------------------

  #open(id: string, name: string, form: CallForm): Call {
    const call: Call = { id, name, form, announced: false, hasTerminal: false, output: '' }
    this.#calls.set(id, call)
    return call
  }

  #with(callId: string, use: (call: Call) => SessionUpdate[]): SessionUpdate[] {
    const call = this.#calls.get(callId)
    return call ? use(call) : []
  }

  #describe(call: Call): ReturnType<typeof showCall> {
    return showCall(call, this.#options.tool(call.name), this.#options.cwd)
  }

  /** What is known of a call once its arguments are. */
  #arguments(call: Call): Fields {
    const { title, rawInput, locations } = this.#describe(call)
    return { title, rawInput, ...(locations && { locations }) }
  }

  /** The first that a client hears of a call says all of it, whenever that is. */
  #update(call: Call, fields: Fields): SessionUpdate[] {
    if (call.name === planName) return []
    if (call.announced) {
      return Object.keys(fields).length === 0
        ? []
        : [{ sessionUpdate: 'tool_call_update', toolCallId: call.id, ...fields }]
    }
    if (this.muted) return []
    call.announced = true
    return [
      {
        sessionUpdate: 'tool_call',
        toolCallId: call.id,
        status: 'pending',
        ...this.#describe(call),
        ...fields,
      },
    ]
  }

  /** A call that the model began to ask for and never did. */
  #drop(call: Call): SessionUpdate[] {
    this.#calls.delete(call.id)
    if (!call.announced) return []
    return this.#update(call, {
      status: 'failed',
      content: [said('The model did not finish asking for this.')],
    })
  }
}

export function userMessageId(turn: string): string {
  return `${turn}:user`
}

function userChunks(parts: readonly InputPart[], messageId: string): SessionUpdate[] {
  return parts.map(part => ({ sessionUpdate: 'user_message_chunk', messageId, content: blockOf(part) }))
}

function chunk(
  sessionUpdate: 'agent_message_chunk' | 'agent_thought_chunk',
  text: string,
  messageId: string,
): SessionUpdate {
  return { sessionUpdate, messageId, content: { type: 'text', text } }
}

function unseen(text: string, shown: string): string {
  if (shown.startsWith(text)) return ''
  return text.startsWith(shown) ? text.slice(shown.length) : text
}

function said(text: string): { type: 'content'; content: { type: 'text'; text: string } } {
  return { type: 'content', content: { type: 'text', text } }
}

function progressWords({ message, done, total }: Extract<Delta, { type: 'progress' }>): string {
  const count = done === undefined ? '' : total === undefined ? String(done) : `${done} of ${total}`
  return [count, message ?? ''].filter(words => words !== '').join(': ')
}
