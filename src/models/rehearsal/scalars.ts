// Strings, numbers, booleans and choices for one slot. Each gives undefined where the clause holds nothing at the
// effort allowed; forced, it gives the likeliest value that fits the schema's bounds.
import type { Json, JsonObject } from '../../lib/json.ts'
import { dayOf, type Fact, type FactKind } from './facts.ts'
import { sampleOf } from './pattern.ts'
import { codePoints, fits, numberAt, textAt } from './schemas.ts'
import {
  describedBy,
  type Effort,
  named,
  namesOf,
  remainder,
  type Slot,
  type Source,
  take,
  unused,
} from './slots.ts'
import { stem, stemsIn, wordsIn } from './words.ts'

// ---- strings ---------------------------------------------------------------------------------------------

const BY_FORMAT: Readonly<Record<string, FactKind[]>> = {
  email: ['email'],
  uri: ['url', 'path'],
  'uri-reference': ['url', 'path'],
  hostname: ['path'],
  date: ['date'],
  'date-time': ['moment', 'date', 'time'],
  time: ['time'],
}

const BY_WORD: readonly [RegExp, FactKind[]][] = [
  [/^(?:e?mails?|recipients?|cc|bcc|sender|attendees?|invitees?)$/u, ['email', 'proper']],
  [/^(?:urls?|uri|link|href|website|site|page|endpoint)$/u, ['url', 'path']],
  [/^(?:paths?|files?|filename|dir|directory|folder|src|source|dest|target)$/u, ['path']],
  [/^(?:dates?|day|when|deadline|due|since|until)$/u, ['moment', 'date', 'time']],
  [/^(?:time|hour)$/u, ['moment', 'time']],
  [
    /^(?:city|cities|locations?|places?|towns?|country|region|area|where|origin|destination|address)$/u,
    ['proper', 'place'],
  ],
  [/^(?:to|from)$/u, ['email', 'path', 'proper', 'place']],
  [/^(?:names?|person|people|who|users?|author|contact|customer|company)$/u, ['quoted', 'proper']],
  [/^(?:expressions?|formula|equation|calculation|math|sum)$/u, ['math']],
]
const FREE =
  /^(?:subject|body|contents?|texts?|messages?|title|notes?|comments?|query|question|q|terms?|keywords?|topic|prompt|description|summary|label|tags?|items?|task|todo|input|value|data|code|command|script|reason)$/u

/** The kinds of fact that a slot asks for, by its format, then its name, then what is said of it. */
export function wanted(slot: Slot): FactKind[] {
  const byFormat = BY_FORMAT[textAt(slot.schema, 'format')]
  if (byFormat !== undefined) return byFormat
  for (const word of wordsIn(slot.name).toReversed()) {
    if (FREE.test(word)) return ['quoted']
    const found = BY_WORD.find(([words]) => words.test(word))
    if (found !== undefined) return found[1]
  }
  for (const word of wordsIn(`${textAt(slot.schema, 'title')} ${textAt(slot.schema, 'description')}`)) {
    const found = BY_WORD.find(([words]) => words.test(word) && word !== 'to' && word !== 'from')
    if (found !== undefined) return found[1]
  }
  return []
}

const SPOKEN: readonly FactKind[] = ['quoted', 'url', 'email', 'path', 'date', 'time', 'number', 'proper']

export function stringFor(slot: Slot, source: Source, effort: Effort): string | undefined {
  const ok = (text: string) => fits(slot.schema, text, slot.root)
  const kinds = wanted(slot)
  if (effort === 'named') {
    const said = named(slot, source, kinds.length > 0 ? [...kinds, 'quoted'] : SPOKEN)
    if (said === undefined) return undefined
    const text = 'word' in said ? said.word : spelled(said.fact, slot, source)
    if (!ok(text)) return undefined
    if ('fact' in said) take(said.fact, source)
    return text
  }
  // A kind that the name asks for first goes before one that merely would do.
  const hinted = kinds.flatMap(kind => unused(source, [kind], slot.required))
  const fact = hinted.find(one => ok(spelled(one, slot, source)))
  if (fact !== undefined) return spelled(take(fact, source)!, slot, source)
  return effort === 'forced' ? forcedString(slot, source, kinds, ok) : undefined
}

function spelled(fact: Fact, slot: Slot, source: Source): string {
  const format = textAt(slot.schema, 'format')
  if (format === 'date-time' && fact.kind !== 'moment') return momentFrom(fact, source)
  if (format === 'time' && fact.kind === 'time') return `${fact.text}:00Z`
  if (fact.kind === 'path' && format === 'uri') return `https://${fact.text}`
  return format === '' && (fact.kind === 'date' || fact.kind === 'time') ? fact.raw : fact.text
}

