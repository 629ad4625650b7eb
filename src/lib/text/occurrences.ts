// Counts a text in another in linear time, whatever the texts are. The search of the JavaScript engine can take
// quadratic time: it compares backwards, and begins anew after each mismatch.

/** Below this product of both lengths the search of the JavaScript engine is fast enough. */
const SMALL = 1_000_000

/** How often `wanted` occurs, one after the other without overlaps. */
export function countOccurrences(text: string, wanted: string): number {
  return [...occurrences(text, wanted)].length
}

/** `text` with each occurrence replaced. */
export function replaceOccurrences(text: string, wanted: string, by: string): string {
  const pieces: string[] = []
  let last = 0
  for (const at of occurrences(text, wanted)) {
    pieces.push(text.slice(last, at), by)
    last = at + wanted.length
  }
  return pieces.join('') + text.slice(last)
}

function* occurrences(text: string, wanted: string): Generator<number> {
  if (text.length * wanted.length <= SMALL) {
    for (let at = text.indexOf(wanted); at >= 0; at = text.indexOf(wanted, at + wanted.length)) yield at
    return
  }
  const [units, pattern] = [codeUnits(text), codeUnits(wanted)]
  const borders = findBorders(pattern)
  let matched = 0
  for (let at = 0; at < units.length; at += 1) {
    while (matched > 0 && units[at] !== pattern[matched]) matched = borders[matched - 1]!
    if (units[at] === pattern[matched]) matched += 1
    if (matched < pattern.length) continue
    yield at - matched + 1
    matched = 0
  }
}

function codeUnits(text: string): Uint16Array {
  const bytes = Buffer.from(text, 'utf16le')
  return new Uint16Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length))
}

/** For each beginning of the pattern: how long its longest end is that is a beginning too (Knuth, Morris and Pratt). */
function findBorders(pattern: Uint16Array): Uint32Array {
  const borders = new Uint32Array(pattern.length)
  let length = 0
  for (let at = 1; at < pattern.length; at += 1) {
    while (length > 0 && pattern[at] !== pattern[length]) length = borders[length - 1]!
    if (pattern[at] === pattern[length]) length += 1
    borders[at] = length
  }
  return borders
}
