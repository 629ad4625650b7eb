// Several sources of things that have times, each in its own order, given in the order of time. A source is read only once the time
// has come at which it began, so that few are open at once.
type Begun = { createdAt: number }
type Timed = { at: number }

/** A source goes on only after what it gave has been dealt with. */
export async function* inTimeOrder<Source extends Begun, Item extends Timed>(
  sources: readonly Source[],
  read: (source: Source) => AsyncGenerator<Item, void, undefined>,
): AsyncGenerator<Item, void, undefined> {
  const waiting = [...sources].sort((a, b) => b.createdAt - a.createdAt)
  /** Those that are open, latest first. */
  const open: { item: Item; from: AsyncGenerator<Item, void, undefined> }[] = []
  const advance = async (from: AsyncGenerator<Item, void, undefined>): Promise<void> => {
    const next = await from.next()
    if (next.done) return
    open.splice(findPlace(open, next.value.at), 0, { item: next.value, from })
  }
  for (;;) {
    for (;;) {
      const begins = waiting.at(-1)
      const earliest = open.at(-1)
      if (!begins || (earliest && earliest.item.at < begins.createdAt)) break
      waiting.pop()
      await advance(read(begins))
    }
    const first = open.pop()
    if (!first) return
    yield first.item
    await advance(first.from)
  }
}

/** Of the same time, the one that came first is given first. */
function findPlace(open: readonly { item: Timed }[], at: number): number {
  let [low, high] = [0, open.length]
  while (low < high) {
    const middle = (low + high) >>> 1
    if (open[middle]!.item.at > at) low = middle + 1
    else high = middle
  }
  return low
}
