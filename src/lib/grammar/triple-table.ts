// An insertion-ordered set of triples of 32-bit integers in flat memory: a parser's item set, where each item is
// added many times and kept once. Entries are numbered from 0 in the order of their arrival.

const FIRST_CAPACITY = 64

export class TripleTable {
  #keys = new Int32Array(3 * FIRST_CAPACITY)
  /** Open addressing at a load of at most one half: entry number + 1, or 0. */
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

  /** The entry's number, or -1. */
  find(a: number, b: number, c: number): number {
    return (this.#buckets[this.#probe(a, b, c)] ?? 0) - 1
  }

  /** Whether the triple is new. */
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
      // Entries leave in reverse order, so that each is still reachable by its probe when its turn comes.
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
