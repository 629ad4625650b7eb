// The words of the user and of the operator, in pieces of about a thousand characters, so that a long session is searched and
// grows without being read anew. A value never spans two messages.
import { SaidText } from './said.ts'
import { type Day, type Moment, minutesBetween } from './times.ts'

/** No value holds it: hidden characters are refused before. */
const between = '\n\0\n'
const pieceLength = 1024
/** Beyond this nothing is taken as said. */
const mostText = 1024 * 1024

export class Words {
  readonly #pieces: SaidText[] = []
  #length = 0

  add(text: string): void {
    if (text === '' || this.#length > mostText) return
    this.#length += text.length
    const last = this.#pieces.at(-1)
    if (last && last.exact.length + text.length < pieceLength)
      this.#pieces[this.#pieces.length - 1] = new SaidText(`${last.exact}${between}${text}`)
    else this.#pieces.push(new SaidText(text))
  }

  hasText(value: string, nouns: readonly string[] = []): boolean {
    return this.#pieces.some(piece => piece.hasText(value, nouns))
  }

  hasExact(value: string): boolean {
    return this.#pieces.some(piece => piece.hasExact(value))
  }

  hasNumber(value: number, nouns: readonly string[]): boolean {
    return this.#pieces.some(piece => piece.hasNumber(value, nouns))
  }

  hasAmount(value: number, nouns: readonly string[], isCertain = false): boolean {
    return this.#pieces.some(piece => piece.hasAmount(value, nouns, isCertain))
  }

  hasMoment({ day, minute }: Moment, today: Day | undefined): boolean {
    if (day && !this.#pieces.some(piece => piece.hasDay(day, today))) return false
    return minute === undefined || this.#pieces.some(piece => piece.hasMinute(minute))
  }

  /** Such a time after one that was said. */
  hasDuration(from: Moment, to: Moment): boolean {
    const minutes = minutesBetween(from, to)
    return minutes !== undefined && this.#pieces.some(piece => piece.hasDuration(minutes))
  }

  /** Names of one plain word are weak: the user may mean something else by it. */
  hasName(name: string, kind: string): boolean {
    const isPlain = /^[\p{L}]+$/u.test(name)
    return this.#pieces.some(piece => (isPlain ? piece.hasMarked(name, [kind]) : piece.hasText(name, [kind])))
  }

  hasWord(word: string): boolean {
    return this.#pieces.some(piece => piece.words.has(word))
  }
}
