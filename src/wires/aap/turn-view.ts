// One turn as the protocol shows it: feed items in, `turn_start` … `turn_stop` out. The three stream modes are one view:
// `message` takes whole answers, `delta` adds their pieces, and `none` folds the events of `message` into messages.
import type { FeedItem } from '../../engine/index.ts'
import { publicError } from '../../language/errors.ts'
import type { CallSettled, Event, ModelAnswered, TurnEnded, TurnStop } from '../../language/events.ts'
import { encodeInput, encodeParts, plainest, thinkingOf } from './encode.ts'
import type {
  AgentMessage,
  Ask,
  ContentBlock,
  Emit,
  Stop,
  StopReason,
  TurnAnswer,
  TurnEvents,
} from './schema.ts'
import { ShownStep } from './shown-step.ts'

const stopReasons: Record<TurnStop, StopReason> = {
  end: 'end_turn',
  length: 'max_tokens',
  limit: 'max_tokens',
  refusal: 'refusal',
  filter: 'refusal',
  error: 'error',
  // There is no word for it; the turn is over and nothing is left for the client to do.
  cancelled: 'end_turn',
  abandoned: 'end_turn',
}

export class TurnView {
  readonly #emit: Emit
  readonly #deltas: boolean
  readonly #shown = new ShownStep()
  readonly #asks = new Map<string, Ask>()
  #ended: TurnEnded | undefined
  #over = false

  constructor(mode: 'delta' | 'message', emit: Emit) {
    this.#deltas = mode === 'delta'
    this.#emit = emit
  }

  begin(): void {
    this.#emit('turn_start', {})
  }

  take(item: Extract<FeedItem, { type: 'event' | 'delta' }>): void {
    if (this.#over) return
    if (item.type === 'event') this.#takeEvent(item.event)
    else if (this.#deltas) this.#takeDelta(item.delta)
  }

  /** The turn is over, or waits for the client. */
  finish(): void {
    this.#stop(this.#ended === undefined ? this.#waiting() : stopOf(this.#ended))
  }

  /** The turn is lost to this stream. */
  fail(reason: unknown): void {
    const { code, message } = publicError(reason)
    this.#stop({ stopReason: 'error', error: message, code })
  }

  #stop(stop: Stop): void {
    if (this.#over) return
    this.#over = true
    this.#emit('turn_stop', stop)
  }

  #waiting(): Stop {
    const asks = [...this.#asks.values()]
    return asks.length > 0 ? { stopReason: 'tool_use', asks } : { stopReason: 'tool_use' }
  }

  #takeEvent(event: Event): void {
    if (event.type === 'model.answered') this.#answer(event)
    else if (event.type === 'call.settled') this.#result(event)
    else if (event.type === 'approval.requested') this.#ask(event)
    else if (event.type === 'turn.started') this.#ended = undefined
    else if (event.type === 'turn.ended') this.#ended = event
  }

  /** Only where there is more to say than that the call waits. */
  #ask({ callId, reason, expiresAt }: Extract<Event, { type: 'approval.requested' }>): void {
    if (reason === undefined && expiresAt === undefined) return
    this.#asks.set(callId, {
      toolCallId: callId,
      ...(reason !== undefined && { reason }),
      ...(expiresAt !== undefined && { expiresAt }),
    })
  }

  #takeDelta(delta: Extract<FeedItem, { type: 'delta' }>['delta']): void {
    if (delta.type === 'step.started') this.#shown.start()
    else if (delta.type === 'step.reset') this.#shown.restart()
    else if (delta.type === 'text' || delta.type === 'thinking')
      this.#piece(delta.type, this.#shown.take(delta.type, delta.text))
  }

  #piece(kind: 'text' | 'thinking', delta: string): void {
    if (delta !== '') this.#emit(kind === 'text' ? 'text_delta' : 'thinking_delta', { delta })
  }

  #answer({ parts }: ModelAnswered): void {
    if (this.#deltas && !this.#shown.nothing) this.#complete(parts)
    else
      for (const part of parts) {
        if (part.type === 'call') continue
        if (part.type === 'text') this.#whole('text', part.text)
        else this.#whole('thinking', thinkingOf(part))
      }
    for (const part of parts)
      if (part.type === 'call')
        this.#emit('tool_call', { toolCallId: part.id, name: part.name, input: encodeInput(part) })
    this.#shown.start()
  }

  #whole(kind: 'text' | 'thinking', text: string): void {
    if (this.#deltas) this.#piece(kind, text)
    else if (text === '') return
    else if (kind === 'text') this.#emit('text', { text })
    else this.#emit('thinking', { thinking: text })
  }

  /** What the pieces have left unsaid, for a client that came late or a step that started over. */
  #complete(parts: ModelAnswered['parts']): void {
    let text = ''
    let thinking = ''
    for (const part of parts) {
      if (part.type === 'text') text += part.text
      else if (part.type === 'thinking') thinking += part.text
    }
    this.#piece('thinking', this.#shown.rest('thinking', thinking))
    this.#piece('text', this.#shown.rest('text', text))
    for (const part of parts) if (part.type === 'hosted') this.#piece('thinking', thinkingOf(part))
  }

  /**
   * Every result that the client does not have already: of server tools, of denials, of calls that the runtime
   * settled. What a new user message abandoned belongs to the turn before and is read in the history.
   */
  #result({ callId, outcome }: CallSettled): void {
    this.#asks.delete(callId)
    if (outcome.from.source === 'client' || outcome.kind === 'abandoned') return
    this.#emit('tool_result', { toolCallId: callId, content: encodeParts(outcome.parts) })
  }
}

function stopOf({ stop, error, limit }: TurnEnded): Stop {
  return {
    stopReason: stopReasons[stop],
    ...(error && { error: error.message, code: error.code }),
    ...(limit !== undefined && { limit }),
  }
}

/** The events of `message` mode as one answer. */
export class TurnFold {
  readonly #messages: AgentMessage[] = []
  #blocks: ContentBlock[] = []
  #stop: Stop = { stopReason: 'error' }

  readonly emit: Emit = (event, data) => {
    const fold = this.#folds[event]
    fold(data)
  }

  get answer(): TurnAnswer {
    return { ...this.#stop, messages: this.#messages }
  }

  readonly #folds: { [Name in keyof TurnEvents]: (data: TurnEvents[Name]) => void } = {
    session_start: () => {},
    turn_start: () => {},
    text_delta: () => {},
    thinking_delta: () => {},
    text: ({ text }) => this.#blocks.push({ type: 'text', text }),
    thinking: ({ thinking }) => this.#blocks.push({ type: 'thinking', thinking }),
    tool_call: call => this.#blocks.push({ type: 'tool_use', ...call }),
    tool_result: result => {
      this.#close()
      this.#messages.push({ role: 'tool', ...result })
    },
    turn_stop: stop => {
      this.#close()
      this.#stop = stop
    },
  }

  #close(): void {
    if (this.#blocks.length > 0) this.#messages.push({ role: 'assistant', content: plainest(this.#blocks) })
    this.#blocks = []
  }
}
