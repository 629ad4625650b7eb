// The contract of every Store: at least one test for each sentence of the port's contract. Tests
// of durability run only if the store can be reopened. The suite runs under `node --test`.
import assert from 'node:assert/strict'
import { afterEach, beforeEach, describe, test } from 'node:test'
import type { SessionStatus } from '../../engine/ports/index.ts'
import type { Event } from '../../language/events.ts'
import { finderTests } from './store-finder.ts'
import { blobTests, exactnessTests, listingTests, removalTests, reopeningTests } from './store-keeping.ts'
import { pieceTests } from './store-pieces.ts'
import { pagingTests, readingTests, rowTests } from './store-reading.ts'
import { recordTests } from './store-records.ts'
import {
  BORN,
  batch,
  eventNumbers,
  events,
  guardedStore,
  type MakeStore,
  newSession,
  rejects,
  type StoreSubject,
  type StoreUnderTest,
  sampleEvent,
  upTo,
} from './store-samples.ts'

export function storeContract(name: string, make: MakeStore): void {
  describe(`the store contract: ${name}`, () => {
    const subject = {} as StoreSubject // filled before each test
    let under: StoreUnderTest | undefined
    beforeEach(async () => {
      under = await make()
      const { store, reopen } = under
      subject.store = guardedStore(store)
      subject.reopen = reopen && (async () => guardedStore(await reopen()))
    })
    afterEach(async () => {
      await under?.cleanup()
      under = undefined
    })

    creationTests(subject)
    orderTests(subject)
    readingTests(subject)
    rowTests(subject)
    pagingTests(subject)
    fencingTests(subject)
    otherFencingTests(subject)
    failureTests(subject)
    exactnessTests(subject)
    listingTests(subject)
    removalTests(subject)
    blobTests(subject)
    pieceTests(subject)
    reopeningTests(subject)
    recordTests(subject)
    finderTests(subject)
  })
}

function creationTests(subject: StoreSubject): void {
  test('a created session has its first events, numbered from 1, and epoch 1', async () => {
    const { store } = subject
    const made = await store.create(newSession('s', { events: events(1, 2), status: 'waiting' }))
    assert.deepEqual(made, { epoch: 1 })
    const row = await store.row('s')
    assert.ok(row && row.bytes > 0)
    assert.deepEqual(row, {
      id: 's',
      owner: 'ada',
      agent: 'helper',
      status: 'waiting',
      createdAt: BORN,
      updatedAt: BORN + 2,
      head: 2,
      bytes: row.bytes,
      blobBytes: 0,
      recoveries: 0,
    })
    assert.deepEqual(await store.read('s'), [
      { seq: 1, event: sampleEvent('event 1', BORN + 1) },
      { seq: 2, event: sampleEvent('event 2', BORN + 2) },
    ])
    await store.append(batch('s', 3, 1))
    assert.deepEqual(await eventNumbers(store, 's'), [1, 2, 3])
  })

  test('a session can be created without events', async () => {
    const { store } = subject
    await store.create(newSession('s'))
    const row = await store.row('s')
    assert.deepEqual([row?.head, row?.updatedAt], [0, BORN])
    assert.deepEqual(await store.read('s'), [])
  })

  test('a second creation with the same request key gives the first session and its hash', async () => {
    const { store } = subject
    await store.create(newSession('first', { request: { key: 'k', hash: 'h1' }, events: events(1, 1) }))
    const again = await store.create(
      newSession('second', { request: { key: 'k', hash: 'h2' }, events: events(1, 1) }),
    )
    assert.deepEqual(again, { existing: 'first', hash: 'h1' })
    assert.equal(await store.requested('ada', 'k'), 'first')
    assert.equal(await store.row('second'), undefined)
    assert.deepEqual(await store.read('second'), [])
    assert.equal((await store.row('first'))?.head, 1)
  })

  test('concurrent creations with one request key make one session', async () => {
    const { store } = subject
    const request = { key: 'k', hash: 'h' }
    const made = await Promise.all(['a', 'b', 'c'].map(id => store.create(newSession(id, { request }))))
    assert.deepEqual(made, [{ epoch: 1 }, { existing: 'a', hash: 'h' }, { existing: 'a', hash: 'h' }])
  })

  test('two owners can use the same request key', async () => {
    const { store } = subject
    const request = { key: 'k', hash: 'h' }
    assert.deepEqual(await store.create(newSession('a', { owner: 'ada', request })), { epoch: 1 })
    assert.deepEqual(await store.create(newSession('b', { owner: 'bob', request })), { epoch: 1 })
    assert.equal(await store.requested('bob', 'k'), 'b')
  })

  test('creating a session under an existing id is refused and changes nothing', async () => {
    const { store } = subject
    await store.create(newSession('s', { events: events(1, 1) }))
    await rejects(store.create(newSession('s', { owner: 'bob', events: events(1, 3) })), 'store_failed')
    const row = await store.row('s')
    assert.deepEqual([row?.owner, row?.head], ['ada', 1])
  })
}

