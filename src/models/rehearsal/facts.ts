// What a person's sentence holds that an argument can be made of: quoted words, numbers, addresses, paths, dates,
// sums, names. Each fact knows where it stands, so that it is used once and never torn by a split.
import { isStop, stem } from './words.ts'

export const factKinds = [
  'quoted',
  'url',
  'email',
  'moment',
  'date',
  'time',
  'math',
  'path',
  'number',
  'proper',
  'place',
] as const
export type FactKind = (typeof factKinds)[number]

export type Fact = {
  kind: FactKind
  /** The value in the form that machines want. */
  text: string
  /** As the person wrote it. */
  raw: string
  start: number
  end: number
}

export type Facts = { now: number; vocabulary: ReadonlySet<string> }

type Found = { text: string; from?: number; raw?: string }
type Finder = {
  kind: FactKind
  pattern: RegExp
  read?: (match: RegExpExecArray, given: Facts) => Found | null
}

const MONTHS = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec']
const DAYS = ['sunday', 'monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday']
const MONTH =
  '(jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sep(?:t(?:ember)?)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)'
const NUMBER = String.raw`\d+(?:\.\d+)?`
const OPERATOR = String.raw`(?:[-+*/×÷^%]|\b(?:plus|minus|times|multiplied by|divided by)\b)`
const COUNTS = 'two three four five six seven eight nine ten eleven twelve'.split(' ')

/** In order of strength: what an earlier finder took, a later one does not see. */
const FINDERS: readonly Finder[] = [
  { kind: 'quoted', pattern: /```[a-z]*\n?([^`]+)```/gu, read: match => ({ text: match[1]!.trim() }) },
  {
    kind: 'quoted',
    pattern: /"([^"\n]+)"|“([^”\n]+)”|«([^»\n]+)»|`([^`\n]+)`|(?<![\p{L}\d])'([^'\n]+)'(?![\p{L}\d])/gu,
    read: match => ({ text: match.slice(1).find(group => group !== undefined) ?? '' }),
  },
  { kind: 'url', pattern: /https?:\/\/[^\s<>"'`)\]]{1,2000}/giu, read: match => trimmed(match[0]) },
  {
    kind: 'email',
    pattern: /[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,5}/giu,
    read: match => trimmed(match[0]),
  },
  {
    kind: 'moment',
    pattern: /\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d)?(?:\.\d{1,9})?(?:Z|[+-]\d\d:\d\d)?/gu,
    read: match => ({ text: momentOf(match[0]) }),
  },
  { kind: 'date', pattern: /\b\d{4}-\d\d-\d\d\b/gu },
  {
    kind: 'date',
    pattern: new RegExp(
      String.raw`\b(\d{1,2})(?:st|nd|rd|th)?\s+(?:of\s+)?${MONTH}\b(?:,?\s+(\d{4})\b)?`,
      'giu',
    ),
    read: ([, day, month, year], given) => calendar(year, month!, day!, given),
  },
  {
    kind: 'date',
    pattern: new RegExp(String.raw`\b${MONTH}\.?\s+(\d{1,2})(?:st|nd|rd|th)?\b(?:,?\s+(\d{4})\b)?`, 'giu'),
    read: ([, month, day, year], given) => calendar(year, month!, day!, given),
  },
  {
    kind: 'date',
    pattern: new RegExp(
      String.raw`\b(?:today|tonight|tomorrow|yesterday|(?:next )?(?:${DAYS.join('|')}))\b`,
      'giu',
    ),
    read: (match, given) => ({ text: relative(match[0].toLowerCase(), given.now) }),
  },
  {
    kind: 'time',
    pattern: /\b(?:[01]?\d|2[0-3]):[0-5]\d\b/gu,
    read: match => ({ text: match[0].padStart(5, '0') }),
  },
  {
    kind: 'time',
    pattern: /\b(1[0-2]|0?[1-9])\s?([ap])\.?m\b/giu,
    read: ([, hour, half]) => ({
      text: `${String((Number(hour) % 12) + (half!.toLowerCase() === 'p' ? 12 : 0)).padStart(2, '0')}:00`,
    }),
  },
  {
    kind: 'math',
    pattern: new RegExp(String.raw`(${NUMBER})\s*%\s+of\s+(${NUMBER})`, 'giu'),
    read: ([, part, whole]) => ({ text: `${part} / 100 * ${whole}` }),
  },
  {
    kind: 'math',
    pattern: new RegExp(
      String.raw`(?<![\w.])[-(]{0,4}${NUMBER}\){0,4}(?:\s*${OPERATOR}\s*[-(]{0,4}${NUMBER}\){0,4}){1,50}`,
      'giu',
    ),
    read: match => ({ text: mathOf(match[0]) }),
  },
  {
    kind: 'path',
    pattern:
      /(?<![\w@])(?:~|\.{1,2})?(?:\/[\w.@-]{1,255}){1,30}\/?|(?<![\w@/.])[\w-]{1,255}(?:\/[\w.-]{1,255}){1,30}\/?|(?<![\w@/.])[\w-]{1,255}(?:\.[\w-]{1,60}){0,4}\.[A-Za-z][A-Za-z0-9]{0,5}(?![\w@])/gu,
    read: match => (/^(?:and\/or|either\/or|(?:\w\.)+\w)$/iu.test(match[0]) ? null : trimmed(match[0])),
  },
  {
    kind: 'number',
    pattern: /(?<![\p{L}\d.])-?\d+(?:,\d{3})*(?:\.\d+)?/gu,
    read: match => ({ text: match[0].replaceAll(',', '') }),
  },
  {
    kind: 'number',
    pattern: new RegExp(String.raw`\b(?:${COUNTS.join('|')})\b`, 'giu'),
    read: match => ({ text: String(COUNTS.indexOf(match[0].toLowerCase()) + 2) }),
  },
  {
    kind: 'proper',
    pattern:
      /\p{Lu}[\p{L}\p{M}'’-]{0,60}(?:,?\s+(?:(?:de|da|di|la|le|los|las|del|of|upon)\s+)?\p{Lu}[\p{L}\p{M}'’-]{0,60}){0,5}/gu,
    read: properOf,
  },
  {
    kind: 'place',
    pattern: /\b(?:in|near|at|around|for)\s+(\p{Ll}[\p{L}'’-]{2,60}(?:\s+\p{Ll}[\p{L}'’-]{2,60})?)/gu,
    read: placeOf,
  },
]

