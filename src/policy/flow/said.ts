// One trusted text (what the user said, or the operator's instructions), read once: whether a value stands in it whole and of
// its kind. A number inside a date is no amount, a short number needs its noun, a word inside an address or the name of a file
// is no name.
import { fileEnding } from './carried.ts'
import { findWhole, fold, joinsLeft, joinsRight, wordsIn } from './fold.ts'
import {
  addDays,
  type Day,
  isNextWeekday,
  isSameDay,
  readTimes,
  type Span,
  type SpokenTimes,
} from './times.ts'

/** More of one text is not read: what stands there is not taken as said. */
const longest = 256 * 1024

type SpokenNumber = {
  value: number
  digits: number
  hasDecimals: boolean
  isMoney: boolean
  /** It is the number of something: of an order, of an account. */
  isNumbered: boolean
  /** The words around it, nearest first. */
  near: readonly string[]
  /** Those of them that may say which one it is: "3 files" is how many, and "files 3 and 4" are two of them. */
  names: readonly string[]
}

/** What a number is asked about for. A count is no id, and no number is an amount for its length alone. */
export type NumberUse = 'id' | 'amount' | 'any'

export class SaidText {
  readonly exact: string
  #folded: string | undefined
  #times: SpokenTimes | undefined
  #numbers: SpokenNumber[] | undefined
  #files: Span[] | undefined
  #groups: Span[] | undefined
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
    if (functionWords.has(value)) return this.hasMarked(value, nouns)
    const hasDigit = /\p{N}/u.test(value)
    for (const at of findWhole(this.folded, value)) {
      const span = { from: at, to: at + value.length }
      if (hasDigit && (isWithin(span, this.times.spans) || isPart(span, this.#codes()))) continue
      if (isPart(span, this.#fileNames())) continue
      if (value.length >= 4 || /[\p{L}].*[\p{N}]|[\p{N}].*[\p{L}]/u.test(value)) return true
      if (value.length === 3 && !/^\p{N}+$/u.test(value)) return true
      if (isQuoted(this.folded, at, at + value.length) || this.#isNamed(at, at + value.length, nouns))
        return true
    }
    return false
  }

  /** In quotes, or beside a noun that says what it is. */
  hasMarked(value: string, nouns: readonly string[]): boolean {
    for (const at of findWhole(this.folded, value)) {
      const to = at + value.length
      if (isQuoted(this.folded, at, to) || this.#isNamed(at, to, nouns)) return true
    }
    return false
  }

  /** A code, an account or a telephone number that is written in groups: `GB29 NWBK 6016 …`. */
  hasCode(value: string): boolean {
    return this.#codes().some(({ from, to }) => this.folded.slice(from, to).replace(/[ -]/gu, '') === value)
  }

  get words(): ReadonlySet<string> {
    this.#words ??= new Set(wordsIn(this.folded))
    return this.#words
  }

  /** As it was written, letter by letter. A plain word has to be in quotes, or stand where the text says what it is to be. */
  hasSecret(value: string): boolean {
    const isPlain = /^\p{L}\p{Ll}*$/u.test(value)
    for (const at of findWhole(this.exact, value)) {
      if (!isPlain || isQuoted(this.exact, at, at + value.length)) return true
      if (/(?:(?<!\p{L})(?:to|be)\s+|[:=]\s*)$/iu.test(this.exact.slice(Math.max(0, at - 8), at))) return true
    }
    return false
  }

  hasNumber(value: number, nouns: readonly string[], use: NumberUse = 'any'): boolean {
    return this.#spoken().some(
      each =>
        each.value === value &&
        ((use !== 'amount' && each.digits >= 5 && !each.hasDecimals) ||
          (use === 'id' ? each.names : each.near).some(word => nouns.includes(word))),
    )
  }

  /** `isCertain`: only what cannot be anything but an amount. */
  hasAmount(value: number, nouns: readonly string[], isCertain: boolean): boolean {
    const spoken = this.#spoken()
    // A user who writes "50 dollars" means no amount by a bare number.
    const mayBeBare = !spoken.some(({ isMoney }) => isMoney)
    return spoken.some(
      each =>
        each.value === value &&
        (each.isMoney ||
          each.near.some(word => nouns.includes(word)) ||
          (mayBeBare && mayBeAmount(each, isCertain))),
    )
  }

  /** `today`: a date that the system gave, if there is one. */
  hasDay(day: Day, today: Day | undefined): boolean {
    const { days, relative, weekdays } = this.times
    if (today === undefined) return days.some(spoken => isSameDay(spoken, day))
    const isNear = Math.abs((day.year ?? 0) - (today.year ?? 0)) <= 1
    if (days.some(spoken => isSameDay(spoken, day) && (spoken.year !== undefined || isNear))) return true
    return (
      relative.some(offset => isSameDay(addDays(today, offset), day)) ||
      weekdays.some(weekday => isNextWeekday(weekday, today, day))
    )
  }

  hasMinute(minute: number): boolean {
    return this.times.minutes.includes(minute)
  }

  /** A whole date, time or duration, as it was written. */
  hasTime(value: string): boolean {
    return this.times.spans.some(({ from, to }) => this.folded.slice(from, to) === value)
  }

  hasDuration(minutes: number): boolean {
    return this.times.durations.includes(minutes)
  }

  /** Names in quotes that have blanks in them: a part of one is another name. */
  #fileNames(): readonly Span[] {
    if (!quote.test(this.folded)) return []
    this.#files ??= [...this.folded.matchAll(quotedFile)].map(({ index, 0: whole }) => ({
      from: index + 1,
      to: index + whole.length - 1,
    }))
    return this.#files
  }

  /** Where codes, accounts and numbers of telephones stand that are written in groups. A part of one is another value. */
  #codes(): readonly Span[] {
    this.#groups ??= [...this.#readCodes()]
    return this.#groups
  }

