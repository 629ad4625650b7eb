// Bounds how deep a JSON text of others may nest. The native parser takes any depth, but writing or walking a value uses the
// stack: a value that nests some thousand levels deep ends each function that meets it, and whatever keeps it. So it is bounded
// where it is read. Texts that cannot be deep cost no scan.
import { endOfString, type Json } from './index.ts'

/** Everything here can write and walk a value of this depth. */
export const deepestNesting = 500

const QUOTE = 0x22
const OPEN_ARRAY = 0x5b
const CLOSE_ARRAY = 0x5d
const OPEN_OBJECT = 0x7b
const CLOSE_OBJECT = 0x7d

/** Undefined: the text is not JSON, or nests deeper than `deepestNesting`. */
export function parseBounded(text: string): Json | undefined {
  return tooDeepIn(text).length > 0 ? undefined : parse(text)
}

/** As `parseBounded`, but a value that nests too deep is given as its text. */
export function parseFlattened(text: string): Json | undefined {
  const deep = tooDeepIn(text)
  if (deep.length === 0) return parse(text)
  let flat = ''
  let from = 0
  for (const { start, end } of deep) {
    flat += text.slice(from, start) + JSON.stringify(text.slice(start, end))
    from = end
  }
  return parse(flat + text.slice(from))
}

function parse(text: string): Json | undefined {
  try {
    return JSON.parse(text) as Json // JSON.parse is typed `any`; JSON text yields nothing but Json
  } catch {
    return undefined
  }
}

type Span = { start: number; end: number }

/** Where the values stand that are one level too deep. */
function tooDeepIn(text: string): Span[] {
  if (text.length <= 2 * deepestNesting || !hasManyClosings(text)) return []
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
