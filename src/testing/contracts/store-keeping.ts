// The part of the store contract about stored data: exact strings and numbers, lists of sessions, removal, blobs, and
// what a reopened store still has.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { SessionStatus } from '../../engine/ports/index.ts'
import type { Event } from '../../language/events.ts'
import {
  BORN,
  batch,
  eventNumbers,
  events,
  newSession,
  rejects,
  type StoreSubject,
  sampleEvent,
  upTo,
} from './store-samples.ts'

const unusual = {
  astral: 'naïve 🜁 日本語 \u{10ffff}',
  combining: 'e\u0301 \u200d \ufeff \u2028 \u2029',
  nul: 'a\u0000b\u001f\u007f',
  lone: ['\ud800', 'x\udfff', '\udc00\ud800', 'a\ud83d'],
  numbers: [0, -1, 1e21, 5e-324, Number.MAX_SAFE_INTEGER, 0.1],
  empty: [{}, [], '', null, false],
}

export function exactnessTests(subject: StoreSubject): void {
  const settled = (structured: unknown): Event => ({
    v: 1,
    type: 'call.settled',
    at: BORN,
    callId: 'call_1',
    // All callers pass JSON.
    outcome: { kind: 'ok', parts: [], structured: structured as never, from: { source: 'client' } },
  })
  const reread = async (given: Event[]) => {
    await subject.store.create(newSession('s', { events: given.slice(0, 1) }))
    await subject.store.append(batch('s', 2, 0, { events: given.slice(1) }))
    const store = (await subject.reopen?.()) ?? subject.store
    return (await store.read('s')).map(({ event }) => event)
  }

  test('strings and numbers are read exactly as written, also lone surrogates and control characters', async () => {
    const given = Object.values(unusual).map(settled)
    assert.deepEqual(await reread(given), given)
  })

  test('a key named __proto__ is stored as an ordinary key', async () => {
    const structured: unknown = JSON.parse(
      '{"__proto__":{"polluted":true},"constructor":1,"":2,"10":3,"9":4}',
    )
    const given = [settled(structured), settled({ deep: structured })]
    const back = await reread(given)
    assert.equal(JSON.stringify(back), JSON.stringify(given))
    assert.equal(({} as Record<string, unknown>)['polluted'], undefined) // nothing reached Object.prototype
  })

  test('an event of a megabyte is read exactly as written', async () => {
    const given = [sampleEvent('a'.repeat(1_000_000)), sampleEvent('🜁é'.repeat(250_000)), sampleEvent('end')]
    assert.deepEqual(await reread(given), given)
  })

  test('names are compared exactly', async () => {
    const { store } = subject
    const names = [
      's',
      'S',
      's ',
      's\u0000',
      'é',
      'e\u0301',
      '\ud800',
      '\ufffd',
      '__proto__',
      "'; --",
      '%',
      '',
    ]
    for (const name of names)
      await store.create(newSession(name, { owner: name, agent: name, request: { key: name, hash: name } }))
    for (const name of names) {
      const row = await store.row(name)
      assert.deepEqual([row?.id, row?.owner, row?.agent], [name, name, name])
      const { rows } = await store.list(name, { limit: 10 })
      assert.deepEqual(
        rows.map(({ id }) => id),
        [name],
      )
      const again = newSession('other', { owner: name, request: { key: name, hash: 'x' } })
      assert.deepEqual(await store.create(again), { existing: name, hash: name })
    }
  })
}

