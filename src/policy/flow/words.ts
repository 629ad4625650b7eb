// The words of the user and of the operator, in pieces of some hundred characters. Each new message is read together with the
// piece that it joins, so pieces are short; a long session is not read anew. A value never spans two messages.
import { fileEnding } from './carried.ts'
import { functionWords, type NumberUse, SaidText } from './said.ts'
import { type Day, type Moment, minutesBetween } from './times.ts'

/** No value holds it: hidden characters are refused before. */
const between = '\n\0\n'
const pieceLength = 256
/** Beyond this nothing is taken as said. */
const mostText = 1024 * 1024

export class Words {
  readonly #pieces: SaidText[] = []
  #length = 0
  #asked: Map<string, { found: boolean; next: number }> | undefined

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

  /** As `hasText`, or written in another way that means the same: with its sign, its scheme, a closing slash, in groups. */
  hasValue(value: string, nouns: readonly string[]): boolean {
    if (this.hasText(value, nouns)) return true
    if (this.#pieces.length === 0) return false
    if (/^\+?(?=.*\d.*\d.*\d)[\da-z]{8,40}$/.test(value) && this.#pieces.some(piece => piece.hasCode(value)))
      return true
    return otherForms(value).some(form => this.hasText(form, nouns))
  }

  /** In minutes: how far a time that was said is from UTC. */
  hasOffset(minutes: number): boolean {
    return this.#pieces.some(piece => piece.times.offsets.includes(minutes))
  }

  hasSecret(value: string): boolean {
    return this.#pieces.some(piece => piece.hasSecret(value))
  }

  hasNumber(value: number, nouns: readonly string[], use?: NumberUse): boolean {
    return this.#pieces.some(piece => piece.hasNumber(value, nouns, use))
  }

  hasAmount(value: number, nouns: readonly string[], isCertain = false): boolean {
    return this.#pieces.some(piece => piece.hasAmount(value, nouns, isCertain))
  }

  hasMoment({ day, minute }: Moment, today: Day | undefined): boolean {
    if (day && !this.#pieces.some(piece => piece.hasDay(day, today))) return false
    if (minute === undefined || this.#pieces.some(piece => piece.hasMinute(minute))) return true
    // Where no hour was said a day is the whole of it.
    const isBound = minute === 0 || minute === 24 * 60 - 1
    return day !== undefined && isBound && this.#pieces.every(({ times }) => times.minutes.length === 0)
  }

  hasTime(value: string): boolean {
    return this.#pieces.some(piece => piece.hasTime(value))
  }

  /** Such a time after one that was said. */
  hasDuration(from: Moment, to: Moment): boolean {
    const minutes = minutesBetween(from, to)
    return minutes !== undefined && this.#pieces.some(piece => piece.hasDuration(minutes))
  }

  /** Names of one plain word, or of words that stand in any text, are weak: the user may mean something else by it. */
  hasName(name: string, kind: string): boolean {
    const isPlain = /^[\p{L}]+$/u.test(name) || name.split(' ').every(word => functionWords.has(word))
    return this.#pieces.some(piece => (isPlain ? piece.hasMarked(name, [kind]) : piece.hasText(name, [kind])))
  }

  /** Whether one of these words was said. `about`: names the list, so that each piece is looked at once. */
  hasAnyOf(about: string, words: readonly string[]): boolean {
    const known = this.#asked?.get(about) ?? { found: false, next: 0 }
    if (!known.found && known.next < this.#pieces.length) {
      const forms = words.map(word => ({ word, forms: matchForms(word) }))
      known.found = this.#pieces
        .slice(known.next)
        .some(piece => forms.some(each => piece.hasText(each.word, []) || holdsForm(piece.words, each)))
      // The last one may grow.
      known.next = Math.max(0, this.#pieces.length - 1)
      this.#asked ??= new Map()
      this.#asked.set(about, known)
    }
    return known.found
  }

  hasWord(word: string): boolean {
    return this.#pieces.some(piece => piece.words.has(word))
  }
}

/** Those that English makes of a verb: "reserving" and "reservation" of "reserve". */
function matchForms(word: string): RegExp | undefined {
  const stem = word.endsWith('e') && word.length > 3 ? word.slice(0, -1) : word
  if (!/^[a-z]{2,}$/.test(stem)) return undefined
  return new RegExp(`^${stem}(?:${stem.at(-1)}?(?:ed|ing|e|es|s|er|or)|(?:a?tion|ment|al)s?)$`)
}

function holdsForm(
  said: ReadonlySet<string>,
  { word, forms }: { word: string; forms: RegExp | undefined },
): boolean {
  return said.has(word) || (forms !== undefined && said.values().some(each => forms.test(each)))
}

/** `README.md` and `build.sh` are files, and hosts too: who names one does not mean the page. */
const isFile = new RegExp(
  `^(?!www\\.)[^/]+\\.(?:${fileEnding}|md|sh|py|rs|pl|ps|cc|tf|ml|mk|so|zip|mov|app)/?$`,
  'u',
)

/** `value` is folded. None of them is a form of another value: what stands before or after it in the text still joins it. */
function otherForms(value: string): string[] {
  const forms: string[] = []
  const [, name] = /^[#@]([\p{L}\p{N}][\p{L}\p{N}_.-]+)$/u.exec(value) ?? []
  if (name !== undefined) forms.push(name)
  // An address without a scheme means the page there.
  const [, bare] = /^https?:\/\/(.+\..+)$/u.exec(value) ?? []
  for (const form of bare === undefined || isFile.test(bare) ? [value] : [value, bare]) {
    if (form !== value) forms.push(form)
    if (form.endsWith('/')) forms.push(form.slice(0, -1))
    else if (/^[^\s?#]+$/u.test(form)) forms.push(`${form}/`)
  }
  return forms
}