  *#readCodes(): Generator<Span> {
    if (!/\d[ -]/.test(this.folded)) return
    // As the folded text, with the case that tells a group of letters from a word.
    const cased = this.exact.normalize('NFKC').replace(/\s+/gu, ' ').trim()
    if (cased.length !== this.folded.length) return
    const { spans } = this.times
    for (const { index: from, 0: whole } of cased.matchAll(groupedCode)) {
      const to = from + whole.length
      const isTime = spans.some(span => span.from < to && span.to > from)
      const isCode = whole.replace(/[ -]/gu, '').length >= 8 && !thousands.test(whole)
      if (isCode && !isTime) yield { from, to }
    }
  }

  #isNamed(from: number, to: number, nouns: readonly string[]): boolean {
    return this.folded[from - 1] === '#' || this.#near(from, to).some(word => nouns.includes(word))
  }

  #wordBefore(from: number): string {
    const [, word = ''] =
      /(\p{L}+?)s?[\s:.]{0,3}$/u.exec(this.folded.slice(Math.max(0, from - 40), from)) ?? []
    return word
  }

  #near(from: number, to: number): string[] {
    // Not in another message.
    const [left = ''] = this.folded
      .slice(Math.max(0, from - 60), from)
      .split('\0')
      .slice(-1)
    const [right = ''] = this.folded.slice(to, to + 40).split('\0')
    const before = left.match(/[\p{L}\p{N}]+/gu) ?? []
    const after = right.match(/[\p{L}\p{N}]+/gu) ?? []
    return [...before.slice(-2).reverse(), ...after.slice(0, 1)].flatMap(word =>
      word.endsWith('s') ? [word, word.slice(0, -1)] : [word],
    )
  }

  /** "50 dollars", "EUR 50". In "50 dollars, 3 of them" the dollars are those of the 50. */
  #isMoney(from: number, to: number): boolean {
    const right = this.folded.slice(to, to + 20)
    if (moneyAfter.test(right) || money.has(/^[ -]?(\p{L}+?)s?(?!\p{L})/u.exec(right)?.[1] ?? '')) return true
    const [, counted, word = ''] = moneyBefore.exec(this.folded.slice(Math.max(0, from - 40), from)) ?? []
    return counted === undefined && money.has(word)
  }

  #names(from: number, to: number): string[] {
    const next = /^\s(\p{L}+)/u.exec(this.folded.slice(to, to + 40))?.[1] ?? ''
    const isAlone = next.length < 4 || functionWords.has(next)
    const others = isAlone
      ? (listed.exec(this.folded.slice(Math.max(0, from - 40), from))?.[0].length ?? 0)
      : 0
    const right = next.endsWith('s') ? to + 1 + next.length : to
    return this.#near(from - others, right)
  }

  #spoken(): SpokenNumber[] {
    this.#numbers ??= [...this.#readNumbers()]
    return this.#numbers
  }

  *#readNumbers(): Generator<SpokenNumber> {
    const pattern =
      /\d{1,3}(?:[,'’ ]\d{3})+(?:\.\d+)?(?!\d)|\d{1,3}(?:\.\d{3})+,\d{1,2}(?!\d)|\d+(?:[.,]\d+)?/gu
    for (const match of this.folded.matchAll(pattern)) {
      const from = match.index
      const to = from + match[0].length
      const sign = this.folded[from - 1] ?? ''
      const hasSign = /[$€£¥#]/u.test(sign)
      if ((!hasSign && joinsLeft(this.folded, from)) || joinsRight(this.folded, to)) continue
      if (isWithin({ from, to }, this.times.spans) || isWithin({ from, to }, this.#codes())) continue
      const next = this.folded.slice(to, to + 12)
      if (/^\s?%/u.test(next)) continue
      const grouped = /[,'’ ]\d{3}(?:\D|$)/u.test(match[0])
      // "1.250,50": with both signs the comma is that of the decimals.
      const plain = grouped
        ? match[0].replace(/[,'’ ]/gu, '')
        : match[0].replace(/\.(?=.*,)/gu, '').replace(',', '.')
      const near = this.#near(from, to)
      yield {
        value: hundredths.test(next) ? Number(plain) / 100 : Number(plain),
        digits: plain.split('.')[0]?.length ?? 0,
        hasDecimals: plain.includes('.'),
        isMoney: (hasSign && sign !== '#') || this.#isMoney(from, to),
        isNumbered: sign === '#' || numbered.has(this.#wordBefore(from)),
        near: sign === '#' ? [...near, 'id', 'number'] : near,
        names: sign === '#' ? [...near, 'id', 'number'] : this.#names(from, to),
      }
    }
  }
}

function isQuoted(text: string, from: number, to: number): boolean {
  const quotes = /['"`’”»“‘«]/u
  return quotes.test(text[from - 1] ?? '') && quotes.test(text[to] ?? '')
}

function isWithin({ from, to }: Span, spans: readonly Span[]): boolean {
  return spans.some(span => from >= span.from && to <= span.to)
}

function isPart({ from, to }: Span, spans: readonly Span[]): boolean {
  return spans.some(span => from >= span.from && to <= span.to && to - from < span.to - span.from)
}

/** By its form alone. The number of an order or an account is none. */
function mayBeAmount({ value, digits, hasDecimals, isNumbered }: SpokenNumber, isCertain: boolean): boolean {
  if (isNumbered) return false
  if (hasDecimals) return true
  return !isCertain && digits >= 3 && !(digits === 4 && value >= 1900 && value < 2100)
}

/** They have numbers that are no amounts. */
const numbered: ReadonlySet<string> = new Set([
  ...[
    'id',
    'no',
    'nr',
    'number',
    'order',
    'account',
    'invoice',
    'ticket',
    'case',
    'room',
    'flight',
    'page',
    'version',
  ],
  ...['line', 'file', 'record', 'message', 'chapter', 'item', 'pin', 'code', 'zip'],
])

/** Words that stand in nearly every text, and name nothing. */
export const functionWords: ReadonlySet<string> = new Set(
  (
    'about above after again against all along already also although always among and another any are around away back because been ' +
    'before being below beside between both but can cannot could did does doing done down during each either else enough even ever ' +
    'every for from had has have having her here hers him his how however if into its itself just last later least less let like ' +
    'many may maybe me might more most much must my need never new next not nothing now off often once one only onto other others ' +
    'our ours out over own per perhaps please quite rather same several shall she should since some soon still such sure than ' +
    'thank thanks that the their them then there these they this those through too toward towards under until upon us very via was ' +
    'well were what when where whether which while who whom whose why will with within without would yes yet you your yours'
  ).split(' '),
)

const quote = /["'`“‘«]/u
/** With one of the known endings, or with any if it is in a folder. */
const quotedFile = new RegExp(
  `["'\`“‘«](?:[^"'\`“”‘’«»\\n]{1,120}\\.(?:${fileEnding})|[^"'\`“”‘’«»\\n@:]{0,120}[/\\\\][^"'\`“”‘’«»\\n@:/\\\\ ]{0,120}\\.[\\p{L}\\p{N}]{1,5})["'\`”’»]`,
  'gu',
)
/** Three groups and more of up to four letters and digits; each has a digit, or is four capital letters. */
const groupedCode =
  /(?<![\p{L}\p{N}_.@/+-])\+?(?=[A-Z]{0,3}\d)[A-Z0-9]{1,4}(?:[ -](?:[A-Z]{4}|(?=[A-Z]{0,3}\d)[A-Z0-9]{1,4})){2,12}(?![\p{L}\p{N}_@/]|[.-][\p{L}\p{N}])/gu

/** The numbers before one, in a list of them. */
const listed = /(?:(?<![\p{L}\p{N}.,:/-])\d+(?:,? (?:and|or|und|oder|et|ou|y|o|e) |, ?))+$/u

const thousands = /^\d{1,3}(?: \d{3})+$/
const hundredths = /^\s?(?:¢|(?:cents?|pence|rappen|centimes?)(?!\p{L}))/u

const money: ReadonlySet<string> = new Set([
  ...['usd', 'eur', 'chf', 'gbp', 'jpy', 'dollar', 'euro', 'pound', 'franc', 'cent', 'yen', 'buck', 'quid'],
  ...['rupee', 'peso', 'yuan', 'won', 'krona', 'krone', 'kroner', 'zloty', 'rand', 'bitcoin', 'btc', 'eth'],
])
/** A word right before a number, and the number that it belongs to, if there is one. */
const moneyBefore = /(?:(?<![\p{L}\p{N}.,])(\d[\d.,'’]{0,15})[ -]?)?(?<!\p{L})(\p{L}+?)s?[.:]? ?$/u
const moneyAfter = /^\s?[$€£¥¢]/u
