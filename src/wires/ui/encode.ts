// One assistant message as the AI SDK's stream shows it: items of a session in, chunks out. A message is a whole turn. When
// the turn stops for the client and another request continues it, the stream adds to the message that the client has.

import type { FollowItem, SessionSummary } from '../../engine/index.ts'
import type { Outcome } from '../../language/calls.ts'
import type { InputPart } from '../../language/content.ts'
import type { Delta, TurnStop } from '../../language/events.ts'
import {
  type Shown,
  type ShownAnswer,
  type ShownCall,
  type ShownEnd,
  ShownFold,
  type ShownWait,
  turnFailure,
} from '../../language/show.ts'
import type { Json } from '../../lib/json/index.ts'
import { present } from '../../lib/json/present.ts'
import { doneFrame, eventFrames, type FrameEncoder } from '../http/stream.ts'
import { argumentsValue } from './decode.ts'
import type { Chunk, FinishReason, SteeringPart } from './schema.ts'

const finishReasons: Record<TurnStop, FinishReason> = {
  end: 'stop',
  length: 'length',
  limit: 'length',
  refusal: 'content-filter',
  filter: 'content-filter',
  error: 'error',
  cancelled: 'other',
  abandoned: 'other',
}

export type MessageOptions = {
  /** The message that the client has and that is continued; absent: a new message begins with its turn. */
  message?: string
  /** The calls whose results came with this request: the client has them already. */
  own: ReadonlySet<string>
  /** The session before the request. Absent: the turn is shown from its beginning. */
  before?: Pick<SessionSummary, 'turn' | 'calls'>
}

type BlockKind = 'text' | 'reasoning'

export class MessageEncoder {
  readonly #options: MessageOptions
  readonly #shown: ShownFold
  /** The calls whose whole input the client has been shown. */
  readonly #available = new Set<string>()
  #out: Chunk[] = []
  #awaitsTurn: boolean
  #steps: number
  #step: 'none' | 'started' | 'answered' = 'none'
  #block: { kind: BlockKind; id: string } | undefined
  #blocks = 0
  #ended: ShownEnd | undefined
  #failed: string | undefined

