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
      // One listener costs much less than a signal of two.
      const leave = (): void => reader.abort(signal?.reason)
      if (signal?.aborted) leave()
      else signal?.addEventListener('abort', leave, { once: true })
      const items = make(reader.signal)
      return {
        next: async () => {
          const result = await items.next()
          if (result.done) signal?.removeEventListener('abort', leave)
          return result
        },
        return: async () => {
          signal?.removeEventListener('abort', leave)
          reader.abort()
          return items.return(undefined)
        },
      }
    },
  }
}
