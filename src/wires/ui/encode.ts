// One assistant message as the AI SDK's stream shows it: items of a session in, chunks out. A message is a whole turn. When
// the turn stops for the client and another request continues it, the stream adds to the message that the client has.
import type { FollowItem, SessionSummary } from '../../engine/index.ts'
import type { CallPart, Outcome } from '../../language/calls.ts'
import type { Delta, Event, ModelAnswered, TurnEnded, TurnStop } from '../../language/events.ts'
import type { Json } from '../../lib/json/index.ts'
import { dataFrame } from '../http/index.ts'
import type { FrameEncoder } from '../http/stream.ts'
import { argumentsValue } from './decode.ts'
import type { Chunk, FinishReason } from './schema.ts'

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

/** `available`: the client has been shown the whole input. */
type ShownCall = Pick<CallPart, 'name' | 'form' | 'text'> & { available: boolean }
type BlockKind = 'text' | 'reasoning'

export class MessageEncoder {
  readonly #options: MessageOptions
  readonly #calls = new Map<string, ShownCall>()
  #out: Chunk[] = []
  #awaitsTurn: boolean
  #steps: number
  #step: 'none' | 'started' | 'answered' = 'none'
  #block: { kind: BlockKind; id: string } | undefined
  #blocks = 0
  #ended: TurnEnded | undefined
  #failed: string | undefined

  constructor(options: MessageOptions) {
    this.#options = options
    this.#awaitsTurn = options.message === undefined
    this.#steps = options.before?.turn?.steps ?? 0
    for (const { part, text, stage } of options.before?.calls ?? [])
      this.#calls.set(part.id, { name: part.name, form: part.form, text, available: stage !== 'proposed' })
  }

  begin(): Chunk[] {
    const { message } = this.#options
    return message === undefined ? [] : [{ type: 'start', messageId: message }]
  }

  take(item: FollowItem): Chunk[] {
    if (item.type === 'lost') this.#failed = item.error.message
    else if (item.type === 'event' && item.event.type === 'turn.started') {
      if (this.#awaitsTurn) this.#out.push({ type: 'start', messageId: item.event.turn })
      this.#awaitsTurn = false
      this.#steps = 0
    } else if (this.#awaitsTurn || this.#ended) return []
    else if (item.type === 'event') this.#event(item.event)
    else if (item.type === 'delta') this.#delta(item.delta)
    return this.#taken()
  }

  end(): Chunk[] {
    this.#closeBlock()
    if (this.#step !== 'none') this.#out.push({ type: 'finish-step' })
    const failed =
      this.#failed ??
      (this.#ended?.stop === 'error' ? (this.#ended.error?.message ?? 'The turn failed.') : undefined)
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

  #answer({ parts }: ModelAnswered): void {
    this.#startStep()
    for (const part of parts) {
      if (part.type === 'hosted') {
        this.#closeBlock()
        this.#write('reasoning', `[${part.tool}] ${part.summary}`)
      } else if (part.type === 'call') this.#keepCall(part)
    }
    this.#closeBlock()
    this.#step = 'answered'
    this.#steps += 1
  }

  // ---- calls ------------------------------------------------------------------------------------------------

  #keepCall({ id, name, form, text }: CallPart): void {
    this.#calls.set(id, { name, form, text, available: false })
  }

  #event(event: Event): void {
    switch (event.type) {
      case 'model.answered':
        this.#answer(event)
        break
      case 'call.nested':
        this.#keepCall(event.call)
        break
      case 'call.handed':
      case 'call.allowed':
        this.#showInput(event.callId)
        break
      case 'call.started':
        if (event.allowed) this.#showInput(event.callId)
        break
      case 'approval.requested':
        this.#askPermission(event)
        break
      case 'question.asked': {
        const { question, callId, message, schema, url, expiresAt } = event
        const shown = { ...(schema && { schema }), ...(url !== undefined && { url }) }
        const until = expiresAt === undefined ? {} : { expiresAt }
        const data = { questionId: question, toolCallId: callId, message, ...shown, ...until }
        this.#out.push({ type: 'data-question', id: question, data })
        break
      }
      case 'approval.decided':
        this.#out.push({
          type: 'tool-approval-response',
          approvalId: event.callId,
          approved: event.granted,
          ...(event.reason !== undefined && { reason: event.reason }),
        })
        break
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

  #askPermission(event: Extract<Event, { type: 'approval.requested' }>): void {
    const { callId, reason, preview, again } = event
    // A call that is asked about again is shown whole again: its part leaves the state of an answered question.
    if (again) this.#calls.set(callId, { ...again, available: false })
    this.#showInput(callId)
    if (preview)
      this.#out.push({
        type: 'data-preview',
        id: `preview-${callId}`,
        data: { toolCallId: callId, preview },
      })
    this.#out.push({
      type: 'tool-approval-request',
      approvalId: callId,
      toolCallId: callId,
      ...(reason !== undefined && { reason }),
    })
  }

  /** A client runs a tool as soon as it has the whole input, so the input is shown once the gate has let the call pass. */
  #showInput(toolCallId: string): void {
    const call = this.#calls.get(toolCallId)
    if (!call || call.available) return
    call.available = true
    const { name, form, text } = call
    const input = argumentsValue(form, text) ?? text
    this.#out.push({ type: 'tool-input-available', toolCallId, toolName: name, input })
  }

  #edit(toolCallId: string, text: string): void {
    const call = this.#calls.get(toolCallId)
    if (!call) return
    this.#calls.set(toolCallId, { ...call, text, available: false })
    this.#showInput(toolCallId)
  }

  #settle(toolCallId: string, outcome: Outcome): void {
    const call = this.#calls.get(toolCallId)
    if (!call || this.#options.own.has(toolCallId)) return
    const { name, form, text, available } = call
    const { kind, from, details } = outcome
    if (details !== undefined)
      this.#out.push({ type: 'data-details', id: `details-${toolCallId}`, data: { toolCallId, details } })
    if (!available) {
      const input = argumentsValue(form, text) ?? text
      const errorText = outcomeText(outcome)
      this.#out.push({ type: 'tool-input-error', toolCallId, toolName: name, input, errorText })
    } else if (kind === 'ok')
      this.#out.push({ type: 'tool-output-available', toolCallId, output: outcomeValue(outcome) })
    else if (kind === 'denied' && from.source === 'person')
      this.#out.push({ type: 'tool-output-denied', toolCallId })
    else this.#out.push({ type: 'tool-output-error', toolCallId, errorText: outcomeText(outcome) })
  }
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

const doneFrame = 'data: [DONE]\n\n'

export function messageFrames(options: MessageOptions): FrameEncoder<FollowItem> {
  const encoder = new MessageEncoder(options)
  const frames = (chunks: readonly Chunk[]): string => {
    let text = ''
    for (const chunk of chunks) text += dataFrame(chunk)
    return text
  }
  return {
    begin: () => frames(encoder.begin()),
    take: item => frames(encoder.take(item)),
    end: () => frames(encoder.end()) + doneFrame,
    fail: error => frames([...encoder.take({ type: 'lost', error }), ...encoder.end()]) + doneFrame,
  }
}
