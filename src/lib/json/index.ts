// Strict JSON for untrusted text. One linear scan refuses text that is too large, nests too deep, has too many values or
// keys, repeats a key or overflows a number. Only then does the native parser build the value; syntax is left to it.
// `parseBounded` is less strict: it bounds the depth alone.
// Canonical JSON is the other direction: canonical.ts.

import { utf8Length } from '../text/index.ts'
import { type Json, JsonError, type JsonObject, tooDeep } from './json.ts'

export { canonicalJson } from './canonical.ts'
export { type Json, JsonError, type JsonErrorReason, type JsonObject, type ReadonlyJson } from './json.ts'

export type JsonLimits = { maxBytes?: number; maxDepth?: number; maxKeys?: number; maxValues?: number }
const DEFAULT_MAX_BYTES = 4 * 1024 * 1024
const DEFAULT_MAX_DEPTH = 64
/** Building this many different keys takes about 50 ms, and so does building this many values. */
const DEFAULT_MAX_KEYS = 50_000
const DEFAULT_MAX_VALUES = 250_000
/** The first keys of an object are compared one by one, later ones through a set. A set is slower for few keys. */
const WALKED_KEYS = 12
/** Up to this length a loop over the characters is faster than a native call. */
const SHORT = 40

const QUOTE = 0x22
const COMMA = 0x2c
const MINUS = 0x2d
const ZERO = 0x30
const NINE = 0x39
const COLON = 0x3a
const OPEN_ARRAY = 0x5b
const BACKSLASH = 0x5c
const CLOSE_ARRAY = 0x5d
const OPEN_OBJECT = 0x7b
const CLOSE_OBJECT = 0x7d

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Offsets in errors count UTF-16 code units, as `text[offset]` does. */
export function parseJson(text: string, limits?: JsonLimits): Json {
  checkSize(text, limits?.maxBytes ?? DEFAULT_MAX_BYTES)
  scan(text, {
    maxDepth: limits?.maxDepth ?? DEFAULT_MAX_DEPTH,
    maxKeys: limits?.maxKeys ?? DEFAULT_MAX_KEYS,
    maxValues: limits?.maxValues ?? DEFAULT_MAX_VALUES,
  })
  try {
    return JSON.parse(text) as Json // typed `any`; JSON text gives only Json
  } catch {
    const { offset, message } = findSyntaxError(text)
    throw new JsonError('syntax', offset, `Invalid JSON at offset ${offset}: ${message}.`)
  }
}

function checkSize(text: string, maxBytes: number): void {
  // A code unit takes at most three bytes, so most texts need no counting.
  if (text.length * 3 <= maxBytes) return
  if (text.length > maxBytes || utf8Length(text) > maxBytes) {
    throw new JsonError('too-large', 0, `The JSON text is larger than ${maxBytes} bytes. Send less.`)
  }
}

/** The text may not be JSON at all. Every step is safe on any input, and each character is read once. */
function scan(text: string, { maxDepth, maxKeys, maxValues }: Required<Omit<JsonLimits, 'maxBytes'>>): void {
  let here = null as OpenContainer | null
  let depth = 0
  let expectsKey = false
  let keyCount = 0
  /** Every value but the first of a container follows a comma, so commas and containers count them. */
  let valueCount = 0
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === QUOTE) {
      const end = endOfString(text, at + 1)
      if (end < 0) return
      if (expectsKey && here !== null) {
        if (++keyCount > maxKeys) throw tooManyKeys(at, maxKeys)
        addKey(here, text, at, end)
        expectsKey = false
      }
      at = end
    } else if (code === COMMA) {
      if (++valueCount > maxValues) throw tooManyValues(at, maxValues)
      expectsKey = here?.isObject === true
    } else if (code === OPEN_OBJECT || code === OPEN_ARRAY) {
      if (++depth > maxDepth) throw tooDeep(at, maxDepth)
      if (++valueCount > maxValues) throw tooManyValues(at, maxValues)
      expectsKey = code === OPEN_OBJECT
      here = { outer: here, isObject: expectsKey, lastKey: null, keyCount: 0, keys: null }
    } else if (code === CLOSE_OBJECT || code === CLOSE_ARRAY) {
      if (here !== null) depth--
      here = here?.outer ?? null
      expectsKey = false
    } else if (code === MINUS || (code >= ZERO && code <= NINE)) {
      at = endOfNumber(text, at) - 1
    }
  }
}

