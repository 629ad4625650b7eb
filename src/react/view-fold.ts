// Folds a session's log and its live deltas into what a page shows (view.ts). It reads no clock but the events' own. Each
// event costs the same however long the session is. `snapshot` is cheap enough to be taken once per frame.
import type { CallPart } from '../language/calls.ts'
import type { CallUsed, Delta, Event, Grant, ModelAnswered, Settings, Usage } from '../language/events.ts'
import {
  type Shown,
  type ShownAnswer,
  type ShownEnd,
  ShownFold,
  type ShownMessage,
  type ShownTurn,
} from '../language/show.ts'
import { callAfter } from './call-fold.ts'
import { LiveStep } from './live-step.ts'
import { endNote, messageNote, type Note, toNote } from './notes.ts'
import {
  addViewUsage,
  type CallView,
  noUsage,
  type SessionView,
  type StepView,
  type TurnView,
  type UsageTotal,
  type ViewItem,
} from './view.ts'

export type WatchedItem = { seq: number; event: Event } | { delta: Delta }

export class ViewFold {
  readonly #shown = new ShownFold()
  #seq = 0
  #agent = ''
  #owner = ''
  #wire = ''
  #createdAt = 0
  #updatedAt = 0
  #settings: Settings | undefined
  readonly #items: ViewItem[] = []
  readonly #calls = new Map<string, CallView>()
  /** Where the item of a call stands. */
  readonly #places = new Map<string, number>()
  readonly #steps: StepView[] = []
  readonly #turns: TurnView[] = []
  readonly #grants = new Map<string, Grant>()
  #usage: UsageTotal = noUsage
  readonly #byModel = new Map<string, UsageTotal>()
  readonly #byAgent = new Map<string, UsageTotal>()
  #controlledBy: string | undefined
  #live = new LiveStep()
  /** The call that the turn undoes, until the call that does it is known. */
  #undoes: string | undefined

  get seq(): number {
    return this.#seq
  }