export function listingTests(subject: StoreSubject): void {
  const make = (from: number, to: number) =>
    Promise.all(
      upTo(to, from).map(n =>
        subject.store.create(newSession(`s${n}`, { createdAt: BORN + Math.floor(n / 3) })),
      ),
    )
  const page = async (limit: number, after?: string) => {
    const { rows, next } = await subject.store.list('ada', { limit, ...(after !== undefined && { after }) })
    return { ids: rows.map(({ id }) => id), next }
  }
  const names = (from: number, to: number) =>
    upTo(from, to)
      .map(n => `s${n}`)
      .reverse()

  test('a list has the newest sessions first, and only those of the owner', async () => {
    await make(1, 5)
    await subject.store.create(newSession('theirs', { owner: 'bob' }))
    assert.deepEqual(await page(10), { ids: names(5, 1), next: undefined })
  })

  test('list pages join without a gap or a repeat, and the last has no next', async () => {
    await make(1, 7)
    const one = await page(3)
    const two = await page(3, one.next)
    const three = await page(3, two.next)
    assert.deepEqual([one.ids, two.ids, three.ids], [names(7, 5), names(4, 2), names(1, 1)])
    assert.equal(three.next, undefined)
    assert.deepEqual((await page(7)).next, undefined)
  })

  test('list pages stay stable while sessions are created, removed and changed', async () => {
    await make(1, 6)
    const one = await page(2)
    await make(7, 9)
    await subject.store.remove('s5')
    await subject.store.remove('s3')
    await subject.store.append(batch('s1', 1, 1))
    const two = await page(2, one.next)
    assert.deepEqual(two.ids, ['s4', 's2'])
    assert.deepEqual((await page(2, two.next)).ids, ['s1'])
  })

  test("a cursor that was made up, changed, or is another owner's is refused", async () => {
    await make(1, 3)
    await subject.store.create(newSession('theirs', { owner: 'bob' }))
    const { next } = await page(1)
    assert.ok(next !== undefined)
    const flipped = next.slice(0, -2) + (next.at(-2) === 'A' ? 'B' : 'A') + next.at(-1)
    const longer = `1${next}`
    for (const after of [
      flipped,
      longer,
      '',
      '1',
      'x.y',
      `${next} `,
      next.toUpperCase(),
      '1; DROP TABLE sessions',
    ])
      await rejects(subject.store.list('ada', { limit: 1, after }), 'bad_request')
    await rejects(subject.store.list('bob', { limit: 1, after: next }), 'bad_request')
  })

  test('a list shows the newest summary that was written', async () => {
    const { store } = subject
    const settings = { tools: null, options: {}, clientTools: [] }
    const others = { ...settings, options: { tone: 'dry \ud800' } }
    const summaries = async () => (await store.list('ada', { limit: 9 })).rows.map(row => row.summary)
    await store.create(newSession('s', { summary: { settings } }))
    await store.create(newSession('without'))
    assert.deepEqual(await summaries(), [undefined, { settings }])
    const first = { settings, opening: 'Hello' }
    // Not awaited one by one, so that a store may commit them together.
    await Promise.all([
      store.append(batch('s', 1, 1, { summary: first })),
      store.append(batch('s', 2, 1)),
      store.append(batch('s', 3, 1, { summary: { ...first, settings: others } })),
      store.append(batch('s', 4, 1)),
    ])
    assert.deepEqual(await summaries(), [undefined, { settings: others, opening: 'Hello' }])
    await rejects(store.append(batch('s', 9, 1, { summary: { settings } })), 'lease_lost')
    assert.deepEqual(await summaries(), [undefined, { settings: others, opening: 'Hello' }])
  })

  test('a list of all owners has every session, and its cursor is good for no single owner', async () => {
    const { store } = subject
    await make(1, 2)
    await store.create(newSession('theirs', { owner: 'bob' }))
    const { rows, next } = await store.list(null, { limit: 2 })
    assert.deepEqual([rows.map(({ id }) => id), next !== undefined], [['theirs', 's2'], true])
    const rest = await store.list(null, { limit: 2, after: next! })
    assert.deepEqual([rest.rows.map(({ id }) => id), rest.next], [['s1'], undefined])
    await rejects(store.list('ada', { limit: 2, after: next! }), 'bad_request')
  })

  test('a list can be of one status, for one owner or all, in pages', async () => {
    const { store } = subject
    await make(1, 4)
    await store.create(newSession('theirs', { owner: 'bob', status: 'waiting' }))
    for (const id of ['s1', 's2', 's4']) await store.append(batch(id, 1, 1, { status: 'waiting' }))
    const ids = async (owner: string | null, status: SessionStatus, limit: number, after?: string) => {
      const { rows, next } = await store.list(owner, { limit, status, ...(after !== undefined && { after }) })
      return { ids: rows.map(({ id }) => id), next }
    }
    assert.deepEqual((await ids(null, 'waiting', 9)).ids, ['theirs', 's4', 's2', 's1'])
    const first = await ids('ada', 'waiting', 2)
    assert.deepEqual(first.ids, ['s4', 's2'])
    assert.deepEqual(await ids('ada', 'waiting', 2, first.next), { ids: ['s1'], next: undefined })
    await store.append(batch('s4', 2, 1, { status: 'running' }))
    assert.deepEqual((await ids('ada', 'waiting', 9)).ids, ['s2', 's1'])
    assert.deepEqual((await ids(null, 'running', 9)).ids, ['s4'])
    assert.deepEqual((await ids(null, 'idle', 9)).ids, ['s3'])
  })

  test('a row has the newest facts that were written', async () => {
    const { store } = subject
    await store.create(newSession('s'))
    assert.equal((await store.row('s'))?.facts, undefined)
    const facts = { tokens: 12, cost: 0.5, waits: ['mail \ud800'] }
    await store.append(batch('s', 1, 1, { facts }))
    await store.append(batch('s', 2, 1))
    assert.deepEqual((await store.row('s'))?.facts, facts)
    await store.append(batch('s', 3, 1, { facts: { tokens: 13 } }))
    assert.deepEqual((await store.list('ada', { limit: 1 })).rows[0]?.facts, { tokens: 13 })
  })

  test('owners are listed once each, and only while they have a session', async () => {
    const { store } = subject
    assert.deepEqual(await store.owners(), [])
    await make(1, 3)
    for (const owner of ['bob', 'bob', '', 'zoe \ud800', 'yan \udc00'])
      await store.create(newSession(`${owner}${Math.random()}`, { owner }))
    assert.deepEqual((await store.owners()).sort(), ['', 'ada', 'bob', 'yan \udc00', 'zoe \ud800'])
    for (const { id } of (await store.list('bob', { limit: 9 })).rows) await store.remove(id)
    assert.deepEqual((await store.owners()).sort(), ['', 'ada', 'yan \udc00', 'zoe \ud800'])
  })

  test('a limit that is not a positive integer is refused', async () => {
    for (const limit of [0, -1, 1.5, Number.NaN, Infinity])
      await rejects(subject.store.list('ada', { limit }), 'bad_request')
  })
}