/** An array or object that is not closed yet. Its keys are linked, not listed, because most objects have few. */
type OpenContainer = {
  outer: OpenContainer | null
  isObject: boolean
  lastKey: Key | null
  keyCount: number
  /** The keys after the first `WALKED_KEYS`. */
  keys: Set<string> | null
}
type Key = { name: string; before: Key | null }

function addKey(object: OpenContainer, text: string, start: number, end: number): void {
  const raw = text.slice(start + 1, end)
  const name = raw.includes('\\') ? unescapedKey(text.slice(start, end + 1)) : raw
  for (let key = object.lastKey; key !== null; key = key.before)
    if (key.name === name) throw duplicateKey(start, name)
  if (object.keys?.has(name)) throw duplicateKey(start, name)
  if (++object.keyCount <= WALKED_KEYS) object.lastKey = { name, before: object.lastKey }
  else {
    object.keys ??= new Set()
    object.keys.add(name)
  }
}

function unescapedKey(quoted: string): string {
  try {
    return JSON.parse(quoted) as string // a quoted literal parses to a string or throws
  } catch {
    return quoted.slice(1, -1)
  }
}

/** The index of the closing quote, or -1. A quote after an odd number of backslashes is escaped. */
export function endOfString(text: string, from: number): number {
  const near = Math.min(from + SHORT, text.length)
  for (let at = from; at < near; at++) {
    const code = text.charCodeAt(at)
    if (code === QUOTE) return at
    if (code === BACKSLASH) break
  }
  let end = text.indexOf('"', from)
  while (end >= 0) {
    let back = end
    while (back > from && text.charCodeAt(back - 1) === BACKSLASH) back--
    if ((end - back) % 2 === 0) return end
    end = text.indexOf('"', end + 1)
  }
  return -1
}

const LONGEST_SURELY_FINITE = 300

function endOfNumber(text: string, start: number): number {
  let end = start + 1
  let exponent = false
  for (; end < text.length; end++) {
    const code = text.charCodeAt(end)
    if (code >= ZERO && code <= NINE) continue
    if (code === 0x65 || code === 0x45) exponent = true
    else if (code !== 0x2b && code !== MINUS && code !== 0x2e) break
  }
  if (exponent || end - start > LONGEST_SURELY_FINITE) {
    const value = Number(text.slice(start, end))
    if (value === Infinity || value === -Infinity) {
      throw new JsonError('not-finite', start, `The number at offset ${start} is too large for a double.`)
    }
  }
  return end
}

function tooManyKeys(offset: number, maxKeys: number): JsonError {
  return new JsonError('too-many-keys', offset, `The JSON has more than ${maxKeys} object keys. Send fewer.`)
}

function tooManyValues(offset: number, maxValues: number): JsonError {
  return new JsonError('too-many-values', offset, `The JSON has more than ${maxValues} values. Send fewer.`)
}

function duplicateKey(offset: number, key: string): JsonError {
  const name = JSON.stringify(key.length > 80 ? `${key.slice(0, 80).toWellFormed()}…` : key)
  return new JsonError('duplicate-key', offset, `The key ${name} stands twice in one object. Keep one.`)
}

// ---------------------------------------------------------------------------------------------------------
// Finds the syntax error. Runs only after the native parser has refused the text: its own message quotes the text and
// often has no position.

type SyntaxFault = { offset: number; message: string }

const TOKEN = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null/y

function findSyntaxError(text: string): SyntaxFault {
  const closers: number[] = []
  let wants: 'value' | 'value-or-end' | 'key' | 'key-or-end' | 'colon' | 'comma-or-end' = 'value'
  let at = skipSpace(text, 0)
  for (; at < text.length; at = skipSpace(text, at)) {
    const code = text.charCodeAt(at)
    const mayClose = wants === 'comma-or-end' || wants === 'value-or-end' || wants === 'key-or-end'
    if (closers.length > 0 && mayClose && code === closers.at(-1)) {
      closers.pop()
      wants = 'comma-or-end'
      at++
    } else if (wants === 'colon') {
      if (code !== COLON) return unexpected(text, at, "':' after a key")
      wants = 'value'
      at++
    } else if (wants === 'comma-or-end') {
      if (closers.length === 0) return unexpected(text, at, 'the end of the text')
      const inObject = closers.at(-1) === CLOSE_OBJECT
      if (code !== COMMA) return unexpected(text, at, inObject ? "',' or '}'" : "',' or ']'")
      wants = inObject ? 'key' : 'value'
      at++
    } else if (wants === 'key' || wants === 'key-or-end') {
      if (code !== QUOTE) return unexpected(text, at, 'a key in double quotes')
      const end = checkString(text, at)
      if (typeof end !== 'number') return end
      wants = 'colon'
      at = end
    } else if (code === OPEN_OBJECT || code === OPEN_ARRAY) {
      closers.push(code === OPEN_OBJECT ? CLOSE_OBJECT : CLOSE_ARRAY)
      wants = code === OPEN_OBJECT ? 'key-or-end' : 'value-or-end'
      at++
    } else {
      const end = code === QUOTE ? checkString(text, at) : endOfToken(text, at)
      if (typeof end !== 'number') return end
      wants = 'comma-or-end'
      at = end
    }
  }
  return { offset: text.length, message: 'the text ends too early' }
}

