// A slot is a place in a schema that wants a value; a source is the clause that may hold it. Here is how the two
// are brought together by name: "limit 5", "subject: Hello", "to ana@example.com". Types are the fillers' matter.
import type { JsonObject } from '../../lib/json.ts'
import type { Fact, FactKind } from './facts.ts'
import { textAt } from './schemas.ts'
import { isStop, stem, stemsIn, wordsIn } from './words.ts'

export type Source = {
  text: string
  /** The part of it that may be handed over as it stands: without clauses that only set parameters. */
  free: string
  facts: readonly Fact[]
  /** Facts of the rest of the message, for what is required and not said here. */
  pool: readonly Fact[]
  used: Set<Fact>
  /** Stems of the tool's own name and title: words that choose the tool and are no arguments. */
  vocabulary: ReadonlySet<string>
  now: number
  /** Counts down: a schema that refers to itself must not decide how long a rehearsal thinks. */
  looks: number
}

export type Slot = {
  name: string
  schema: JsonObject
  root: JsonObject
  required: boolean
  depth: number
}

/** How hard a value is looked for: only if it was named, also if its kind fits, or at any price. */
export type Effort = 'named' | 'hinted' | 'forced'

/** So many looks at slots a call may cost; after that only the plainest values are made. */
const LOOKS = 5_000

export function sourceOf(given: Omit<Source, 'used' | 'looks'>): Source {
  return { ...given, used: new Set(), looks: LOOKS }
}

export function take(fact: Fact | undefined, source: Source): Fact | undefined {
  if (fact !== undefined) source.used.add(fact)
  return fact
}

export function unused(source: Source, kinds: readonly FactKind[], alsoPool: boolean): Fact[] {
  const fresh = (fact: Fact) => kinds.includes(fact.kind) && !source.used.has(fact)
  const here = source.facts.filter(fresh)
  return here.length > 0 || !alsoPool ? here : source.pool.filter(fresh)
}

const ALIASES: readonly [RegExp, string[]][] = [
  [/^(?:body|content|contents|text|message)$/u, ['saying', 'says', 'say', 'containing', 'reading']],
  [/^(?:to|recipients?|destination|dest|target|new_?path)$/iu, ['to', 'into', 'as']],
  [/^(?:from|source|src|origin|old_?path)$/iu, ['from']],
  [/^(?:subject|title|name)$/u, ['about', 'called', 'named', 'titled']],
]

type Named = { fact: Fact } | { word: string }

/** What directly follows the slot's name in the clause, or a word that stands for the name. */
export function named(slot: Slot, source: Source, kinds: readonly FactKind[]): Named | undefined {
  const aliases = ALIASES.find(([name]) => name.test(slot.name))?.[1] ?? []
  for (const phrase of [wordsIn(slot.name).join(' '), slot.name, ...aliases]) {
    const found = phrase.length > 1 || /^\w$/u.test(phrase) ? after(phrase, source, kinds) : undefined
    if (found !== undefined) return found
  }
  return undefined
}

const LINK = String.raw`(\s*[:=]\s*|\s+(?:is\s+|as\s+|of\s+|named\s+|called\s+|to\s+|at\s+)?)`

function after(phrase: string, source: Source, kinds: readonly FactKind[]): Named | undefined {
  const escaped = phrase.replace(/[.*+?^${}()|[\]\\]/gu, String.raw`\$&`).replaceAll(' ', String.raw`[\s_-]+`)
  const pattern = new RegExp(String.raw`(?<![\p{L}\d])${escaped}s?${LINK}`, 'giu')
  for (const match of source.text.matchAll(pattern)) {
    const at = match.index + match[0].length
    const fact = source.facts.find(
      one => one.start === at && kinds.includes(one.kind) && !source.used.has(one),
    )
    const spelled = /[:=]/u.test(match[1] ?? '')
    if (fact !== undefined && (phrase.length > 1 || spelled)) return { fact }
    const word = spelled ? /^[^\s,;]+/u.exec(source.text.slice(at))?.[0] : undefined
    if (word !== undefined) return { word: word.replace(/^["'“]|["'”.!?]+$/gu, '') }
  }
  return undefined
}

/** The clause without the words that only chose the tool: what is left is what the person meant. */
export function remainder(source: Source): string {
  let text = source.free.trim().replace(/[.!?]+$/u, '')
  for (let opening = OPENING.exec(text)?.[0]; opening !== undefined; opening = OPENING.exec(text)?.[0]) {
    const placed = [...source.used].some(fact => fact.raw === opening && ADDRESSES.includes(fact.kind))
    const chose = isStop(opening) || source.vocabulary.has(stem(opening)) || ASKING.test(opening)
    if (!placed && !chose) break
    text = text.slice(opening.length).replace(/^[\s:,–-]+/u, '')
  }
  return text === '' ? source.free.trim() : text
}

const OPENING = /^[^\s:,]+/u
const ADDRESSES: readonly FactKind[] = ['email', 'url', 'path']
const ASKING = /^(?:find|look|show|search|write|send|note|say|add|create|remember|remind|kindly|maybe)$/iu

export function namesOf(slot: Slot): Set<string> {
  return new Set(stemsIn(slot.name))
}

export function describedBy(slot: Slot): Set<string> {
  return new Set(stemsIn(`${textAt(slot.schema, 'title')} ${textAt(slot.schema, 'description')}`))
}
