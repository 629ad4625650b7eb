// Dates, times and durations: as a person writes them, and as a tool takes them. A date without a year fits any year. A date
// that can be read in two ways (05/06/2024) is none.

export type Day = { year?: number; month: number; day: number }
/** `minute`: since midnight. `offset`: minutes from UTC, if it says so. */
export type Moment = { day?: Day; minute?: number; offset?: number }
/** `day`: Sunday is 0. `isNext`: "next Friday", which can be read in two ways. */
export type Weekday = { day: number; isNext: boolean }
export type Span = { from: number; to: number }

export type SpokenTimes = {
  days: Day[]
  minutes: number[]
  /** In minutes. */
  durations: number[]
  /** Days from today: `today` is 0. */
  relative: number[]
  weekdays: Weekday[]
  /** Minutes from UTC. */
  offsets: number[]
  /** Where all of them stand. */
  spans: Span[]
}

/** In seven languages. Short forms that are words of another language are left out. */
const monthNames = [
  'january jan januar janvier janv enero gennaio janeiro januari',
  'february feb februar février févr febrero febbraio fevereiro februari',
  'march mar märz mär mars marzo março maart mrt',
  'april apr avril avr abril abr aprile',
  'may mai mayo maggio maio mei',
  'june jun juni juin junio giugno junho',
  'july jul juli juillet juil julio luglio julho',
  'august aug août agosto augustus',
  'september sep sept septembre septiembre settembre setembro',
  'october oct oktober okt octobre octubre ottobre outubro',
  'november nov novembre noviembre novembro',
  'december dec dezember dez décembre déc diciembre dicembre dezembro',
]
const months = new Map(
  monthNames.flatMap((names, at) => names.split(' ').map((name): [string, number] => [name, at + 1])),
)
const month = [...months.keys()].sort((a, b) => b.length - a.length).join('|')

const isoDay = /(?<![\p{L}\p{N}])(\d{4})([-/.])(\d{1,2})\2(\d{1,2})(?!\p{N})/gu
const pointDay = /(?<![\p{L}\p{N}])(\d{1,2})\.\s?(\d{1,2})\.\s?(\d{4})(?!\p{N})/gu
const slashDay = /(?<![\p{L}\p{N}])(\d{1,2})[/-](\d{1,2})[/-](\d{4})(?!\p{N})/gu
const dayMonth = new RegExp(
  `(?<![\\p{L}\\p{N}])(\\d{1,2})(?:st|nd|rd|th|\\.|º|er)?\\s+(?:of\\s+|de\\s+)?(${month})\\b\\.?(?:,?\\s+(?:de\\s+)?(\\d{4}))?(?![\\p{L}\\p{N}])`,
  'gu',
)
const monthDay = new RegExp(
  `(?<![\\p{L}\\p{N}])(${month})\\.?\\s+(?:the\\s+)?(\\d{1,2})(?:st|nd|rd|th)?(?:,?\\s+(\\d{4}))?(?![\\p{L}\\p{N}])`,
  'gu',
)
const until = '\\s*(?:-|–|—|to|and|until|till|through|bis|al?|au)\\s*(?:the\\s+)?'
const ordinal = '(?:st|nd|rd|th|\\.|º|er)?'
/** "from the 24th to the 28th of December", "December 24-28": the day without its month. */
const dayBefore = new RegExp(
  `(?<![\\p{L}\\p{N}.,:/-])(\\d{1,2})${ordinal}${until}\\d{1,2}${ordinal}\\s+(?:of\\s+|de\\s+)?(${month})\\b\\.?(?:,?\\s+(?:de\\s+)?(\\d{4}))?(?![\\p{L}\\p{N}])`,
  'gu',
)
const dayAfter = new RegExp(
  `(?<![\\p{L}\\p{N}])(${month})\\.?\\s+(?:the\\s+)?\\d{1,2}${ordinal}${until}(\\d{1,2})(?:st|nd|rd|th)?(?:,?\\s+(\\d{4}))?(?![\\p{L}\\p{N}:])`,
  'gu',
)
/** Of the day. */
const half = '(am|pm|a\\.m\\.|p\\.m\\.|in\\s+the\\s+(?:morning|afternoon|evening))'
/** "3-4 pm": the hour without its half of the day. */
const hourBefore = new RegExp(
  `(?<![\\p{L}\\p{N}.,:/-])(\\d{1,2})(?::(\\d{2}))?${until}(\\d{1,2})(?::(\\d{2}))?\\s*${half}(?![\\p{L}\\p{N}])`,
  'gu',
)
const weekdays = ['sunday', 'monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday']
const weekday = new RegExp(
  `(?<!(?:last|past|previous|every|each|following)\\s+)(?<![\\p{L}\\p{N}])(?:(next)\\s+|(?<!next\\s+))(${weekdays.join('|')})(?![\\p{L}\\p{N}])`,
  'gu',
)
const clock = new RegExp(
  `(?<![\\p{L}\\p{N}.,])(\\d{1,2})[:h](\\d{2})(?::\\d{2})?(?:,?\\s*${half})?(?![\\p{L}\\p{N}])`,
  'gu',
)
const hour = new RegExp(`(?<![\\p{L}\\p{N}.,])(\\d{1,2})\\s*(${half}|uhr|h)(?![\\p{L}\\p{N}])`, 'gu')
const named = /(?<![\p{L}\p{N}])(noon|midday|midnight)(?![\p{L}\p{N}])/gu
const counts = 'a|an|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|half an|half a'
const lasting = new RegExp(
  `(?<![\\p{L}\\p{N}.,])(\\d+(?:[.,]\\d+)?|${counts})[\\s-]*(hours?|hrs?|h|minutes?|mins?|days?|nights?|weeks?)(?![\\p{L}\\p{N}])`,
  'gu',
)
const today = /(?<![\p{L}\p{N}])(day after tomorrow|today|tonight|tomorrow|yesterday)(?![\p{L}\p{N}])/gu
const offsets: Readonly<Record<string, number>> = { today: 0, tonight: 0, tomorrow: 1, yesterday: -1 }

