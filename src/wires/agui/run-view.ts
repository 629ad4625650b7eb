// One run as AG-UI shows it: feed items in, RUN_STARTED … RUN_FINISHED out. A run ends where the client has to act: with
// the calls that are its own to make, or with interrupts for those that a person must allow.
import type { FeedItem, SessionState } from '../../engine/index.ts'
import type { Outcome as CallOutcome } from '../../language/calls.ts'
import { publicError } from '../../language/errors.ts'
import type { Delta, Event, ModelAnswered, TurnEnded } from '../../language/events.ts'
import type { Json, JsonObject } from '../../lib/json.ts'
import type { View } from '../http/follow.ts'
import type { AguiEvent, Interrupt, Outcome, OutputMessage, TokenUsage } from './schema.ts'
import { StepView } from './step-view.ts'

export type Run = {
  threadId: string
  runId: string
  /** As the client sent them. */
  messages: Json[]
  /** The calls whose results came with this run: the client has them already. */
  own: ReadonlySet<string>
}

type Waiting = { name: string; asks?: { reason?: string; expiresAt?: number } }

export class RunView implements View {
  readonly #run: Run
  readonly #emit: (event: AguiEvent) => void
  readonly #seal: (value: Json) => string
  readonly #said: OutputMessage[] = []
  readonly #names = new Map<string, string>()
  readonly #waiting = new Map<string, Waiting>()
  readonly #usage = new Map<string, TokenUsage>()
  #turn: { id: string; steps: number; attempt: number }
  #step: StepView | undefined
  #awaitsTurn = false
  #ended: TurnEnded | undefined
  #lost: unknown
  #isLost = false

  constructor(
    run: Run,
    state: SessionState,
    emit: (event: AguiEvent) => void,
    seal: (value: Json) => string,
  ) {
    this.#run = run
    this.#emit = emit
    this.#seal = seal
    this.#turn = { id: state.turn?.id ?? '', steps: state.turn?.steps ?? 0, attempt: 0 }
    for (const { part, stage, reason, expiresAt } of state.batch) {
      this.#names.set(part.id, part.name)
      if (stage === 'handed') this.#waiting.set(part.id, { name: part.name })
      else if (stage === 'asking') this.#asks(part.id, reason, expiresAt)
    }
  }

  get over(): boolean {
    return this.#ended !== undefined
  }

  begin(): void {
    const { threadId, runId } = this.#run
    this.#emit({ type: 'RUN_STARTED', threadId, runId, protocolVersion: '1.0' })
  }

  /** A message of the user was taken: what is settled before its turn starts belongs to the turn before. */
  expectTurn(): void {
    this.#awaitsTurn = true
    this.#ended = undefined
  }

  take(item: Extract<FeedItem, { type: 'event' | 'delta' }>): void {
    if (item.type === 'event' && item.event.type === 'turn.started') this.#startTurn(item.event.turn)
    else if (this.#awaitsTurn) {
      if (item.type === 'event' && item.event.type === 'call.settled') this.#waiting.delete(item.event.callId)
    } else if (item.type === 'event') this.#takeEvent(item.event)
    else this.#takeDelta(item.delta)
  }

  lose(reason: unknown): void {
    this.#isLost = true
    this.#lost = reason
  }

