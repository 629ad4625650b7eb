// One response as this door shows it: a session's feed in, items and events out. An answer that is not streamed is the
// same view without anyone to send events to.
//
// Stateless (`live`), a call is the client's as soon as the model opens it, and its arguments are shown as they come.
// Stored, a call is shown once the gate has looked at it, since only then is it known whose it is; a call that the
// runtime settled itself (arguments that do not fit, an unknown tool) was never the client's, and is not shown.
import type { FeedItem } from '../../engine/index.ts'
import type { CallPart } from '../../language/calls.ts'
import { textOf } from '../../language/content.ts'
import type {
  CallSettled,
  Delta,
  Event,
  LimitName,
  ModelAnswered,
  ModelStop,
  TurnEnded,
  TurnStop,
  Usage,
} from '../../language/events.ts'
import { isJsonObject } from '../../lib/json.ts'
import { protocol } from './decode.ts'
import type { Emitter } from './emitter.ts'
import { approvalId } from './ids.ts'
import { type NewId, type OpenCall, type OpenServerCall, Output, type Place } from './output.ts'
import type { Head, Resource } from './resource.ts'
import type { EventName, OutputItem, ResponseStatus } from './schema.ts'
import { Diverged, Track } from './track.ts'

export type ViewOptions = {
  emitter: Emitter
  resource: Resource
  at: Place
  agent: string
  live: boolean
  /** Calls that were open when the request came. */
  open?: readonly CallPart[]
  seal?: (answered: ModelAnswered) => string | undefined
}

type JudgedCall = { part: CallPart; newId: NewId; asked: boolean; open?: OpenServerCall }

export class ResponseView {
  readonly #options: ViewOptions
  readonly #emitter: Emitter
  readonly #output: Output
  #tracks = { text: new Track(), thinking: new Track() }
  /** By call id, in the order in which they opened. */
  #live = new Map<string, { call: OpenCall; track: Track }>()
  #liveOrder: string[] = []
  #replayed = 0
  readonly #calls = new Map<string, JudgedCall>()
  #usage: Usage | null = null
  #stop: ModelStop | undefined
  #ended: TurnEnded | undefined
  #endedAt = 0

  constructor(options: ViewOptions) {
    this.#options = options
    this.#emitter = options.emitter
    this.#output = new Output(options.emitter, options.at)
    for (const part of options.open ?? [])
      this.#calls.set(part.id, { part, newId: this.#output.reserve(), asked: true })
  }

  /** How the turn ended, when it did. */
  get ended(): TurnEnded | undefined {
    return this.#ended
  }

  /** The items that are done. */
  get output(): readonly OutputItem[] {
    return this.#output.done
  }

  begin(): void {
    const response = this.#json(this.#headAs('in_progress'))
    this.#emitter.lifecycle('response.created', response)
    this.#emitter.lifecycle('response.in_progress', response)
  }

  take(item: Extract<FeedItem, { type: 'event' | 'delta' }>): void {
    if (item.type === 'event') this.#takeEvent(item.event)
    else this.#takeDelta(item.delta)
  }

  /** The response as it is now, still being made. */
  get unfinished(): string {
    return this.#json(this.#headAs('in_progress'))
  }

