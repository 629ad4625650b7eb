// The pages of a log that readers share: how much the store is asked for, what one reader is given, and what is kept.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Event, Recorded } from '../../language/events.ts'
import { roughSize } from '../../lib/json/plain.ts'
import { LogPages, sliceBytes } from './log-pages.ts'

const KiB = 1024
/** No page is larger than this, unless one event is. */
const mostPage = 1024 * KiB

type Asked = { after: number; maxBytes: number | undefined }

/** A store with one session. It counts what it is asked for, and gives as much as it is asked for. */
function storeOf(sizes: readonly number[]) {
  const log = sizes.map(
    (size, at): Recorded => ({
      seq: at + 1,
      event: { v: 1, at, type: 'model.answered', parts: [text(size)], stop: 'end', model: 'm' },
    }),
  )
  const asked: Asked[] = []
  const store = {
    async read(_session: string, after = 0, { maxBytes }: { maxBytes?: number } = {}): Promise<Recorded[]> {
      asked.push({ after, maxBytes })
      const found: Recorded[] = []
      let left = maxBytes ?? Infinity
      for (const each of log.slice(after)) {
        left -= roughSize(each.event)
        if (left < 0 && found.length > 0) break
        found.push(each)
      }
      return found
    },
  }
  return { store, asked, last: log.length }
}

const text = (size: number): Extract<Event, { type: 'model.answered' }>['parts'][number] => ({
  type: 'text',
  text: 'x'.repeat(size),
})

/** Reads to the end; gives the size of what came at a time. */
async function readAll(pages: LogPages): Promise<number[]> {
  const sizes: number[] = []
  for (let after = 0; ; ) {
    const items = await pages.after('s', after)
    if (items.length === 0) return sizes
    assert.equal(items[0]!.seq, after + 1)
    after = items.at(-1)!.seq
    sizes.push(items.reduce((sum, { event }) => sum + roughSize(event), 0))
  }
}

test('the store is asked for a page at a time, and a reader is given a slice of it', async () => {
  const { store, asked } = storeOf(Array(1_000).fill(4 * KiB))
  const given = await readAll(new LogPages(store))
  for (const { maxBytes } of asked) assert.ok(maxBytes !== undefined && maxBytes <= mostPage, `${maxBytes}`)
  assert.ok(asked.length >= 4, `${asked.length} pages of 4 MB`)
  for (const size of given) assert.ok(size <= sliceBytes + 5 * KiB, `a reader was given ${size} at once`)
})

test('an event that is larger than a page comes alone', async () => {
  const { store } = storeOf([KiB, 3 * mostPage, KiB])
  const given = await readAll(new LogPages(store))
  assert.equal(given.length, 3)
})

test('a hundred readers of one session ask for each page once', async () => {
  const { store, asked } = storeOf(Array(500).fill(4 * KiB))
  const pages = new LogPages(store)
  await Promise.all(Array.from({ length: 100 }, () => readAll(pages)))
  const places = new Set(asked.map(({ after }) => after))
  // The end of the log is no page: each reader asks there whether there is more.
  const read = asked.filter(({ after }) => after < 500)
  assert.equal(read.length, places.size - 1)
})

test('so many pages are kept, and the others are read again', async () => {
  const events = 800
  const { store, asked } = storeOf(Array(events).fill(64 * KiB))
  const pages = new LogPages(store)
  await readAll(pages)
  asked.length = 0
  let kept = 0
  // From the end, so that the pages that are kept are not pushed out by those that are read again.
  for (let after = events - 1; after >= 0; after--) {
    const before = asked.length
    await pages.after('s', after)
    if (asked.length > before) break
    kept += 64 * KiB
  }
  assert.ok(kept > 4 * mostPage, `${kept} bytes were kept`)
  assert.ok(kept <= 17 * mostPage, `${kept} bytes were kept`)
})

test('pages that nobody asks for are dropped after a while, and those of a deleted session at once', async () => {
  let now = 0
  const { store, asked } = storeOf(Array(10).fill(KiB))
  const pages = new LogPages(store, () => now)
  const reads = async (session: string): Promise<number> => {
    const before = asked.length
    await pages.after(session, 0)
    return asked.length - before
  }
  assert.deepEqual([await reads('old'), await reads('used'), await reads('deleted')], [1, 1, 1])
  now += 20_000
  assert.equal(await reads('used'), 0)
  pages.forget('deleted')
  now += 20_000
  // Reading a page is when old ones are dropped.
  assert.equal(await reads('new'), 1)
  assert.deepEqual([await reads('used'), await reads('old'), await reads('deleted')], [0, 1, 1])
})
