// One run as AG-UI shows it: items of a session in, RUN_STARTED … RUN_FINISHED out. A run ends where the client has to act:
// with calls that the client runs itself, or with interrupts for calls that a person must allow.
import type { FollowItem, SessionQuestion, SessionSummary } from '../../engine/index.ts'
import type { Outcome } from '../../language/calls.ts'
import type { ApprovalRequested, Delta, Event, ModelAnswered, TurnEnded } from '../../language/events.ts'
import type { Json, JsonObject } from '../../lib/json/index.ts'
import { dataFrame } from '../http/index.ts'
import type { FrameEncoder } from '../http/stream.ts'
import { type LoneCall, loneCall, loneCallMessage, StepEncoder } from './encode-step.ts'
import type { AguiEvent, Interrupt, OutputMessage, RunOutcome, TokenUsage } from './schema.ts'

export type RunOptions = {
  threadId: string
  runId: string
  /** Clients before 1.0 name no version, and refuse what it has added. */
  version: '1.0' | 'before 1.0'
  /** As the client sent them. */
  messages: Json[]
  /** The calls whose results came with this run: the client has them already. */
  own: ReadonlySet<string>
  /** The run brings nothing: it follows the turn, or shows what the turn waits for. */
  rejoins?: boolean
  /** The session before the run. */
  before: Pick<SessionSummary, 'turn' | 'calls'>
  seal: (value: Json) => string
}

/** `message-sent`: a user message was accepted; calls settled before its turn starts belong to the turn before. */
export type RunItem = FollowItem | { type: 'message-sent' }

/** `again`: the call is asked about again, and its arguments may have been changed since the client saw it. */
type Asks = Pick<ApprovalRequested, 'reason' | 'expiresAt' | 'again' | 'preview'>
type WaitingCall = { name: string; asks?: Asks }

export class AguiRunEncoder {
  readonly #run: RunOptions
  readonly #said: OutputMessage[] = []
  readonly #names = new Map<string, string>()
  readonly #waiting = new Map<string, WaitingCall>()
  readonly #usage = new Map<string, TokenUsage>()
  /** Events that were not given yet. The current step adds to the same list. */
  readonly #out: AguiEvent[] = []
  /** Of running calls, by their own ids. */
  readonly #questions = new Map<string, OpenQuestion>()
  #turn: { id: string; steps: number; attempt: number }
  #step: StepEncoder | undefined
  #awaitsTurn = false
  #ended: TurnEnded | undefined
  #failed: { message: string; code: string } | undefined

  constructor(run: RunOptions) {
    this.#run = run
    const { turn, calls } = run.before
    this.#turn = { id: turn?.id ?? '', steps: turn?.steps ?? 0, attempt: 0 }
    for (const call of calls) {
      const { part, stage, text } = call
      const { name, form } = part
      this.#names.set(part.id, name)
      for (const question of call.questions ?? [])
        if (!question.closed) this.#questions.set(question.id, { ...question, callId: part.id })
      if (stage === 'handed') this.#waiting.set(part.id, { name })
      else if (stage === 'asking') {
        const isEdited = text !== part.text
        this.#waiting.set(part.id, { name, asks: isEdited ? { ...call, again: { name, form, text } } : call })
      }
    }
  }

  begin(): AguiEvent[] {
    const { threadId, runId } = this.#run
    return [
      { type: 'RUN_STARTED', threadId, runId, ...(this.#isNew && { protocolVersion: '1.0' }) },
      ...this.#unseenCalls().flatMap(loneCall),
    ]
  }

  /** A client that brings nothing new may have lost its messages: it is shown the calls that are open. */
  #unseenCalls(): LoneCall[] {
    const { rejoins, before, messages } = this.#run
    if (!rejoins) return []
    const seen = new Set(
      // Checked when the request was read.
      (messages as { toolCalls?: { id: string }[] }[]).flatMap(({ toolCalls = [] }) =>
        toolCalls.map(({ id }) => id),
      ),
    )
    const unseen = before.calls
      .filter(({ part, stage }) => stage !== 'settled' && !seen.has(part.id))
      .map(({ part, text }) => ({ ...part, text }))
    this.#said.push(...unseen.map(loneCallMessage))
    return unseen
  }

  take(item: RunItem): AguiEvent[] {
    if (item.type === 'lost') this.#failed = { code: item.error.code, message: item.error.message }
    else if (item.type === 'message-sent') {
      this.#awaitsTurn = true
      this.#ended = undefined
    } else if (item.type === 'event' && item.event.type === 'turn.started') this.#startTurn(item.event.turn)
    else if (this.#awaitsTurn) {
      if (item.type === 'event' && item.event.type === 'call.settled') this.#waiting.delete(item.event.callId)
    } else if (item.type === 'event') this.#takeEvent(item.event)
    else if (item.type === 'delta') this.#takeDelta(item.delta)
    return this.#taken()
  }

  end(): AguiEvent[] {
    if (this.#step && !this.#step.isEmpty) this.#takeBack()
    const usage = this.#usage.size > 0 ? { usage: [...this.#usage.values()] } : {}
    const failure = this.#failure()
    if (failure) this.#out.push({ type: 'RUN_ERROR', ...failure, ...usage })
    else {
      const { threadId, runId } = this.#run
      const result = this.#result()
      this.#out.push({
        type: 'RUN_FINISHED',
        threadId,
        runId,
        outcome: this.#outcome(),
        ...(result && { result }),
        ...usage,
      })
    }
    return this.#taken()
  }