  finish(): void {
    if (this.#step?.shown) this.#void()
    const usage = this.#usage.size > 0 ? { usage: [...this.#usage.values()] } : {}
    const failure = this.#failure()
    if (failure) this.#emit({ type: 'RUN_ERROR', ...failure, ...usage })
    else {
      const { threadId, runId } = this.#run
      const result = this.#result()
      this.#emit({
        type: 'RUN_FINISHED',
        threadId,
        runId,
        outcome: this.#outcome(),
        ...(result && { result }),
        ...usage,
      })
    }
  }

  #failure(): { message: string; code: string } | undefined {
    if (this.#isLost) {
      const { code, message } = publicError(this.#lost)
      return { code, message }
    }
    if (this.#ended?.stop !== 'error') return undefined
    return this.#ended.error ?? { code: 'internal', message: 'The turn failed.' }
  }

  /** Why the turn is over, where it is not simply that the model has answered. */
  #result(): JsonObject | undefined {
    const { stop, limit } = this.#ended ?? {}
    if (stop === undefined || stop === 'end' || stop === 'cancelled' || stop === 'abandoned') return undefined
    return { stopReason: stop, ...(limit !== undefined && { limit }) }
  }

  #outcome(): Outcome {
    const stop = this.#ended?.stop
    if (stop === 'cancelled' || stop === 'abandoned') return { type: 'cancelled' }
    if (stop !== undefined) return { type: 'success' }
    const interrupts = [...this.#waiting].flatMap(([id, wait]) => (wait.asks ? [interruptOf(id, wait)] : []))
    if (interrupts.length > 0) return { type: 'interrupt', interrupts }
    const own = [...this.#waiting.keys()]
    return own.length > 0 ? { type: 'success', pendingToolCallIds: own } : { type: 'success' }
  }

  // ---- the answer in flight -----------------------------------------------------------------------------------

  #startTurn(id: string): void {
    this.#awaitsTurn = false
    this.#ended = undefined
    this.#turn = { id, steps: 0, attempt: 0 }
  }

  get #now(): StepView {
    const { id, steps, attempt } = this.#turn
    const name = `${id}-${steps + 1}${attempt > 0 ? `-${attempt + 1}` : ''}`
    this.#step ??= new StepView(name, this.#emit, this.#seal)
    return this.#step
  }

  #takeDelta(delta: Delta): void {
    if (delta.type !== 'step.started' && delta.type !== 'step.reset') this.#now.take(delta)
    else if (this.#step?.shown) this.#void()
  }

  /** What was shown of the answer is void: calls get an end, and a snapshot takes all of it back. */
  #void(): void {
    for (const toolCallId of this.#step?.abandon() ?? []) {
      const content = 'The model started over: this call was never made.'
      this.#emit({
        type: 'TOOL_CALL_RESULT',
        messageId: `${toolCallId}-void`,
        toolCallId,
        content,
        role: 'tool',
      })
    }
    this.#step = undefined
    this.#turn.attempt += 1
    // Its messages are what the client sent, and what it was sent since.
    this.#emit({
      type: 'MESSAGES_SNAPSHOT',
      messages: [...(this.#run.messages as JsonObject[]), ...this.#said],
    })
  }

  #answer(answer: ModelAnswered): void {
    if (this.#step?.shown && !this.#step.agrees(answer)) this.#void()
    this.#said.push(...this.#now.complete(answer))
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

  // ---- what is durable ----------------------------------------------------------------------------------------

  #takeEvent(event: Event): void {
    switch (event.type) {
      case 'model.answered':
        this.#answer(event)
        break
      case 'call.handed':
        this.#waiting.set(event.callId, { name: this.#names.get(event.callId) ?? '' })
        break
      case 'approval.requested':
        this.#asks(event.callId, event.reason, event.expiresAt)
        break
      case 'approval.decided':
        this.#waiting.delete(event.callId)
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

  #asks(callId: string, reason: string | undefined, expiresAt: number | undefined): void {
    const asks = { ...(reason !== undefined && { reason }), ...(expiresAt !== undefined && { expiresAt }) }
    this.#waiting.set(callId, { name: this.#names.get(callId) ?? '', asks })
  }

  #settle(toolCallId: string, outcome: CallOutcome): void {
    this.#waiting.delete(toolCallId)
    if (this.#run.own.has(toolCallId)) return
    const messageId = `${toolCallId}-result`
    const content = outputOf(outcome)
    this.#emit({ type: 'TOOL_CALL_RESULT', messageId, toolCallId, content, role: 'tool' })
    this.#said.push({ id: messageId, role: 'tool', toolCallId, content })
  }
}

const decision: JsonObject = {
  type: 'object',
  properties: {
    approved: { type: 'boolean' },
    reason: { type: 'string', description: 'Why not.' },
    arguments: { type: 'object', description: 'Other arguments to run it with.' },
    remember: { type: 'boolean', description: 'Hold to this for the rest of the conversation.' },
  },
  required: ['approved'],
}

function interruptOf(id: string, { name, asks }: Waiting): Interrupt {
  return {
    id,
    reason: 'tool_call',
    message: asks?.reason ?? `May "${name}" run?`,
    toolCallId: id,
    responseSchema: decision,
    ...(asks?.expiresAt !== undefined && { expiresAt: new Date(asks.expiresAt).toISOString() }),
  }
}

/** A failure has no mark of its own in an event: it is said in words. */
function outputOf({ kind, parts }: CallOutcome): string {
  const text = parts
    .map(part => {
      if (part.type === 'text') return part.text
      const url = part.url.startsWith('data:') ? `${part.url.slice(0, part.url.indexOf(','))}…` : part.url
      return part.type === 'image' ? `[image ${url}]` : `[file ${part.name ?? 'without a name'}: ${url}]`
    })
    .join('\n')
  return kind === 'error' && !text.startsWith('The tool failed') ? `The tool failed: ${text}` : text
}
