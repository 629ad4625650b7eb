// Where a stored response ends because its turn was steered over this wire: before the message that joins the turn. The message
// begins the successor. Of the log alone, so that the response is the same whenever it is read. A message that joins before the
// model has answered is part of the response's input, and one of another wire is no business of this wire's clients: they end
// nothing, nor does one that joins while a call rests, whose result is still to be shown.
import type { Shown, ShownFold } from '../../language/show.ts'
import { wireName } from './decode.ts'

export class SteeredEnd {
  readonly #own = new Set<string>()
  #answered = false

  /** Takes what the response shows, in its order. True: it ends before this. */
  take(shown: Shown, { calls }: Pick<ShownFold, 'calls'>): boolean {
    if (shown.type === 'answer') this.#answered = true
    if (shown.type !== 'message') return false
    if (shown.state === 'queued' && shown.wire === wireName) this.#own.add(shown.message)
    if (shown.state !== 'delivered' || !shown.parts || !this.#own.has(shown.message)) return false
    return this.#answered && !calls.values().some(({ waitsFor }) => waitsFor === 'later')
  }
}
