// Encodings of history entries, each made once per entry object and target. Entries never change once given, so
// a long session costs a new step only its new entries; the rest is text that is put together again.

import type { Entry } from '../../language/history.ts'

export type Encoded = {
  /** One text per entry, in order; empty where an entry says nothing to this vendor. */
  pieces: string[]
  /** How many of them were made now; the others were remembered. */
  encoded: number
}

const remembered = new WeakMap<Entry, Map<string, string>>()

/**
 * `key` names all that the encoding depends on beside the entry itself: protocol, family, quirks. `variant` adds to
 * it what depends on the entry's place. `encode` may warn: a warning is said when an entry is first encoded.
 */
export function encodeEntries(
  history: readonly Entry[],
  key: string,
  encode: (entry: Entry, index: number) => string,
  variant?: (index: number) => string,
): Encoded {
  const pieces: string[] = []
  let encoded = 0
  for (let index = 0; index < history.length; index++) {
    const entry = history[index]!
    const place = variant?.(index) ?? ''
    const full = place === '' ? key : `${key} ${place}`
    const byKey = remembered.get(entry)
    let piece = byKey?.get(full)
    if (piece === undefined) {
      piece = encode(entry, index)
      if (byKey === undefined) remembered.set(entry, new Map([[full, piece]]))
      else byKey.set(full, piece)
      encoded++
    }
    pieces.push(piece)
  }
  return { pieces, encoded }
}
