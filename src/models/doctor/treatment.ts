// How a broken request is mended: findings of a vendor's rules pick treatments, each treatment makes the least change
// that answers its rules and says what it did, and the rules look again. Which vendor refuses what is not known here;
// the check is given, so that the same repairs are proved by whoever can judge a body.

import { sha256 } from '../../lib/hash.ts'
import { isJsonObject, type Json, type JsonObject } from '../../lib/json.ts'
import { wellFormed } from '../../lib/text.ts'

/** `message` is the vendor's own wording. */
export type Finding = { rule: string; message: string; param?: string | null }
export type Check = (body: JsonObject) => readonly Finding[]
export type Did = (change: string) => void

export type Treatment = {
  rules: readonly string[]
  /** Changes the body in place, or leaves it when there is nothing that it can do. */
  apply(body: JsonObject, did: Did, findings: readonly Finding[]): void
}

export type Repaired = {
  body: JsonObject
  /** What was changed, in words, in order. */
  changes: string[]
  /** What no treatment could mend. */
  left: readonly Finding[]
}

const MOST_ROUNDS = 60

export function treat(given: JsonObject, treatments: readonly Treatment[], check: Check): Repaired {
  let body = structuredClone(given)
  const changes: string[] = []
  for (let round = 0; round < MOST_ROUNDS; round++) {
    const findings = check(body)
    if (findings.length === 0) return { body, changes, left: [] }
    const next = firstChange(body, treatments, findings)
    if (next === undefined) return { body, changes, left: findings }
    body = next.body
    changes.push(...next.changes)
  }
  return { body, changes, left: check(body) }
}

function firstChange(
  body: JsonObject,
  treatments: readonly Treatment[],
  findings: readonly Finding[],
): { body: JsonObject; changes: string[] } | undefined {
  const before = JSON.stringify(body)
  for (const treatment of treatments) {
    const own = findings.filter(({ rule }) => treatment.rules.includes(rule))
    if (own.length === 0) continue
    const copy = structuredClone(body)
    const changes: string[] = []
    treatment.apply(copy, change => changes.push(change), own)
    if (JSON.stringify(copy) !== before) return { body: copy, changes }
  }
  return undefined
}

// ---- looking into a body -----------------------------------------------------------------------------------

export const stringOf = (value: Json | undefined): string => (typeof value === 'string' ? value : '')

export const objectsOf = (value: Json | undefined): JsonObject[] =>
  Array.isArray(value) ? value.filter(isJsonObject) : []

export const isBlank = (value: Json | undefined): boolean => typeof value !== 'string' || value.trim() === ''

/**
 * Follows a vendor's path (`messages.1.content.0.text.x`, `input[3].id`) to its last member. Segments in between that
 * lead nowhere are a vendor's names of types, and are skipped.
 */
export function atPath(
  body: JsonObject,
  path: string,
): { holder: JsonObject | Json[]; key: string } | undefined {
  const segments = path.split(/[.[\]]+/).filter(part => part !== '')
  const last = segments.pop()
  if (last === undefined) return undefined
  let holder: JsonObject | Json[] = body
  for (const segment of segments) {
    const value = childOf(holder, segment)
    if (Array.isArray(value) || isJsonObject(value)) holder = value
  }
  return childOf(holder, last) === undefined ? undefined : { holder, key: last }
}

function childOf(holder: JsonObject | Json[], key: string): Json | undefined {
  if (Array.isArray(holder)) return /^\d+$/.test(key) ? holder[Number(key)] : undefined
  return Object.hasOwn(holder, key) ? holder[key] : undefined
}

/** Takes the member at the end of a path away. */
export function removeAt(body: JsonObject, path: string): boolean {
  const found = atPath(body, path)
  if (found === undefined) return false
  if (Array.isArray(found.holder)) found.holder.splice(Number(found.key), 1)
  else delete found.holder[found.key]
  return true
}

/** A treatment that may change no more than how things are put together says at least that. */
export function inWords(apply: Treatment['apply'], words: string): Treatment['apply'] {
  return (body, did, findings) => {
    const before = JSON.stringify(body)
    let told = false
    const tell: Did = change => {
      told = true
      did(change)
    }
    apply(body, tell, findings)
    if (!told && JSON.stringify(body) !== before) did(words)
  }
}

// ---- treatments that every vendor needs --------------------------------------------------------------------

/** A place where a name or an id stands. */
export type Slot = { holder: JsonObject; key: string }

export const slot = (holder: Json | undefined, key: string): Slot[] =>
  isJsonObject(holder) && typeof holder[key] === 'string' ? [{ holder, key }] : []

/** Spells the same text the same way in every place. `spell` gives undefined for what may stay. */
export function respell(
  slots: readonly Slot[],
  spell: (old: string) => string | undefined,
  did: (old: string, spelled: string) => void,
): void {
  const told = new Set<string>()
  for (const { holder, key } of slots) {
    const old = stringOf(holder[key])
    const spelled = spell(old)
    if (spelled === undefined || spelled === old) continue
    holder[key] = spelled
    if (!told.has(old)) did(old, spelled)
    told.add(old)
  }
}

/** An id of at most `most` characters that every vendor takes, and the same for the same text. */
export function plainId(text: string, prefix: string, most = 40): string {
  return `${prefix}${sha256(text)
    .replace(/[^a-zA-Z0-9]/g, '')
    .slice(0, Math.min(24, most - prefix.length))}`
}

export const shown = (text: string): string => {
  const words = wellFormed(text.length > 60 ? `${text.slice(0, 57)}…` : text)
  return JSON.stringify(words)
}

/** Halves of surrogate pairs, anywhere. */
export function mendText(body: JsonObject, did: Did): void {
  let mended = 0
  const visit = (value: Json): Json => {
    if (typeof value === 'string') {
      const text = wellFormed(value)
      if (text !== value) mended++
      return text
    }
    if (Array.isArray(value)) return value.map(visit)
    if (!isJsonObject(value)) return value
    return Object.fromEntries(Object.entries(value).map(([key, each]) => [wellFormed(key), visit(each)]))
  }
  for (const [key, value] of Object.entries(body)) body[key] = visit(value)
  if (mended > 0) did(`Replaced half of a surrogate pair in ${mended} ${mended === 1 ? 'text' : 'texts'}.`)
}

/** Arguments as an object: what is JSON text of one is read, anything else stands in a field. */
export function asObject(value: Json | undefined): JsonObject {
  if (isJsonObject(value)) return value
  if (value === undefined || value === null || value === '') return {}
  if (typeof value === 'string') {
    try {
      const parsed: unknown = JSON.parse(value)
      if (isJsonObject(parsed)) return parsed
    } catch {
      return { value }
    }
  }
  return { value }
}