/** The index of the first character at or after `from` that is not JSON white space. */
export function skipSpace(text: string, from: number): number {
  for (let at = from; ; at++) {
    const code = text.charCodeAt(at)
    if (code !== 0x20 && code !== 0x0a && code !== 0x0d && code !== 0x09) return at
  }
}

function endOfToken(text: string, at: number): number | SyntaxFault {
  TOKEN.lastIndex = at
  return TOKEN.test(text) ? TOKEN.lastIndex : unexpected(text, at, 'a value')
}

const ESCAPE = /\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/y

function checkString(text: string, start: number): number | SyntaxFault {
  for (let at = start + 1; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === QUOTE) return at + 1
    if (code < 0x20) return { offset: at, message: 'a control character in a string must be escaped' }
    if (code !== BACKSLASH) continue
    ESCAPE.lastIndex = at
    if (!ESCAPE.test(text)) return { offset: at, message: 'this escape sequence is not known to JSON' }
    at = ESCAPE.lastIndex - 1
  }
  return { offset: start, message: 'this string is never closed' }
}

function unexpected(text: string, offset: number, wanted: string): SyntaxFault {
  const found = JSON.stringify(String.fromCodePoint(text.codePointAt(offset) ?? 0xfffd))
  return { offset, message: `expected ${wanted}, found ${found}` }
}

// ---------------------------------------------------------------------------------------------------------
// JSON of others whose content does not matter here. The native parser takes any depth, but writing or walking a value uses
// the stack: a value that nests some thousand levels deep ends each function that meets it, and whatever keeps it. So depth is
// bounded where the text is read. Texts that cannot be deep cost no scan.

/** Everything here can write and walk a value of this depth. */
export const deepestNesting = 500

/** A text that is not longer can nest no deeper. */
export const surelyFlat = 2 * deepestNesting

/** Undefined: the text is not JSON, or nests deeper than `deepestNesting`. */
export function parseBounded(text: string): Json | undefined {
  if (text.length > surelyFlat && tooDeepIn(text).length > 0) return undefined
  try {
    return JSON.parse(text) as Json // JSON.parse is typed `any`; JSON text yields nothing but Json
  } catch {
    return undefined
  }
}

/** Undefined: the text is no JSON object, or nests deeper than `deepestNesting`. */
export function parseObject(text: string): JsonObject | undefined {
  const value = parseBounded(text)
  return isJsonObject(value) ? value : undefined
}

/** The text with each value that nests too deep as a text of its own. */
export function flattened(text: string): string {
  let flat = ''
  let from = 0
  for (const { start, end } of tooDeepIn(text)) {
    flat += text.slice(from, start) + JSON.stringify(text.slice(start, end))
    from = end
  }
  return from === 0 ? text : flat + text.slice(from)
}

type Span = { start: number; end: number }

/** Where the values stand that are one level too deep. */
function tooDeepIn(text: string): Span[] {
  if (!hasManyClosings(text)) return []
  const spans: Span[] = []
  let depth = 0
  let start = 0
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === QUOTE) {
      at = endOfString(text, at + 1)
      if (at < 0) break
    } else if (code === OPEN_OBJECT || code === OPEN_ARRAY) {
      if (++depth === deepestNesting + 1) start = at
    } else if (code === CLOSE_OBJECT || code === CLOSE_ARRAY) {
      if (depth-- === deepestNesting + 1) spans.push({ start, end: at + 1 })
    }
  }
  // Not closed, so it is no JSON, and what is left of it must not be parsed as such.
  if (depth > deepestNesting) spans.push({ start, end: text.length })
  return spans
}

/** False for nearly every text, at the speed of a native search. */
function hasManyClosings(text: string): boolean {
  let count = 0
  for (const closing of [']', '}'])
    for (let at = text.indexOf(closing); at >= 0; at = text.indexOf(closing, at + 1))
      if (++count > deepestNesting) return true
  return false
}