  take(item: WatchedItem): void {
    if ('delta' in item) this.#delta(item.delta)
    else if (item.seq > this.#seq) this.#event(item.seq, item.event)
  }

  snapshot(): SessionView {
    const live = this.#live.items(this.#updatedAt)
    const calls = new Map(this.#calls)
    for (const item of live) if (item.type === 'call') calls.set(item.call.id, item.call)
    return {
      seq: this.#seq,
      agent: this.#agent,
      owner: this.#owner,
      wire: this.#wire,
      createdAt: this.#createdAt,
      updatedAt: this.#updatedAt,
      settings: this.#settings,
      items: [...this.#items, ...live],
      calls,
      steps: [...this.#steps],
      turns: [...this.#turns],
      grants: [...this.#grants.values()],
      usage: this.#usage,
      byModel: new Map(this.#byModel),
      byAgent: new Map(this.#byAgent),
      controlledBy: this.#controlledBy,
      messages: [...this.#shown.messages.values()],
      active: this.#turns.length > 0 && this.#turns.at(-1)?.endedAt === undefined,
    }
  }

  #delta(delta: Delta): void {
    switch (delta.type) {
      case 'progress':
        this.#change(delta.callId, call => ({ ...call, progress: delta }))
        break
      case 'output':
        this.#change(delta.callId, call => ({ ...call, output: tail(call.output + delta.text) }))
        break
      case 'report':
        this.#change(delta.callId, call => ({ ...call, report: { ...call.report, ...delta.report } }))
        break
      case 'step.reset': {
        const step = this.#steps.at(-1)
        if (step && step.endedAt === undefined) this.#setStep({ ...step, resets: step.resets + 1 })
        this.#live.take(delta)
        break
      }
      default:
        this.#live.take(delta)
    }
  }

  #event(seq: number, event: Event): void {
    this.#seq = seq
    this.#updatedAt = event.at
    const { at } = event
    const shown = this.#shown.take(event)
    switch (event.type) {
      case 'session.created':
        this.#agent = event.agent
        this.#owner = event.owner
        this.#wire = event.wire
        this.#createdAt = at
        this.#settings = event.settings
        this.#seed(seq, event)
        break
      case 'session.configured':
        if (this.#settings) this.#settings = { ...this.#settings, ...event.settings }
        break
      case 'grant.given':
        this.#grants.set(event.grant.id, event.grant)
        break
      case 'grant.revoked':
        this.#grants.delete(event.grantId)
        break
      case 'agent.changed':
        this.#agent = event.agent
        this.#settings = event.settings
        this.#callEvent(seq, event, shown)
        break
      case 'model.sampled':
        this.#count(event.model, event.usage)
        break
      case 'history.compacted':
        if (event.usage) this.#count(event.model ?? 'summary', event.usage)
        break
      case 'control.taken':
        this.#controlledBy = event.by
        break
      case 'control.returned':
        this.#controlledBy = undefined
        break
      default:
        this.#callEvent(seq, event, shown)
    }
    if (shown?.type === 'turn') this.#beginTurn(seq, shown.turn)
    if (shown?.type === 'answer') this.#answered(seq, shown.answer)
    if (shown?.type === 'message' && shown.state === 'delivered') this.#joined(seq, shown)
    if (shown?.type === 'end') this.#endTurn(shown.end)
    const note = findNote(event, shown)
    if (note) this.#items.push({ type: 'note', key: `n${seq}`, seq, at, ...note })
  }

  #beginTurn(seq: number, { turn: id, at, parts, wire, ask }: ShownTurn): void {
    this.#undoes = ask?.undoes
    this.#turns.push({ id, seq, startedAt: at })
    if (parts.length > 0) this.#items.push({ type: 'user', key: `e${seq}`, seq, at, parts, wire })
    if (!ask?.direct) this.#openStep(at)
  }

  /** A message joined the turn. The step that it interrupted has ended, so another one begins. */
  #joined(seq: number, { at, parts }: Extract<ShownMessage, { state: 'delivered' }>): void {
    if (!parts) return
    this.#items.push({ type: 'user', key: `e${seq}`, seq, at, parts })
    if (this.#steps.at(-1)?.endedAt !== undefined) this.#openStep(at)
  }

  #callEvent(seq: number, event: Event, shown: Shown | undefined): void {
    if (shown?.type === 'call') {
      const { part, parent } = shown.call
      this.#propose(seq, event.at, part, parent)
      const step = this.#steps.at(-1)
      if (step) this.#setStep({ ...step, calls: [...step.calls, part.id] })
    }
    if (!('callId' in event)) return
    this.#change(event.callId, before => {
      const call = { ...before, events: [...before.events, seq] }
      if (event.type === 'call.forbidden') return { ...call, forbiddenBy: event.rule }
      return shown && 'callId' in shown ? callAfter(call, seq, event.at, shown) : call
    })
    if (shown?.type === 'used') this.#countAgent(shown.used)
    if (shown?.type === 'result') this.#afterBatch(event.at)
  }

  /** Once all calls of an answer are settled, the model is asked again. */
  #afterBatch(at: number): void {
    const step = this.#steps.at(-1)
    if (
      !step ||
      step.endedAt === undefined ||
      !this.#turns.at(-1) ||
      this.#turns.at(-1)?.endedAt !== undefined
    )
      return
    if (step.calls.every(id => this.#calls.get(id)?.settledAt !== undefined)) this.#openStep(at)
  }

  #openStep(at: number): void {
    const turn = this.#turns.at(-1)
    if (turn) this.#steps.push({ turn: turn.id, startedAt: at, resets: 0, calls: [] })
  }

  #setStep(step: StepView): void {
    this.#steps[this.#steps.length - 1] = step
  }

  #answered(seq: number, event: ShownAnswer): void {
    const { at, parts, model, usage, warnings } = event
    const live = this.#live
    this.#live = new LiveStep()
    const calls = parts.filter((part): part is CallPart => part.type === 'call')
    let words = { thinking: '', text: '' }
    let first = true
    const flush = (): void => {
      if (words.thinking === '' && words.text === '') return
      const answer = { type: 'answer', key: live.liveKey(seq, first), seq, at, ...words, model } as const
      this.#items.push({
        ...answer,
        ...(first && usage && { usage }),
        ...(first && warnings && { warnings }),
      })
      first = false
      words = { thinking: '', text: '' }
    }
    for (const [index, part] of parts.entries()) {
      if (part.type === 'text') words.text += part.text
      else if (part.type === 'thinking') {
        if (words.text !== '') flush()
        words.thinking += part.text
      } else {
        flush()
        if (part.type === 'hosted')
          this.#items.push({ type: 'hosted', key: `h${seq}.${index}`, seq, at, part })
        else this.#propose(seq, at, part)
      }
    }
    flush()
    this.#count(model, usage)
    const open = this.#steps.at(-1)
    const ids = calls.map(call => call.id)
    if (open && open.endedAt === undefined)
      this.#setStep({ ...open, seq, endedAt: at, model, calls: ids, ...(usage && { usage }) })
    else {
      const turn = this.#turns.at(-1)?.id ?? ''
      this.#steps.push({
        seq,
        turn,
        startedAt: at,
        endedAt: at,
        model,
        resets: 0,
        calls: ids,
        ...(usage && { usage }),
      })
    }
    // The vendor paused its answer: it is asked again with its own text.
    if (calls.length === 0 && event.stop === 'pause') this.#openStep(at)
  }

  #propose(seq: number, at: number, part: CallPart, parent?: string): void {
    const { id, name, form, text } = part
    const call: CallView = {
      id,
      name,
      form,
      text,
      status: 'proposed',
      seq,
      events: [seq],
      proposedAt: at,
      attempts: 0,
      output: '',
      ...(part.cut && { cut: true }),
      ...(parent !== undefined && { parent }),
    }
    this.#calls.set(id, call)
    this.#places.set(id, this.#items.length)
    this.#items.push({ type: 'call', key: `c${id}`, call })
    const undone = this.#undoes
    this.#undoes = undefined
    if (undone !== undefined) this.#change(undone, before => ({ ...before, undoneBy: id }))
  }

  #change(callId: string, change: (call: CallView) => CallView): void {
    const call = this.#calls.get(callId)
    const place = this.#places.get(callId)
    if (!call || place === undefined) return
    const changed = change(call)
    this.#calls.set(callId, changed)
    this.#items[place] = { type: 'call', key: `c${callId}`, call: changed }
  }

  #count(model: string, usage: Usage | undefined): void {
    this.#usage = addViewUsage(this.#usage, usage)
    this.#byModel.set(model, addViewUsage(this.#byModel.get(model) ?? noUsage, usage))
  }

  #countAgent({ callId, usage, steps }: Omit<CallUsed, 'type' | 'v'>): void {
    const agent = this.#calls.get(callId)?.delegated?.agent ?? 'another agent'
    this.#usage = addViewUsage(this.#usage, usage, steps)
    this.#byAgent.set(agent, addViewUsage(this.#byAgent.get(agent) ?? noUsage, usage, steps))
  }

  #endTurn(event: ShownEnd): void {
    const turn = this.#turns.at(-1)
    const step = this.#steps.at(-1)
    this.#live = new LiveStep()
    // No answer came of it.
    if (step && step.endedAt === undefined) {
      if (step.startedAt === event.at) this.#steps.pop()
      else this.#setStep({ ...step, endedAt: event.at })
    }
    if (!turn) return
    const { stop, limit, error } = event
    this.#turns[this.#turns.length - 1] = {
      ...turn,
      endedAt: event.at,
      stop,
      ...(limit !== undefined && { limit }),
      ...(error && { error: error.message }),
    }
  }

  #seed(seq: number, { seed, at }: Extract<Event, { type: 'session.created' }>): void {
    for (const [index, entry] of seed.entries()) {
      const key = `s${index}`
      if (entry.role === 'system') this.#items.push({ type: 'system', key, seq, at, text: entry.text })
      else if (entry.role === 'user') this.#items.push({ type: 'user', key, seq, at, parts: entry.parts })
      else if (entry.role === 'assistant') this.#seedAnswer(seq, at, key, entry.parts)
      else
        for (const { callId, outcome } of entry.results)
          this.#change(callId, call => ({ ...call, status: outcome.kind, outcome, settledAt: at }))
    }
  }

  #seedAnswer(seq: number, at: number, key: string, parts: ModelAnswered['parts']): void {
    const liveText = (type: 'text' | 'thinking'): string =>
      parts.map(part => (part.type === type ? part.text : '')).join('')
    const [thinking, text] = [liveText('thinking'), liveText('text')]
    if (thinking !== '' || text !== '') this.#items.push({ type: 'answer', key, seq, at, thinking, text })
    for (const part of parts) if (part.type === 'call') this.#propose(seq, at, part)
  }
}

/** Live output is kept to its last 256 KiB. */
function tail(text: string): string {
  return text.length > 262_144 ? text.slice(-262_144) : text
}

function findNote(event: Event, shown: Shown | undefined): Note | undefined {
  if (shown?.type === 'end') return endNote(shown.end)
  return shown?.type === 'message' ? messageNote(shown) : toNote(event)
}