  /** The session came to rest, or waits for the client. */
  finish(): string {
    const { status, incomplete, error } = outcomeOf(this.#ended, this.#stop)
    const response = this.#json({
      ...this.#headAs(status),
      incomplete,
      error,
      completedAt: this.#endedAt || null,
    })
    this.#emitter.last(lastEvent(status), response)
    return response
  }

  /** The response is over, and came to nothing. */
  fail(message: string): void {
    const error = { code: 'server_error', message }
    this.#emitter.last('response.failed', this.#json({ ...this.#headAs('failed'), error }))
  }

  /** Nothing more can be shown, though the response may go on. */
  break(code: string, message: string): void {
    this.#emitter.broken(code, message)
  }

  #headAs(status: ResponseStatus): Head {
    const usage = this.#usage
    return { status, completedAt: null, error: null, incomplete: null, output: this.#output.done, usage }
  }

  #json(head: Head): string {
    return this.#options.resource.json(head)
  }

  // ---- pieces -----------------------------------------------------------------------------------------------------

  #takeDelta(delta: Delta): void {
    switch (delta.type) {
      case 'text':
      case 'thinking':
        this.#output.say(delta.type, this.#tracks[delta.type].take(delta.text))
        break
      case 'call.opened':
        if (this.#options.live) this.#openLive(delta.callId, delta.name, delta.form)
        break
      case 'arguments': {
        const live = this.#live.get(delta.callId)
        if (live) this.#output.growCall(live.call, live.track.take(delta.text))
        break
      }
      case 'step.started':
        this.#forget()
        break
      case 'step.reset':
        this.#tracks.text.restart()
        this.#tracks.thinking.restart()
        this.#replayed = 0
        for (const { track } of this.#live.values()) track.restart()
        break
      default:
        break
    }
  }

  #forget(): void {
    this.#tracks = { text: new Track(), thinking: new Track() }
    this.#live = new Map()
    this.#liveOrder = []
    this.#replayed = 0
  }

  /** A step that starts over opens its calls again, under new ids: the ones that were shown stand for them. */
  #openLive(callId: string, name: string, form: CallPart['form']): void {
    const shownAs = this.#liveOrder[this.#replayed]
    this.#replayed += 1
    const shown = shownAs === undefined ? undefined : this.#live.get(shownAs)
    if (shown) {
      if (shown.call.item.name !== name) throw new Diverged()
      this.#live.set(callId, shown)
      return
    }
    this.#live.set(callId, { call: this.#output.openCall({ id: callId, name, form }), track: new Track() })
    this.#liveOrder.push(callId)
  }

  // ---- events -----------------------------------------------------------------------------------------------------

  #takeEvent(event: Event): void {
    this.#endedAt = event.at
    switch (event.type) {
      case 'model.answered':
        this.#answer(event)
        break
      case 'call.handed':
        if (!this.#options.live) this.#hand(event.callId)
        break
      case 'approval.requested':
        this.#askFor(event.callId)
        break
      case 'call.edited': {
        const call = this.#calls.get(event.callId)
        if (call) call.part = { ...call.part, text: event.text }
        break
      }
      case 'call.started':
        this.#start(event.callId)
        break
      case 'call.settled':
        this.#settle(event)
        break
      case 'turn.started':
        this.#ended = undefined
        break
      case 'turn.ended':
        this.#output.endSpeech('incomplete')
        this.#ended = event
        break
      default:
        break
    }
  }

  #answer(answered: ModelAnswered): void {
    const { parts, stop, usage } = answered
    this.#stop = stop
    if (usage) this.#usage = add(this.#usage, usage)
    this.#sayRest(answered)
    for (const part of parts) if (part.type === 'hosted') this.#showHosted(part.native)
    const sealed = this.#options.seal?.(answered)
    if (sealed !== undefined) this.#output.carry(sealed)
    for (const part of parts) {
      if (part.type !== 'call') continue
      if (this.#options.live) this.#finishLive(part)
      else this.#calls.set(part.id, { part, newId: this.#output.reserve(), asked: false })
    }
    this.#output.nextAnswer()
    this.#forget()
  }

  #sayRest({ parts, stop }: ModelAnswered): void {
    const output = this.#output
    const { text, thinking } = this.#tracks
    const cut = stop === 'length' || stop === 'filter' || stop === 'cancelled'
    const refused = stop === 'refusal'
    const words = textOf(parts)
    if (text.shown === '' && thinking.shown === '') {
      for (const part of parts)
        if (part.type === 'thinking' || (part.type === 'text' && !refused)) output.say(part.type, part.text)
    } else {
      output.say('thinking', thinking.rest(joined(parts, 'thinking')))
      output.say('text', text.rest(words))
    }
    if (refused && text.shown === '') output.endSpeech('completed')
    output.endSpeech(
      cut ? 'incomplete' : 'completed',
      refused ? words || 'The model refused to answer.' : undefined,
    )
  }

  #showHosted({ origin, data }: { origin: { protocol: string }; data: unknown }): void {
    if (origin.protocol !== protocol || !isJsonObject(data)) return
    const { id, type } = data
    if (typeof id === 'string' && typeof type === 'string') this.#output.whole({ ...data, id, type })
  }

  /** A call whose arguments were cut off is never run, so it is never done. */
  #finishLive(part: CallPart): void {
    const known = this.#live.get(part.id)
    if (part.cut) return
    const live = known ?? { call: this.#output.openCall(part), track: new Track() }
    this.#output.growCall(live.call, live.track.rest(part.text))
    this.#output.closeCall(live.call)
  }

  // ---- calls, as the gate judged them -------------------------------------------------------------------------------

  #hand(callId: string): void {
    const found = this.#calls.get(callId)
    if (!found) return
    this.#calls.delete(callId)
    const call = this.#output.openCall(found.part, found.newId)
    this.#output.growCall(call, found.part.text)
    this.#output.closeCall(call)
  }

  #askFor(callId: string): void {
    const call = this.#calls.get(callId)
    if (!call) return
    call.asked = true
    this.#output.whole({
      type: 'mcp_approval_request',
      id: approvalId(callId),
      server_label: this.#options.agent,
      name: call.part.name,
      arguments: call.part.text,
    })
  }

  #start(callId: string): OpenServerCall | undefined {
    const call = this.#calls.get(callId)
    if (!call || call.open) return call?.open
    call.open = this.#output.openServerCall({
      type: 'mcp_call',
      id: call.newId('mcp'),
      server_label: this.#options.agent,
      name: call.part.name,
      arguments: call.part.text,
      output: null,
      error: null,
      status: 'in_progress',
      approval_request_id: call.asked ? approvalId(callId) : null,
    })
    return call.open
  }

  #settle({ callId, outcome, limit }: CallSettled): void {
    const call = this.#calls.get(callId)
    if (!call) return
    this.#calls.delete(callId)
    const { kind, from } = outcome
    const shown = call.open !== undefined || (kind === 'denied' && limit === undefined)
    if (!shown || from.source === 'client' || kind === 'abandoned') return
    this.#calls.set(callId, call)
    const open = this.#start(callId)
    this.#calls.delete(callId)
    if (!open) return
    const text = textOf(outcome.parts)
    if (kind === 'ok') this.#output.closeServerCall(open, { output: text, error: null, status: 'completed' })
    else {
      const error = { type: 'mcp_tool_execution_error', content: text } as const
      this.#output.closeServerCall(open, { output: null, error, status: 'failed' })
    }
  }
}