  #taken(): AguiEvent[] {
    return this.#out.splice(0)
  }

  #failure(): { message: string; code: string } | undefined {
    if (this.#failed) return this.#failed
    if (this.#ended?.stop !== 'error') return undefined
    return this.#ended.error ?? { code: 'internal', message: 'The turn failed.' }
  }

  /** Why the turn is over, unless the model has simply answered or the outcome says it. */
  #result(): JsonObject | undefined {
    const { stop, limit } = this.#ended ?? {}
    if (stop === undefined || stop === 'end') return undefined
    if (this.#isNew && (stop === 'cancelled' || stop === 'abandoned')) return undefined
    return { stopReason: stop, ...(limit !== undefined && { limit }) }
  }

  get #isNew(): boolean {
    return this.#run.version === '1.0'
  }

  #outcome(): RunOutcome {
    const stop = this.#ended?.stop
    if (this.#isNew && (stop === 'cancelled' || stop === 'abandoned')) return { type: 'cancelled' }
    if (stop !== undefined) return { type: 'success' }
    const approvals = [...this.#waiting].flatMap(([id, wait]) => (wait.asks ? [interruptOf(id, wait)] : []))
    const interrupts = [...approvals, ...[...this.#questions.values()].map(questionInterrupt)]
    if (interrupts.length > 0) return { type: 'interrupt', interrupts }
    const own = [...this.#waiting.keys()]
    return own.length > 0 && this.#isNew ? { type: 'success', pendingToolCallIds: own } : { type: 'success' }
  }

  // ---- the current answer -------------------------------------------------------------------------------------

  #startTurn(id: string): void {
    this.#awaitsTurn = false
    this.#ended = undefined
    this.#turn = { id, steps: 0, attempt: 0 }
  }

  get #current(): StepEncoder {
    const { id, steps, attempt } = this.#turn
    const name = `${id}-${steps + 1}${attempt > 0 ? `-${attempt + 1}` : ''}`
    this.#step ??= new StepEncoder(name, this.#out, this.#run.seal)
    return this.#step
  }

  #takeDelta(delta: Delta): void {
    if (delta.type !== 'step.started' && delta.type !== 'step.reset') this.#current.take(delta)
    else if (this.#step && !this.#step.isEmpty) this.#takeBack()
  }

  /** The current answer starts over: its calls get an end, and a snapshot takes all of it back. */
  #takeBack(): void {
    for (const toolCallId of this.#step?.abandon() ?? [])
      this.#out.push({
        type: 'TOOL_CALL_RESULT',
        messageId: `${toolCallId}-void`,
        toolCallId,
        content: 'The model started over: this call was never made.',
        role: 'tool',
      })
    this.#step = undefined
    this.#turn.attempt += 1
    // The client's messages are those that it sent, and those that it was sent since.
    this.#out.push({
      type: 'MESSAGES_SNAPSHOT',
      messages: [...(this.#run.messages as JsonObject[]), ...this.#said], // Checked when the request was read.
    })
  }

  #answer(answer: ModelAnswered): void {
    if (this.#step?.hasCallsBeyond(answer)) {
      this.#takeBack()
      for (const part of answer.parts) if (part.type === 'text') this.#current.say(part.text)
    }
    this.#said.push(...this.#current.complete(answer))
    for (const part of answer.parts) if (part.type === 'call') this.#names.set(part.id, part.name)
    this.#step = undefined
    this.#turn = { ...this.#turn, steps: this.#turn.steps + 1, attempt: 0 }
    this.#count(answer)
  }

  #count({ model, usage }: ModelAnswered): void {
    if (!usage) return
    const before = this.#usage.get(model)
    const inputTokens = (before?.inputTokens ?? 0) + usage.input
    const outputTokens = (before?.outputTokens ?? 0) + usage.output
    const more = (name: 'reasoningTokens' | 'cachedInputTokens' | 'cacheWriteInputTokens', count?: number) =>
      count === undefined && before?.[name] === undefined
        ? {}
        : { [name]: (before?.[name] ?? 0) + (count ?? 0) }
    this.#usage.set(model, {
      model,
      inputTokens,
      outputTokens,
      totalTokens: inputTokens + outputTokens,
      ...more('reasoningTokens', usage.thinking),
      ...more('cachedInputTokens', usage.cacheRead),
      ...more('cacheWriteInputTokens', usage.cacheWrite),
    })
  }

  // ---- durable events -----------------------------------------------------------------------------------------

  #takeEvent(event: Event): void {
    switch (event.type) {
      case 'model.answered':
        this.#answer(event)
        break
      case 'call.nested':
        this.#names.set(event.call.id, event.call.name)
        this.#out.push(...loneCall(event.call))
        this.#said.push(loneCallMessage(event.call))
        break
      case 'call.handed':
        this.#waiting.set(event.callId, { name: this.#names.get(event.callId) ?? '' })
        break
      case 'approval.requested':
        this.#waiting.set(event.callId, {
          name: event.again?.name ?? this.#names.get(event.callId) ?? '',
          asks: event,
        })
        break
      case 'approval.decided':
        this.#waiting.delete(event.callId)
        break
      case 'question.asked':
        this.#questions.set(event.question, { ...event, id: event.question })
        break
      case 'question.answered':
      case 'question.expired':
      case 'question.withdrawn':
        this.#questions.delete(event.question)
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

  #settle(toolCallId: string, outcome: Outcome): void {
    this.#waiting.delete(toolCallId)
    if (this.#run.own.has(toolCallId)) return
    const messageId = `${toolCallId}-result`
    const content = resultText(outcome)
    this.#out.push({ type: 'TOOL_CALL_RESULT', messageId, toolCallId, content, role: 'tool' })
    const { details } = outcome
    if (details !== undefined)
      this.#out.push({ type: 'CUSTOM', name: 'turnwire/details', value: { toolCallId, details } })
    this.#said.push({ id: messageId, role: 'tool', toolCallId, content })
  }
}

