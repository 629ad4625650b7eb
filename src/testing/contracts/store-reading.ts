// The part of the store contract about reading a log: whole, from a number on, and in pages of limited size.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { SessionStatus, Store } from '../../engine/ports/index.ts'
import {
  BORN,
  batch,
  eventNumbers,
  events,
  newSession,
  readInPages,
  rejects,
  type StoreSubject,
  sampleEvent,
  upTo,
} from './store-samples.ts'

export function readingTests(subject: StoreSubject): void {
  usageTests(subject)
  test('a read gives the events after a number, also from the middle of a batch', async () => {
    const { store } = subject
    await store.create(newSession('s', { events: events(1, 4) }))
    await store.append(batch('s', 5, 1))
    await store.append(batch('s', 6, 5))
    for (let after = 0; after <= 10; after++)
      assert.deepEqual(await eventNumbers(store, 's', after), upTo(10, after + 1), `after ${after}`)
    assert.deepEqual(await eventNumbers(store, 's', 11), [])
    const [first] = await store.read('s', 7)
    assert.deepEqual(first, { seq: 8, event: sampleEvent('event 8', BORN + 8) })
  })

  test('a session that does not exist reads as nothing', async () => {
    const { store } = subject
    assert.equal(await store.row('none'), undefined)
    assert.deepEqual(await store.read('none'), [])
    assert.deepEqual(await store.read('none', 0, { maxBytes: 1 }), [])
    assert.equal(await store.claim('none'), undefined)
    assert.equal(await store.requested('none', 'k'), undefined)
    assert.equal(await store.blob('none', 'b'), undefined)
    assert.equal(await store.remove('none'), false)
    assert.deepEqual(await store.list('none', { limit: 10 }), { rows: [] })
    assert.deepEqual(await store.unfinished(), [])
  })

  test('later writes do not change a row that was read', async () => {
    const { store } = subject
    await store.create(newSession('s'))
    const row = await store.row('s')
    const { rows } = await store.list('ada', { limit: 1 })
    const claimed = await store.claim('s')
    await store.append(batch('s', 1, 1, { epoch: 2 }))
    assert.deepEqual([row?.head, rows[0]?.head, claimed?.row.head], [0, 0, 0])
  })

  test('unfinished sessions are those that run, wait inside a call, or go on at a time', async () => {
    const { store } = subject
    const make = (id: string, status: SessionStatus) => store.create(newSession(id, { status }))
    await Promise.all([make('a', 'running'), make('b', 'idle'), make('c', 'waiting'), make('d', 'idle')])
    await store.append(batch('b', 1, 1, { status: 'running' }))
    await store.append(batch('d', 1, 1, { status: 'running' }))
    await store.append(batch('d', 2, 1, { status: 'waiting' }))
    const asks = { tokens: 1, waits: ['book'], atWork: true } as const
    await store.append(batch('c', 1, 1, { status: 'waiting', facts: asks }))
    await store.append(batch('d', 3, 1, { status: 'waiting', facts: { tokens: 1, dueAt: 5 } }))
    assert.deepEqual((await store.unfinished()).sort(), ['a', 'b', 'c', 'd'])
    await store.append(batch('d', 4, 1, { status: 'idle' }))
    await store.append(batch('c', 2, 1, { status: 'waiting', facts: { tokens: 1, waits: ['book'] } }))
    assert.deepEqual((await store.unfinished()).sort(), ['a', 'b'])
  })
}

