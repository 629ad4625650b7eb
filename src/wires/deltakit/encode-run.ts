// One run as DeltaKit shows it: items of a session in, numbered events out. The numbers follow from the log alone, so they
// are the same for every reader, at any time and on any node. A step that starts over takes its numbers back.

import type { FollowItem } from '../../engine/index.ts'
import { TurnwireError } from '../../language/errors.ts'
import type { Delta } from '../../language/events.ts'
import {
  type Shown,
  type ShownAnswer,
  type ShownCall,
  type ShownEnd,
  ShownFold,
  type ShownWait,
  turnFailure,
} from '../../language/show.ts'
import { present } from '../../lib/json/present.ts'
import { dataFrame } from '../http/index.ts'
import { doneFrame, type FrameEncoder } from '../http/stream.ts'
import { encodeArgument, encodeOutput } from './encode.ts'
import { hostedText, type Piece, Pieces, samePiece } from './encode-pieces.ts'
import type { DeltaKitEvent, Failed, SessionMade, ToolCall } from './schema.ts'

/**
 * `again`: the events from here on replace those that were sent with the same numbers. `last`: the run ends with it.
 * Without a number it is no event of the run, which goes on.
 */
export type NumberedEvent = { event: DeltaKitEvent; number?: number; again?: true; last?: true }

const separator = '\n\n'

export class RunEncoder {
  /** A message starts a turn: calls that are settled before that belong to the turn before it. */
  #awaitsTurn: boolean
  #next = 0
  /** The pieces of the current answer: as sent, and those of the current attempt. */
  #sent: Piece[] = []
  #attempt: Piece[] = []
  #cutter = new Pieces()
  #out: NumberedEvent[] = []
  readonly #shown = new ShownFold()
  #ended: ShownEnd | undefined
  /** Why this stream cannot go on, though the run may. */
  #lost: Failed | undefined

  constructor(starts: 'with a turn' | 'at once') {
    this.#awaitsTurn = starts === 'with a turn'
  }

  take(item: FollowItem): NumberedEvent[] {
    const shown = item.type === 'event' ? this.#shown.take(item.event) : undefined
    if (shown?.type === 'turn') this.#awaitsTurn = false
    if (item.type === 'lost') this.#lost = { type: 'error', ...item.error }
    else if (this.#ended || this.#awaitsTurn) return []
    else if (shown) this.#takeShown(shown)
    else if (item.type === 'delta') this.#takeDelta(item.delta)
    return this.#taken()
  }

  /** Why the run failed, or why no more of it can be shown here. */
  get failure(): Failed | undefined {
    return this.#lost ?? encodeFailure(this.#ended)
  }

  /** The stream ends before the run does. */
  get isLost(): boolean {
    return this.#lost !== undefined
  }

  /** The last events; `done` for runs that say so. */
  end(done: 'done' | 'silently'): NumberedEvent[] {
    if (this.#lost) return [{ event: this.#lost, last: true }]
    const last = encodeFailure(this.#ended) ?? (done === 'done' ? ({ type: 'done' } as const) : undefined)
    return last ? [{ event: last, number: this.#next, last: true }] : []
  }

  #taken(): NumberedEvent[] {
    const events = this.#out
    this.#out = []
    return events
  }

  #add(event: DeltaKitEvent): void {
    this.#out.push({ event, number: this.#next })
    this.#next += 1
  }

  // ---- the current answer -------------------------------------------------------------------------------------

  #takeDelta(delta: Delta): void {
    if (delta.type === 'step.started' || delta.type === 'step.reset') this.#startAttempt()
    else if (delta.type === 'text' || delta.type === 'thinking')
      for (const piece of this.#cutter.add(delta.type, delta.text)) this.#piece(piece)
  }

  #startAttempt(): void {
    this.#attempt = []
    this.#cutter = new Pieces()
  }

  #piece(piece: Piece): void {
    const at = this.#attempt.push(piece) - 1
    if (at >= this.#sent.length) {
      this.#sent.push(piece)
      this.#out.push({ event: piece, number: this.#next + at })
    } else if (!samePiece(this.#sent[at], piece)) this.#sendAgain()
  }

  /** The protocol cannot take text back: the new attempt is sent whole, after an empty line. */
  #sendAgain(): void {
    this.#sent = [...this.#attempt]
    for (const [at, piece] of this.#sent.entries())
      this.#out.push(
        at === 0
          ? { event: separated(piece), number: this.#next, again: true }
          : { event: piece, number: this.#next + at },
      )
  }

  #answer({ parts, stop }: ShownAnswer, calls: readonly ShownCall[]): void {
    for (const part of parts)
      if (part.type === 'hosted')
        for (const piece of this.#cutter.add('thinking', hostedText(part))) this.#piece(piece)
    for (const piece of this.#cutter.flush()) this.#piece(piece)
    // An attempt that says less than the one before it takes the rest back.
    if (stop !== 'cancelled' && this.#attempt.length < this.#sent.length) this.#sendAgain()
    this.#count()
    for (const call of calls) this.#add({ type: 'tool_call', ...encodeCall(call) })
  }

  /** The pieces that were sent keep their numbers. */
  #count(): void {
    this.#next += this.#sent.length
    this.#sent = []
    this.#startAttempt()
  }

  // ---- durable events -----------------------------------------------------------------------------------------

  #takeShown(shown: Shown): void {
    switch (shown.type) {
      case 'answer':
        this.#answer(shown.answer, shown.calls)
        break
      case 'call':
        this.#add({ type: 'tool_call', ...encodeCall(shown.call) })
        break
      case 'waits':
        this.#wait(shown)
        break
      case 'edited': {
        const argument = encodeArgument(shown.call?.part.form ?? 'json', shown.edit.text)
        this.#add({ type: 'tool_call_edited', call_id: shown.callId, argument })
        break
      }
      case 'result': {
        const { callId: call_id, outcome } = shown
        const { report, details } = outcome
        this.#add({
          type: 'tool_result',
          call_id,
          output: encodeOutput(outcome),
          ...(report && { report }),
          ...(details !== undefined && { details }),
        })
        break
      }
      case 'end':
        this.#end(shown.end)
        break
      default:
        break
    }
  }

  #wait(wait: ShownWait): void {
    if (wait.for === 'answer') {
      const { id, message, schema, url, expiresAt } = wait.question
      this.#add({
        type: 'tool_question',
        call_id: wait.callId,
        question_id: id,
        message,
        ...present({ schema, url, expires_at: toIso(expiresAt) }),
      })
    } else if (!wait.call) return
    else if (wait.for === 'result') this.#add({ type: 'tool_execute_request', ...encodeCall(wait.call) })
    else {
      const { argsHash, reason, expiresAt, preview } = wait.asked
      this.#add({
        type: 'tool_approval_request',
        ...encodeCall(wait.call),
        arguments_hash: argsHash,
        ...present({ reason, expires_at: toIso(expiresAt), preview }),
      })
    }
  }

  #end(end: ShownEnd): void {
    this.#ended = end
    // An answer that never came: the end of the turn says what was shown of it.
    for (const piece of this.#cutter.flush()) this.#piece(piece)
    this.#count()
    const { stop, limit } = end
    if (stop !== 'end' && stop !== 'error')
      this.#add({ type: 'stopped', reason: stop, ...(limit !== undefined && { limit }) })
  }
}

