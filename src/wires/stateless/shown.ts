// What a stream has shown of an answer, so that nothing is shown twice and nothing is left out: a model may start over
// in mid-answer, and may tell the whole without its pieces. What was sent cannot be taken back: a model that starts over
// and says something else fails the request.
import type { CallForm, CallPart } from '../../language/calls.ts'
import type { Native } from '../../language/content.ts'
import { TurnwireError } from '../../language/errors.ts'
import type { Delta } from '../../language/events.ts'
import type { AnswerPart } from '../../language/history.ts'

/** `index` counts the calls of the answer from 0. */
export type Piece =
  | { type: 'text' | 'thinking'; text: string }
  /** A block of the vendor's own is over, as it goes back to its maker. */
  | { type: 'block'; native?: Native }
  | { type: 'call'; index: number; id: string; name: string; form: CallForm }
  | { type: 'arguments'; index: number; text: string }

/** Text that grows. `at`: where the model is in it; behind its end only while the model repeats itself. */
class Track {
  text = ''
  #at = 0
  #start = 0

  /** The part of this piece that is news. */
  take(piece: string): string {
    const repeated = this.text.slice(this.#at, this.#at + piece.length)
    if (!piece.startsWith(repeated)) throw diverged()
    this.#at += piece.length
    const fresh = piece.slice(repeated.length)
    this.text += fresh
    return fresh
  }

  rest(whole: string): string {
    if (!whole.startsWith(this.text)) throw diverged()
    const rest = whole.slice(this.text.length)
    this.text = whole
    return rest
  }

  begin(): void {
    this.#start = this.text.length
    this.#at = this.#start
  }

  restart(): void {
    this.#at = this.#start
  }
}

type ShownCall = { name: string; arguments: Track }

export class Shown {
  readonly #tracks = { text: new Track(), thinking: new Track() }
  readonly #calls: ShownCall[] = []
  #byId = new Map<string, number>()
  #firstOfStep = 0
  #next = 0
  /** Blocks of this step: how many were told, and how many the model has told since it last started over. */
  #blocks = { told: 0, again: 0 }

  take(delta: Delta): Piece[] {
    switch (delta.type) {
      case 'step.started':
        for (const track of Object.values(this.#tracks)) track.begin()
        this.#firstOfStep = this.#calls.length
        this.#next = this.#firstOfStep
        this.#blocks = { told: 0, again: 0 }
        return []
      case 'step.reset':
        this.#restart()
        return []
      case 'text':
      case 'thinking':
        return said(delta.type, this.#tracks[delta.type].take(delta.text))
      case 'block':
        this.#blocks.again += 1
        if (this.#blocks.again <= this.#blocks.told) return []
        this.#blocks.told = this.#blocks.again
        return [delta]
      case 'call.opened':
        return this.#open(delta.callId, delta.name, delta.form)
      case 'arguments': {
        const index = this.#byId.get(delta.callId)
        const call = index === undefined ? undefined : this.#calls[index]
        return index === undefined || !call ? [] : argued(index, call.arguments.take(delta.text))
      }
      default:
        return []
    }
  }

  /** What the pieces have left unsaid of the whole. */
  rest(parts: readonly AnswerPart[]): Piece[] {
    const whole = (type: 'text' | 'thinking'): string =>
      parts.map(part => (part.type === type ? part.text : '')).join('')
    const pieces = [
      ...said('thinking', this.#tracks.thinking.rest(whole('thinking'))),
      ...said('text', this.#tracks.text.rest(whole('text'))),
    ]
    const calls = parts.filter((part): part is CallPart => part.type === 'call')
    for (const [index, { id, name, form, text }] of calls.entries()) {
      const shown = this.#calls[index]
      if (!shown) pieces.push({ type: 'call', index, id, name, form }, ...argued(index, text))
      else pieces.push(...argued(index, shown.arguments.rest(text)))
    }
    return pieces
  }

  #restart(): void {
    this.#blocks.again = 0
    for (const track of Object.values(this.#tracks)) track.restart()
    this.#next = this.#firstOfStep
    this.#byId = new Map()
    for (const call of this.#calls.slice(this.#firstOfStep)) call.arguments.restart()
  }

  #open(id: string, name: string, form: CallForm): Piece[] {
    const index = this.#next++
    this.#byId.set(id, index)
    const again = this.#calls[index]
    if (again && again.name !== name) throw diverged()
    if (again) return []
    this.#calls.push({ name, arguments: new Track() })
    return [{ type: 'call', index, id, name, form }]
  }
}

function said(type: 'text' | 'thinking', text: string): Piece[] {
  return text === '' ? [] : [{ type, text }]
}

function argued(index: number, text: string): Piece[] {
  return text === '' ? [] : [{ type: 'arguments', index, text }]
}

function diverged(): TurnwireError {
  return new TurnwireError('model_failed', 'The model started over and said something else. Try again.')
}
