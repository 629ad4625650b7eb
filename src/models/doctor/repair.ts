// The repair loop: a check finds broken rules, the first repair for one of them makes the smallest change and reports it,
// and the check runs again. This file knows no vendor; the caller gives the check.

import { sha256 } from '../../lib/hash.ts'
import { isJsonObject, type Json, type JsonObject } from '../../lib/json.ts'
import { wellFormed } from '../../lib/text.ts'

/** `message` is the vendor's own wording. */
export type Finding = { rule: string; message: string; param?: string | null }
export type Check = (body: JsonObject) => readonly Finding[]
export type Report = (change: string) => void

export type Repair = {
  rules: readonly string[]
  /** Changes the body in place, or leaves it unchanged if it cannot help. `findings` are those of `rules`. */
  apply(body: JsonObject, report: Report, findings: readonly Finding[]): void
}

export type Repaired = {
  body: JsonObject
  /** One sentence per change, in order. */
  changes: string[]
  /** Findings that no repair could resolve. */
  left: readonly Finding[]
}

const MOST_ROUNDS = 60

export function applyRepairs(given: JsonObject, repairs: readonly Repair[], check: Check): Repaired {
  // By JSON: repairs tell messages apart by identity, and the caller's list may hold one object twice.
  let body = JSON.parse(JSON.stringify(given)) as JsonObject
  const changes: string[] = []
  for (let round = 0; round < MOST_ROUNDS; round++) {
    const findings = check(body)
    if (findings.length === 0) return { body, changes, left: [] }
    const next = firstChange(body, repairs, findings)
    if (next === undefined) return { body, changes, left: findings }
    body = next.body
    changes.push(...next.changes)
  }
  return { body, changes, left: check(body) }
}

function firstChange(
  body: JsonObject,
  repairs: readonly Repair[],
  findings: readonly Finding[],
): { body: JsonObject; changes: string[] } | undefined {
  const before = JSON.stringify(body)
  for (const repair of repairs) {
    const own = findings.filter(({ rule }) => repair.rules.includes(rule))
    if (own.length === 0) continue
    const copy = structuredClone(body)
    const changes: string[] = []
    repair.apply(copy, change => changes.push(change), own)
    if (JSON.stringify(copy) !== before) return { body: copy, changes }
  }
  return undefined
}

// ---- reading a body ----------------------------------------------------------------------------------------

export const asText = (value: Json | undefined): string => (typeof value === 'string' ? value : '')

export const objectsOf = (value: Json | undefined): JsonObject[] =>
  Array.isArray(value) ? value.filter(isJsonObject) : []

export const messagesIn = (body: JsonObject): JsonObject[] => objectsOf(body['messages'])
export const blocksIn = (message: JsonObject): JsonObject[] => objectsOf(message['content'])

export const isBlank = (value: Json | undefined): boolean => typeof value !== 'string' || value.trim() === ''

/** A string inside a report. */
export const quoted = (text: string): string =>
  JSON.stringify(wellFormed(text.length > 60 ? `${text.slice(0, 57)}…` : text))

/**
 * Follows a vendor's path (`messages.1.content.0.text.x`, `input[3].id`) to its last member. Vendors put names of types
 * into their paths; segments that lead nowhere are skipped.
 */
function atPath(body: JsonObject, path: string): { holder: JsonObject | Json[]; key: string } | undefined {
  const segments = path.split(/[.[\]]+/).filter(segment => segment !== '')
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

/** False if there is nothing at the path. */
export function removeAt(body: JsonObject, path: string): boolean {
  const found = atPath(body, path)
  if (found === undefined) return false
  if (Array.isArray(found.holder)) found.holder.splice(Number(found.key), 1)
  else delete found.holder[found.key]
  return true
}

// ---- parts of repairs --------------------------------------------------------------------------------------

/** Reports `sentence` if the repair changed the body without a report of its own. */
export function withDefaultReport(apply: Repair['apply'], sentence: string): Repair['apply'] {
  return (body, report, findings) => {
    const before = JSON.stringify(body)
    let reports = 0
    const count: Report = change => {
      reports++
      report(change)
    }
    apply(body, count, findings)
    if (reports === 0 && JSON.stringify(body) !== before) report(sentence)
  }
}

/** A string member, such as a tool's name or a call's id. */
export type FieldRef = { holder: JsonObject; key: string }

/** Empty if the holder has no such string. */
export const fieldRef = (holder: Json | undefined, key: string): FieldRef[] =>
  isJsonObject(holder) && typeof holder[key] === 'string' ? [{ holder, key }] : []

/** Renames equal strings alike. `rename` returns undefined for a string that may stay. */
export function renameAll(
  refs: readonly FieldRef[],
  rename: (old: string) => string | undefined,
  report: (old: string, renamed: string) => void,
): void {
  const reported = new Set<string>()
  for (const { holder, key } of refs) {
    const old = asText(holder[key])
    const renamed = rename(old)
    if (renamed === undefined || renamed === old) continue
    holder[key] = renamed
    if (!reported.has(old)) report(old, renamed)
    reported.add(old)
  }
}

/** Renames the call ids that are not valid, in calls and results alike. */
export function renameCallIds(
  refs: (body: JsonObject) => FieldRef[],
  isValid: (id: string) => boolean,
  make: (id: string) => string,
): Repair['apply'] {
  return (body, report) =>
    renameAll(
      refs(body),
      id => (isValid(id) ? undefined : make(id)),
      (old, id) => report(`Renamed the call id ${quoted(old)} to ${id}, in the call and in its result.`),
    )
}

/** An id of at most `most` characters that every vendor accepts; equal texts give equal ids. */
export function makeId(text: string, prefix: string, most = 40): string {
  const letters = sha256(text).replace(/[^a-zA-Z0-9]/g, '')
  return `${prefix}${letters.slice(0, Math.min(24, most - prefix.length))}`
}

/** Arguments as an object: JSON text of an object is parsed, any other value goes under `value`. */
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

// ---- repairs of every vendor -------------------------------------------------------------------------------

/** Replaces lone surrogates everywhere. */
export function fixSurrogates(body: JsonObject, report: Report): void {
  let fixed = 0
  const visit = (value: Json): Json => {
    if (typeof value === 'string') {
      const text = wellFormed(value)
      if (text !== value) fixed++
      return text
    }
    if (Array.isArray(value)) return value.map(visit)
    if (!isJsonObject(value)) return value
    return Object.fromEntries(Object.entries(value).map(([key, each]) => [wellFormed(key), visit(each)]))
  }
  for (const [key, value] of Object.entries(body)) body[key] = visit(value)
  if (fixed > 0) report(`Replaced half of a surrogate pair in ${fixed} ${fixed === 1 ? 'text' : 'texts'}.`)
}

export function addModel(model: string): Repair['apply'] {
  return (body, report) => {
    if (!isBlank(body['model'])) return
    body['model'] = model
    report('Added a model.')
  }
}

/** Drops the fields that findings name. */
export function dropFields(pathsIn: (finding: Finding) => readonly string[]): Repair['apply'] {
  return (body, report, findings) => {
    for (const path of findings.flatMap(pathsIn))
      if (path !== '' && removeAt(body, path)) report(`Dropped \`${path}\`, which this API does not accept.`)
  }
}
