// Filters the deltas of a model step for one reader. A step may start over, and an answer may arrive whole without its
// pieces. This turns the deltas of a step into those that the reader is given, so that nothing is given twice or left
// out; the mode says how a step that starts over is shown. No wire keeps track of this itself.
import type { CallForm, CallPart } from './calls.ts'
import { TurnwireError } from './errors.ts'
import type { Delta, Event } from './events.ts'
import type { AnswerPart } from './history.ts'

/**
 * Which deltas a reader gets, and how a model step that starts over is shown. `none`: no deltas. `raw`: as they happen;
 * a step that starts over gives `step.reset`. In the other modes the deltas of a step add up to its answer: what was
 * not given while the model spoke is given right before `model.answered`, also for events that are read from the log.
 * `take-back`: a step that starts over gives `step.reset`, and then all of it again. `append`: text and thinking only.
 * Text that a new attempt repeats is not given again; from where it differs, the whole attempt follows after an empty
 * line. `fail`: what a new attempt repeats is not given again; where it differs, the reader gets `lost`.
 */
export type DeltaMode = 'none' | 'raw' | 'take-back' | 'append' | 'fail'

export type ResolvedMode = Exclude<DeltaMode, 'none' | 'raw'>

type Give = (delta: Delta) => void
type SpeechType = 'text' | 'thinking'
type ShownCall = { id: string; name: string; form: CallForm; text: ShownText }

const separator = '\n\n'

export class StepDeltas {
  readonly #mode: ResolvedMode
  #step = 0
  #begun = false
  #text = new ShownText()
  #thinking = new ShownText()
  #calls: ShownCall[] = []
  /** Calls that the current attempt has opened, by id. Made with the first: not every reader is given calls. */
  #opened: Map<string, ShownCall> | undefined
  /** Vendor blocks that the reader was given, and that the current attempt has ended. */
  #blocks = { given: 0, ended: 0 }

  constructor(mode: ResolvedMode) {
    this.#mode = mode
  }

  /** The number of the step that is being given. */
  get step(): number {
    return this.#step
  }

  event(event: Event, give: Give): void {
    if (event.type === 'turn.started') this.#step = 0
    else if (event.type === 'model.answered')
      if (event.stop === 'cancelled') this.#interrupt(event.shown ?? event.parts, give)
      else this.complete(event.parts, give)
    else if (event.type === 'turn.ended') this.#interrupt(event.shown ?? [], give)
  }

  delta(delta: Delta, give: Give): void {
    switch (delta.type) {
      case 'text':
        this.#say(delta, this.#text, give)
        break
      case 'thinking':
        this.#say(delta, this.#thinking, give)
        break
      case 'step.started':
        this.#clear()
        this.#begun = true
        this.#step = delta.step
        give(delta)
        break
      case 'step.reset':
        this.#startOver(give)
        break
      case 'block':
        this.#block(delta, give)
        break
      case 'call.opened':
        if (this.#mode !== 'append') this.#open(delta.callId, delta.name, delta.form, give)
        break
      case 'arguments': {
        const call = this.#opened?.get(delta.callId)
        if (call) this.#argue(call, delta.text, give)
        break
      }
      default:
        give(delta)
    }
  }

  /** The answer is whole: gives what its deltas have left out. The next delta belongs to another step. */
  complete(parts: readonly AnswerPart[], give: Give): void {
    if (!this.#begun) this.#begin(give)
    if (this.#mode === 'take-back' && !this.#isPrefix(parts)) this.#startOver(give)
    const isEmpty = this.#text.shown === '' && this.#thinking.shown === '' && this.#calls.length === 0
    if (isEmpty) this.#giveAll(parts, give)
    else this.#giveRest(parts, give)
    this.#clear()
  }

  /** The answer was interrupted. Nothing is taken back; text that other readers were shown is given to its end. */
  #interrupt(parts: readonly AnswerPart[], give: Give): void {
    if (parts.length > 0) {
      if (!this.#begun) this.#begin(give)
      this.#giveTails(parts, this.#differing(parts), give)
    }
    this.#clear()
  }

  #begin(give: Give): void {
    this.#step += 1
    give({ type: 'step.started', step: this.#step })
  }

  #clear(): void {
    this.#begun = false
    this.#text = new ShownText()
    this.#thinking = new ShownText()
    this.#calls = []
    this.#opened = undefined
    this.#blocks = { given: 0, ended: 0 }
  }

  #startOver(give: Give): void {
    if (this.#mode === 'take-back') {
      this.#clear()
      this.#begun = true
      give({ type: 'step.reset', step: this.#step })
      return
    }
    this.#text.restart()
    this.#thinking.restart()
    this.#opened = undefined
    for (const call of this.#calls) call.text.restart()
    this.#blocks.ended = 0
  }

  #say(delta: Extract<Delta, { type: 'text' | 'thinking' }>, shown: ShownText, give: Give): void {
    const text = this.#news(shown, delta.text)
    if (text !== '') give(text === delta.text ? delta : { ...delta, text })
  }

  #news(shown: ShownText, piece: string): string {
    const news = shown.take(piece)
    if (news !== undefined) return news
    if (this.#mode === 'fail') throw startedOver()
    return separator + shown.replaceRest(piece)
  }

  #block(delta: Extract<Delta, { type: 'block' }>, give: Give): void {
    this.#blocks.ended += 1
    if (this.#blocks.ended <= this.#blocks.given) return
    this.#blocks.given = this.#blocks.ended
    give(delta)
  }

  #open(id: string, name: string, form: CallForm, give: Give): void {
    this.#opened ??= new Map()
    const again = this.#calls[this.#opened.size]
    if (again && again.name !== name) throw startedOver()
    const call = again ?? { id, name, form, text: new ShownText() }
    this.#opened.set(id, call)
    if (again) return
    this.#calls.push(call)
    give({ type: 'call.opened', callId: id, name, form })
  }

  #argue(call: ShownCall, piece: string, give: Give): void {
    const text = call.text.take(piece)
    if (text === undefined) throw startedOver()
    if (text !== '') give({ type: 'arguments', callId: call.id, text })
  }

  // ---- the whole answer ------------------------------------------------------------------------------------

  #isPrefix(parts: readonly AnswerPart[]): boolean {
    const calls = callsIn(parts)
    return (
      this.#differing(parts).length === 0 &&
      this.#calls.every(
        ({ id, text }, index) => calls[index]?.id === id && beginsWith(calls[index].text, text.shown),
      )
    )
  }

