// Two tables of 32-bit integers in flat memory, for the parser's items. An object per item would take ten times as much
// memory.

const FIRST_CAPACITY = 64

/** A growing table of integers with a fixed number of columns. */
export class IntRows {
  readonly #width: number
  #cells: Int32Array
  #size = 0

  constructor(width: number) {
    this.#width = width
    this.#cells = new Int32Array(width * FIRST_CAPACITY)
  }

  /** Adds a row of zeros and returns its number. */
  add(): number {
    if (this.#width * (this.#size + 1) > this.#cells.length) {
      const cells = new Int32Array(2 * this.#cells.length)
      cells.set(this.#cells)
      this.#cells = cells
    }
    this.#size += 1
    return this.#size - 1
  }

  get(row: number, column: number): number {
    return this.#cells[row * this.#width + column] ?? 0
  }

  set(row: number, column: number, value: number): void {
    this.#cells[row * this.#width + column] = value
  }
}

/**
 * A set of triples of integers, in insertion order. A parser's item set: an item is added many times and kept once.
 * Entries are numbered from 0.
 */
export class TripleTable {
  #keys = new Int32Array(3 * FIRST_CAPACITY)
  /** Open addressing, at most half full. A bucket holds the entry's number + 1, or 0. */
  #buckets = new Int32Array(2 * FIRST_CAPACITY)
  #size = 0

  get size(): number {
    return this.#size
  }

  first(entry: number): number {
    return this.#keys[3 * entry] ?? 0
  }

  second(entry: number): number {
    return this.#keys[3 * entry + 1] ?? 0
  }

  third(entry: number): number {
    return this.#keys[3 * entry + 2] ?? 0
  }

  /** Returns whether the triple is new. */
  add(a: number, b: number, c: number): boolean {
    const bucket = this.#probe(a, b, c)
    if (this.#buckets[bucket] !== 0) return false
    const base = 3 * this.#size
    this.#keys[base] = a
    this.#keys[base + 1] = b
    this.#keys[base + 2] = c
    this.#size += 1
    this.#buckets[bucket] = this.#size
    if (3 * this.#size >= this.#keys.length) this.#grow()
    return true
  }

  clear(): void {
    if (8 * this.#size > this.#buckets.length) this.#buckets.fill(0)
    else {
      // In reverse order, because removing an entry would break the probe sequences of later entries.
      for (let entry = this.#size - 1; entry >= 0; entry--) {
        this.#buckets[this.#probe(this.first(entry), this.second(entry), this.third(entry))] = 0
      }
    }
    this.#size = 0
  }

  #probe(a: number, b: number, c: number): number {
    const mask = this.#buckets.length - 1
    let hash = Math.imul(a, 0x9e3779b1) ^ Math.imul(b, 0x85ebca6b) ^ Math.imul(c, 0xc2b2ae35)
    hash ^= hash >>> 15
    hash = Math.imul(hash, 0x2c1b3c6d)
    let bucket = (hash ^ (hash >>> 13)) & mask
    for (;;) {
      const entry = this.#buckets[bucket] ?? 0
      if (entry === 0) return bucket
      const base = 3 * (entry - 1)
      if (this.#keys[base] === a && this.#keys[base + 1] === b && this.#keys[base + 2] === c) return bucket
      bucket = (bucket + 1) & mask
    }
  }

  #grow(): void {
    const keys = new Int32Array(2 * this.#keys.length)
    keys.set(this.#keys)
    this.#keys = keys
    this.#buckets = new Int32Array(2 * this.#buckets.length)
    for (let entry = 0; entry < this.#size; entry++) {
      this.#buckets[this.#probe(this.first(entry), this.second(entry), this.third(entry))] = entry + 1
    }
  }
}
