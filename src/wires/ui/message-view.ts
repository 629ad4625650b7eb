// One assistant message as the stream shows it: feed items in, chunks out. A message is a whole turn, also when it stops
// for the client and goes on in another request: then the stream adds to the message that the client has.
import type { FeedItem, SessionState } from '../../engine/index.ts'
import type { CallPart, Outcome } from '../../language/calls.ts'
import { publicError } from '../../language/errors.ts'
import type { Delta, Event, ModelAnswered, TurnEnded, TurnStop } from '../../language/events.ts'
import type { Json } from '../../lib/json.ts'
import type { View } from '../http/follow.ts'
import { inputOf } from './decode.ts'
import type { Chunk, FinishReason } from './schema.ts'
import { StepView } from './step-view.ts'

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

export type Shown = {
  /** The message that the client goes on with; absent: one that begins with its turn. */
  message?: string
  /** The calls whose results came with this request: the client has them already. */
  own: ReadonlySet<string>
}

type Call = Pick<CallPart, 'name' | 'form' | 'text'> & { available: boolean }

export class MessageView implements View {
  readonly #emit: (chunk: Chunk) => void
  readonly #own: ReadonlySet<string>
  readonly #calls = new Map<string, Call>()
  #awaitsTurn: boolean
  #steps: number
  #step: StepView | undefined
  #ended: TurnEnded | undefined
  #lost: string | undefined

  constructor({ message, own }: Shown, state: SessionState, emit: (chunk: Chunk) => void) {
    this.#emit = emit
    this.#own = own
    this.#awaitsTurn = message === undefined
    this.#steps = state.turn?.steps ?? 0
    for (const { part, text, stage } of state.batch)
      this.#calls.set(part.id, { name: part.name, form: part.form, text, available: stage !== 'proposed' })
    if (message !== undefined) emit({ type: 'start', messageId: message })
  }

  get over(): boolean {
    return this.#ended !== undefined
  }

  take(item: Extract<FeedItem, { type: 'event' | 'delta' }>): void {
    if (item.type === 'event' && item.event.type === 'turn.started') {
      if (this.#awaitsTurn) this.#emit({ type: 'start', messageId: item.event.turn })
      this.#awaitsTurn = false
      this.#steps = 0
    } else if (this.#awaitsTurn) return
    else if (item.type === 'event') this.#takeEvent(item.event)
    else this.#takeDelta(item.delta)
  }

  lose(reason: unknown): void {
    this.#lost = publicError(reason).message
  }

  finish(): void {
    this.#step?.close()
    if (this.#step?.started) this.#emit({ type: 'finish-step' })
    const failed =
      this.#lost ??
      (this.#ended?.stop === 'error' ? (this.#ended.error?.message ?? 'The turn failed.') : undefined)
    if (failed !== undefined) this.#emit({ type: 'error', errorText: failed })
    else if (this.#ended?.stop === 'cancelled')
      this.#emit({ type: 'abort', reason: 'The turn was cancelled.' })
    this.#emit({ type: 'finish', finishReason: this.#reason(failed) })
  }

  #reason(failed: string | undefined): FinishReason {
    if (failed !== undefined) return 'error'
    return this.#ended ? finishReasons[this.#ended.stop] : 'tool-calls'
  }

  // ---- the answer -------------------------------------------------------------------------------------------

  get #now(): StepView {
    this.#step ??= new StepView(`s${this.#steps + 1}`, this.#emit)
    return this.#step
  }

  /** A step lasts until the next one starts: the results of its calls belong to it. */
  #nextStep(): void {
    if (this.#step?.started) this.#emit({ type: 'finish-step' })
    this.#step = undefined
  }

  #takeDelta(delta: Delta): void {
    if (delta.type === 'step.reset') this.#step?.reset()
    else if (delta.type !== 'step.started') {
      if (this.#answered) this.#nextStep()
      this.#answered = false
      this.#now.take(delta)
    } else if (!this.#answered) this.#step?.reset()
  }

  /** The step has its whole answer. */
  #answered = false

  #answer(answer: ModelAnswered): void {
    if (this.#answered) this.#nextStep()
    this.#now.complete(answer)
    this.#answered = true
    this.#steps += 1
    for (const part of answer.parts)
      if (part.type === 'call')
        this.#calls.set(part.id, { name: part.name, form: part.form, text: part.text, available: false })
  }

  // ---- calls ------------------------------------------------------------------------------------------------

  #takeEvent(event: Event): void {
    switch (event.type) {
      case 'model.answered':
        this.#answer(event)
        break
      case 'call.handed':
      case 'call.allowed':
        this.#available(event.callId)
        break
      case 'call.started':
        if (event.allowed) this.#available(event.callId)
        break
      case 'approval.requested': {
        const { callId, reason } = event
        this.#available(callId)
        this.#emit({
          type: 'tool-approval-request',
          approvalId: callId,
          toolCallId: callId,
          ...(reason !== undefined && { reason }),
        })
        break
      }
      case 'approval.decided': {
        const { callId, granted, reason } = event
        this.#emit({
          type: 'tool-approval-response',
          approvalId: callId,
          approved: granted,
          ...(reason !== undefined && { reason }),
        })
        break
      }
      case 'call.edited':
        this.#edit(event.callId, event.text)
        break
      case 'call.settled':
        this.#settle(event.callId, event.outcome)
        break
      case 'turn.ended':
        this.#ended = event
        break
      default:
        break
    }
  }

  /** A client runs its tools as soon as it sees their whole input: so that is told only once the gate has let it pass. */
  #available(toolCallId: string): void {
    const call = this.#calls.get(toolCallId)
    if (!call || call.available) return
    call.available = true
    const { name, form, text } = call
    this.#emit({
      type: 'tool-input-available',
      toolCallId,
      toolName: name,
      input: inputOf(form, text) ?? text,
    })
  }

  #edit(toolCallId: string, text: string): void {
    const call = this.#calls.get(toolCallId)
    if (!call) return
    this.#calls.set(toolCallId, { ...call, text, available: false })
    this.#available(toolCallId)
  }

  #settle(toolCallId: string, outcome: Outcome): void {
    const call = this.#calls.get(toolCallId)
    if (!call || this.#own.has(toolCallId)) return
    const { name, form, text, available } = call
    const { kind, from } = outcome
    if (!available) {
      const input = inputOf(form, text) ?? text
      this.#emit({ type: 'tool-input-error', toolCallId, toolName: name, input, errorText: wordsOf(outcome) })
    } else if (kind === 'ok')
      this.#emit({ type: 'tool-output-available', toolCallId, output: outputOf(outcome) })
    else if (kind === 'denied' && from.source === 'person')
      this.#emit({ type: 'tool-output-denied', toolCallId })
    else this.#emit({ type: 'tool-output-error', toolCallId, errorText: wordsOf(outcome) })
  }
}

function wordsOf({ parts }: Outcome): string {
  return parts
    .map(part => (part.type === 'text' ? part.text : `[${part.type} ${part.url.slice(0, 200)}]`))
    .join('\n')
}

/** Data as data, a text as a text, anything else as a list of parts. What a client sent as data was kept as JSON text. */
function outputOf({ parts, structured, from }: Outcome): Json {
  if (structured !== undefined) return structured
  const [only] = parts
  if (parts.length !== 1 || only?.type !== 'text')
    return parts.map(part => (part.type === 'text' ? { type: 'text', text: part.text } : { ...part }))
  const value = from.source === 'client' && /^[[{]/.test(only.text) ? inputOf('json', only.text) : undefined
  return value ?? only.text
}
