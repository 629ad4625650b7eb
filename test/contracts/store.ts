// What every Store must do, whatever it keeps its events in: one test per sentence of the port's contract.
// What only a durable store can do is tested when it can be reopened. The suite knows no adapter.
import assert from 'node:assert/strict'
import { afterEach, beforeEach, describe, test } from 'node:test'
import type { Append, NewSession, SessionStatus, Store } from '../../src/engine/ports.ts'
import { type ErrorCode, TurnwireError } from '../../src/language/errors.ts'
import type { Event } from '../../src/language/events.ts'

export type StoreUnderTest = {
  store: Store
  /** Closes the store and opens what it kept. Absent: it keeps nothing. */
  reopen?: () => Promise<Store>
  cleanup: () => Promise<void>
}

export type MakeStore = () => Promise<StoreUnderTest>

const BORN = 1_700_000_000_000

export function event(text: string, at = BORN): Event {
  return { v: 1, type: 'turn.started', at, turn: 'turn_1', door: 'test', parts: [{ type: 'text', text }] }
}

export function events(first: number, count: number): Event[] {
  return Array.from({ length: count }, (_, index) => event(`event ${first + index}`, BORN + first + index))
}

export function newSession(
  id: string,
  more: Partial<NewSession['row']> & Partial<NewSession> = {},
): NewSession {
  const { events: given = [], request, ...row } = more
  return {
    row: { id, owner: 'ada', agent: 'helper', status: 'idle', createdAt: BORN, ...row },
    events: given,
    ...(request && { request }),
  }
}

export function batch(session: string, seq: number, count: number, more: Partial<Append> = {}): Append {
  return { session, epoch: 1, seq, events: events(seq, count), status: 'running', ...more }
}

export function rejects(promise: Promise<unknown>, code: ErrorCode): Promise<void> {
  return assert.rejects(promise, (error: unknown) => {
    assert.ok(error instanceof TurnwireError, `rejected with ${String(error)}, not a TurnwireError`)
    assert.equal(error.code, code)
    return true
  })
}

async function numbersOf(store: Store, session: string, after?: number): Promise<number[]> {
  return (await store.read(session, after)).map(({ seq }) => seq)
}

function upTo(last: number, first = 1): number[] {
  return Array.from({ length: last - first + 1 }, (_, index) => first + index)
}

type Subject = { store: Store; under: StoreUnderTest }

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

const odd = {
  astral: 'naïve 🜁 日本語 \u{10ffff}',
  combining: 'e\u0301 \u200d \ufeff \u2028 \u2029',
  nul: 'a\u0000b\u001f\u007f',
  lone: ['\ud800', 'x\udfff', '\udc00\ud800', 'a\ud83d'],
  numbers: [0, -1, 1e21, 5e-324, Number.MAX_SAFE_INTEGER, 0.1],
  empty: [{}, [], '', null, false],
}

