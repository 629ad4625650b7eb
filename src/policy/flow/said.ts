// One trusted text (what the user said, or the operator's instructions), read once: whether a value stands in it whole and of
// its kind. A number inside a date is no amount, a short number needs its noun, a word inside an address is no name.
import { findWhole, fold, joinsLeft, joinsRight, wordsIn } from './fold.ts'
import { addDays, type Day, isSameDay, readTimes, type SpokenTimes } from './times.ts'

/** More of one text is not read: what stands there is not taken as said. */
const longest = 256 * 1024

type SpokenNumber = {
  value: number
  digits: number
  hasDecimals: boolean
  isMoney: boolean
  /** The words around it, nearest first. */
  near: readonly string[]
}

export class SaidText {
  readonly exact: string
  #folded: string | undefined
  #times: SpokenTimes | undefined
  #numbers: SpokenNumber[] | undefined
  #words: Set<string> | undefined

  constructor(text: string) {
    this.exact = text.slice(0, longest)
  }

  /** Made when it is first searched: messages are joined to larger pieces before. */
  get folded(): string {
    this.#folded ??= fold(this.exact)
    return this.#folded
  }

  get times(): SpokenTimes {
    this.#times ??= readTimes(this.folded)
    return this.#times
  }

  /** `value` is folded. `nouns`: of what a short value may be. */
  hasText(value: string, nouns: readonly string[]): boolean {
    const hasDigit = /\p{N}/u.test(value)
    for (const at of findWhole(this.folded, value)) {
      if (hasDigit && this.#isInTime(at, at + value.length)) continue
      if (value.length >= 4 || /[\p{L}].*[\p{N}]|[\p{N}].*[\p{L}]/u.test(value)) return true
      if (value.length === 3 && !/^\p{N}+$/u.test(value)) return true
      if (this.#isQuoted(at, at + value.length) || this.#isNamed(at, at + value.length, nouns)) return true
    }
    return false
  }

  /** In quotes, or beside a noun that says what it is. */
  hasMarked(value: string, nouns: readonly string[]): boolean {
    for (const at of findWhole(this.folded, value)) {
      const to = at + value.length
      if (this.#isQuoted(at, to) || this.#isNamed(at, to, nouns)) return true
    }
    return false
  }

  get words(): ReadonlySet<string> {
    this.#words ??= new Set(wordsIn(this.folded))
    return this.#words
  }

  /** As it was written, letter by letter. */
  hasExact(value: string): boolean {
    return !findWhole(this.exact, value).next().done
  }

  hasNumber(value: number, nouns: readonly string[]): boolean {
    return this.#spoken().some(
      each =>
        each.value === value &&
        ((each.digits >= 5 && !each.hasDecimals) || each.near.some(word => nouns.includes(word))),
    )
  }

  /** `isCertain`: only what cannot be anything but an amount. */
  hasAmount(value: number, nouns: readonly string[], isCertain: boolean): boolean {
    return this.#spoken().some(
      each =>
        each.value === value &&
        (each.isMoney ||
          each.hasDecimals ||
          (!isCertain && each.digits >= 3 && !(each.digits === 4 && value >= 1900 && value < 2100)) ||
          each.near.some(word => nouns.includes(word))),
    )
  }

  /** `today`: a date that the system gave, if there is one. */
  hasDay(day: Day, today: Day | undefined): boolean {
    const { days, relative } = this.times
    if (days.some(spoken => isSameDay(spoken, day))) return true
    return today !== undefined && relative.some(offset => isSameDay(addDays(today, offset), day))
  }

  hasMinute(minute: number): boolean {
    return this.times.minutes.includes(minute)
  }

  hasDuration(minutes: number): boolean {
    return this.times.durations.includes(minutes)
  }

  #isInTime(from: number, to: number): boolean {
    return this.times.spans.some(span => from >= span.from && to <= span.to)
  }

  #isQuoted(from: number, to: number): boolean {
    const quotes = /['"`’”»“‘«]/u
    return quotes.test(this.folded[from - 1] ?? '') && quotes.test(this.folded[to] ?? '')
  }

  #isNamed(from: number, to: number, nouns: readonly string[]): boolean {
    return this.folded[from - 1] === '#' || this.#near(from, to).some(word => nouns.includes(word))
  }

  #near(from: number, to: number): string[] {
    const before = this.folded.slice(Math.max(0, from - 60), from).match(/[\p{L}\p{N}]+/gu) ?? []
    const after = this.folded.slice(to, to + 40).match(/[\p{L}\p{N}]+/gu) ?? []
    return [...before.slice(-2).reverse(), ...after.slice(0, 1)].flatMap(word =>
      word.endsWith('s') ? [word, word.slice(0, -1)] : [word],
    )
  }

  #spoken(): SpokenNumber[] {
    this.#numbers ??= [...this.#readNumbers()]
    return this.#numbers
  }

  *#readNumbers(): Generator<SpokenNumber> {
    const pattern = /\d{1,3}(?:[,'’ ]\d{3})+(?:\.\d+)?(?!\d)|\d+(?:[.,]\d+)?/gu
    for (const match of this.folded.matchAll(pattern)) {
      const from = match.index
      const to = from + match[0].length
      const sign = this.folded[from - 1] ?? ''
      const hasSign = /[$€£¥#]/u.test(sign)
      if ((!hasSign && joinsLeft(this.folded, from)) || joinsRight(this.folded, to)) continue
      if (this.#isInTime(from, to) || /^\s?%/u.test(this.folded.slice(to, to + 2))) continue
      const grouped = /[,'’ ]\d{3}(?:\D|$)/u.test(match[0])
      const plain = grouped ? match[0].replace(/[,'’ ]/gu, '') : match[0].replace(',', '.')
      const near = this.#near(from, to)
      yield {
        value: Number(plain),
        digits: plain.split('.')[0]?.length ?? 0,
        hasDecimals: plain.includes('.'),
        isMoney:
          (hasSign && sign !== '#') ||
          near.some(word => money.has(word)) ||
          moneyAfter.test(this.folded.slice(to, to + 3)),
        near: sign === '#' ? [...near, 'id', 'number'] : near,
      }
    }
  }
}

const money: ReadonlySet<string> = new Set([
  ...['usd', 'eur', 'chf', 'gbp', 'jpy', 'dollar', 'euro', 'pound', 'franc', 'cent', 'yen'],
])
const moneyAfter = /^\s?[$€£¥]/u