function orderTests(subject: StoreSubject): void {
  test('writes of one session are recorded in the order of the calls, without gaps', async () => {
    const { store } = subject
    const writes: Promise<unknown>[] = [store.create(newSession('s'))]
    for (let seq = 1; seq <= 300; seq += 3) writes.push(store.append(batch('s', seq, 3)))
    await Promise.all(writes)
    const recorded = await store.read('s')
    assert.deepEqual(
      recorded.map(({ seq }) => seq),
      upTo(300),
    )
    assert.deepEqual(
      recorded.map(({ event }) => event),
      events(1, 300),
    )
  })

  test('concurrent writes of many sessions do not mix', async () => {
    const { store } = subject
    const names = Array.from({ length: 200 }, (_, index) => `s${index}`)
    await Promise.all(names.map(name => store.create(newSession(name, { owner: name }))))
    const one = async (name: string) => {
      for (let seq = 1; seq <= 9; seq += 3) {
        const own = events(seq, 3).map(each => ({ ...each, turn: name }) as Event) // every sample has a turn
        await store.append(batch(name, seq, 3, { events: own }))
      }
    }
    await Promise.all(names.map(one))
    for (const name of names) {
      const recorded = await store.read(name)
      assert.deepEqual(
        recorded.map(({ seq, event }) => [seq, event.type === 'turn.started' && event.turn]),
        upTo(9).map(seq => [seq, name]),
      )
    }
  })

  test('an append updates head, status and updatedAt', async () => {
    const { store } = subject
    await store.create(newSession('s'))
    for (const [index, status] of (['running', 'waiting', 'idle'] as SessionStatus[]).entries()) {
      const seq = index * 2 + 1
      await store.append(batch('s', seq, 2, { status }))
      const row = await store.row('s')
      assert.deepEqual([row?.head, row?.status, row?.updatedAt], [seq + 1, status, BORN + seq + 1])
    }
  })

  test('an append without events changes only the status', async () => {
    const { store } = subject
    await store.create(newSession('s', { events: events(1, 2), status: 'running' }))
    await store.append(batch('s', 3, 0, { status: 'idle' }))
    const row = await store.row('s')
    assert.deepEqual([row?.head, row?.status, row?.updatedAt], [2, 'idle', BORN + 2])
    await store.append(batch('s', 3, 1))
    assert.deepEqual(await eventNumbers(store, 's'), [1, 2, 3])
  })
}

function fencingTests(subject: StoreSubject): void {
  test('a claim invalidates all earlier epochs', async () => {
    const { store } = subject
    await store.create(newSession('s', { events: events(1, 1), status: 'running' }))
    const second = await store.claim('s')
    assert.deepEqual(second, { epoch: 2, row: await store.row('s') })
    await rejects(store.append(batch('s', 2, 1, { epoch: 1 })), 'lease_lost')
    await store.append(batch('s', 2, 1, { epoch: 2 }))
    assert.equal((await store.claim('s'))?.epoch, 3)
    await rejects(store.append(batch('s', 3, 1, { epoch: 2 })), 'lease_lost')
    await rejects(store.append(batch('s', 3, 1, { epoch: 4 })), 'lease_lost')
    assert.deepEqual(await eventNumbers(store, 's'), [1, 2])
  })

  test('an append whose number is too low or too high is refused', async () => {
    const { store } = subject
    await store.create(newSession('s', { events: events(1, 3) }))
    for (const seq of [0, 1, 3, 5, 100])
      await rejects(store.append(batch('s', seq, 1, { status: 'waiting' })), 'lease_lost')
    assert.deepEqual(await eventNumbers(store, 's'), [1, 2, 3])
    assert.equal((await store.row('s'))?.status, 'idle')
  })

  test('concurrent claims get different epochs, and only the later one can write', async () => {
    const { store } = subject
    await store.create(newSession('s'))
    const [one, two] = await Promise.all([store.claim('s'), store.claim('s')])
    assert.deepEqual([one?.epoch, two?.epoch], [2, 3])
    await rejects(store.append(batch('s', 1, 1, { epoch: 2 })), 'lease_lost')
    await store.append(batch('s', 1, 1, { epoch: 3 }))
  })
}

