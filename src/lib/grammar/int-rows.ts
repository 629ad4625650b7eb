// A growing table of 32-bit integers with a fixed number of columns, in flat memory: what a parser keeps for the
// whole of a text, where an object per row would cost ten times as much.

const FIRST_ROWS = 64

export class IntRows {
  readonly #width: number
  #cells: Int32Array
  #size = 0

  constructor(width: number) {
    this.#width = width
    this.#cells = new Int32Array(width * FIRST_ROWS)
  }

  get size(): number {
    return this.#size
  }

  /** The number of a new row of zeros. */
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
