// An async generator that ends at once when its reader leaves, also while it waits for something. A generator alone would
// first finish what it waits for.

/** `make` gets a signal that aborts when the reader leaves or the given signal aborts. */
export function stoppable<Item>(
  make: (stop: AbortSignal) => AsyncGenerator<Item>,
  signal?: AbortSignal,
): AsyncIterable<Item> {
  return {
    [Symbol.asyncIterator]: () => {
      const reader = new AbortController()
      const items = make(signal ? AbortSignal.any([signal, reader.signal]) : reader.signal)
      return {
        next: () => items.next(),
        return: async () => {
          reader.abort()
          return items.return(undefined)
        },
      }
    },
  }
}