/** `text` is folded. */
export function readTimes(text: string): SpokenTimes {
  const found: SpokenTimes = {
    days: [],
    minutes: [],
    durations: [],
    relative: [],
    weekdays: [],
    offsets: [],
    spans: [],
  }
  const take = (match: RegExpMatchArray): void => {
    found.spans.push({ from: match.index ?? 0, to: (match.index ?? 0) + match[0].length })
  }
  const addDay = (match: RegExpMatchArray, year: string | undefined, m: number, d: number): void => {
    if (m < 1 || m > 12 || d < 1 || d > 31) return
    found.days.push({ ...(year !== undefined && { year: Number(year) }), month: m, day: d })
    take(match)
  }
  for (const match of text.matchAll(isoDay)) addDay(match, match[1], Number(match[3]), Number(match[4]))
  for (const match of text.matchAll(pointDay)) addDay(match, match[3], Number(match[2]), Number(match[1]))
  readSlashDays(text, addDay, take)
  for (const match of text.matchAll(dayMonth))
    addDay(match, match[3], months.get(match[2] ?? '') ?? 0, Number(match[1]))
  for (const match of text.matchAll(monthDay))
    addDay(match, match[3], months.get(match[1] ?? '') ?? 0, Number(match[2]))
  for (const match of text.matchAll(dayBefore))
    addDay(match, match[3], months.get(match[2] ?? '') ?? 0, Number(match[1]))
  for (const match of text.matchAll(dayAfter))
    addDay(match, match[3], months.get(match[1] ?? '') ?? 0, Number(match[2]))
  readClock(text, found, take)
  for (const match of text.matchAll(today)) {
    found.relative.push(offsets[match[1] ?? ''] ?? 2)
    take(match)
  }
  for (const match of text.matchAll(weekday)) {
    const [, next, name = ''] = match
    found.weekdays.push({ day: weekdays.indexOf(name), isNext: next !== undefined })
    take(match)
  }
  for (const match of text.matchAll(lasting)) {
    const days = (readCount(match[1] ?? '') * unitMinutes(match[2] ?? '')) / (24 * 60)
    const isAhead = /(?:^|[^\p{L}])in\s+$/u.test(text.slice(Math.max(0, match.index - 4), match.index))
    if (isAhead && Number.isInteger(days)) found.relative.push(days)
  }
  for (const match of text.matchAll(zone)) found.offsets.push(readOffset(match[1]))
  return found
}

const zone =
  /(?:(?<=\d\s?)|(?:utc|gmt)\s?)([+-]\d{2}:?\d{2}|z)(?![\p{L}\p{N}])|(?<!\p{L})(?:utc|gmt)(?!\p{L})/gu

/** `+02:00`, `-0530`; `z` and nothing are UTC. */
function readOffset(zone = 'z'): number {
  const [, sign, hours, minutes] = /^([+-])(\d{2}):?(\d{2})$/.exec(zone) ?? []
  const size = Number(hours ?? 0) * 60 + Number(minutes ?? 0)
  return sign === '-' ? -size : size
}

/** One that can be read in two ways is read as the others of the text are, if those agree. */
function readSlashDays(
  text: string,
  addDay: (match: RegExpMatchArray, year: string | undefined, m: number, d: number) => void,
  take: (match: RegExpMatchArray) => void,
): void {
  const found = [...text.matchAll(slashDay)].map(match => ({
    match,
    first: Number(match[1]),
    second: Number(match[2]),
  }))
  const isDayFirst = found.some(({ first }) => first > 12)
  const isMonthFirst = found.some(({ second }) => second > 12)
  for (const { match, first, second } of found) {
    const readsDay = first > 12 || first === second || (second <= 12 && isDayFirst && !isMonthFirst)
    if (readsDay) addDay(match, match[3], second, first)
    else if (second > 12 || (isMonthFirst && !isDayFirst)) addDay(match, match[3], first, second)
    else take(match)
  }
}

