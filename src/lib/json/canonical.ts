// Canonical JSON (RFC 8785): one spelling per value, so that equal values have equal hashes. Events and arguments have few shapes, so
// the order of an object's keys is looked up by the order that they come in, and sorted only the first time.
import { type Json, JsonError, type JsonObject, tooDeep } from './json.ts'

const maxDepth = 1_000

/**
 * Keys in UTF-16 order, no spaces, numbers as ECMAScript prints them. A lone surrogate is escaped, so the result is
 * well-formed and different strings always have different spellings.
 */
export function canonicalJson(value: Json): string {
  return write(value, 0)
}

function write(value: Json | undefined, depth: number): string {
  switch (typeof value) {
    case 'string':
      return quote(value)
    case 'number':
      if (!Number.isFinite(value)) throw new JsonError('not-finite', 0, `${value} has no JSON form.`)
      return `${value}`
    case 'boolean':
      return value ? 'true' : 'false'
    case 'undefined':
      return 'null'
    case 'object':
      if (value === null) return 'null'
      if (depth >= maxDepth) throw tooDeep(0, maxDepth)
      return Array.isArray(value) ? writeArray(value, depth) : writeObject(value, depth)
    default:
      throw new TypeError(`A ${typeof value} has no JSON form.`)
  }
}

const withoutEscapes = /^[ !#-[\]-~]*$/

function quote(text: string): string {
  return withoutEscapes.test(text) ? `"${text}"` : JSON.stringify(text)
}

function writeArray(items: readonly Json[], depth: number): string {
  let out = '['
  for (let at = 0; at < items.length; at++) {
    if (at > 0) out += ','
    out += write(items[at], depth + 1)
  }
  return `${out}]`
}

function writeObject(object: JsonObject, depth: number): string {
  let out = ''
  const { sorted, before } = findOrder(Object.keys(object))
  for (let at = 0; at < sorted.length; at++) {
    const value: Json | undefined = object[sorted[at]!]
    if (value === undefined) continue
    out += `${out === '' ? '{' : ','}${before[at]}${write(value, depth + 1)}`
  }
  return out === '' ? '{}' : `${out}}`
}

// ---- the order of keys -------------------------------------------------------------------------------------------------

/** `given`: as an object has them. `before`: what is written before the value of each. */
type KeyOrder = { given: readonly string[]; sorted: readonly string[]; before: readonly string[] }

/** By the last key. Keys may be anyone's, so all of this is bounded. */
const known = new Map<string, KeyOrder[]>()
const most = { lists: 512, inList: 8, keys: 24, keyLength: 48 }

function findOrder(given: readonly string[]): KeyOrder {
  const last = given.at(-1) ?? ''
  const near = known.get(last)
  if (near) for (const order of near) if (isSame(order.given, given)) return order
  const sorted = given.toSorted()
  const made = { given, sorted, before: sorted.map(key => `${quote(key)}:`) }
  const isSmall = given.length <= most.keys && given.every(({ length }) => length <= most.keyLength)
  if (!isSmall) return made
  if (!near && known.size < most.lists) known.set(last, [made])
  else if (near && near.length < most.inList) near.push(made)
  return made
}

function isSame(some: readonly string[], others: readonly string[]): boolean {
  if (some.length !== others.length) return false
  for (let at = 0; at < some.length; at++) if (some[at] !== others[at]) return false
  return true
}
