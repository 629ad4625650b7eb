// One turn as the protocol shows it: items of a session in, `turn_start` … `turn_stop` out. The three stream modes share it:
// `message` shows whole answers, `delta` their deltas, and `none` folds the events of `message` into one answer.
import type { FollowItem, PlainError } from '../../engine/index.ts'
import type { CallPart } from '../../language/calls.ts'
import type { CallSettled, Event, ModelAnswered, TurnEnded, TurnStop } from '../../language/events.ts'
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

type ShownCall = Pick<CallPart, 'id' | 'name' | 'form' | 'text'>

/**
 * Calls that make calls of their own need nothing from the client once they run, and may outlast several stops of the turn.
 * The client takes every call without a result for one that waits for it. So such a call is shown together with its result, or
 * when it waits for an answer itself.
 */
export type HeldBack = {
  /** The tools that make calls. */
  tools: ReadonlySet<string>
  /** Calls that earlier streams of the turn have not shown. */
  calls: readonly ShownCall[]
}

const nothingHeld: HeldBack = { tools: new Set(), calls: [] }

/** A fold from items to the protocol's events. */
export class TurnEncoder {
  readonly #deltas: boolean
  readonly #makeCalls: ReadonlySet<string>
  readonly #heldBack: Map<string, ShownCall>
  readonly #asks = new Map<string, Ask>()
  readonly #questions = new Map<string, Question>()
  /** The arguments of the calls that this stream has shown. */
  readonly #shown = new Map<string, string>()
  #ended: TurnEnded | undefined

  constructor(mode: 'delta' | 'message', { tools, calls }: HeldBack = nothingHeld) {
    this.#deltas = mode === 'delta'
    this.#makeCalls = tools
    this.#heldBack = new Map(calls.map(call => [call.id, call]))
  }

  take(item: FollowItem): TurnEvent[] {
    switch (item.type) {
      case 'event':
        return this.#event(item.event)
      case 'delta': {
        const { delta } = item
        if (delta.type === 'text') return [['text_delta', { delta: delta.text }]]
        if (delta.type === 'thinking') return [['thinking_delta', { delta: delta.text }]]
        return []
      }
      case 'waiting':
        return [['turn_stop', this.#waiting()]]
      case 'ended':
        return [['turn_stop', this.#ended ? encodeStop(this.#ended) : { stopReason: 'end_turn' }]]
      case 'lost':
        return [['turn_stop', encodeFailure(item.error)]]
      case 'running':
        return []
    }
  }

  #waiting(): Stop {
    const asks = [...this.#asks.values()]
    const questions = [...this.#questions.values()]
    return {
      stopReason: 'tool_use',
      ...(asks.length > 0 && { asks }),
      ...(questions.length > 0 && { questions }),
    }
  }

  #event(event: Event): TurnEvent[] {
    switch (event.type) {
      case 'model.answered':
        return this.#answer(event)
      case 'call.nested':
        return this.#made(event.call)
      case 'call.handed':
        return this.#release(event.callId)
      case 'call.settled':
        return this.#result(event)
      case 'approval.requested':
        return [...this.#release(event.callId), ...this.#ask(event)]
      case 'question.asked':
        this.#questions.set(event.question, encodeQuestion(event.callId, { ...event, id: event.question }))
        return this.#release(event.callId)
      case 'question.answered':
      case 'question.expired':
      case 'question.withdrawn':
        this.#questions.delete(event.question)
        return []
      case 'turn.started':
        this.#ended = undefined
        return []
      case 'turn.ended':
        this.#ended = event
        return []
      default:
        return []
    }
  }

  /** A call that is asked about again is shown again, unless this stream has shown it just so. */
  #ask(event: Extract<Event, { type: 'approval.requested' }>): TurnEvent[] {
    const { callId, reason, expiresAt, preview, again } = event
    // Only if there is more to say than that the call waits.
    if (reason !== undefined || expiresAt !== undefined || preview)
      this.#asks.set(callId, {
        toolCallId: callId,
        ...(reason !== undefined && { reason }),
        ...(expiresAt !== undefined && { expiresAt }),
        ...(preview && { preview }),
      })
    return again && this.#shown.get(callId) !== again.text ? [this.#call({ id: callId, ...again })] : []
  }

  #made(part: ShownCall): TurnEvent[] {
    if (!this.#makeCalls.has(part.name)) return [this.#call(part)]
    this.#heldBack.set(part.id, part)
    return []
  }

  #release(callId: string): TurnEvent[] {
    const part = this.#heldBack.get(callId)
    this.#heldBack.delete(callId)
    return part ? [this.#call(part)] : []
  }

  #call(part: ShownCall): TurnEvent {
    this.#shown.set(part.id, part.text)
    return ['tool_call', { toolCallId: part.id, name: part.name, input: encodeCallInput(part) }]
  }

  /** In `delta` mode text and thinking have come as deltas, all but what a vendor did on its own side. */
  #answer({ parts }: ModelAnswered): TurnEvent[] {
    const events: TurnEvent[] = []
    for (const part of parts) {
      if (part.type === 'call') continue
      if (this.#deltas) {
        if (part.type === 'hosted') events.push(['thinking_delta', { delta: thinkingText(part) }])
      } else if (part.type !== 'text') events.push(['thinking', { thinking: thinkingText(part) }])
      else if (part.text !== '') events.push(['text', { text: part.text }])
    }
    for (const part of parts) if (part.type === 'call') events.push(...this.#made(part))
    return events
  }

  /**
   * Every result that the client does not have already: of server tools, of denials, of calls that the runtime settled.
   * A call that a new user message abandoned belongs to the turn before, and its result stands in the history.
   */
  #result({ callId, outcome }: CallSettled): TurnEvent[] {
    this.#asks.delete(callId)
    if (outcome.from.source === 'client' || outcome.kind === 'abandoned') return []
    const { report, details } = outcome
    const extras = { ...(report && { report }), ...(details !== undefined && { details }) }
    return [
      ...this.#release(callId),
      ['tool_result', { toolCallId: callId, content: encodeParts(outcome.parts), ...extras }],
    ]
  }
}

function encodeStop({ stop, error, limit }: TurnEnded): Stop {
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
  const framesOf = (events: readonly TurnEvent[]): string => {
    let frames = ''
    for (const [name, data] of events) frames += sseFrame(name, data)
    return frames
  }
  return {
    begin: () =>
      framesOf([
        ...(created === undefined ? [] : [['session_start', { sessionId: created }] satisfies TurnEvent]),
        ['turn_start', {}],
      ]),
    take: item => framesOf(encoder.take(item)),
    end: () => '',
    fail: error => framesOf([['turn_stop', encodeFailure(error)]]),
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