export function findFacts(text: string, given: Facts): Fact[] {
  const facts: Fact[] = []
  let seen = text
  for (const { kind, pattern, read } of FINDERS) {
    for (const match of seen.matchAll(pattern)) {
      const found = read === undefined ? { text: match[0] } : read(match, given)
      if (found === null || found.text === '') continue
      const start = match.index + (found.from ?? 0)
      const end = start + (found.raw ?? match[0].slice(found.from ?? 0)).length
      facts.push({ kind, text: found.text, raw: text.slice(start, end), start, end })
      if (kind === 'math') facts.push(...numbersIn(text, start, end))
      seen = `${seen.slice(0, start)}${'\u0001'.repeat(end - start)}${seen.slice(end)}`
    }
  }
  if (facts.length === 0) facts.push(...bareWords(text))
  return facts.sort((a, b) => a.start - b.start || factKinds.indexOf(a.kind) - factKinds.indexOf(b.kind))
}

function numbersIn(text: string, start: number, end: number): Fact[] {
  return [...text.slice(start, end).matchAll(new RegExp(NUMBER, 'gu'))].map(match => ({
    kind: 'number' as const,
    text: match[0],
    raw: match[0],
    start: start + match.index,
    end: start + match.index + match[0].length,
  }))
}

/** One or two plain words and nothing else, as in the second half of "the weather in paris and oslo please". */
function bareWords(text: string): Fact[] {
  const words = [...text.matchAll(/[\p{L}\d]+/gu)].filter(match => !isStop(match[0]))
  const first = words[0]
  const last = words.at(-1)
  if (first === undefined || last === undefined || words.length > 2) return []
  const start = first.index
  const end = last.index + last[0].length
  const raw = text.slice(start, end)
  return /^\p{L}{3,60}(?: \p{L}{3,60})?$/u.test(raw) ? [{ kind: 'place', text: raw, raw, start, end }] : []
}