export function removalTests(subject: StoreSubject): void {
  test('a removed session is gone with its events and blobs, and its writer is refused', async () => {
    const { store } = subject
    const request = { key: 'k', hash: 'h' }
    await store.create(newSession('s', { events: events(1, 3), status: 'running', request }))
    await store.create(newSession('other', { events: events(1, 1) }))
    await store.putBlob('s', 'b', 'body')
    assert.equal(await store.remove('s'), true)
    assert.equal(await store.remove('s'), false)
    assert.equal(await store.row('s'), undefined)
    assert.deepEqual(await store.read('s'), [])
    assert.equal(await store.blob('s', 'b'), undefined)
    assert.deepEqual(await store.unfinished(), [])
    assert.equal(await store.claim('s'), undefined)
    await rejects(store.append(batch('s', 4, 1)), 'lease_lost')
    await rejects(store.putBlob('s', 'b', 'body'), 'lease_lost')
    const { rows } = await store.list('ada', { limit: 10 })
    assert.deepEqual(
      rows.map(({ id }) => id),
      ['other'],
    )
    assert.deepEqual(await eventNumbers(store, 'other'), [1])
  })

  test('after a removal the request key is free, and a new session of the same id starts empty', async () => {
    const { store } = subject
    const request = { key: 'k', hash: 'h' }
    await store.create(newSession('s', { events: events(1, 3), request }))
    await store.putBlob('s', 'b', 'body')
    await store.remove('s')
    assert.equal(await store.requested('ada', 'k'), undefined)
    assert.deepEqual(await store.create(newSession('s', { request })), { epoch: 1 })
    assert.deepEqual(await store.read('s'), [])
    assert.equal(await store.blob('s', 'b'), undefined)
  })

  test('a new session of a removed id continues from its own events', async () => {
    const { store } = subject
    await store.create(newSession('s', { events: events(1, 1) }))
    await Promise.all([store.append(batch('s', 2, 1)), store.remove('s')])
    await store.create(newSession('s', { events: events(1, 2) }))
    await store.append(batch('s', 3, 1))
    assert.deepEqual(await eventNumbers(store, 's'), upTo(3))
  })
}

