// A map whose values are made when they are first asked for and dropped again while nothing depends on them, so that it
// does not grow with every key that was ever used. Values that are not idle stay, whatever their number.

export type Droppable = { readonly isIdle: boolean }

export class IdleMap<Value extends Droppable> {
  readonly #values = new Map<string, Value>()
  readonly #make: (key: string) => Value
  readonly #most: number
  /** How large it may grow before idle values are looked for. */
  #sweepAt: number

  /** `most`: idle values are dropped when there are more than this. */
  constructor(make: (key: string) => Value, most = 10_000) {
    this.#make = make
    this.#most = most
    this.#sweepAt = most
  }

  of(key: string): Value {
    const known = this.#values.get(key)
    if (known) return known
    if (this.#values.size >= this.#sweepAt) this.#sweep()
    const value = this.#make(key)
    this.#values.set(key, value)
    return value
  }

  get size(): number {
    return this.#values.size
  }

  values(): MapIterator<Value> {
    return this.#values.values()
  }

  /** Where few are idle, the next sweep comes later, so that a sweep costs little for each value that was added. */
  #sweep(): void {
    for (const [key, value] of this.#values) if (value.isIdle) this.#values.delete(key)
    this.#sweepAt = Math.max(this.#most, 2 * this.#values.size)
  }
}
