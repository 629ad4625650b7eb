// One run as DeltaKit shows it: feed items in, numbered events out. The numbers count what the log says, so they are the
// same for everyone who looks, at any time and on any server; a step that starts over takes its numbers back.
import type { FeedItem } from '../../engine/index.ts'
import { publicError } from '../../language/errors.ts'
import type { Delta, Event, ModelAnswered, TurnEnded } from '../../language/events.ts'
import type { View } from '../http/follow.ts'
import { encodeArgument, encodeOutput } from './encode.ts'
import { type Piece, Pieces, piecesOf, samePiece, textOfPiece } from './pieces.ts'
import type { DeltaKitEvent, Failed, ToolCall } from './schema.ts'

/** `again`: shown before and found void; it is told anew from here, whatever its number. */
export type Emit = (event: DeltaKitEvent, number: number, again: boolean) => void

const parting = '\n\n'

export class RunView implements View {
  readonly #emit: Emit
  /** A message starts a turn: what is settled before that belongs to the turn before it. */
  #waiting: boolean
  #next = 0
  /** The pieces of the answer in flight: as sent, and as far as the present attempt has come. */
  #shown: Piece[] = []
  #attempt: Piece[] = []
  #cutter = new Pieces()
  readonly #calls = new Map<string, ToolCall & { form: 'json' | 'text' }>()
  #ended: TurnEnded | undefined
  #lost: Failed | undefined

  constructor(emit: Emit, starts: 'with a turn' | 'at once') {
    this.#emit = emit
    this.#waiting = starts === 'with a turn'
  }

  get over(): boolean {
    return this.#ended !== undefined
  }

  take(item: Extract<FeedItem, { type: 'event' | 'delta' }>): void {
    if (item.type === 'event' && item.event.type === 'turn.started') this.#waiting = false
    if (this.#waiting) return
    if (item.type === 'event') this.#takeEvent(item.event)
    else this.#takeDelta(item.delta)
  }

  lose(reason: unknown): void {
    const { code, message } = publicError(reason)
    this.#lost = { type: 'error', message, code }
  }

  /** What is said at the end; `done` for runs that tell it. Nothing comes after it. */
  finish(done: 'done' | 'silently'): void {
    const failed = this.#lost ?? this.#failure()
    if (failed) this.#one(failed)
    else if (done === 'done') this.#one({ type: 'done' })
  }

  #failure(): Failed | undefined {
    if (this.#ended?.stop !== 'error') return undefined
    const { code, message } = this.#ended.error ?? { code: 'internal', message: 'The turn failed.' }
    return { type: 'error', message, code }
  }

  #one(event: DeltaKitEvent): void {
    this.#emit(event, this.#next, false)
    this.#next += 1
  }

  // ---- the answer in flight -----------------------------------------------------------------------------------

  #takeDelta(delta: Delta): void {
    if (delta.type === 'step.started' || delta.type === 'step.reset') {
      this.#attempt = []
      this.#cutter = new Pieces()
    } else if (delta.type === 'text' || delta.type === 'thinking')
      for (const piece of this.#cutter.add(delta.type, delta.text)) this.#piece(piece)
  }

  #piece(piece: Piece): void {
    const at = this.#attempt.push(piece) - 1
    if (at >= this.#shown.length) {
      this.#shown.push(piece)
      this.#emit(piece, this.#next + at, false)
    } else if (!samePiece(this.#shown[at], piece)) this.#again(this.#attempt)
  }

  /** There is no word for taking text back: what counts is told whole, after an empty line. */
  #again(pieces: readonly Piece[]): void {
    this.#shown = [...pieces]
    for (const [at, piece] of pieces.entries())
      this.#emit(at === 0 ? parted(piece) : piece, this.#next + at, at === 0)
  }

  #answer({ parts, stop }: ModelAnswered): void {
    const whole = piecesOf(parts)
    const agreed = whole.findIndex((piece, at) => !samePiece(this.#shown[at], piece))
    const same = agreed < 0 ? whole.length : agreed
    if (same === this.#shown.length)
      for (const [at, piece] of whole.entries()) {
        if (at >= same) this.#emit(piece, this.#next + at, false)
      }
    else if (stop === 'cancelled') this.#completeText(whole)
    else if (whole.length > 0) this.#again(whole)
    this.#next += whole.length
    this.#shown = []
    this.#attempt = []
    this.#cutter = new Pieces()
    for (const part of parts) {
      if (part.type !== 'call') continue
      const argument = encodeArgument(part.form, part.text)
      const call: ToolCall = { type: 'tool_call', tool_name: part.name, argument, call_id: part.id }
      this.#calls.set(part.id, { ...call, form: part.form })
      this.#one(call)
    }
  }

  /** Of an answer that was cut off only the text is kept. What is left of it is all there is to say. */
  #completeText(whole: readonly Piece[]): void {
    const shown = this.#shown.filter(piece => piece.type === 'text_delta').map(textOfPiece)
    const rest = whole.map(textOfPiece).join('').slice(shown.join('').length)
    if (rest !== '') this.#emit({ type: 'text_delta', delta: rest }, this.#next + whole.length - 1, false)
  }

  // ---- what is durable ----------------------------------------------------------------------------------------

  #takeEvent(event: Event): void {
    switch (event.type) {
      case 'model.answered':
        this.#answer(event)
        break
      case 'call.handed': {
        const call = this.#calls.get(event.callId)
        if (call) {
          const { call_id, tool_name, argument } = call
          this.#one({ type: 'tool_execute_request', call_id, tool_name, argument })
        }
        break
      }
      case 'approval.requested':
        this.#asked(event)
        break
      case 'call.edited': {
        const form = this.#calls.get(event.callId)?.form ?? 'json'
        const argument = encodeArgument(form, event.text)
        this.#one({ type: 'tool_call_edited', call_id: event.callId, argument })
        break
      }
      case 'call.settled':
        this.#one({ type: 'tool_result', call_id: event.callId, output: encodeOutput(event.outcome) })
        break
      case 'turn.ended':
        this.#ended = event
        if (event.stop !== 'end' && event.stop !== 'error')
          this.#one({
            type: 'stopped',
            reason: event.stop,
            ...(event.limit !== undefined && { limit: event.limit }),
          })
        break
      default:
        break
    }
  }

  #asked(event: Extract<Event, { type: 'approval.requested' }>): void {
    const call = this.#calls.get(event.callId)
    if (!call) return
    const { call_id, tool_name, argument } = call
    this.#one({
      type: 'tool_approval_request',
      call_id,
      tool_name,
      argument,
      arguments_hash: event.argsHash,
      ...(event.reason !== undefined && { reason: event.reason }),
      ...(event.expiresAt !== undefined && { expires_at: new Date(event.expiresAt).toISOString() }),
    })
  }
}

function parted(piece: Piece): Piece {
  return piece.type === 'text_delta'
    ? { type: 'text_delta', delta: parting + piece.delta }
    : { type: 'reasoning', text: parting + piece.text }
}
