// A value that a function returned, as JSON text. JSON.stringify would lose what maps, sets and headers hold, and fails on a big integer:
// these are written as what they mean. Values that JSON cannot hold, such as bytes or a response that nobody has read, are refused with
// what to return instead.
import { errorMessage } from '../../lib/text/error-message.ts'

/** Throws a TypeError whose words are for the tool's author. */
export function jsonText(value: unknown, name: string): string {
  const refuse = (words: string, cause?: unknown): never => {
    throw new TypeError(`The tool "${name}" returned ${words}`, cause === undefined ? undefined : { cause })
  }
  let text: string | undefined
  try {
    text = isOrdinary(value) ? JSON.stringify(value) : JSON.stringify(value, writePlain)
  } catch (error) {
    if (error instanceof Unwritable) return refuse(error.message)
    if (/circular/i.test(errorMessage(error)))
      return refuse('a value that refers to itself. Return only the members that the model needs.', error)
    return refuse(`a value that is not JSON: ${errorMessage(error)}`, error)
  }
  return text ?? refuse(`a ${typeof value}. Return text, JSON, parts or nothing.`)
}

/** More values are looked at as they are written. */
const mostLookedAt = 100_000

/** Whether JSON.stringify keeps all of it. One loop without calls, since nearly every result is ordinary. */
function isOrdinary(value: unknown): boolean {
  const open = [value]
  for (let at = 0; at < open.length; at++) {
    const each = open[at]
    if (typeof each === 'bigint') return false
    if (typeof each !== 'object' || each === null) continue
    const prototype: unknown = Object.getPrototypeOf(each)
    if (prototype !== Object.prototype && prototype !== Array.prototype && prototype !== null) return false
    for (const key in each) {
      if (open.length >= mostLookedAt) return false
      open.push((each as Record<string, unknown>)[key]) // its own keys
    }
  }
  return true
}

class Unwritable extends Error {}

/** For JSON.stringify. `this` is the object that has the member, before `toJSON` of the value was called. */
function writePlain(this: unknown, key: string, written: unknown): unknown {
  const value: unknown = typeof this === 'object' && this !== null ? Reflect.get(this, key) : written
  if (typeof value === 'bigint') return Number.isSafeInteger(Number(value)) ? Number(value) : String(value)
  if (typeof value !== 'object' || value === null) return written
  const place = key === '' ? '' : ` in "${key}"`
  if (ArrayBuffer.isView(value) || value instanceof ArrayBuffer || value instanceof Blob)
    throw new Unwritable(
      `bytes${place}. Return text (buffer.toString()), or a part: { type: 'file', url: 'data:…;base64,…', mediaType }.`,
    )
  if (value instanceof Response || value instanceof Request)
    throw new Unwritable(
      `a ${value.constructor.name}${place}. Return what it holds: await response.text() or await response.json().`,
    )
  if (value instanceof Promise) throw new Unwritable(`a promise${place}. Await it before it is returned.`)
  if (value instanceof Map) return pairs([...value])
  if (value instanceof Set) return [...value]
  if (value instanceof Headers || value instanceof URLSearchParams || value instanceof FormData)
    return pairs([...value])
  if (value instanceof Error) return { name: value.name, message: value.message }
  if (value instanceof RegExp) return String(value)
  return written
}

/** An object where the keys are texts, each of them once; else a list of pairs. */
function pairs(entries: [unknown, unknown][]): unknown {
  const keys = new Set(entries.map(([key]) => key))
  const isObject = keys.size === entries.length && entries.every(([key]) => typeof key === 'string')
  return isObject ? Object.fromEntries(entries as [string, unknown][]) : entries // all keys are texts
}
