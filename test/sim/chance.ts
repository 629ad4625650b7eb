// Seeded random numbers (sfc32): the same seed gives the same run. The simulator has no other source of randomness.

export class Chance {
  #a: number
  #b: number
  #c: number
  #counter = 1

  constructor(seed: number) {
    this.#a = 0x9e3779b9 ^ seed
    this.#b = 0x243f6a88 ^ Math.imul(seed, 0x85ebca6b)
    this.#c = 0xb7e15162 ^ Math.imul(seed, 0xc2b2ae35)
    for (let round = 0; round < 12; round += 1) this.#next()
  }

  #next(): number {
    const sum = (((this.#a + this.#b) | 0) + this.#counter) | 0
    this.#counter = (this.#counter + 1) | 0
    this.#a = this.#b ^ (this.#b >>> 9)
    this.#b = (this.#c + (this.#c << 3)) | 0
    this.#c = ((this.#c << 21) | (this.#c >>> 11)) + sum
    return sum >>> 0
  }

  /** True with this probability. */
  maybe(probability: number): boolean {
    return this.#next() < probability * 0x1_0000_0000
  }

  /** A whole number, both ends included. */
  whole(from: number, to: number): number {
    return from + (this.#next() % (to - from + 1))
  }

  pick<T>(items: readonly T[]): T {
    if (items.length === 0) throw new Error('there is nothing to pick from')
    return items[this.#next() % items.length]!
  }

  /** One of the names, with a probability proportional to its weight. */
  weighted<T extends string>(weights: Readonly<Record<T, number>>): T {
    const entries = Object.entries(weights) as [T, number][] // Object.entries forgets the names of the keys.
    let left = this.whole(
      1,
      entries.reduce((sum, [, weight]) => sum + weight, 0),
    )
    for (const [name, weight] of entries) {
      left -= weight
      if (left <= 0) return name
    }
    throw new Error('the weights do not add up')
  }

  shuffled<T>(items: readonly T[]): T[] {
    const list = [...items]
    for (let at = list.length - 1; at > 0; at -= 1) {
      const other = this.whole(0, at)
      const held = list[at]!
      list[at] = list[other]!
      list[other] = held
    }
    return list
  }
}