function joined(parts: ModelAnswered['parts'], kind: 'thinking'): string {
  let text = ''
  for (const part of parts) if (part.type === kind) text += part.text
  return text
}

function add(sum: Usage | null, usage: Usage): Usage {
  if (!sum) return usage
  const total: Usage = { input: sum.input + usage.input, output: sum.output + usage.output }
  for (const key of ['cacheRead', 'cacheWrite', 'thinking'] as const) {
    const count = (sum[key] ?? 0) + (usage[key] ?? 0)
    if (count > 0) total[key] = count
  }
  return total
}

// ---- how it ended -------------------------------------------------------------------------------------------------

type Outcome = Pick<Head, 'status' | 'incomplete' | 'error'>

const limits: Record<LimitName, string> = {
  steps: 'max_tool_calls',
  calls: 'max_tool_calls',
  identicalCalls: 'max_tool_calls',
  tokens: 'max_output_tokens',
  money: 'max_output_tokens',
  bytes: 'max_output_tokens',
  time: 'max_time',
}

/** Without an end of its turn the response ended with what the model said last. */
function outcomeOf(ended: TurnEnded | undefined, last: ModelStop | undefined): Outcome {
  const stop: TurnStop | ModelStop | undefined = ended?.stop ?? last
  const of = (status: ResponseStatus, incomplete: string | null = null): Outcome => ({
    status,
    incomplete,
    error: null,
  })
  if (stop === 'length') return of('incomplete', 'max_output_tokens')
  if (stop === 'filter') return of('incomplete', 'content_filter')
  if (stop === 'limit') return of('incomplete', limits[ended?.limit ?? 'steps'])
  if (stop === 'cancelled') return of('cancelled')
  if (stop !== 'error') return of('completed')
  const message = ended?.error?.message ?? 'The response failed.'
  return { status: 'failed', incomplete: null, error: { code: 'server_error', message } }
}

/** There is no event for a response that was cancelled: its status says it. */
function lastEvent(status: ResponseStatus): EventName {
  if (status === 'failed') return 'response.failed'
  return status === 'completed' ? 'response.completed' : 'response.incomplete'
}
