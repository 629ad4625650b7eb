// What every Store must do, whatever it keeps its events in: one test per sentence of the port's contract.
// What only a durable store can do is tested when it can be reopened. The suite knows no adapter.
import assert from 'node:assert/strict'
import { afterEach, beforeEach, describe, test } from 'node:test'
import type { SessionStatus } from '../../src/engine/ports.ts'
import type { Event } from '../../src/language/events.ts'
import { blobs, exactness, listing, removal, reopening } from './store-keeping.ts'
import {
  BORN,
  batch,
  event,
  events,
  type MakeStore,
  newSession,
  numbersOf,
  rejects,
  type Subject,
  upTo,
} from './store-samples.ts'

export function storeContract(name: string, make: MakeStore): void {
  describe(`the store contract: ${name}`, () => {
    const subject = {} as Subject // filled before each test, by the hook below
    beforeEach(async () => {
      subject.under = await make()
      subject.store = subject.under.store
    })
    afterEach(() => subject.under.cleanup())

    creation(subject)
    order(subject)
    reading(subject)
    fencing(subject)
    failing(subject)
    exactness(subject)
    listing(subject)
    removal(subject)
    blobs(subject)
    reopening(subject)
  })
}

function creation(subject: Subject): void {
  test('a created session has its first events, numbered from 1, and a writer', async () => {
    const { store } = subject
    const made = await store.create(newSession('s', { events: events(1, 2), status: 'waiting' }))
    assert.deepEqual(made, { epoch: 1 })
    assert.deepEqual(await store.row('s'), {
      id: 's',
      owner: 'ada',
      agent: 'helper',
      status: 'waiting',
      createdAt: BORN,
      updatedAt: BORN + 2,
      head: 2,
    })
    assert.deepEqual(await store.read('s'), [
      { seq: 1, event: event('event 1', BORN + 1) },
      { seq: 2, event: event('event 2', BORN + 2) },
    ])
    await store.append(batch('s', 3, 1))
    assert.deepEqual(await numbersOf(store, 's'), [1, 2, 3])
  })

  test('a session may be created with no event', async () => {
    const { store } = subject
    await store.create(newSession('s'))
    const row = await store.row('s')
    assert.deepEqual([row?.head, row?.updatedAt], [0, BORN])
    assert.deepEqual(await store.read('s'), [])
  })

  test("an owner's request key creates once, and says with what hash", async () => {
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

  test('two creations with one key that are asked for at once give one session', async () => {
    const { store } = subject
    const request = { key: 'k', hash: 'h' }
    const made = await Promise.all(['a', 'b', 'c'].map(id => store.create(newSession(id, { request }))))
    assert.deepEqual(made, [{ epoch: 1 }, { existing: 'a', hash: 'h' }, { existing: 'a', hash: 'h' }])
  })

  test('two owners may use the same key', async () => {
    const { store } = subject
    const request = { key: 'k', hash: 'h' }
    assert.deepEqual(await store.create(newSession('a', { owner: 'ada', request })), { epoch: 1 })
    assert.deepEqual(await store.create(newSession('b', { owner: 'bob', request })), { epoch: 1 })
    assert.equal(await store.requested('bob', 'k'), 'b')
  })

  test('an id that is taken is refused, and the first session stays as it was', async () => {
    const { store } = subject
    await store.create(newSession('s', { events: events(1, 1) }))
    await rejects(store.create(newSession('s', { owner: 'bob', events: events(1, 3) })), 'store_failed')
    const row = await store.row('s')
    assert.deepEqual([row?.owner, row?.head], ['ada', 1])
  })
}

function order(subject: Subject): void {
  test('writes of one session that were asked for in order are recorded in order, without gaps', async () => {
    const { store } = subject
    const asked: Promise<unknown>[] = [store.create(newSession('s'))]
    for (let seq = 1; seq <= 300; seq += 3) asked.push(store.append(batch('s', seq, 3)))
    await Promise.all(asked)
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

  test('many sessions write at once and do not touch one another', async () => {
    const { store } = subject
    const names = Array.from({ length: 200 }, (_, index) => `s${index}`)
    await Promise.all(names.map(name => store.create(newSession(name, { owner: name }))))
    const one = async (name: string) => {
      for (let seq = 1; seq <= 9; seq += 3) {
        const own = events(seq, 3).map(each => ({ ...each, turn: name }) as Event) // `turn` is theirs already
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

  test('an append moves head, status and the time of the last change', async () => {
    const { store } = subject
    await store.create(newSession('s'))
    for (const [index, status] of (['running', 'waiting', 'idle'] as SessionStatus[]).entries()) {
      const seq = index * 2 + 1
      await store.append(batch('s', seq, 2, { status }))
      const row = await store.row('s')
      assert.deepEqual([row?.head, row?.status, row?.updatedAt], [seq + 1, status, BORN + seq + 1])
    }
  })

  test('an append of no event changes the status alone', async () => {
    const { store } = subject
    await store.create(newSession('s', { events: events(1, 2), status: 'running' }))
    await store.append(batch('s', 3, 0, { status: 'idle' }))
    const row = await store.row('s')
    assert.deepEqual([row?.head, row?.status, row?.updatedAt], [2, 'idle', BORN + 2])
    await store.append(batch('s', 3, 1))
    assert.deepEqual(await numbersOf(store, 's'), [1, 2, 3])
  })
}

function reading(subject: Subject): void {
  test('a reader gets the events after a number, also from the middle of a batch', async () => {
    const { store } = subject
    await store.create(newSession('s', { events: events(1, 4) }))
    await store.append(batch('s', 5, 1))
    await store.append(batch('s', 6, 5))
    for (let after = 0; after <= 10; after++)
      assert.deepEqual(await numbersOf(store, 's', after), upTo(10, after + 1), `after ${after}`)
    assert.deepEqual(await numbersOf(store, 's', 11), [])
    const [first] = await store.read('s', 7)
    assert.deepEqual(first, { seq: 8, event: event('event 8', BORN + 8) })
  })

  test('what does not exist reads as nothing', async () => {
    const { store } = subject
    assert.equal(await store.row('none'), undefined)
    assert.deepEqual(await store.read('none'), [])
    assert.equal(await store.claim('none'), undefined)
    assert.equal(await store.requested('none', 'k'), undefined)
    assert.equal(await store.blob('none', 'b'), undefined)
    assert.equal(await store.remove('none'), false)
    assert.deepEqual(await store.list('none', { limit: 10 }), { rows: [] })
    assert.deepEqual(await store.unfinished(), [])
  })

  test('a row that was read does not change by later writes', async () => {
    const { store } = subject
    await store.create(newSession('s'))
    const row = await store.row('s')
    const { rows } = await store.list('ada', { limit: 1 })
    const claimed = await store.claim('s')
    await store.append(batch('s', 1, 1, { epoch: 2 }))
    assert.deepEqual([row?.head, rows[0]?.head, claimed?.row.head], [0, 0, 0])
  })

  test('unfinished sessions are those that were running', async () => {
    const { store } = subject
    const make = (id: string, status: SessionStatus) => store.create(newSession(id, { status }))
    await Promise.all([make('a', 'running'), make('b', 'idle'), make('c', 'waiting'), make('d', 'idle')])
    await store.append(batch('b', 1, 1, { status: 'running' }))
    await store.append(batch('d', 1, 1, { status: 'running' }))
    await store.append(batch('d', 2, 1, { status: 'waiting' }))
    assert.deepEqual((await store.unfinished()).sort(), ['a', 'b'])
  })
}

function fencing(subject: Subject): void {
  test('a claim voids every epoch before it', async () => {
    const { store } = subject
    await store.create(newSession('s', { events: events(1, 1), status: 'running' }))
    const second = await store.claim('s')
    assert.deepEqual(second, { epoch: 2, row: await store.row('s') })
    await rejects(store.append(batch('s', 2, 1, { epoch: 1 })), 'lease_lost')
    await store.append(batch('s', 2, 1, { epoch: 2 }))
    assert.equal((await store.claim('s'))?.epoch, 3)
    await rejects(store.append(batch('s', 3, 1, { epoch: 2 })), 'lease_lost')
    await rejects(store.append(batch('s', 3, 1, { epoch: 4 })), 'lease_lost')
    assert.deepEqual(await numbersOf(store, 's'), [1, 2])
  })

  test('an append whose number is not next is refused, whether it is too low or too high', async () => {
    const { store } = subject
    await store.create(newSession('s', { events: events(1, 3) }))
    for (const seq of [0, 1, 3, 5, 100])
      await rejects(store.append(batch('s', seq, 1, { status: 'waiting' })), 'lease_lost')
    assert.deepEqual(await numbersOf(store, 's'), [1, 2, 3])
    assert.equal((await store.row('s'))?.status, 'idle')
  })

  test('two claims that are asked for at once get two epochs, and the later one writes', async () => {
    const { store } = subject
    await store.create(newSession('s'))
    const [one, two] = await Promise.all([store.claim('s'), store.claim('s')])
    assert.deepEqual([one?.epoch, two?.epoch], [2, 3])
    await rejects(store.append(batch('s', 1, 1, { epoch: 2 })), 'lease_lost')
    await store.append(batch('s', 1, 1, { epoch: 3 }))
  })

  test('a claim that stands between two appends of the old writer stops the second', async () => {
    const { store } = subject
    await store.create(newSession('s'))
    const first = store.append(batch('s', 1, 1))
    const claim = store.claim('s')
    const late = rejects(store.append(batch('s', 2, 1)), 'lease_lost')
    await Promise.all([first, late])
    assert.equal((await claim)?.row.head, 1)
    assert.deepEqual(await numbersOf(store, 's'), [1])
  })

  test('a writer that lost its lease does not stop the one that has it', async () => {
    const { store } = subject
    await store.create(newSession('s'))
    await store.claim('s')
    await Promise.all([
      rejects(store.append(batch('s', 1, 2, { epoch: 1 })), 'lease_lost'),
      store.append(batch('s', 1, 1, { epoch: 2 })),
      rejects(store.append(batch('s', 3, 1, { epoch: 1 })), 'lease_lost'),
      store.append(batch('s', 2, 1, { epoch: 2 })),
    ])
    assert.deepEqual(await numbersOf(store, 's'), [1, 2])
  })
}

function failing(subject: Subject): void {
  test('a write that fails fails all that its writer asked for after it', async () => {
    const { store } = subject
    await store.create(newSession('s', { events: events(1, 1) }))
    await Promise.all([
      store.append(batch('s', 2, 1)),
      rejects(store.append(batch('s', 9, 1)), 'lease_lost'),
      rejects(store.append(batch('s', 3, 1)), 'lease_lost'),
      rejects(store.putBlob('s', 'b', 'body'), 'lease_lost'),
      rejects(store.remove('s'), 'lease_lost'),
    ])
    assert.deepEqual(await numbersOf(store, 's'), [1, 2])
    assert.equal(await store.blob('s', 'b'), undefined)
  })

  test('once the failure is known, the writer may go on', async () => {
    const { store } = subject
    await store.create(newSession('s'))
    await rejects(store.append(batch('s', 7, 1)), 'lease_lost')
    await store.append(batch('s', 1, 1))
    await store.putBlob('s', 'b', 'body')
    assert.deepEqual(await numbersOf(store, 's'), [1])
    assert.equal(await store.blob('s', 'b'), 'body')
  })

  test('a write that fails between two appends fails the second', async () => {
    const { store } = subject
    await store.create(newSession('s'))
    const first = store.append(batch('s', 1, 1))
    const taken = store.create(newSession('s'))
    const second = store.append(batch('s', 2, 1))
    await first
    await rejects(taken, 'store_failed')
    await rejects(second, 'store_failed')
    assert.deepEqual(await numbersOf(store, 's'), [1])
  })

  test('a write that fails does not touch other sessions', async () => {
    const { store } = subject
    await Promise.all([store.create(newSession('a')), store.create(newSession('b'))])
    await Promise.all([
      store.append(batch('b', 1, 1)),
      rejects(store.append(batch('a', 5, 1)), 'lease_lost'),
      store.append(batch('b', 2, 1)),
      store.create(newSession('c')),
      store.claim('a'),
    ])
    assert.deepEqual(await numbersOf(store, 'a'), [])
    assert.deepEqual(await numbersOf(store, 'b'), [1, 2])
    assert.ok(await store.row('c'))
  })

  test('an append to a session that is not there is refused', async () => {
    await rejects(subject.store.append(batch('none', 1, 1)), 'lease_lost')
    assert.equal(await subject.store.row('none'), undefined)
  })
}
