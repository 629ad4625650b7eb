// One turn as the protocol shows it: items of a session in, `turn_start` … `turn_stop` out. The three stream modes share it:
// `message` shows whole answers, `delta` their deltas, and `none` folds the events of `message` into one answer.

import type { FollowItem, PlainError } from '../../engine/index.ts'
import type { CallPart, Outcome } from '../../language/calls.ts'
import type { TurnStop } from '../../language/events.ts'
import {
  type ShownAnswer,
  type ShownCall,
  type ShownEnd,
  ShownFold,
  type ShownPermission,
  type ShownWait,
} from '../../language/show.ts'
import { present } from '../../lib/json/present.ts'
import { sseFrame } from '../http/index.ts'
import type { FrameEncoder } from '../http/stream.ts'
import { encodeCallInput, encodeParts, encodeQuestion, plainestContent, thinkingText } from './encode.ts'
import type {
  AgentMessage,
  Ask,
  ContentBlock,
  Question,
  Stop,
  StopReason,
  TurnAnswer,
  TurnEvent,
} from './schema.ts'

const stopReasons: Record<TurnStop, StopReason> = {
  end: 'end_turn',
  length: 'max_tokens',
  limit: 'max_tokens',
  refusal: 'refusal',
  filter: 'refusal',
  error: 'error',
  // The protocol has no word for these: the turn is over, and the client has nothing left to do.
  cancelled: 'end_turn',
  abandoned: 'end_turn',
}

type CallData = Pick<CallPart, 'id' | 'name' | 'form' | 'text'>

/**
 * Calls that make calls of their own need nothing from the client once they run, and may outlast several stops of the turn.
 * The client takes every call without a result for one that waits for it. So such a call is shown together with its result, or
 * when it waits for an answer itself.
 */
export type HeldBack = {
  /** The tools that make calls. */
  tools: ReadonlySet<string>
  /** Calls that earlier streams of the turn have not shown. */
  calls: readonly CallData[]
}

const nothingHeld: HeldBack = { tools: new Set(), calls: [] }

/** A fold from items to the protocol's events. */
export class TurnEncoder {
  readonly #deltas: boolean
  readonly #makeCalls: ReadonlySet<string>
  readonly #heldBack: Map<string, CallData>
  readonly #shown = new ShownFold()
  /** The arguments of the calls that this stream has shown. */
  readonly #arguments = new Map<string, string>()
  #ended: ShownEnd | undefined

  constructor(mode: 'delta' | 'message', { tools, calls }: HeldBack = nothingHeld) {
    this.#deltas = mode === 'delta'
    this.#makeCalls = tools
    this.#heldBack = new Map(calls.map(call => [call.id, call]))
  }

  take(item: FollowItem): TurnEvent[] {
    if (item.type === 'delta') {
      const { delta } = item
      if (delta.type === 'text') return [['text_delta', { delta: delta.text }]]
      return delta.type === 'thinking' ? [['thinking_delta', { delta: delta.text }]] : []
    }
    if (item.type !== 'event') return this.#stop(item)
    const shown = this.#shown.take(item.event)
    switch (shown?.type) {
      case 'answer':
        return this.#answer(shown.answer, shown.calls)
      case 'call':
        return this.#made(shown.call.part)
      case 'waits':
        return this.#wait(shown)
      case 'result':
        return this.#result(shown.callId, shown.outcome)
      case 'turn':
        this.#ended = undefined
        return []
      case 'end':
        this.#ended = shown.end
        return []
      default:
        return []
    }
  }