function encodeCall({ part: { id, name, form }, text }: ShownCall): Omit<ToolCall, 'type'> {
  return { call_id: id, tool_name: name, argument: encodeArgument(form, text) }
}

function toIso(at: number | undefined): string | undefined {
  return at === undefined ? undefined : new Date(at).toISOString()
}

function separated(piece: Piece): Piece {
  return piece.type === 'text_delta'
    ? { type: 'text_delta', delta: separator + piece.delta }
    : { type: 'reasoning', text: separator + piece.text }
}

function encodeFailure(end: ShownEnd | undefined): Failed | undefined {
  const failure = turnFailure(end)
  return failure && { type: 'error', ...failure }
}

// ---- streams --------------------------------------------------------------------------------------------------

/**
 * One message or one answer, until the session rests or waits. `made`: the session that was made for it. DeltaKit's hook
 * ignores the event `error` and takes `[DONE]` for success, so a failure breaks the stream off.
 */
export function chatFrames(
  starts: 'with a turn' | 'at once',
  made: SessionMade | undefined,
): FrameEncoder<FollowItem> {
  const encoder = new RunEncoder(starts)
  const frames = (events: readonly NumberedEvent[]): string =>
    events.map(({ event }) => dataFrame(event)).join('')
  return {
    begin: () => (made ? dataFrame(made) : ''),
    take: item => frames(encoder.take(item)),
    end: () => frames(encoder.end('silently')) + (encoder.failure ? '' : doneFrame),
    fail: error => frames(encoder.take({ type: 'lost', error })) + frames(encoder.end('silently')),
    breaksOff: () => encoder.failure !== undefined,
  }
}

/** Throws if the turn fails before there is anything to show: the request then fails with a status. */
export async function* failingEarly(
  items: AsyncIterable<readonly FollowItem[]>,
): AsyncGenerator<readonly FollowItem[], void, undefined> {
  const fold = new ShownFold()
  let isEarly = true
  for await (const batch of items) {
    for (const item of batch) {
      if (!isEarly) break
      if (item.type === 'delta')
        isEarly = item.delta.type === 'step.started' || item.delta.type === 'step.reset'
      else if (item.type === 'event') {
        const shown = fold.take(item.event)
        const failure = shown?.type === 'end' ? turnFailure(shown.end) : undefined
        if (failure) throw new TurnwireError(failure.code, failure.message)
        isEarly = shown?.type !== 'answer'
      }
    }
    yield batch
  }
}

/**
 * A whole run, for a client that has the events up to number `last`. A stream that cannot go on while its run does breaks off:
 * the client asks again, after the last number that it has.
 */
export function runFrames(last: number): FrameEncoder<FollowItem> {
  const encoder = new RunEncoder('with a turn')
  const isNew = newEvents(last)
  const frames = (events: readonly NumberedEvent[]): string =>
    events.flatMap(each => (isNew(each) ? [dataFrame(each.event, each.number)] : [])).join('')
  return {
    take: item => frames(encoder.take(item)),
    end: () => frames(encoder.end('done')) + (encoder.isLost ? '' : doneFrame),
    fail: error => frames(encoder.take({ type: 'lost', error })) + frames(encoder.end('done')),
    breaksOff: () => encoder.isLost,
  }
}

/** Whether a client that has the events up to number `last` is to be sent an event. */
export function newEvents(last: number): (event: NumberedEvent) => boolean {
  let after = last
  return ({ number, again, last: isLast }) => {
    if (again) after = -1
    if (number === undefined) return true
    // A client with later numbers has them from a step that started over, and does not have the end.
    return isLast ? number !== after : number > after
  }
}