/** The facts of a list row, which are read without the log. */
export function rowTests(subject: StoreSubject): void {
  test('a row tells about how long the log and the blobs are', async () => {
    const { store } = subject
    await store.create(newSession('s', { events: events(1, 1) }))
    await store.append(batch('s', 2, 0, { events: [sampleEvent('x'.repeat(100_000))] }))
    await store.putBlob('s', 'one', 'y'.repeat(50_000))
    await store.putBlob('s', 'one', 'y'.repeat(20_000))
    const row = await store.row('s')
    assert.ok(row && row.bytes > 100_000 && row.bytes < 110_000, String(row?.bytes))
    assert.equal(row.blobBytes, 20_000)
    const { rows } = await store.list('ada', { limit: 1 })
    assert.deepEqual([rows[0]?.bytes, rows[0]?.blobBytes], [row.bytes, 20_000])
  })

  test('recoveries that began are counted until something is written', async () => {
    const { store } = subject
    await store.create(newSession('s', { events: events(1, 1), status: 'running' }))
    await store.claim('s')
    assert.equal((await store.row('s'))?.recoveries, 0)
    assert.equal((await store.claim('s', true))?.row.recoveries, 1)
    assert.equal((await store.claim('s', true))?.row.recoveries, 2)
    assert.equal((await store.row('s'))?.recoveries, 2)
    await store.append(batch('s', 2, 0, { epoch: 4, status: 'running' }))
    const row = await store.row('s')
    assert.deepEqual([row?.recoveries, row?.head, row?.status], [0, 1, 'running'])
  })
}

export function pagingTests(subject: StoreSubject): void {
  test('pages of any size join to the whole log, without a gap or a repeat', async () => {
    const { store } = subject
    const head = await longLog(store, 's')
    await longLog(store, 'beside')
    const whole = await store.read('s')
    assert.deepEqual(
      whole.map(({ seq }) => seq),
      upTo(head),
    )
    for (const maxBytes of [0, 1, 1_000, 20_000, 1_000_000]) {
      const pages = await readInPages(store, 's', maxBytes)
      assert.deepEqual(pages.flat(), whole, `pages of ${maxBytes}`)
      if (maxBytes <= 1) assert.equal(pages.length, head)
      if (maxBytes === 1_000_000) assert.equal(pages.length, 1)
    }
  })

  test('pages can start after any number', async () => {
    const { store } = subject
    const head = await longLog(store, 's')
    for (const after of [1, 2, 254, 255, 256, 257, 300, 511, 512, head - 2, head - 1, head]) {
      const pages = await readInPages(store, 's', 2_000, after)
      assert.equal(pages.flat().length, head - after, `after ${after}`)
    }
    assert.deepEqual(await store.read('s', head + 1, { maxBytes: 1 }), [])
  })

  test('an event larger than a page is read whole', async () => {
    const { store } = subject
    const sizes = [10, 50_000, 10, 10, 50_000, 50_000, 10]
    await store.create(newSession('s', { events: sizes.map(size => sampleEvent('x'.repeat(size))) }))
    for (const [index, size] of sizes.entries())
      await store.append(batch('s', sizes.length + index + 1, 0, { events: [sampleEvent('y'.repeat(size))] }))
    const pages = await readInPages(store, 's', 1_000)
    assert.deepEqual(pages.flat(), await store.read('s'))
  })

  test('an append larger than a page is read in several pages', async () => {
    const { store } = subject
    const given = Array.from({ length: 100 }, (_, index) => sampleEvent(`${index} ${'x'.repeat(20_000)}`))
    await store.create(newSession('s', { events: given }))
    const pages = await readInPages(store, 's', 100_000)
    assert.ok(pages.length > 10, `${pages.length} pages`)
    assert.deepEqual(
      pages.flat().map(({ event }) => event),
      given,
    )
  })

  test('a reader that pages while events are appended misses none and repeats none', async () => {
    const { store } = subject
    await store.create(newSession('s', { events: events(1, 50) }))
    let written = 50
    let writing = true
    const writer = async () => {
      try {
        while (written < 800) {
          const count = 1 + (written % 40)
          await store.append(batch('s', written + 1, count))
          written += count
        }
      } finally {
        writing = false
      }
    }
    const read: number[] = []
    const reader = async () => {
      for (let more = true; more; ) {
        // Asked before reading: the last events may be written while this page is read.
        const isWriting = writing
        const page = await store.read('s', read.length, { maxBytes: 500 })
        for (const { seq } of page) read.push(seq)
        more = isWriting || page.length > 0
        // Lets a store that commits later in the event loop go on.
        await nextTurn()
      }
    }
    await Promise.all([writer(), reader()])
    assert.deepEqual(read, upTo(written))
  })
}