  #giveAll(parts: readonly AnswerPart[], give: Give): void {
    for (const part of parts) {
      if (part.type === 'call') this.#giveCall(part, give)
      else if (part.type === 'thinking' && part.text !== '') give({ type: 'thinking', text: part.text })
      else if (part.type === 'text' && part.text !== '')
        give({ type: 'text', text: part.text, ...(part.phase && { phase: part.phase }) })
    }
  }

  #giveRest(parts: readonly AnswerPart[], give: Give): void {
    const differing = this.#differing(parts)
    if (differing.length > 0 && this.#mode === 'fail') throw startedOver()
    this.#giveTails(parts, differing, give)
    for (const type of differing) {
      const whole = joined(parts, type)
      if (whole !== '') give({ type, text: separator + whole })
    }
    let index = 0
    for (const part of parts) {
      if (part.type !== 'call') continue
      const shown = this.#calls[index++]
      if (!shown) this.#giveCall(part, give)
      else if (shown.name !== part.name || !beginsWith(part.text, shown.text.shown)) throw startedOver()
      else if (part.text.length > shown.text.shown.length)
        give({ type: 'arguments', callId: shown.id, text: part.text.slice(shown.text.shown.length) })
    }
  }

  /** The types whose text, as the reader was given it, is not the beginning of the answer's text. */
  #differing(parts: readonly AnswerPart[]): SpeechType[] {
    const differing: SpeechType[] = []
    for (const [type, { shown }] of [
      ['thinking', this.#thinking],
      ['text', this.#text],
    ] as const)
      if (shown !== '' && !beginsWith(joined(parts, type), shown)) differing.push(type)
    return differing
  }

  /** Text and thinking that the reader was not given, in the order of the answer. */
  #giveTails(parts: readonly AnswerPart[], except: readonly SpeechType[], give: Give): void {
    const given = { text: this.#text.shown.length, thinking: this.#thinking.shown.length }
    for (const part of parts) {
      if ((part.type !== 'text' && part.type !== 'thinking') || except.includes(part.type)) continue
      const tail = part.text.slice(given[part.type])
      given[part.type] -= part.text.length - tail.length
      if (tail === '') continue
      give(
        part.type === 'text' && part.phase
          ? { type: 'text', text: tail, phase: part.phase }
          : { type: part.type, text: tail },
      )
    }
  }

  #giveCall({ id, name, form, text }: CallPart, give: Give): void {
    if (this.#mode === 'append') return
    give({ type: 'call.opened', callId: id, name, form })
    if (text !== '') give({ type: 'arguments', callId: id, text })
  }
}

/** Text that a reader was given. `#at`: how much of it the current attempt has said. */
class ShownText {
  shown = ''
  #at = 0

  /** The new part of a piece; undefined if the piece differs from what was given. */
  take(piece: string): string | undefined {
    const repeated = Math.min(piece.length, this.shown.length - this.#at)
    if (repeated > 0 && !this.shown.startsWith(piece.slice(0, repeated), this.#at)) return undefined
    const news = repeated === 0 ? piece : piece.slice(repeated)
    this.shown += news
    this.#at += piece.length
    return news
  }

  /** The current attempt up to and with this piece replaces what was given. */
  replaceRest(piece: string): string {
    this.shown = this.shown.slice(0, this.#at) + piece
    this.#at = this.shown.length
    return this.shown
  }

  restart(): void {
    this.#at = 0
  }
}

/** Mostly both are the whole text, and two texts of the same length are compared many times as fast as a text with a beginning. */
function beginsWith(text: string, beginning: string): boolean {
  return text.length === beginning.length ? text === beginning : text.startsWith(beginning)
}

function joined(parts: readonly AnswerPart[], type: SpeechType): string {
  let text = ''
  for (const part of parts) if (part.type === type) text += part.text
  return text
}

function callsIn(parts: readonly AnswerPart[]): CallPart[] {
  return parts.filter(part => part.type === 'call')
}

function startedOver(): TurnwireError {
  return new TurnwireError('model_failed', 'The model started over and said something else. Try again.')
}