function trimmed(raw: string): Found {
  const text = raw.replace(/[.,;:!?]+$/u, '')
  return { text, raw: text }
}

function mathOf(raw: string): string {
  return raw
    .replace(/\s*\b(?:plus)\b\s*/giu, ' + ')
    .replace(/\s*\b(?:minus)\b\s*/giu, ' - ')
    .replace(/\s*\b(?:times|multiplied by)\b\s*|\s*×\s*/giu, ' * ')
    .replace(/\s*\b(?:divided by)\b\s*|\s*÷\s*/giu, ' / ')
}

const COMMON_OPENING =
  /^(?:what|how|who|when|where|which|why|send|read|write|show|find|search|look|add|create|open|delete|list|set|run|check|call|use|remind|note|save|copy|move|fetch|calculate|compute|good|dear|weather|can|could|is|are|do|does)$/iu

/** A capital at the start of a sentence says nothing unless hardly anything follows it. */
function properOf(match: RegExpExecArray, given: Facts): Found | null {
  const whole = match.input
  let from = 0
  let text = match[0]
  const opens = /(?:^|[.!?:]\s*)$/u.test(whole.slice(Math.max(0, match.index - 4), match.index))
  for (let first = text.split(/\s+/u)[0]!; first !== ''; first = text.split(/\s+/u)[0]!) {
    const plain = first.replace(/,$/u, '')
    const opening = opens && from === 0
    const known = given.vocabulary.has(stem(plain)) || COMMON_OPENING.test(plain) || isStop(plain)
    const alone = text === plain && (isStop(plain) || (opening && whole.trim().split(/\s+/u).length > 3))
    if (!/^I(?:['’]|$)/u.test(plain) && !(opening && known) && !alone) break
    const rest = text.slice(first.length).trimStart()
    from += text.length - rest.length
    text = rest
  }
  text = text.replace(/['’]s?$/u, '')
  return text === '' ? null : { text, from, raw: text }
}

function placeOf(match: RegExpExecArray, given: Facts): Found | null {
  const words: string[] = []
  for (const word of match[1]!.split(/\s+/u)) {
    if (isStop(word) || given.vocabulary.has(stem(word))) break
    words.push(word)
  }
  const text = match[1]!.slice(0, words.join(' ').length)
  return words.length === 0 ? null : { text, from: match[0].length - match[1]!.length, raw: text }
}

// ---- days ------------------------------------------------------------------------------------------------

const DAY_MS = 86_400_000

export function dayOf(now: number): string {
  return new Date(now).toISOString().slice(0, 10)
}

function momentOf(raw: string): string {
  const joined = raw.replace(' ', 'T')
  const seconds = /T\d\d:\d\d(?!:)/u.test(joined) ? joined.replace(/(T\d\d:\d\d)/u, '$1:00') : joined
  return /(?:Z|[+-]\d\d:\d\d)$/u.test(seconds) ? seconds : `${seconds}Z`
}

/** A year that was not said is the present one. */
function calendar(year: string | undefined, month: string, day: string, given: Facts): Found | null {
  const at = MONTHS.indexOf(month.slice(0, 3).toLowerCase()) + 1
  const of = year ?? dayOf(given.now).slice(0, 4)
  const text = `${of}-${String(at).padStart(2, '0')}-${day.padStart(2, '0')}`
  const time = Date.parse(`${text}T00:00:00Z`)
  return Number.isNaN(time) || dayOf(time) !== text ? null : { text }
}

function relative(word: string, now: number): string {
  const weekday = DAYS.indexOf(word.replace('next ', ''))
  if (weekday < 0) return dayOf(now + (word === 'tomorrow' ? DAY_MS : word === 'yesterday' ? -DAY_MS : 0))
  const ahead = (weekday - new Date(now).getUTCDay() + 7) % 7
  return dayOf(now + (ahead === 0 ? 7 : ahead) * DAY_MS)
}
