// An async iterable of batches: everything pushed since the reader last asked comes as one array. It joins code that
// calls back to code that reads in a loop, at the cost of one promise per batch instead of one per item.

export class Batches<T> implements AsyncIterableIterator<readonly T[]> {
  #items: T[] = []
  #wake: (() => void) | undefined
  #ended = false
  #failure: { error: unknown } | undefined
  readonly #onLeave: (() => void) | undefined

  /** `onLeave` is called when the reader leaves its loop before the end. */
  constructor(onLeave?: () => void) {
    this.#onLeave = onLeave
  }

  get ended(): boolean {
    return this.#ended
  }

  /** Items that the reader has not taken yet. */
  get unread(): number {
    return this.#items.length
  }

  push(item: T): void {
    if (this.#ended) return
    this.#items.push(item)
    this.#wakeReader()
  }

  /** The reader gets what was pushed, then the end. */
  end(): void {
    this.#ended = true
    this.#wakeReader()
  }

  /** The reader gets what was pushed, then the error. */
  fail(error: unknown): void {
    if (this.#ended) return
    this.#failure = { error }
    this.end()
  }

  async next(): Promise<IteratorResult<readonly T[]>> {
    while (this.#items.length === 0 && !this.#ended)
      await new Promise<void>(resolve => {
        this.#wake = resolve
      })
    if (this.#items.length > 0) {
      const value = this.#items
      this.#items = []
      return { value, done: false }
    }
    const failure = this.#failure
    this.#failure = undefined
    if (failure) throw failure.error
    return { value: undefined, done: true }
  }

  async return(): Promise<IteratorResult<readonly T[]>> {
    const left = !this.#ended
    this.#items = []
    this.#failure = undefined
    this.end()
    if (left) this.#onLeave?.()
    return { value: undefined, done: true }
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  #wakeReader(): void {
    const wake = this.#wake
    this.#wake = undefined
    wake?.()
  }
}
