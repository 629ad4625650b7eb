// One response as a fold: items of the engine in, frames and the response object out. The same fold serves stateless
// responses (`answerOnce`), stored ones that are followed live, and stored ones that are read from the log. An answer that
// is not streamed is the same fold without frames.
//
// Stateless, a call is the client's as soon as the model opens it, and its arguments are shown as they come. Stored, a
// call is shown once the gate has judged it, since only then is it known who runs it. A call that the runtime settles
// itself (arguments that do not fit, an unknown tool) is not shown.
import { addUsage, type FollowItem, type OnceItem, type PlainError } from '../../engine/index.ts'
import type { CallPart } from '../../language/calls.ts'
import { joinText } from '../../language/content.ts'
import type { ErrorCode } from '../../language/errors.ts'
import type { Delta, LimitName, ModelStop, Usage } from '../../language/events.ts'
import { type Shown, type ShownAnswer, type ShownEnd, ShownFold } from '../../language/show.ts'
import { isJsonObject, type JsonObject } from '../../lib/json/index.ts'
import type { FrameEncoder } from '../http/stream.ts'
import { protocol } from './decode.ts'
import type { CallNames } from './decode-tools.ts'
import { type CallItemId, NumberedFrames, type OpenItem, OutputItems } from './encode-items.ts'

import { ResponseWriter } from './encode-response.ts'
import { approvalId, type ResponsePlace, responseId } from './ids.ts'
import type { CallItem, EventName, OutputItem, ResponseStatus, ServerCallItem } from './schema.ts'
import { SteeredEnd } from './steered-end.ts'

/** An answer of the model: one that is recorded, or one without a session. */
export type ResponseAnswer = Pick<ShownAnswer, 'parts' | 'stop' | 'usage' | 'origin' | 'continuity' | 'shown'>

export type EncoderOptions = {
  /** Stateless: a place of its own in no log. */
  place: ResponsePlace
  agent: string
  createdAt: number
  /** The fields of the response about its request: `requestFields`. */
  request: JsonObject
  /** Stored: the calls that waited for an approval when the request came. Absent: the response is stateless. */
  waited?: readonly CallPart[]
  /** Stored: the calls that waited for calls of their own then. */
  suspended?: readonly CallPart[]
  /** For a stream: the number of the last event that the client has, or -1. */
  after?: number
  /** The form of the stream. Default: server-sent events. */
  form?: 'sse' | 'lines'
  /** Seals vendor data that the next request sends back. Undefined: there is none. */
  seal?: (answer: ResponseAnswer) => string | undefined
  /** The names of the tools on this wire. */
  called?: CallNames
  /** The answer is a summary: it is sealed, and the response is that alone. */
  compact?: (summary: string) => string
  /** The time at which a stateless answer is complete. */
  now?: () => number
}

type StoredCall = { part: CallPart; newId: CallItemId; asked: boolean; open?: OpenItem<ServerCallItem> }

export class ResponseEncoder implements FrameEncoder<FollowItem | OnceItem> {
  readonly #options: EncoderOptions
  readonly #writer: ResponseWriter
  readonly #frames: NumberedFrames
  readonly #items: OutputItems
  /** Text or thinking of the current answer was given by deltas. */
  #spoke = false
  /** Stateless: the calls of the answer, by id. */
  readonly #opened = new Map<string, OpenItem<CallItem>>()
  /** Stored: the calls that are not settled, by id. */
  readonly #calls = new Map<string, StoredCall>()
  #usage: Usage | null = null
  #stop: ModelStop | undefined
  readonly #shown = new ShownFold()
  readonly #steeredEnd = new SteeredEnd()
  #steered = false
  #ended: ShownEnd | undefined
  #lastAt = 0
  #stopped = false
  #failure: PlainError | undefined

  constructor(options: EncoderOptions) {
    const { place, createdAt, request, after, waited = [], suspended = [] } = options
    this.#options = options
    this.#writer = new ResponseWriter(responseId(place), createdAt, request)
    this.#frames = new NumberedFrames(after, options.form)
    this.#items = new OutputItems(this.#frames, place, options.called)
    for (const part of waited) this.#calls.set(part.id, this.#storedCall(part, true))
    for (const part of suspended) this.#calls.set(part.id, this.#storedCall(part))
  }

