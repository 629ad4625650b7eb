// Values derived from the history of one session, kept so that a step costs its new entries and not its whole history. The
// session owns the cache (`ModelRequest.memory`); without one each request is prepared from nothing. A cache never changes
// the result: entries are immutable, and each is compared with the entry that was there before.

import type { ModelMemory } from '../../engine/ports/index.ts'
import type { Entry } from '../../language/history.ts'

/** A value that is built up entry by entry, such as the set of ids in use. */
export type HistoryFold<Value> = {
  /** Names the fold, and everything that its value depends on besides the entries. */
  key: string
  start: () => Value
  /** Called for each index in order. The entries after `index` may still be missing. */
  add: (value: Value, history: readonly Entry[], index: number) => void
}

export type EntryEncoder = {
  /** Names everything that an encoding depends on besides the entry: protocol, model family, quirks. */
  key: string
  /** Names everything that the encoding of this entry takes from the entries around it; '' where it takes nothing. */
  variant(index: number): string
  /** JSON text, or '' when the entry says nothing to this vendor. Warnings are given when an entry is first encoded. */
  encode(entry: Entry, index: number): string
}

export type EncodedHistory = {
  /** The texts by index. Only the encoded range is filled. */
  pieces: readonly string[]
  /** How many were made by this request. */
  encoded: number
  /**
   * The texts as one, without the empty ones. `between` gives what stands before the piece at `index`, after the piece
   * at `before` (-1: it is the first). It may depend on the entries up to `index` only.
   */
  join: (between: (before: number, index: number) => string) => JoinedHistory
}

/**
 * `text` is `head` and `tail`, of which only the tail is short: what looks into the text of a long history copies all of it.
 * `last`: the index of the last piece that is not empty; -1 if there is none.
 */
export type JoinedHistory = { text: string; head: string; tail: string; last: number }

/** Two variants as one. */
export function joinVariants(one: string, other: string): string {
  return one === '' || other === '' ? one || other : `${one} ${other}`
}

export const commaBetween = (before: number): string => (before < 0 ? '' : ',')

/** A run of joined pieces. `last`: the index of the last piece, in it or before it, that is not empty. */
type JoinedBlock = { text: string; last: number }

const BLOCK_LENGTH = 64

export class SessionCache {
  /** The history of the last request. */
  readonly #history: Entry[] = []
  /** The list that has been compared with it for the current request. */
  #compared: readonly Entry[] | undefined
  readonly #folds = new Map<string, { count: number; value: unknown }>()
  #key = ''
  readonly #variants: string[] = []
  readonly #pieces: string[] = []
  readonly #blocks: JoinedBlock[] = []

  /** The cache that a session's earlier requests left in its memory, or a new one. */
  static of(memory: ModelMemory | undefined): SessionCache {
    if (memory?.kept instanceof SessionCache) {
      memory.kept.#compared = undefined
      return memory.kept
    }
    const cache = new SessionCache()
    if (memory) memory.kept = cache
    return cache
  }

  /** The value is for reading, and stays as it is only until the next request. */
  fold<Value>(history: readonly Entry[], { key, start, add }: HistoryFold<Value>): Value {
    if (history !== this.#compared || history.length !== this.#history.length) this.#follow(history)
    // A key names one fold, so the value under it has that fold's type.
    const known = this.#folds.get(key) as { count: number; value: Value } | undefined
    const state = known ?? { count: 0, value: start() }
    if (known === undefined) this.#folds.set(key, state)
    for (; state.count < history.length; state.count++) add(state.value, history, state.count)
    return state.value
  }

  /** Encodes the entries from `from` to `to`, of which most are encoded already. */
  encode(history: readonly Entry[], encoder: EntryEncoder, from = 0, to = history.length): EncodedHistory {
    if (history !== this.#compared || history.length !== this.#history.length) this.#follow(history)
    if (this.#key !== encoder.key) this.#forgetPieces(0)
    this.#key = encoder.key
    const [variants, pieces] = [this.#variants, this.#pieces]
    let encoded = 0
    let changed = to
    for (let index = from; index < to; index++) {
      const variant = encoder.variant(index)
      if (variants[index] === variant) continue
      pieces[index] = encoder.encode(history[index]!, index)
      variants[index] = variant
      encoded++
      changed = Math.min(changed, index)
    }
    if (changed < to) this.#forgetBlocks(changed)
    return { pieces, encoded, join: between => this.#join(from, to, between) }
  }

  /** Forgets what was derived from entries that `history` does not have, and takes in its new ones. */
  #follow(history: readonly Entry[]): void {
    const known = this.#history
    let same = 0
    while (same < known.length && known[same] === history[same]) same++
    if (same < known.length) {
      known.length = same
      this.#forgetPieces(same)
      for (const [key, { count }] of this.#folds) if (count > same) this.#folds.delete(key)
    }
    for (let index = same; index < history.length; index++) known.push(history[index]!)
    this.#compared = history
  }

  #forgetPieces(from: number): void {
    if (this.#variants.length > from) this.#variants.length = from
    if (this.#pieces.length > from) this.#pieces.length = from
    this.#forgetBlocks(from)
  }

  #forgetBlocks(from: number): void {
    const whole = Math.floor(from / BLOCK_LENGTH)
    if (this.#blocks.length > whole) this.#blocks.length = whole
  }

  #join(from: number, to: number, between: (before: number, index: number) => string): JoinedHistory {
    const blocks = from === 0 ? this.#blocks.slice(0, Math.floor(to / BLOCK_LENGTH)) : []
    let [head, tail] = ['', '']
    let last = -1
    const append = (text: string): void => {
      if (text === '') return
      head += tail
      tail = text
    }
    for (const block of blocks) {
      append(block.text)
      last = block.last
    }
    let index = from + blocks.length * BLOCK_LENGTH
    while (index < to) {
      const end = Math.min(index + BLOCK_LENGTH, to)
      const parts: string[] = []
      for (; index < end; index++) {
        const piece = this.#pieces[index]!
        if (piece === '') continue
        parts.push(between(last, index), piece)
        last = index
      }
      const joined = parts.join('')
      if (from === 0 && end % BLOCK_LENGTH === 0) this.#blocks.push({ text: joined, last })
      append(joined)
    }
    return { text: head + tail, head, tail, last }
  }
}