  #stop(item: Exclude<FollowItem, { type: 'event' | 'delta' }>): TurnEvent[] {
    if (item.type === 'running') return []
    if (item.type === 'waiting') return [['turn_stop', this.#waiting()]]
    if (item.type === 'lost') return [['turn_stop', encodeFailure(item.error)]]
    return [['turn_stop', this.#ended ? encodeStop(this.#ended) : { stopReason: 'end_turn' }]]
  }

  #waiting(): Stop {
    const asks: Ask[] = []
    const questions: Question[] = []
    for (const wait of this.#shown.waits.values())
      if (wait.for === 'answer') questions.push(encodeQuestion(wait.callId, wait.question))
      else if (wait.for === 'permission') asks.push(...encodeAsk(wait.callId, wait.asked))
    return {
      stopReason: 'tool_use',
      ...(asks.length > 0 && { asks }),
      ...(questions.length > 0 && { questions }),
    }
  }

  /** A call that is asked about again is shown again, unless this stream has shown it just so. */
  #wait(wait: ShownWait): TurnEvent[] {
    const events = this.#release(wait.callId)
    const again = wait.for === 'permission' ? wait.asked.again : undefined
    if (again && this.#arguments.get(wait.callId) !== again.text)
      events.push(this.#call({ id: wait.callId, ...again }))
    return events
  }

  #made(part: CallPart): TurnEvent[] {
    if (!this.#makeCalls.has(part.name)) return [this.#call(part)]
    this.#heldBack.set(part.id, part)
    return []
  }

  #release(callId: string): TurnEvent[] {
    const part = this.#heldBack.get(callId)
    this.#heldBack.delete(callId)
    return part ? [this.#call(part)] : []
  }

  #call(part: CallData): TurnEvent {
    this.#arguments.set(part.id, part.text)
    return ['tool_call', { toolCallId: part.id, name: part.name, input: encodeCallInput(part) }]
  }

  /** In `delta` mode text and thinking have come as deltas, all but what a vendor did on its own side. */
  #answer({ parts }: ShownAnswer, calls: readonly ShownCall[]): TurnEvent[] {
    const events: TurnEvent[] = []
    for (const part of parts) {
      if (part.type === 'call') continue
      if (this.#deltas) {
        if (part.type === 'hosted') events.push(['thinking_delta', { delta: thinkingText(part) }])
      } else if (part.type !== 'text') events.push(['thinking', { thinking: thinkingText(part) }])
      else if (part.text !== '') events.push(['text', { text: part.text }])
    }
    for (const call of calls) events.push(...this.#made(call.part))
    return events
  }

  /**
   * Every result that the client does not have already: of server tools, of denials, of calls that the runtime settled.
   * A call that a new user message abandoned belongs to the turn before, and its result stands in the history.
   */
  #result(callId: string, outcome: Outcome): TurnEvent[] {
    if (outcome.from.source === 'client' || outcome.kind === 'abandoned') return []
    const { report, details } = outcome
    const extras = { ...(report && { report }), ...(details !== undefined && { details }) }
    const result: TurnEvent = [
      'tool_result',
      { toolCallId: callId, content: encodeParts(outcome.parts), ...extras },
    ]
    return this.#heldBack.size > 0 ? [...this.#release(callId), result] : [result]
  }
}

/** Only if there is more to say than that the call waits. */
function encodeAsk(toolCallId: string, { reason, expiresAt, preview }: ShownPermission): Ask[] {
  if (reason === undefined && expiresAt === undefined && !preview) return []
  return [{ toolCallId, ...present({ reason, expiresAt, preview }) }]
}

function encodeStop({ stop, error, limit }: ShownEnd): Stop {
  return {
    stopReason: stopReasons[stop],
    ...(error && { error: error.message, code: error.code }),
    ...(limit !== undefined && { limit }),
  }
}

function encodeFailure({ code, message }: PlainError): Stop {
  return { stopReason: 'error', error: message, code }
}

/** `created`: the session that versions 1 and 2 announce with its first turn. */
export function turnFrames(
  mode: 'delta' | 'message',
  created?: string,
  held?: HeldBack,
): FrameEncoder<FollowItem> {
  const encoder = new TurnEncoder(mode, held)
  const joinFrames = (events: readonly TurnEvent[]): string => {
    let frames = ''
    for (const [name, data] of events) frames += sseFrame(name, data)
    return frames
  }
  return {
    begin: () =>
      joinFrames([
        ...(created === undefined ? [] : [['session_start', { sessionId: created }] satisfies TurnEvent]),
        ['turn_start', {}],
      ]),
    take: item => {
      const events = encoder.take(item)
      return events.length > 0 ? joinFrames(events) : ''
    },
    end: () => '',
    fail: error => joinFrames([['turn_stop', encodeFailure(error)]]),
  }
}

/** The events of `message` mode as one answer. */
export class TurnFold {
  readonly #messages: AgentMessage[] = []
  readonly #encoder: TurnEncoder
  #blocks: ContentBlock[] = []
  #stop: Stop = { stopReason: 'error' }

  constructor(held?: HeldBack) {
    this.#encoder = new TurnEncoder('message', held)
  }

  get answer(): TurnAnswer {
    return { ...this.#stop, messages: this.#messages }
  }

  take(item: FollowItem): void {
    for (const event of this.#encoder.take(item)) this.#add(event)
  }

  #add([name, data]: TurnEvent): void {
    switch (name) {
      case 'text':
        this.#blocks.push({ type: 'text', text: data.text })
        break
      case 'thinking':
        this.#blocks.push({ type: 'thinking', thinking: data.thinking })
        break
      case 'tool_call':
        this.#blocks.push({ type: 'tool_use', ...data })
        break
      case 'tool_result':
        this.#closeMessage()
        this.#messages.push({ role: 'tool', ...data })
        break
      case 'turn_stop':
        this.#closeMessage()
        this.#stop = data
        break
      default:
        break
    }
  }

  #closeMessage(): void {
    if (this.#blocks.length > 0)
      this.#messages.push({ role: 'assistant', content: plainestContent(this.#blocks) })
    this.#blocks = []
  }
}