  /** The response is over, or it waits for the client. */
  get stopped(): boolean {
    return this.#stopped
  }

  /** Input that steers its turn has ended it: nothing that follows is its own. */
  get steered(): boolean {
    return this.#steered
  }

  /** Why the response failed. */
  get failure(): PlainError | undefined {
    const { stop, error } = this.#ended ?? {}
    return this.#failure ?? (stop === 'error' ? (error ?? unsaidFailure) : undefined)
  }

  /** The items that are done. */
  get output(): OutputItem[] {
    return this.#items.done
  }

  /** The response object as it stands. */
  get response(): string {
    const { status, incomplete = null, error = null } = this.#outcome()
    return this.#writer.json({
      status,
      incomplete,
      error,
      completedAt: this.#stopped ? this.#lastAt : null,
      output: this.#items.done,
      usage: this.#usage,
    })
  }

  begin(): string {
    let made: string | undefined
    const response = (): string => (made ??= this.response)
    this.#frames.lifecycle('response.created', response)
    this.#frames.lifecycle('response.in_progress', response)
    return this.#frames.take()
  }

  take(item: FollowItem | OnceItem): string {
    if (this.#steered) return ''
    if (item.type === 'event') {
      this.#lastAt = item.event.at
      const shown = this.#shown.take(item.event)
      if (shown && this.#steeredEnd.take(shown, this.#shown)) return this.#endSteered()
      if (shown) this.#take(shown)
    } else if (item.type === 'delta') this.#takeDelta(item.delta)
    else if (item.type === 'lost') return this.fail(item.error)
    else if (item.type !== 'running') this.#stopped = true
    if (item.type === 'answer') {
      this.#takeAnswer(item.answer)
      this.#lastAt = this.#options.now?.() ?? 0
    }
    return this.#frames.take()
  }

  #endSteered(): string {
    this.#stopped = true
    this.#steered = true
    this.#frames.last('response.incomplete', () => this.response)
    return this.#frames.take()
  }

  end(): string {
    if (this.#steered) return ''
    if (this.#stopped) this.#frames.last(lastEvent(this.#outcome().status), () => this.response)
    return this.#frames.take()
  }

  /** A stateless response fails. A stored one goes on without this stream. */
  fail(error: PlainError): string {
    if (this.#isStored) this.#frames.broken('server_error', brokenMessage)
    else {
      this.#failure = error
      this.#frames.last('response.failed', () => this.response)
    }
    return this.#frames.take()
  }

  get #isStored(): boolean {
    return this.#options.waited !== undefined
  }

  // ---- deltas ------------------------------------------------------------------------------------------------

  #takeDelta(delta: Delta): void {
    if (this.#options.compact) return
    if (delta.type === 'text' || delta.type === 'thinking') {
      this.#spoke = true
      this.#items.say(delta.type, delta.text, delta.type === 'text' ? delta.phase : undefined)
    } else if (delta.type === 'call.opened' && !this.#isStored) {
      const { callId: id, name, form } = delta
      this.#opened.set(id, this.#items.openCall({ id, name, form }))
    } else if (delta.type === 'arguments') {
      const call = this.#opened.get(delta.callId)
      if (call) this.#items.grow(call, delta.text)
    }
  }

  // ---- answers -----------------------------------------------------------------------------------------------

  #takeAnswer(answer: ResponseAnswer): void {
    const { parts, stop, usage } = answer
    this.#stop = stop
    if (usage) this.#usage = this.#usage ? addUsage(this.#usage, usage) : usage
    const { compact } = this.#options
    if (compact) {
      this.#items.compact(compact(joinText(parts)))
      return
    }
    this.#endSpeech(answer)
    for (const part of parts) if (part.type === 'hosted') this.#showHosted(part.native)
    const sealed = this.#options.seal?.(answer)
    if (sealed !== undefined) this.#items.carry(sealed)
    for (const part of parts) {
      if (part.type !== 'call') continue
      if (this.#isStored) this.#calls.set(part.id, this.#storedCall(part))
      else if (!part.cut) this.#giveCall(part)
    }
    this.#items.nextAnswer()
    this.#spoke = false
  }

  #endSpeech({ parts, stop, shown }: ResponseAnswer): void {
    const isRefusal = stop === 'refusal'
    // Without deltas a stateless refusal is a refusal alone. A stored one reads as its stream does.
    const isSilent = isRefusal && !this.#isStored
    if (!this.#spoke) this.#say(isSilent ? parts.filter(({ type }) => type !== 'text') : (shown ?? parts))
    if (isRefusal) this.#items.refuse(joinText(parts) || 'The model refused to answer.')
    else if (stop === 'cancelled') this.#items.interruptAnswer(joinText(parts))
    else this.#items.endSpeech(cutStops.has(stop) ? 'incomplete' : 'completed')
  }

  #say(parts: ShownAnswer['parts']): void {
    for (const part of parts)
      if (part.type === 'thinking') this.#items.say('thinking', part.text)
      else if (part.type === 'text') this.#items.say('text', part.text, part.phase)
  }

  /**
   * An item of a vendor that speaks this protocol is given as it is. A summary stands for what is before it, and the vendor
   * made it before it spoke: given here it would stand for the answer too, so it is carried without being shown.
   */
  #showHosted({ origin, data }: { origin: { protocol: string }; data: unknown }): void {
    if (origin.protocol !== protocol || !isJsonObject(data)) return
    const { id, type } = data
    if (type === 'compaction') return
    if (typeof id === 'string' && typeof type === 'string') this.#items.whole({ ...data, id, type })
  }

  /** A call for the client to run. Its arguments may have been given by deltas. */
  #giveCall(part: CallPart, newId?: CallItemId): void {
    const opened = this.#opened.get(part.id)
    const call = opened ?? this.#items.openCall(part, newId)
    if (!opened) this.#items.grow(call, part.text)
    this.#items.closeCall(call, readProgramItem(part))
  }

  // ---- events ------------------------------------------------------------------------------------------------

  #take(shown: Shown): void {
    switch (shown.type) {
      case 'turn':
        this.#ended = undefined
        break
      case 'answer':
        this.#takeAnswer(shown.answer)
        break
      case 'call':
        this.#calls.set(shown.callId, this.#storedCall(shown.call.part))
        break
      case 'end':
        // So that an answer that never came takes the same numbers whenever it is read.
        if (!this.#spoke) this.#say(shown.end.shown ?? [])
        this.#items.dropAnswer()
        this.#spoke = false
        this.#ended = shown.end
        break
      case 'message':
        break
      default: {
        const call = this.#calls.get(shown.callId)
        if (call) this.#takeOfCall(call, shown)
      }
    }
  }

  #takeOfCall(call: StoredCall, shown: Extract<Shown, { callId: string }>): void {
    switch (shown.type) {
      case 'waits':
        if (shown.for === 'answer') this.#askQuestion(call)
        else if (shown.for === 'result') {
          this.#calls.delete(shown.callId)
          this.#giveCall(call.part, call.newId)
        } else {
          if (shown.asked.again) call.part = { ...call.part, text: shown.asked.again.text }
          this.#requestApproval(call)
        }
        break
      case 'edited':
        call.part = { ...call.part, text: shown.edit.text }
        break
      case 'started':
      case 'closed':
        this.#openServerCall(call)
        break
      case 'rests':
        if (shown.for === 'calls') this.#suspend(call)
        break
      case 'result':
        this.#calls.delete(shown.callId)
        this.#settle(call, shown)
        break
      default:
        break
    }
  }

  #storedCall(part: CallPart, asked = false): StoredCall {
    return { part, newId: this.#items.reserveCall(), asked }
  }

  #requestApproval(call: StoredCall): void {
    const { id, name, text } = call.part
    call.asked = true
    const server_label = this.#options.agent
    const request = { id: approvalId(id), server_label, name, arguments: text }
    this.#items.whole({ type: 'mcp_approval_request', ...request })
  }

  /** The protocol has no questions: one is shown as a request to approve the call that asks. A call asks once at a time. */
  #askQuestion(call: StoredCall): void {
    if (!call.open) return
    this.#suspend(call)
    const waiting = this.#calls.get(call.part.id)
    if (waiting) this.#requestApproval(waiting)
  }

  #openServerCall(call: StoredCall): OpenItem<ServerCallItem> {
    const { id, name, text } = call.part
    call.open ??= this.#items.openServerCall({
      type: 'mcp_call',
      id: call.newId('mcp'),
      server_label: this.#options.agent,
      name,
      arguments: text,
      output: null,
      error: null,
      status: 'in_progress',
      approval_request_id: call.asked ? approvalId(id) : null,
    })
    return call.open
  }

  /** It goes on in the response to those who are asked. */
  #suspend(call: StoredCall): void {
    if (call.open) this.#items.closeServerCall(call.open, { output: null, error: null, status: 'incomplete' })
    this.#calls.set(call.part.id, this.#storedCall(call.part))
  }

  /** A denied call never started. It is shown, unless a limit of the turn denied it. */
  #settle(call: StoredCall, { outcome, limit }: Extract<Shown, { type: 'result' }>): void {
    const { kind, from } = outcome
    if (from.source === 'client' || kind === 'abandoned') return
    if (!call.open && (kind !== 'denied' || limit !== undefined)) return
    const open = this.#openServerCall(call)
    const content = joinText(outcome.parts)
    this.#items.closeServerCall(
      open,
      kind === 'ok'
        ? { output: content, error: null, status: 'completed' }
        : { output: null, error: { type: 'mcp_tool_execution_error', content }, status: 'failed' },
    )
  }

  // ---- how it ended ------------------------------------------------------------------------------------------

  /** Without an end of its turn the response ended with the model's last answer. */
  #outcome(): ResponseOutcome {
    if (this.#failure !== undefined) return failedWith(this.#failure)
    if (!this.#stopped) return { status: 'in_progress' }
    if (this.#steered) return { status: 'incomplete', incomplete: 'steered' }
    const { stop, limit = 'steps', error } = this.#ended ?? { stop: this.#stop }
    if (stop === 'length') return { status: 'incomplete', incomplete: 'max_output_tokens' }
    if (stop === 'filter') return { status: 'incomplete', incomplete: 'content_filter' }
    if (stop === 'limit') return { status: 'incomplete', incomplete: limitReasons[limit] }
    if (stop === 'cancelled') return { status: 'cancelled' }
    return stop === 'error' ? failedWith(error) : { status: 'completed' }
  }
}

const brokenMessage = 'This stream cannot go on. Retrieve the response once it is finished.'

type ResponseOutcome = {
  status: ResponseStatus
  incomplete?: string
  error?: { code: string; message: string }
}

function failedWith({ code, message }: PlainError = unsaidFailure): ResponseOutcome {
  return { status: 'failed', error: { code: failureCodes[code] ?? 'server_error', message } }
}

const unsaidFailure: PlainError = { code: 'internal', message: 'The response failed.' }

/** Clients repeat a request that failed with any other code. */
const failureCodes: Partial<Record<ErrorCode, string>> = {
  model_limited: 'rate_limit_exceeded',
  budget_spent: 'insufficient_quota',
  model_rejected: 'invalid_prompt',
}

/** The answer is not whole. */
const cutStops: ReadonlySet<ModelStop> = new Set(['length', 'filter'])

const limitReasons: Record<LimitName, string> = {
  steps: 'max_tool_calls',
  calls: 'max_tool_calls',
  identicalCalls: 'max_tool_calls',
  tokens: 'max_output_tokens',
  money: 'max_output_tokens',
  bytes: 'max_output_tokens',
  sessionBytes: 'max_output_tokens',
  time: 'max_time',
}

/** The API has no event for a response that was cancelled: its status says so. */
function lastEvent(status: ResponseStatus): EventName {
  if (status === 'failed') return 'response.failed'
  return status === 'completed' ? 'response.completed' : 'response.incomplete'
}

/** The vendor's program that made the call. */
function readProgramItem({ native }: CallPart): JsonObject | undefined {
  if (native?.origin.protocol !== protocol || !isJsonObject(native.data)) return undefined
  const { caller } = native.data
  return isJsonObject(caller) && caller['type'] === 'program' ? caller : undefined
}