const decisionSchema: JsonObject = {
  type: 'object',
  properties: {
    approved: { type: 'boolean' },
    reason: { type: 'string', description: 'Why not.' },
    arguments: { type: 'object', description: 'Other arguments to run it with.' },
    remember: { type: 'boolean', description: 'Hold to this for the rest of the conversation.' },
  },
  required: ['approved'],
}

function interruptOf(id: string, { name, asks }: WaitingCall): Interrupt {
  return {
    id,
    reason: 'tool_call',
    message: asks?.reason ?? `May "${name}" run?`,
    toolCallId: id,
    responseSchema: decisionSchema,
    ...(asks?.expiresAt !== undefined && { expiresAt: new Date(asks.expiresAt).toISOString() }),
    ...((asks?.again ?? asks?.preview) && {
      metadata: {
        ...(asks?.again && { toolCallName: name, toolCallArgs: asks.again.text }),
        ...(asks?.preview && { preview: asks.preview }),
      },
    }),
  }
}

type OpenQuestion = Pick<SessionQuestion, 'id' | 'message' | 'schema' | 'url' | 'expiresAt'> & {
  callId: string
}

function questionInterrupt({ id, callId, message, schema, url, expiresAt }: OpenQuestion): Interrupt {
  return {
    id,
    reason: 'input_required',
    message,
    toolCallId: callId,
    // A checked form is JSON.
    ...(schema && { responseSchema: schema as unknown as JsonObject }),
    ...(url !== undefined && { metadata: { url } }),
    ...(expiresAt !== undefined && { expiresAt: new Date(expiresAt).toISOString() }),
  }
}

/** The protocol has no flag for a failure, so words say it. */
function resultText({ kind, parts }: Outcome): string {
  const text = parts
    .map(part => {
      if (part.type === 'text') return part.text
      const url = part.url.startsWith('data:') ? `${part.url.slice(0, part.url.indexOf(','))}…` : part.url
      return part.type === 'image' ? `[image ${url}]` : `[file ${part.name ?? 'without a name'}: ${url}]`
    })
    .join('\n')
  return kind === 'error' && !text.startsWith('The tool failed') ? `The tool failed: ${text}` : text
}

export function runFrames(run: RunOptions): FrameEncoder<RunItem> {
  const encoder = new AguiRunEncoder(run)
  const frames = (events: readonly AguiEvent[]): string => {
    let text = ''
    for (const event of events) text += dataFrame(event)
    return text
  }
  return {
    begin: () => frames(encoder.begin()),
    take: item => frames(encoder.take(item)),
    end: () => frames(encoder.end()),
    fail: error => frames([...encoder.take({ type: 'lost', error }), ...encoder.end()]),
  }
}