/** Several hundred events, in batches of 1 to 40. Gives the number of the last. */
async function longLog(store: Store, session: string): Promise<number> {
  await store.create(newSession(session, { events: events(1, 3) }))
  const appends: Promise<void>[] = []
  let head = 3
  for (let count = 1; count <= 40; count++) {
    appends.push(store.append(batch(session, head + 1, count)))
    head += count
  }
  await Promise.all(appends)
  return head
}

function usageTests(subject: StoreSubject): void {
  test('the usage of an owner is the number of its sessions and the sum of their bytes', async () => {
    const { store } = subject
    assert.deepEqual(await store.usage('ada'), { sessions: 0, bytes: 0 })
    await store.create(newSession('s', { events: events(1, 4) }))
    await store.create(newSession('t'))
    await store.putBlob('t', 'b', 'x'.repeat(1000))
    const rows = [await store.row('s'), await store.row('t')]
    const bytes = rows.reduce((sum, row) => sum + (row?.bytes ?? 0) + (row?.blobBytes ?? 0), 0)
    assert.ok(bytes > 1000, String(bytes))
    assert.deepEqual(await store.usage('ada'), { sessions: 2, bytes })
    assert.deepEqual(await store.usage('bob'), { sessions: 0, bytes: 0 })
    await store.remove('t')
    assert.deepEqual(await store.usage('ada'), { sessions: 1, bytes: rows[0]?.bytes })
  })

  test('spending is counted with the events of an append or not at all, and stays when a session is removed', async t => {
    const { store } = subject
    if (!store.spent) {
      t.skip('The store counts no spending.')
      return
    }
    const nothing = { tokens: 0, money: 0, calls: 0 }
    const own = { tokens: 100, money: 0.25, calls: 1 }
    const workers = { tokens: 10, money: 0.5, calls: 2 }
    const spending = (day: string, owner = 'ada') => [{ day, owner, agent: 'helper', own, workers }]
    assert.deepEqual(await store.spent({ owner: 'ada' }, '2026-01'), nothing)
    await store.create(newSession('s'))
    await store.create(newSession('t'))
    const head = (await store.row('s'))!.head
    // Together, so that stores which join writes join these.
    await Promise.all([
      store.append({ ...batch('s', head + 1, 1), spending: spending('2026-01-30') }),
      store.append({ ...batch('s', head + 2, 1), spending: spending('2026-01-31') }),
      store.append({ ...batch('t', head + 1, 1), spending: spending('2026-01-31', 'b\u0000b') }),
    ])
    await rejects(store.append({ ...batch('s', 99, 1), spending: spending('2026-01-31') }), 'lease_lost')
    await store.append({ ...batch('s', head + 3, 1), spending: [] })
    await store.remove('s')
    const spent = store.spent.bind(store)
    assert.deepEqual(await spent({ owner: 'ada' }, '2026-01-31'), own)
    assert.deepEqual(await spent({ owner: 'ada' }, '2026-01'), { tokens: 200, money: 0.5, calls: 2 })
    assert.deepEqual(await spent({ owner: 'b\u0000b' }, '2026-01'), own)
    assert.deepEqual(await spent({ owner: 'ada' }, '2026-02'), nothing)
    assert.deepEqual(await spent({ agent: 'helper' }, '2026-01-31'), { tokens: 220, money: 1.5, calls: 6 })
    assert.deepEqual(await spent({ agent: 'ada' }, '2026-01'), nothing)
  })

  spendTests(subject)
}

function spendTests(subject: StoreSubject): void {
  test('what is spent without a session is added to the same sums', async t => {
    const { store } = subject
    if (!store.spent || !store.spend) {
      t.skip('The store counts no spending.')
      return
    }
    const nothing = { tokens: 0, money: 0, calls: 0 }
    const own = { tokens: 10, money: 0.25, calls: 1 }
    const spending = { day: '2026-01-31', owner: 'c\u0000c', agent: 'once', own, workers: nothing }
    const spend = store.spend.bind(store)
    await Promise.all([1, 2, 3, 4].map(() => spend(spending)))
    const sum = { tokens: 40, money: 1, calls: 4 }
    assert.deepEqual(await store.spent({ owner: 'c\u0000c' }, '2026-01'), sum)
    assert.deepEqual(await store.spent({ agent: 'once' }, '2026-01-31'), sum)
  })
}