function otherFencingTests(subject: StoreSubject): void {
  test('a blob and a removal that carry an older epoch are refused', async () => {
    const { store } = subject
    await store.create(newSession('s', { events: events(1, 1) }))
    await store.putBlob('s', 'b', 'first', 1)
    await store.claim('s')
    await rejects(store.putBlob('s', 'b', 'second', 1), 'lease_lost')
    await rejects(store.remove('s', 1), 'lease_lost')
    assert.equal(await store.blob('s', 'b'), 'first')
    await store.putBlob('s', 'b', 'third', 2)
    assert.equal(await store.blob('s', 'b'), 'third')
    assert.equal(await store.remove('s', 2), true)
    assert.equal(await store.remove('s', 2), false)
  })

  test('a claim between two appends of the old writer fails the second', async () => {
    const { store } = subject
    await store.create(newSession('s'))
    const first = store.append(batch('s', 1, 1))
    const claim = store.claim('s')
    const late = rejects(store.append(batch('s', 2, 1)), 'lease_lost')
    await Promise.all([first, late])
    assert.equal((await claim)?.row.head, 1)
    assert.deepEqual(await eventNumbers(store, 's'), [1])
  })

  test('failed appends of an old writer do not fail those of the current one', async () => {
    const { store } = subject
    await store.create(newSession('s'))
    await store.claim('s')
    await Promise.all([
      rejects(store.append(batch('s', 1, 2, { epoch: 1 })), 'lease_lost'),
      store.append(batch('s', 1, 1, { epoch: 2 })),
      rejects(store.append(batch('s', 3, 1, { epoch: 1 })), 'lease_lost'),
      store.append(batch('s', 2, 1, { epoch: 2 })),
    ])
    assert.deepEqual(await eventNumbers(store, 's'), [1, 2])
  })
}

function failureTests(subject: StoreSubject): void {
  test('a failed write also fails the later writes of its session', async () => {
    const { store } = subject
    await store.create(newSession('s', { events: events(1, 1) }))
    await Promise.all([
      store.append(batch('s', 2, 1)),
      rejects(store.append(batch('s', 9, 1)), 'lease_lost'),
      rejects(store.append(batch('s', 3, 1)), 'lease_lost'),
      rejects(store.putBlob('s', 'b', 'body'), 'lease_lost'),
      rejects(store.remove('s'), 'lease_lost'),
    ])
    assert.deepEqual(await eventNumbers(store, 's'), [1, 2])
    assert.equal(await store.blob('s', 'b'), undefined)
  })

  test('after the failure is known, the session can be written again', async () => {
    const { store } = subject
    await store.create(newSession('s'))
    await rejects(store.append(batch('s', 7, 1)), 'lease_lost')
    await store.append(batch('s', 1, 1))
    await store.putBlob('s', 'b', 'body')
    assert.deepEqual(await eventNumbers(store, 's'), [1])
    assert.equal(await store.blob('s', 'b'), 'body')
  })

  test('a write that fails between two appends fails the second append', async () => {
    const { store } = subject
    await store.create(newSession('s'))
    const first = store.append(batch('s', 1, 1))
    const taken = store.create(newSession('s'))
    const second = store.append(batch('s', 2, 1))
    await first
    await rejects(taken, 'store_failed')
    await rejects(second, 'store_failed')
    assert.deepEqual(await eventNumbers(store, 's'), [1])
  })

  test('a failed write does not affect other sessions', async () => {
    const { store } = subject
    await Promise.all([store.create(newSession('a')), store.create(newSession('b'))])
    await Promise.all([
      store.append(batch('b', 1, 1)),
      rejects(store.append(batch('a', 5, 1)), 'lease_lost'),
      store.append(batch('b', 2, 1)),
      store.create(newSession('c')),
      store.claim('a'),
    ])
    assert.deepEqual(await eventNumbers(store, 'a'), [])
    assert.deepEqual(await eventNumbers(store, 'b'), [1, 2])
    assert.ok(await store.row('c'))
  })

  test('an append to a session that does not exist is refused', async () => {
    await rejects(subject.store.append(batch('none', 1, 1)), 'lease_lost')
    assert.equal(await subject.store.row('none'), undefined)
  })
}