export function blobTests(subject: StoreSubject): void {
  test('a blob belongs to one session and is read exactly as written', async () => {
    const { store } = subject
    await Promise.all([store.create(newSession('a')), store.create(newSession('b'))])
    const bodies = ['', 'plain', unusual.astral, unusual.nul, ...unusual.lone, 'é'.repeat(1_000_000)]
    for (const [index, body] of bodies.entries()) await store.putBlob('a', `blob ${index}`, body)
    for (const [index, body] of bodies.entries()) assert.equal(await store.blob('a', `blob ${index}`), body)
    assert.equal(await store.blob('b', 'blob 1'), undefined)
    assert.equal(await store.blob('a', 'none'), undefined)
  })

  test('a second blob of the same name replaces the first', async () => {
    const { store } = subject
    await store.create(newSession('s'))
    await Promise.all([store.putBlob('s', 'b', 'one'), store.putBlob('s', 'b', 'two')])
    assert.equal(await store.blob('s', 'b'), 'two')
  })

  test('all blobs of a session are named, and those in pieces once they are whole', async () => {
    const { store } = subject
    await Promise.all([store.create(newSession('a')), store.create(newSession('b'))])
    assert.deepEqual(await store.blobs('a'), [])
    const piece = { epoch: 1, at: 0, bytes: new Uint8Array([1]) }
    await store.putBlob('a', 'one \ud800', 'body')
    await store.putBlob('a', 'both', 'body')
    await store.addPiece('a', 'both', { ...piece, last: true })
    await store.addPiece('a', 'half', piece)
    await store.putBlob('b', 'other', 'body')
    const named = (await store.blobs('a')).map(({ name, inPieces }) => `${name} ${inPieces}`)
    assert.deepEqual(named.sort(), ['both false', 'both true', 'one \ud800 false'])
    assert.deepEqual(await store.blobs('none'), [])
  })

  test('a blob of a session that does not exist is refused', async () => {
    await rejects(subject.store.putBlob('none', 'b', 'body'), 'lease_lost')
  })
}

export function reopeningTests(subject: StoreSubject): void {
  test('a reopened store has every write that resolved', async t => {
    const { store, reopen } = subject
    if (reopen === undefined) return t.skip('this store is not durable')
    const request = { key: 'k', hash: 'h' }
    await store.create(newSession('s', { events: events(1, 2), request }))
    await store.create(newSession('t'))
    await store.claim('s')
    await store.append(batch('s', 3, 2, { epoch: 2 }))
    await store.putBlob('s', 'b', 'body')
    const before = { row: await store.row('s'), log: await store.read('s') }
    const { next } = await store.list('ada', { limit: 1 })
    assert.ok(next !== undefined)

    const again = await reopen()
    assert.deepEqual({ row: await again.row('s'), log: await again.read('s') }, before)
    assert.equal(await again.blob('s', 'b'), 'body')
    assert.deepEqual(await again.unfinished(), ['s'])
    assert.deepEqual(await again.create(newSession('u', { request })), { existing: 's', hash: 'h' })
    assert.equal((await again.list('ada', { limit: 1, after: next })).rows[0]?.id, 's')
    await rejects(again.append(batch('s', 5, 1, { epoch: 1 })), 'lease_lost')
    assert.equal((await again.claim('s'))?.epoch, 3)
  })

  test('close completes the writes that were called before it', async t => {
    const { store, reopen } = subject
    if (reopen === undefined) return t.skip('this store is not durable')
    const writes = [store.create(newSession('s')), store.append(batch('s', 1, 3))]
    const again = await reopen()
    await Promise.all(writes)
    assert.deepEqual(await eventNumbers(again, 's'), [1, 2, 3])
  })
}
