// The heights of rows as sums: where a row begins, which row is at a place, and a new height, each in logarithmic time
// (a Fenwick tree). Rows that were not measured count with an estimate.

export class RowHeights {
  readonly length: number
  readonly #heights: Float64Array
  /** Member i is the sum of the last `i & -i` heights up to row i - 1. */
  readonly #sums: Float64Array

  constructor(length: number, heightOf: (index: number) => number) {
    this.length = length
    this.#heights = new Float64Array(length)
    this.#sums = new Float64Array(length + 1)
    for (let index = 0; index < length; index += 1) {
      const height = heightOf(index)
      this.#heights[index] = height
      const at = index + 1
      this.#sums[at]! += height
      const parent = at + (at & -at)
      if (parent <= length) this.#sums[parent]! += this.#sums[at]!
    }
  }

  set(index: number, height: number): void {
    const change = height - (this.#heights[index] ?? height)
    if (change === 0) return
    this.#heights[index] = height
    for (let at = index + 1; at <= this.length; at += at & -at) this.#sums[at]! += change
  }

  /** The height of one row. */
  of(index: number): number {
    return this.#heights[index] ?? 0
  }

  /** Where a row begins; for `length`, the end of the last one. */
  start(index: number): number {
    let sum = 0
    for (let at = Math.min(index, this.length); at > 0; at -= at & -at) sum += this.#sums[at]!
    return sum
  }

  /** The last row that begins at or before this place. */
  indexAt(place: number): number {
    let index = 0
    let left = place
    for (let step = 2 ** Math.floor(Math.log2(Math.max(1, this.length))); step >= 1; step /= 2) {
      const next = index + step
      if (next > this.length || this.#sums[next]! > left) continue
      index = next
      left -= this.#sums[next]!
    }
    return Math.max(0, Math.min(index, this.length - 1))
  }
}
