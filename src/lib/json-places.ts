// Where a value stands in a JSON text, so that it can be cut out as it was written: no digit and no spelling is lost,
// and a large value is not written out a second time. The text must be valid JSON: it was parsed before. Of a key that
// stands twice the first is found.

import { endOfString } from './json.ts'

/** The index of the value that `path` leads to from the value at `from`, or -1. */
export function findValue(text: string, from: number, path: readonly (string | number)[]): number {
  let at = afterSpace(text, from)
  for (const step of path) {
    at = typeof step === 'number' ? findElement(text, at, step) : findMember(text, at, step)
    if (at < 0) return -1
  }
  return at
}

/** The value at this index, as it is written. */
export function valueText(text: string, at: number): string {
  return text.slice(at, endOfValue(text, at))
}

/** The index of each element of the list at this index. */
export function* elementsAt(text: string, list: number): Generator<number> {
  if (text[list] !== '[') return
  let at = afterSpace(text, list + 1)
  while (at < text.length && text[at] !== ']') {
    yield at
    at = afterSpace(text, endOfValue(text, at))
    if (text[at] === ',') at = afterSpace(text, at + 1)
  }
}

function findElement(text: string, list: number, index: number): number {
  let count = 0
  for (const at of elementsAt(text, list)) if (count++ === index) return at
  return -1
}

function findMember(text: string, object: number, key: string): number {
  if (text[object] !== '{') return -1
  let at = afterSpace(text, object + 1)
  while (text[at] === '"') {
    const end = endOfString(text, at + 1)
    const value = afterSpace(text, afterSpace(text, end + 1) + 1)
    if (JSON.parse(text.slice(at, end + 1)) === key) return value
    at = afterSpace(text, endOfValue(text, value))
    if (text[at] === ',') at = afterSpace(text, at + 1)
  }
  return -1
}

function endOfValue(text: string, start: number): number {
  let depth = 0
  for (let at = start; at < text.length; at++) {
    const character = text[at]
    if (character === '"') {
      at = endOfString(text, at + 1)
      if (at < 0) return text.length
      if (depth === 0) return at + 1
    } else if (character === '{' || character === '[') depth++
    else if (character === '}' || character === ']') {
      if (depth === 0) return at
      if (--depth === 0) return at + 1
    } else if (depth === 0 && (character === ',' || isSpace(text.charCodeAt(at)))) return at
  }
  return text.length
}

function afterSpace(text: string, from: number): number {
  let at = from
  while (isSpace(text.charCodeAt(at))) at++
  return at
}

function isSpace(code: number): boolean {
  return code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09
}
