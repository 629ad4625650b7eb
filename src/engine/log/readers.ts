// Who follows which session now, by the name that they gave. A wire asks for it whether a turn that it started is still read,
// wherever its readers are connected.

export class Readers {
  /** By session: how many streams each name has open. */
  readonly #open = new Map<string, Map<string, number>>()

  /** The items, counted as read for as long as someone takes them. */
  async *counted<Item>(session: string, name: string, items: AsyncIterable<Item>): AsyncGenerator<Item> {
    this.#add(session, name, 1)
    try {
      yield* items
    } finally {
      this.#add(session, name, -1)
    }
  }

  of(session: string): string[] {
    return [...(this.#open.get(session)?.keys() ?? [])]
  }

  #add(session: string, name: string, count: number): void {
    const names = this.#open.get(session) ?? new Map<string, number>()
    const now = (names.get(name) ?? 0) + count
    if (now > 0) names.set(name, now)
    else names.delete(name)
    if (names.size > 0) this.#open.set(session, names)
    else this.#open.delete(session)
  }
}