  constructor(options: MessageOptions) {
    this.#options = options
    this.#awaitsTurn = options.message === undefined
    this.#steps = options.before?.turn?.steps ?? 0
    this.#shown = new ShownFold(options.before?.calls)
    for (const [id, { state }] of this.#shown.calls) if (state !== 'requested') this.#available.add(id)
  }

  begin(): Chunk[] {
    const { message } = this.#options
    return message === undefined ? [] : [{ type: 'start', messageId: message }]
  }

  take(item: FollowItem): Chunk[] {
    const shown = item.type === 'event' ? this.#shown.take(item.event) : undefined
    if (item.type === 'lost') this.#failed = item.error.message
    else if (shown?.type === 'turn') {
      if (this.#awaitsTurn) this.#out.push({ type: 'start', messageId: shown.turn.turn })
      this.#awaitsTurn = false
      this.#steps = 0
    } else if (this.#awaitsTurn || this.#ended) return []
    else if (shown) this.#show(shown)
    else if (item.type === 'delta') this.#delta(item.delta)
    return this.#taken()
  }

  end(): Chunk[] {
    this.#closeBlock()
    if (this.#step !== 'none') this.#out.push({ type: 'finish-step' })
    const failed = this.#failed ?? turnFailure(this.#ended)?.message
    if (failed !== undefined) this.#out.push({ type: 'error', errorText: failed })
    else if (this.#ended?.stop === 'cancelled')
      this.#out.push({ type: 'abort', reason: 'The turn was cancelled.' })
    this.#out.push({ type: 'finish', finishReason: this.#finishReason(failed) })
    return this.#taken()
  }

  #finishReason(failed: string | undefined): FinishReason {
    if (failed !== undefined) return 'error'
    return this.#ended ? finishReasons[this.#ended.stop] : 'tool-calls'
  }

  #taken(): Chunk[] {
    const chunks = this.#out
    this.#out = []
    return chunks
  }

  // ---- answers ----------------------------------------------------------------------------------------------

  #delta(delta: Delta): void {
    switch (delta.type) {
      case 'step.reset':
        this.#resetStep()
        break
      case 'step.started':
        // The same step again: the attempt before it was never answered.
        if (this.#step === 'started') this.#resetStep()
        break
      case 'text':
        this.#write('text', delta.text)
        break
      case 'thinking':
        this.#write('reasoning', delta.text)
        break
      case 'call.opened':
        this.#startStep()
        this.#closeBlock()
        this.#out.push({
          type: 'tool-input-start',
          toolCallId: delta.callId,
          toolName: delta.name,
          ...(delta.form === 'text' && { inputEncoding: 'text' }),
        })
        break
      case 'arguments':
        this.#out.push({
          type: 'tool-input-delta',
          toolCallId: delta.callId,
          inputTextDelta: delta.text,
        })
        break
      default:
        break
    }
  }

  /** A step lasts until the next one starts: the results of its calls belong to it. */
  #startStep(): void {
    if (this.#step === 'started') return
    if (this.#step === 'answered') this.#out.push({ type: 'finish-step' })
    this.#step = 'started'
    this.#blocks = 0
    this.#out.push({ type: 'start-step' })
  }

  #resetStep(): void {
    if (this.#step === 'started') this.#out.push({ type: 'reset-step' })
    this.#block = undefined
  }

  #write(kind: BlockKind, text: string): void {
    if (text === '') return
    this.#startStep()
    if (this.#block?.kind !== kind) {
      this.#closeBlock()
      this.#blocks += 1
      this.#block = { kind, id: `s${this.#steps + 1}-${this.#blocks}` }
      this.#out.push({ type: `${kind}-start`, id: this.#block.id })
    }
    this.#out.push({ type: `${kind}-delta`, id: this.#block.id, delta: text })
  }

  #closeBlock(): void {
    if (this.#block) this.#out.push({ type: `${this.#block.kind}-end`, id: this.#block.id })
    this.#block = undefined
  }

  #answer({ parts }: ShownAnswer): void {
    this.#startStep()
    for (const part of parts) {
      if (part.type !== 'hosted') continue
      this.#closeBlock()
      this.#write('reasoning', `[${part.tool}] ${part.summary}`)
    }
    this.#closeBlock()
    this.#step = 'answered'
    this.#steps += 1
  }

  // ---- calls ------------------------------------------------------------------------------------------------

  #show(shown: Shown): void {
    switch (shown.type) {
      case 'answer':
        this.#answer(shown.answer)
        break
      case 'waits':
        this.#wait(shown)
        break
      case 'allowed':
      case 'started':
        this.#showInput(shown.call)
        break
      case 'decided': {
        const { granted, reason } = shown.decision
        this.#out.push({
          type: 'tool-approval-response',
          approvalId: shown.callId,
          approved: granted,
          ...(reason !== undefined && { reason }),
        })
        break
      }
      case 'edited':
        this.#available.delete(shown.callId)
        this.#showInput(shown.call)
        break
      case 'result':
        if (shown.call) this.#settle(shown.call, shown.outcome)
        break
      case 'message':
        if (shown.state === 'delivered' && shown.parts)
          this.#out.push({
            type: 'steering-message',
            id: shown.message,
            parts: shown.parts.flatMap(steeringPart),
          })
        break
      case 'end':
        this.#ended = shown.end
        break
      default:
        break
    }
  }

  #wait(wait: ShownWait): void {
    const toolCallId = wait.callId
    if (wait.for === 'answer') {
      const { id, message, schema, url, expiresAt } = wait.question
      const data = { questionId: id, toolCallId, message, ...present({ schema, url, expiresAt }) }
      this.#out.push({ type: 'data-question', id, data })
    } else if (wait.for === 'result') this.#showInput(wait.call)
    else {
      const { reason, preview, again } = wait.asked
      // A call that is asked about again is shown whole again: its part leaves the state of an answered question.
      if (again) this.#available.delete(toolCallId)
      this.#showInput(wait.call)
      if (preview)
        this.#out.push({ type: 'data-preview', id: `preview-${toolCallId}`, data: { toolCallId, preview } })
      const why = reason === undefined ? {} : { reason }
      this.#out.push({ type: 'tool-approval-request', approvalId: toolCallId, toolCallId, ...why })
    }
  }

  /** A client runs a tool as soon as it has the whole input, so the input is shown once the gate has let the call pass. */
  #showInput(call: ShownCall | undefined): void {
    if (!call || this.#available.has(call.part.id)) return
    const { id: toolCallId, name: toolName } = call.part
    this.#available.add(toolCallId)
    this.#out.push({ type: 'tool-input-available', toolCallId, toolName, input: encodeInput(call) })
  }

  #settle(call: ShownCall, outcome: Outcome): void {
    const { id: toolCallId, name: toolName } = call.part
    if (this.#options.own.has(toolCallId)) return
    const { kind, from, details, report } = outcome
    if (details !== undefined)
      this.#out.push({ type: 'data-details', id: `details-${toolCallId}`, data: { toolCallId, details } })
    if (report)
      this.#out.push({ type: 'data-report', id: `report-${toolCallId}`, data: { toolCallId, report } })
    if (!this.#available.has(toolCallId)) {
      const errorText = outcomeText(outcome)
      this.#out.push({ type: 'tool-input-error', toolCallId, toolName, input: encodeInput(call), errorText })
    } else if (kind === 'ok')
      this.#out.push({ type: 'tool-output-available', toolCallId, output: outcomeValue(outcome) })
    else if (kind === 'denied' && from.source === 'person')
      this.#out.push({ type: 'tool-output-denied', toolCallId })
    else this.#out.push({ type: 'tool-output-error', toolCallId, errorText: outcomeText(outcome) })
  }
}

function steeringPart(part: InputPart): SteeringPart[] {
  if (part.type === 'text') return [{ type: 'text', text: part.text }]
  if (!('url' in part)) return []
  const mediaType = 'mediaType' in part && part.mediaType !== undefined ? part.mediaType : 'image/*'
  return [{ type: 'file', mediaType, url: part.url }]
}

function encodeInput({ part, text }: ShownCall): Json {
  return argumentsValue(part.form, text) ?? text
}

function outcomeText({ parts }: Outcome): string {
  return parts
    .map(part => (part.type === 'text' ? part.text : `[${part.type} ${part.url.slice(0, 200)}]`))
    .join('\n')
}

/** Data as data, one text as text, anything else as a list of parts. Data that a client sent was kept as JSON text. */
function outcomeValue({ parts, structured, from }: Outcome): Json {
  if (structured !== undefined) return structured
  const [only] = parts
  if (parts.length !== 1 || only?.type !== 'text')
    return parts.map(part => (part.type === 'text' ? { type: 'text', text: part.text } : { ...part }))
  const isData = from.source === 'client' && /^[[{]/.test(only.text)
  return (isData ? argumentsValue('json', only.text) : undefined) ?? only.text
}

export function messageFrames(options: MessageOptions): FrameEncoder<FollowItem> {
  return eventFrames(new MessageEncoder(options), doneFrame)
}
