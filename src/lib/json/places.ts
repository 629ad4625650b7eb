// Finds values in a JSON text by path, so that they can be cut out exactly as they were written: no digit is lost, and
// a large value is not serialised again. The text must be valid JSON; callers have parsed it before. If an object has
// the same key twice, the first one is found.

import { endOfString, skipSpace } from './index.ts'

/** The index of the value that `path` leads to from the value at `from`, or -1. */
export function findValue(text: string, from: number, path: readonly (string | number)[]): number {
  let at = skipSpace(text, from)
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

/** The index of each element of the array at this index. */
export function* elementsAt(text: string, array: number): Generator<number> {
  if (text[array] !== '[') return
  let at = skipSpace(text, array + 1)
  while (at < text.length && text[at] !== ']') {
    yield at
    at = nextItem(text, endOfValue(text, at))
  }
}

function findElement(text: string, array: number, index: number): number {
  let count = 0
  for (const at of elementsAt(text, array)) if (count++ === index) return at
  return -1
}

function findMember(text: string, object: number, key: string): number {
  if (text[object] !== '{') return -1
  let at = skipSpace(text, object + 1)
  while (text[at] === '"') {
    const end = endOfString(text, at + 1)
    const value = skipSpace(text, skipSpace(text, end + 1) + 1)
    if (JSON.parse(text.slice(at, end + 1)) === key) return value
    at = nextItem(text, endOfValue(text, value))
  }
  return -1
}

function nextItem(text: string, end: number): number {
  const at = skipSpace(text, end)
  return text[at] === ',' ? skipSpace(text, at + 1) : at
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
    } else if (depth === 0 && (character === ',' || skipSpace(text, at) > at)) return at
  }
  return text.length
}
