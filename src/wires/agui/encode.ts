// One run as AG-UI shows it: items of a session in, RUN_STARTED … RUN_FINISHED out. A run ends where the client has to act:
// with calls that the client runs itself, or with interrupts for calls that a person must allow.
import type { FollowItem, SessionSummary } from '../../engine/index.ts'
import type { Outcome } from '../../language/calls.ts'
import type { Delta } from '../../language/events.ts'
import {
  type Shown,
  type ShownAnswer,
  type ShownEnd,
  ShownFold,
  type ShownWait,
  turnFailure,
} from '../../language/show.ts'
import type { Json, JsonObject } from '../../lib/json/index.ts'
import { eventFrames, type FrameEncoder } from '../http/stream.ts'
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

export class AguiRunEncoder {
  readonly #run: RunOptions
  readonly #said: OutputMessage[] = []
  readonly #shown: ShownFold
  readonly #usage = new Map<string, TokenUsage>()
  /** Events that were not given yet. The current step adds to the same list. */
  readonly #out: AguiEvent[] = []
  #turn: { id: string; steps: number; attempt: number }
  #step: StepEncoder | undefined
  #awaitsTurn = false
  #ended: ShownEnd | undefined
  #failed: { message: string; code: string } | undefined

  constructor(run: RunOptions) {
    this.#run = run
    const { turn, calls } = run.before
    this.#turn = { id: turn?.id ?? '', steps: turn?.steps ?? 0, attempt: 0 }
    this.#shown = new ShownFold(calls)
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
    const shown = item.type === 'event' ? this.#shown.take(item.event) : undefined
    if (item.type === 'lost') this.#failed = { code: item.error.code, message: item.error.message }
    else if (item.type === 'message-sent') {
      this.#awaitsTurn = true
      this.#ended = undefined
    } else if (shown?.type === 'turn') this.#startTurn(shown.turn.turn)
    else if (this.#awaitsTurn) return []
    else if (shown) this.#takeShown(shown)
    else if (item.type === 'delta') this.#takeDelta(item.delta)
    return this.#taken()
  }

  end(): AguiEvent[] {
    if (this.#step && !this.#step.isEmpty) this.#takeBack()
    const usage = this.#usage.size > 0 ? { usage: [...this.#usage.values()] } : {}
    const failure = this.#failed ?? turnFailure(this.#ended)
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
    const waits = [...this.#shown.waits.values()]
    const interrupts = [
      ...waits.flatMap(wait => (wait.for === 'permission' ? [permissionInterrupt(wait)] : [])),
      ...waits.flatMap(wait => (wait.for === 'answer' ? [questionInterrupt(wait)] : [])),
    ]
    if (interrupts.length > 0) return { type: 'interrupt', interrupts }
    const own = waits.map(({ callId }) => callId)
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

  #answer(answer: ShownAnswer): void {
    if (this.#step?.hasCallsBeyond(answer)) {
      this.#takeBack()
      for (const part of answer.parts) if (part.type === 'text') this.#current.say(part.text)
    }
    this.#said.push(...this.#current.complete(answer))
    this.#step = undefined
    this.#turn = { ...this.#turn, steps: this.#turn.steps + 1, attempt: 0 }
    this.#count(answer)
  }

  #count({ model, usage }: ShownAnswer): void {
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

  #takeShown(shown: Shown): void {
    switch (shown.type) {
      case 'answer':
        this.#answer(shown.answer)
        break
      case 'call':
        this.#out.push(...loneCall(shown.call.part))
        this.#said.push(loneCallMessage(shown.call.part))
        break
      case 'result':
        this.#settle(shown.callId, shown.outcome)
        break
      case 'end':
        this.#ended = shown.end
        break
      default:
        break
    }
  }

  #settle(toolCallId: string, outcome: Outcome): void {
    if (this.#run.own.has(toolCallId)) return
    const messageId = `${toolCallId}-result`
    const content = resultText(outcome)
    this.#out.push({ type: 'TOOL_CALL_RESULT', messageId, toolCallId, content, role: 'tool' })
    const { details, report } = outcome
    if (details !== undefined)
      this.#out.push({ type: 'CUSTOM', name: 'turnwire/details', value: { toolCallId, details } })
    if (report) this.#out.push({ type: 'CUSTOM', name: 'turnwire/report', value: { toolCallId, report } })
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

type Waits<For extends ShownWait['for']> = Extract<ShownWait, { for: For }>

/** A call that is asked about again may have other arguments than the client saw. */
function permissionInterrupt({ callId: id, call, asked }: Waits<'permission'>): Interrupt {
  const { reason, expiresAt, again, preview } = asked
  const name = call?.part.name ?? ''
  return {
    id,
    reason: 'tool_call',
    message: reason ?? `May "${name}" run?`,
    toolCallId: id,
    responseSchema: decisionSchema,
    ...(expiresAt !== undefined && { expiresAt: new Date(expiresAt).toISOString() }),
    ...((again ?? preview) && {
      metadata: {
        ...(again && { toolCallName: name, toolCallArgs: again.text }),
        ...(preview && { preview }),
      },
    }),
  }
}

function questionInterrupt({ callId, question }: Waits<'answer'>): Interrupt {
  const { id, message, schema, url, expiresAt } = question
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
  return eventFrames(new AguiRunEncoder(run))
}
