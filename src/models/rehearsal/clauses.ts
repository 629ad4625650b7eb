// A message taken apart into what it asks for, one thing at a time. Quoted words, paths, dates and sums are never
// split, whatever punctuation they hold.
import type { Fact } from './facts.ts'
import { stemsIn } from './words.ts'

export type Clause = {
  text: string
  facts: readonly Fact[]
  /** What stood between this clause and the one before it. */
  joint?: string
}

const JOINT =
  /\s*[.!?;]+(?=\s|$)\s*|\s*\n+\s*|\s*,\s+(?:and\s+)?(?:then\s+|also\s+)?|\s+(?:and\s+then|and\s+also|and|then|also)\s+/giu

/** What a message asks for beyond this stays one last clause. */
const MAX_CLAUSES = 24

export function clausesOf(message: string, read: (text: string) => Fact[]): Clause[] {
  const kept = read(message).filter(fact => fact.kind !== 'proper' && fact.kind !== 'place')
  const clauses: Clause[] = []
  let from = 0
  let joint: string | undefined
  const close = (to: number) => {
    const text = message.slice(from, to).trim()
    if (text !== '') clauses.push({ text, facts: read(text), ...(joint === undefined ? {} : { joint }) })
  }
  for (const match of message.matchAll(JOINT)) {
    if (clauses.length >= MAX_CLAUSES - 1) break
    const end = match.index + match[0].length
    if (kept.some(fact => match.index < fact.end && end > fact.start)) continue
    if (match[0].includes(',') && isPlaceWithCountry(message, match.index, end)) continue
    close(match.index)
    joint = match[0]
    from = end
  }
  close(message.length)
  return clauses
}

/** "Paris, France" is one place; "Paris, Oslo and Rome" are three. */
function isPlaceWithCountry(message: string, start: number, end: number): boolean {
  if (!/\p{Lu}[\p{L}\p{M}'’-]*$/u.test(message.slice(Math.max(0, start - 60), start))) return false
  const rest = /^[^.!?;\n]*/u.exec(message.slice(end))?.[0] ?? ''
  return /^\p{Lu}/u.test(rest) && !/,|\band\b|\bor\b/iu.test(rest)
}

/** Nothing but facts and words that set parameters: it can only mean the same again, with these. */
export function isBare(clause: Clause, terms: ReadonlySet<string>): boolean {
  if (clause.facts.length === 0) return false
  let rest = clause.text
  for (const fact of clause.facts.toReversed()) rest = `${rest.slice(0, fact.start)} ${rest.slice(fact.end)}`
  return stemsIn(rest).every(stem => terms.has(stem))
}

/** The clause before, with this clause in the place of its own fact of the same kind. */
export function substituted(before: Clause, clause: Clause): string | undefined {
  const fact = clause.facts[0]
  const family = fact === undefined ? [] : fact.kind === 'place' ? ['place', 'proper'] : [fact.kind]
  const place = before.facts.findLast(one => family.includes(one.kind))
  if (fact === undefined || place === undefined) return undefined
  const said = clause.text.slice(fact.start)
  return `${before.text.slice(0, place.start)}${said}${before.text.slice(place.end)}`
}
