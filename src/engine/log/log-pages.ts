// The log of any session, read in pages that readers share. A reader asks for the events after a number and gets a few of
// them at a time; it holds no page while it waits for its client, so a reader that does not read costs next to nothing.
import { roughSize } from '../../lib/json/plain.ts'
import type { FollowItem } from '../ports/boundary.ts'
import type { Store } from '../ports/index.ts'

export type LogItem = Extract<FollowItem, { type: 'event' }>
type Page = {
  session: string
  items: readonly LogItem[]
  sizes: readonly number[]
  size: number
  /** When a reader last asked for some of it. */
  usedAt: number
}

const pageBytes = 256 * 1024
/** About the JSON of all pages that are kept. The newest page is kept, however large. */
const keptBytes = 16 * 1024 * 1024
/** Pages that nobody asked for in this time are dropped when the next one is read. */
const keptMs = 30_000
/** About the JSON of what a reader is given at once, unless one event is larger. */
export const sliceBytes = 32 * 1024

export class LogPages {
  readonly #store: Pick<Store, 'read'>
  readonly #bySession = new Map<string, Page[]>()
  /** The least recently used comes first. */
  readonly #kept = new Set<Page>()
  #size = 0
  readonly #reading = new Map<string, Promise<Page>>()

  readonly #now: () => number

  /** `now`: milliseconds of a clock that is never set back. */
  constructor(store: Pick<Store, 'read'>, now = () => performance.now()) {
    this.#store = store
    this.#now = now
  }

  /** The session was deleted. */
  forget(session: string): void {
    for (const page of this.#bySession.get(session) ?? []) this.#drop(page)
  }

  /** Some of the events after number `after`, in order. Empty: there are no more. The items are shared by all readers. */
  async after(session: string, after: number): Promise<readonly LogItem[]> {
    const page = this.#find(session, after) ?? (await this.#read(session, after))
    const [first] = page.items
    if (!first) return []
    const from = after + 1 - first.seq
    let to = from
    for (let size = 0; to < page.items.length && size < sliceBytes; to++) size += page.sizes[to]!
    return page.items.slice(from, to)
  }

  #find(session: string, after: number): Page | undefined {
    const found = this.#bySession.get(session)?.find(({ items }) => {
      const first = items[0]!.seq
      return after + 1 >= first && after + 1 < first + items.length
    })
    if (!found) return undefined
    found.usedAt = this.#now()
    if (this.#kept.delete(found)) this.#kept.add(found)
    return found
  }

  #read(session: string, after: number): Promise<Page> {
    const key = `${after} ${session}`
    const reading = this.#reading.get(key)
    if (reading) return reading
    const begun = this.#load(session, after).finally(() => this.#reading.delete(key))
    this.#reading.set(key, begun)
    return begun
  }

  async #load(session: string, after: number): Promise<Page> {
    const recorded = await this.#store.read(session, after, { maxBytes: pageBytes })
    const items = recorded.map((each): LogItem => ({ type: 'event', ...each }))
    const sizes = items.map(({ event }) => roughSize(event))
    const size = sizes.reduce((sum, each) => sum + each, 0)
    const page = { session, items, sizes, size, usedAt: this.#now() }
    if (items.length > 0) this.#keep(page)
    return page
  }

  #keep(page: Page): void {
    const { session } = page
    this.#bySession.set(session, [...(this.#bySession.get(session) ?? []), page])
    this.#kept.add(page)
    this.#size += page.size
    for (const oldest of this.#kept) {
      const isOld = oldest.usedAt < page.usedAt - keptMs
      if (oldest === page || (this.#size <= keptBytes && !isOld)) return
      this.#drop(oldest)
    }
  }

  #drop(page: Page): void {
    this.#kept.delete(page)
    this.#size -= page.size
    const left = (this.#bySession.get(page.session) ?? []).filter(each => each !== page)
    if (left.length > 0) this.#bySession.set(page.session, left)
    else this.#bySession.delete(page.session)
  }
}