function readClock(text: string, found: SpokenTimes, take: (match: RegExpMatchArray) => void): void {
  const add = (match: RegExpMatchArray, hours: number, minutes: number, half: string | undefined): void => {
    const late = /^p|noon|evening/.test(half ?? '')
    const early = /^a|morning/.test(half ?? '')
    if (hours > 24 || minutes > 59 || (/^[ap]/.test(half ?? '') && hours > 12)) return
    const whole = late && hours < 12 ? hours + 12 : early && hours === 12 ? 0 : hours % 24
    found.minutes.push(whole * 60 + minutes)
    take(match)
  }
  for (const match of text.matchAll(clock)) add(match, Number(match[1]), Number(match[2]), match[3])
  for (const match of text.matchAll(hour)) {
    // "5 h" is a duration, too: both are kept.
    add(match, Number(match[1]), 0, match[2])
  }
  for (const match of text.matchAll(hourBefore)) {
    const [, from, minutes, to, , half] = match
    // "11-1 pm" begins before noon.
    const isSame = Number(from) % 12 <= Number(to) % 12
    const other = /^a|morning/.test(half ?? '') ? 'pm' : 'am'
    add(match, Number(from), Number(minutes ?? 0), isSame ? half : other)
  }
  for (const match of text.matchAll(named)) add(match, match[1] === 'midnight' ? 0 : 12, 0, undefined)
  for (const match of text.matchAll(lasting)) {
    const [, count = '', unit = ''] = match
    const minutes = readCount(count) * unitMinutes(unit)
    found.durations.push(minutes)
    // Days may be counted with the first of them: to the last one, or to its end.
    if (/^[dw]/.test(unit)) found.durations.push(minutes - 24 * 60, minutes - 1)
    take(match)
  }
}

const numbers = counts.split('|')

function readCount(count: string): number {
  if (count.startsWith('half')) return 0.5
  const at = numbers.indexOf(count)
  if (at < 0) return Number(count.replace(',', '.'))
  return at < 2 ? 1 : at - 1
}

function unitMinutes(unit: string): number {
  if (unit.startsWith('h')) return 60
  if (unit.startsWith('m')) return 1
  return unit.startsWith('w') ? 7 * 24 * 60 : 24 * 60
}

const moment =
  /^(?:(\d{4})-(\d{2})-(\d{2}))?(?:[t ]?(\d{1,2}):(\d{2})(?::(\d{2})(?:\.\d+)?)?(z|[+-]\d{2}:?\d{2})?)?$/u

/** A value in the form of a date, a time or both, folded. Undefined: it has another form. */
export function readMoment(value: string): Moment | undefined {
  const match = value === '' ? null : moment.exec(value)
  if (!match) return undefined
  const [, year, month, day, hours, minutes, seconds, from] = match
  // The last second of a day is its end.
  const isEnd = hours === '23' && minutes === '59' && seconds === '59'
  if (seconds !== undefined && seconds !== '00' && !isEnd) return undefined
  const read: Moment = {}
  if (year !== undefined) read.day = { year: Number(year), month: Number(month), day: Number(day) }
  if (hours !== undefined) read.minute = Number(hours) * 60 + Number(minutes)
  if (from !== undefined) read.offset = readOffset(from)
  return read
}

/** A whole day as a person writes it, folded: `june 5, 2024`. Undefined: it is none, has no year, or can be read in two ways. */
export function readWrittenDay(value: string): Day | undefined {
  const { days, spans } = readTimes(value)
  const [day, span] = [days[0], spans[0]]
  const isWhole = days.length === 1 && spans.length === 1 && span?.from === 0 && span.to === value.length
  return isWhole && day?.year !== undefined ? day : undefined
}

export function isSameDay(spoken: Day, value: Day): boolean {
  return (
    spoken.month === value.month &&
    spoken.day === value.day &&
    (spoken.year === undefined || spoken.year === value.year)
  )
}

/** Minutes from one to the other. Undefined: one of them has no day, or only one of them has a time. */
export function minutesBetween(from: Moment, to: Moment): number | undefined {
  if ((from.minute === undefined) !== (to.minute === undefined)) return undefined
  const [start, end] = [toMinutes(from), toMinutes(to)]
  return start === undefined || end === undefined ? undefined : end - start
}

function toMinutes({ day, minute = 0 }: Moment): number | undefined {
  if (day?.year === undefined) return undefined
  return Date.UTC(day.year, day.month - 1, day.day) / 60_000 + minute
}

/**
 * The next such day after `today`. On such a day itself it can be read in two ways, and with "next" where that day is of the same week,
 * whether weeks begin on Sunday or on Monday.
 */
export function isNextWeekday({ day, isNext }: Weekday, today: Day, value: Day): boolean {
  const now = new Date(Date.UTC(today.year ?? 2000, today.month - 1, today.day)).getUTCDay()
  const days = (day - now + 7) % 7
  if (isNext && (day > now || (day + 6) % 7 > (now + 6) % 7)) return false
  return days > 0 && isSameDay(addDays(today, days), value)
}

export function addDays({ year = 2000, month: m, day }: Day, days: number): Day {
  const date = new Date(Date.UTC(year, m - 1, day + days))
  return { year: date.getUTCFullYear(), month: date.getUTCMonth() + 1, day: date.getUTCDate() }
}