function momentFrom(fact: Fact, source: Source): string {
  const here = (kind: FactKind) => source.facts.find(one => one.kind === kind)?.text
  const day = fact.kind === 'date' ? fact.text : (here('date') ?? dayOf(source.now))
  const time = fact.kind === 'time' ? fact.text : (here('time') ?? '00:00')
  return `${day}T${time}:00Z`
}

function forcedString(
  slot: Slot,
  source: Source,
  kinds: readonly FactKind[],
  ok: (text: string) => boolean,
): string {
  const { schema } = slot
  const quoted = unused(source, ['quoted'], false)
  const rest = spoken(slot, source)
  const given = [schema.default, ...(Array.isArray(schema.examples) ? schema.examples : [])].filter(
    value => typeof value === 'string',
  )
  const typed = kinds.some(kind => kind !== 'quoted') || schema.pattern !== undefined
  const word = kinds.includes('path') ? rest.split(/\s+/u).slice(0, 1) : []
  const words = [...quoted.map(fact => fact.text), ...word, rest]
  const shapes = [
    PLAIN[textAt(schema, 'format')],
    momentOr(schema, source),
    sampleOf(textAt(schema, 'pattern')),
  ]
  const single = [...rest.split(/\s+/u), ...source.text.split(/\s+/u)]
  const order = [
    ...(typeof schema.default === 'string' ? [schema.default] : []),
    ...(typed ? [...given, ...words] : [...words, ...given]),
    ...(schema.pattern === undefined ? [] : single),
    ...shapes.filter(text => text !== undefined),
  ]
  const found = order.find(ok)
  if (found === undefined) return resized(rest, schema)
  take(
    quoted.find(fact => fact.text === found),
    source,
  )
  return found
}

/** After "that" or a colon stands what is to be said; else the clause without its opening. */
function spoken(slot: Slot, source: Source): string {
  const body = /^(?:body|content|contents|text|message|note|reason|subject|title)$/u.test(slot.name)
  const told = body ? /(?:\b(?:that|saying|says)\s+|:\s+)(.+)$/su.exec(source.free)?.[1] : undefined
  return (told ?? remainder(source)).trim().replace(/(?<=\p{L})[.!]$/u, '')
}

const PLAIN: Readonly<Record<string, string>> = {
  email: 'someone@example.com',
  uri: 'https://example.com/',
  'uri-reference': '/',
  hostname: 'example.com',
  ipv4: '192.0.2.1',
  ipv6: '2001:db8::1',
  uuid: '00000000-0000-4000-8000-000000000000',
  time: '12:00:00Z',
  duration: 'P1D',
  regex: '.*',
  'json-pointer': '/',
}

function momentOr(schema: JsonObject, source: Source): string | undefined {
  if (schema.format === 'date') return dayOf(source.now)
  return schema.format === 'date-time' ? `${dayOf(source.now)}T12:00:00Z` : undefined
}

/** Longer than this no text is padded: a schema must not decide how much memory a rehearsal takes. */
const MAX_PADDED = 20_000

function resized(text: string, schema: JsonObject): string {
  const least = Math.min(numberAt(schema, 'minLength') ?? 0, MAX_PADDED)
  let padded = text
  while (codePoints(padded).length < least) padded += padded === '' ? 'x' : ` ${padded}`
  return codePoints(padded)
    .slice(0, numberAt(schema, 'maxLength') ?? Infinity)
    .join('')
}

// ---- numbers ---------------------------------------------------------------------------------------------

export function numberFor(slot: Slot, source: Source, effort: Effort): number | undefined {
  const ok = (value: number) => fits(slot.schema, value, slot.root)
  const fresh = unused(source, ['number'], false)
  if (effort === 'named') {
    const said = named(slot, source, ['number'])
    const value = said === undefined ? undefined : Number('word' in said ? said.word : said.fact.text)
    if (value !== undefined && ok(value)) {
      if (said !== undefined && 'fact' in said) take(said.fact, source)
      return value
    }
    return beside(fresh, namesOf(slot), source, ok)
  }
  const near = beside(fresh, describedBy(slot), source, ok)
  if (near !== undefined) return near
  const next = slot.required ? fresh.find(fact => ok(Number(fact.text))) : undefined
  if (next !== undefined) return Number(take(next, source)!.text)
  return effort === 'forced' ? forcedNumber(slot, fresh[0]) : undefined
}

/** "5 days", "days 5": a number belongs to the word beside it. */
function beside(
  facts: readonly Fact[],
  stems: ReadonlySet<string>,
  source: Source,
  ok: (value: number) => boolean,
): number | undefined {
  for (const fact of facts) {
    const next = /^\s*([\p{L}]+)/u.exec(source.text.slice(fact.end))?.[1] ?? ''
    const before = /([\p{L}]+)\s*$/u.exec(source.text.slice(0, fact.start))?.[1] ?? ''
    if (![next, before].some(word => word !== '' && stems.has(stem(word)))) continue
    if (ok(Number(fact.text))) return Number(take(fact, source)!.text)
  }
  return undefined
}