function exactness(subject: Subject): void {
  const settled = (structured: unknown): Event => ({
    v: 1,
    type: 'call.settled',
    at: BORN,
    callId: 'call_1',
    // `structured` is JSON in all that follows.
    outcome: { kind: 'ok', parts: [], structured: structured as never, from: { source: 'client' } },
  })
  const reread = async (given: Event[]) => {
    await subject.store.create(newSession('s', { events: given.slice(0, 1) }))
    await subject.store.append(batch('s', 2, 0, { events: given.slice(1) }))
    const store = (await subject.under.reopen?.()) ?? subject.store
    return (await store.read('s')).map(({ event }) => event)
  }

  test('every string comes back as it was, lone surrogates and controls too', async () => {
    const given = Object.values(odd).map(settled)
    assert.deepEqual(await reread(given), given)
  })

  test('a key named __proto__ is a key like any other', async () => {
    const structured: unknown = JSON.parse(
      '{"__proto__":{"polluted":true},"constructor":1,"":2,"10":3,"9":4}',
    )
    const given = [settled(structured), settled({ deep: structured })]
    const back = await reread(given)
    assert.equal(JSON.stringify(back), JSON.stringify(given))
    assert.equal(({} as Record<string, unknown>)['polluted'], undefined) // nothing reached Object.prototype
  })

  test('an event of a megabyte comes back as it was', async () => {
    const given = [event('a'.repeat(1_000_000)), event('🜁é'.repeat(250_000)), event('end')]
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

function listing(subject: Subject): void {
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

  test('the newest come first, and only the owner sees them', async () => {
    await make(1, 5)
    await subject.store.create(newSession('theirs', { owner: 'bob' }))
    assert.deepEqual(await page(10), { ids: names(5, 1), next: undefined })
  })

  test('pages join without a gap or a repeat, and the last has no next', async () => {
    await make(1, 7)
    const one = await page(3)
    const two = await page(3, one.next)
    const three = await page(3, two.next)
    assert.deepEqual([one.ids, two.ids, three.ids], [names(7, 5), names(4, 2), names(1, 1)])
    assert.equal(three.next, undefined)
    assert.deepEqual((await page(7)).next, undefined)
  })

  test('pages stay as they are while sessions come, go and change', async () => {
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

  test('a cursor that was made up, changed or given to another is refused', async () => {
    await make(1, 3)
    await subject.store.create(newSession('theirs', { owner: 'bob' }))
    const { next } = await page(1)
    assert.ok(next !== undefined)
    const flipped = next.slice(0, -2) + (next.at(-2) === 'A' ? 'B' : 'A') + next.at(-1)
    const grown = `1${next}`
    for (const after of [
      flipped,
      grown,
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

  test('a limit that is no limit is refused', async () => {
    for (const limit of [0, -1, 1.5, Number.NaN, Infinity])
      await rejects(subject.store.list('ada', { limit }), 'bad_request')
  })
}

function removal(subject: Subject): void {
  test('a removed session is gone with all it had, and its writer with it', async () => {
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
    assert.deepEqual(await numbersOf(store, 'other'), [1])
  })

  test('its request key is free again, and a new session of its id starts empty', async () => {
    const { store } = subject
    const request = { key: 'k', hash: 'h' }
    await store.create(newSession('s', { events: events(1, 3), request }))
    await store.putBlob('s', 'b', 'body')
    await store.remove('s')
    assert.deepEqual(await store.create(newSession('s', { request })), { epoch: 1 })
    assert.deepEqual(await store.read('s'), [])
    assert.equal(await store.blob('s', 'b'), undefined)
  })
}

function blobs(subject: Subject): void {
  test('a blob belongs to its session and comes back as it was', async () => {
    const { store } = subject
    await Promise.all([store.create(newSession('a')), store.create(newSession('b'))])
    const bodies = ['', 'plain', odd.astral, odd.nul, ...odd.lone, 'é'.repeat(1_000_000)]
    for (const [index, body] of bodies.entries()) await store.putBlob('a', `blob ${index}`, body)
    for (const [index, body] of bodies.entries()) assert.equal(await store.blob('a', `blob ${index}`), body)
    assert.equal(await store.blob('b', 'blob 1'), undefined)
    assert.equal(await store.blob('a', 'none'), undefined)
  })

  test('a second body of the same name takes the place of the first', async () => {
    const { store } = subject
    await store.create(newSession('s'))
    await Promise.all([store.putBlob('s', 'b', 'one'), store.putBlob('s', 'b', 'two')])
    assert.equal(await store.blob('s', 'b'), 'two')
  })

  test('a blob needs a session', async () => {
    await rejects(subject.store.putBlob('none', 'b', 'body'), 'lease_lost')
  })
}

function reopening(subject: Subject): void {
  test('what was resolved is there after the store was closed and opened again', async t => {
    const { store, under } = subject
    if (under.reopen === undefined) return t.skip('this store keeps nothing beyond its process')
    const request = { key: 'k', hash: 'h' }
    await store.create(newSession('s', { events: events(1, 2), request }))
    await store.create(newSession('t'))
    await store.claim('s')
    await store.append(batch('s', 3, 2, { epoch: 2 }))
    await store.putBlob('s', 'b', 'body')
    const before = { row: await store.row('s'), log: await store.read('s') }
    const { next } = await store.list('ada', { limit: 1 })
    assert.ok(next !== undefined)

    const again = await under.reopen()
    assert.deepEqual({ row: await again.row('s'), log: await again.read('s') }, before)
    assert.equal(await again.blob('s', 'b'), 'body')
    assert.deepEqual(await again.unfinished(), ['s'])
    assert.deepEqual(await again.create(newSession('u', { request })), { existing: 's', hash: 'h' })
    assert.equal((await again.list('ada', { limit: 1, after: next })).rows[0]?.id, 's')
    await rejects(again.append(batch('s', 5, 1, { epoch: 1 })), 'lease_lost')
    assert.equal((await again.claim('s'))?.epoch, 3)
  })

  test('closing writes what was asked for before it', async t => {
    const { store, under } = subject
    if (under.reopen === undefined) return t.skip('this store keeps nothing beyond its process')
    const asked = [store.create(newSession('s')), store.append(batch('s', 1, 3))]
    const again = await under.reopen()
    await Promise.all(asked)
    assert.deepEqual(await numbersOf(again, 's'), [1, 2, 3])
  })
}
