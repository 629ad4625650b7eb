// Encodings of history entries, each made once per entry object and target. Entries never change once given, so
// a long session costs a new step only its new entries; the rest is text that is put together again.

import type { Entry } from '../../language/history.ts'

export type Encoded = {
  /** One text per entry, in order; empty where an entry says nothing to this vendor. */
  pieces: string[]
  /** How many of them were made now; the others were remembered. */
  encoded: number
  /** What was put together before and is the same still. */
  blocks: Block[]
}

/** A stretch of pieces, put together. `last`: the index of the last piece in it, or before it, that is not empty. */
type Block = { text: string; last: number }

const BLOCK = 64

const remembered = new WeakMap<Entry, Map<string, string>>()

/** The last encoding of a history that began with the same entry: what stands in it needs no looking up. */
type Last = { entries: Entry[]; places: string[]; pieces: string[]; blocks: Block[] }

const lasts = new WeakMap<Entry, Map<string, Last>>()

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
  const [first] = history
  if (first === undefined) return { pieces: [], encoded: 0, blocks: [] }
  const { entries, places, pieces, blocks } = lastOf(first, key)
  let encoded = 0
  let same = history.length
  for (let index = 0; index < history.length; index++) {
    const entry = history[index]!
    const place = variant?.(index) ?? ''
    if (entries[index] === entry && places[index] === place) continue
    const full = place === '' ? key : `${key} ${place}`
    const byKey = remembered.get(entry)
    let piece = byKey?.get(full)
    if (piece === undefined) {
      piece = encode(entry, index)
      if (byKey === undefined) remembered.set(entry, new Map([[full, piece]]))
      else byKey.set(full, piece)
      encoded++
    }
    same = Math.min(same, index)
    entries[index] = entry
    places[index] = place
    pieces[index] = piece
  }
  blocks.splice(Math.floor(same / BLOCK))
  return { pieces: pieces.slice(0, history.length), encoded, blocks }
}

/**
 * The pieces as one text, without the empty ones. `between` is what stands before a piece, after the piece at `before`
 * (-1: there is none); it must follow from the entries up to that piece alone.
 */
export function joinPieces(
  { pieces, blocks }: Encoded,
  between: (before: number, index: number) => string,
): { text: string; last: number } {
  let text = ''
  let last = -1
  for (const block of blocks) {
    text += block.text
    last = block.last
  }
  for (let from = blocks.length * BLOCK; from < pieces.length; from += BLOCK) {
    const said: string[] = []
    for (let index = from; index < Math.min(from + BLOCK, pieces.length); index++) {
      const piece = pieces[index]!
      if (piece === '') continue
      said.push(between(last, index), piece)
      last = index
    }
    const joined = said.join('')
    if (from + BLOCK <= pieces.length) blocks.push({ text: joined, last })
    text += joined
  }
  return { text, last }
}

function lastOf(first: Entry, key: string): Last {
  const byKey = lasts.get(first) ?? new Map<string, Last>()
  lasts.set(first, byKey)
  const last = byKey.get(key) ?? { entries: [], places: [], pieces: [], blocks: [] }
  byKey.set(key, last)
  return last
}

/** Two variants as one. */
export function joinVariants(one: string, other: string): string {
  return one === '' || other === '' ? one || other : `${one} ${other}`
}