function forcedNumber(slot: Slot, fact: Fact | undefined): number {
  const { schema, root } = slot
  const given = [schema.default, ...(Array.isArray(schema.examples) ? schema.examples : [])]
  const said = fact === undefined ? [] : [nearest(schema, Number(fact.text))]
  const all = [...given, ...said, nearest(schema, 1), nearest(schema, 0)]
  const found = all.find(value => typeof value === 'number' && fits(schema, value, root))
  return typeof found === 'number' ? found : nearest(schema, 0)
}

export function nearest(schema: JsonObject, value: number): number {
  const whole = schema.type === 'integer'
  const over = numberAt(schema, 'exclusiveMinimum')
  const under = numberAt(schema, 'exclusiveMaximum')
  const inside = Math.min(1, over !== undefined && under !== undefined ? (under - over) / 2 : 1)
  const step = numberAt(schema, 'multipleOf')
  const low = Math.max(
    numberAt(schema, 'minimum') ?? -Infinity,
    over === undefined ? -Infinity : whole ? Math.floor(over) + 1 : over + inside,
  )
  const high = Math.min(
    numberAt(schema, 'maximum') ?? Infinity,
    under === undefined ? Infinity : whole ? Math.ceil(under) - 1 : under - inside,
  )
  const within = Math.min(high, Math.max(low, value))
  if (step !== undefined) {
    const rounded = Math.round(within / step) * step
    return rounded < low
      ? Math.ceil(low / step) * step
      : rounded > high
        ? Math.floor(high / step) * step
        : rounded
  }
  if (!whole) return within
  return Math.round(within) > high
    ? Math.floor(within)
    : Math.round(within) < low
      ? Math.ceil(within)
      : Math.round(within)
}

// ---- booleans and choices --------------------------------------------------------------------------------

export function booleanFor(slot: Slot, source: Source, effort: Effort): boolean | undefined {
  if (effort === 'named') {
    const said = named(slot, source, [])
    const word = said !== undefined && 'word' in said ? said.word.toLowerCase() : ''
    if (/^(?:true|yes|on)$/u.test(word)) return true
    if (/^(?:false|no|off)$/u.test(word)) return false
    const stems = [...namesOf(slot)]
    const heard = new Set(stemsIn(source.text))
    if (stems.length === 0 || !stems.every(one => heard.has(one) && !source.vocabulary.has(one)))
      return undefined
    return !negated(stems[0]!, source.text)
  }
  if (effort === 'hinted') return undefined
  const given = [slot.schema.default, ...(Array.isArray(slot.schema.examples) ? slot.schema.examples : [])]
  return given.find(value => typeof value === 'boolean') ?? false
}

function negated(name: string, text: string): boolean {
  const words = wordsIn(text.replace(/n['’]t\b/gu, ' not'))
  const at = words.findIndex(word => stem(word) === name)
  return words.slice(Math.max(0, at - 3), at).some(word => /^(?:no|not|without|never)$/u.test(word))
}

/** All options that the clause names, the most telling first. */
export function optionsIn(options: readonly Json[], source: Source): Json[] {
  const heard = new Set(stemsIn(source.text))
  const plain = new Set(source.text.split(/[\s,.;:!?()]+/u))
  const scored: [number, Json][] = []
  for (const option of options) {
    if (typeof option === 'number') {
      if (source.facts.some(fact => fact.kind === 'number' && Number(fact.text) === option))
        scored.push([1, option])
    } else if (typeof option === 'string') {
      const stems = stemsIn(option)
      const all = stems.length > 0 && option.length > 1 && stems.every(one => heard.has(one))
      if (all || plain.has(option)) scored.push([Math.max(1, stems.length), option])
    }
  }
  return scored.sort((a, b) => b[0] - a[0]).map(([, option]) => option)
}

export function optionFor(slot: Slot, source: Source, effort: Effort): Json | undefined {
  const options = Array.isArray(slot.schema.enum) ? slot.schema.enum : []
  const possible = options.filter(option => fits(slot.schema, option, slot.root))
  const heard = optionsIn(possible, source)[0]
  if (heard !== undefined || effort !== 'forced') return heard
  const given = [slot.schema.default, ...(Array.isArray(slot.schema.examples) ? slot.schema.examples : [])]
  return (
    given.find(value => value !== undefined && fits(slot.schema, value, slot.root)) ??
    possible[0] ??
    options[0]
  )
}
