// The part of the store contract about finding sessions. It runs only for stores that have an index.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { FindQuery, SessionFinder, Store } from '../../engine/ports/index.ts'
import type { Event } from '../../language/events.ts'
import { BORN, newSession, rejects, type StoreSubject } from './store-samples.ts'

type FinderTest = (title: string, check: (finder: SessionFinder, store: Store) => Promise<void>) => void

const hourMs = 3_600_000

export function finderTests(subject: StoreSubject): void {
  const withFinder: FinderTest = (title, check) => {
    test(title, async t => {
      const { store } = subject
      if (store.finder) await check(store.finder, store)
      else t.skip('The store has no index.')
    })
  }
  wordTests(withFinder)
  longTests(withFinder)
  orderTests(withFinder)
  filterTests(withFinder)
  countTests(withFinder)
  waitTests(withFinder)
  test('an index survives its store, and reads on from where it was', async t => {
    const { reopen } = subject
    if (!reopen || !subject.store.finder) return t.skip('The store is not durable, or has no index.')
    await turn(subject.store, 'a', { says: 'the first' })
    assert.deepEqual(await found(subject.store.finder, { words: 'first' }), ['a'])
    const store = await reopen()
    const finder = store.finder!
    assert.equal((await whole(() => finder.activity(week))).all.turns.turns, 1)
    await turn(store, 'b', { says: 'the second' })
    assert.deepEqual(await found(finder, { words: 'the' }), ['b', 'a'])
    assert.equal((await whole(() => finder.activity(week))).all.turns.turns, 2)
  })
}

const week = { since: BORN - 7 * 24 * hourMs, until: BORN + 24 * hourMs, slotMs: hourMs, zoneMs: 0 }

async function found(finder: SessionFinder, query: Partial<FindQuery>): Promise<string[]> {
  const ask = () => finder.find({ owner: null, limit: 50, order: 'created', ...query })
  // Rows without words are the store's own, at any time.
  const { rows } = query.words === undefined ? await ask() : await whole(ask)
  return rows.map(({ id }) => id)
}

/** An answer of the whole index: a busy machine may need several questions until every log is read. */
async function whole<Answer extends { behind?: number }>(ask: () => Promise<Answer>): Promise<Answer> {
  for (let tries = 0; tries < 100; tries++) {
    const answer = await ask()
    if (answer.behind === 0) return answer
  }
  throw new Error('The index stays behind the logs.')
}

type Turn = {
  owner?: string
  agent?: string
  says?: string
  at?: number
  call?: { name: string; text: string; result: string; kind?: 'ok' | 'error' }
  cost?: number
  ms?: number
  error?: string
}

/** A session with one turn, of which every event is a millisecond or `ms` after the one before. */
async function turn(store: Store, id: string, given: Turn = {}): Promise<void> {
  const { owner = 'ada', agent = 'helper', at = BORN, error, cost = 0.5 } = given
  const events = turnEvents(given, at)
  await store.create(newSession(id, { owner, agent, createdAt: at }))
  const stop = error === undefined ? {} : { stop: 'error' as const }
  await store.append({
    session: id,
    epoch: 1,
    seq: 1,
    events,
    status: 'idle',
    facts: { tokens: cost * 100, cost, ...stop },
    summary: { settings: { tools: null, options: {}, clientTools: [] } },
  })
}

function turnEvents({ says = 'hello', call, cost = 0.5, ms = 1, error }: Turn, at: number): Event[] {
  let now = at
  const next = (): { v: 1; at: number } => {
    now += ms
    return { v: 1, at: now }
  }
  const events: Event[] = [
    { v: 1, at, type: 'turn.started', turn: 't', wire: 'test', parts: [{ type: 'text', text: says }] },
  ]
  const usage = { input: 10, output: 5, cost }
  const base = { model: 'm', usage } as const
  if (call) {
    const part = { type: 'call', id: 'c', name: call.name, form: 'json', text: call.text } as const
    events.push({ ...next(), type: 'model.answered', parts: [part], stop: 'calls', ...base })
    events.push({ ...next(), type: 'call.started', callId: 'c', attempt: 1 })
    const { kind = 'ok', result } = call
    const outcome = {
      kind,
      parts: [{ type: 'text' as const, text: result }],
      from: { source: 'runtime' as const },
    }
    events.push({ ...next(), type: 'call.settled', callId: 'c', outcome })
  }
  if (error === undefined)
    events.push({
      ...next(),
      type: 'model.answered',
      parts: [{ type: 'text', text: 'Done.' }],
      stop: 'end',
      ...base,
    })
  const ended =
    error === undefined
      ? { stop: 'end' as const }
      : { stop: 'error' as const, error: { code: 'model_failed' as const, message: error } }
  events.push({ ...next(), type: 'turn.ended', turn: 't', ...ended })
  return events
}

function wordTests(withFinder: FinderTest): void {
  withFinder(
    'a session is found by what was said, a tool, its arguments, its result and an error',
    async (finder, store) => {
      await turn(store, 's1', { says: 'Where is my Café order?' })
      await turn(store, 's2', {
        call: { name: 'send_mail', text: '{"to":"bo@example.org"}', result: 'queued as 77-A' },
      })
      await turn(store, 's3', { error: 'The vendor is overloaded.' })
      assert.deepEqual(await found(finder, { words: 'cafe ORD' }), ['s1'])
      assert.deepEqual(await found(finder, { words: 'send_mail' }), ['s2'])
      assert.deepEqual(await found(finder, { words: 'bo@example.org' }), ['s2'])
      assert.deepEqual(await found(finder, { words: '77-a' }), ['s2'])
      assert.deepEqual(await found(finder, { words: 'overloaded' }), ['s3'])
      assert.deepEqual(await found(finder, { words: '"is overloaded"' }), ['s3'])
      assert.deepEqual(await found(finder, { words: '"overloaded is"' }), [])
      assert.deepEqual(await found(finder, { words: 'overload' }), ['s3'])
      assert.deepEqual(await found(finder, { words: 'overload.' }), [], 'a sign ends a word')
      assert.deepEqual(await found(finder, { words: 'S2' }), ['s2'], 'by a part of its id')
      assert.deepEqual(await found(finder, { words: '" * ( - ) :' }), [], 'signs are no words')
    },
  )

  withFinder('the newest event with the words is told, and how many there are', async (finder, store) => {
    await turn(store, 'a', { says: 'mail Bo', call: { name: 'send_mail', text: '{}', result: 'no mail' } })
    const { rows } = await whole(() =>
      finder.find({ owner: null, limit: 5, order: 'created', words: 'mail' }),
    )
    assert.deepEqual(rows[0]?.hit, { seq: 4, count: 3 })
  })

  withFinder('what is recorded later is found, and what is removed is not', async (finder, store) => {
    await turn(store, 'a', { says: 'apples' })
    await turn(store, 'b', { says: 'apples too' })
    assert.deepEqual(await found(finder, { words: 'apples' }), ['b', 'a'])
    await store.append({
      session: 'a',
      epoch: 1,
      seq: 4,
      events: turnEvents({ says: 'pears' }, BORN),
      status: 'idle',
    })
    await store.remove('b')
    assert.deepEqual(await found(finder, { words: 'pears' }), ['a'])
    assert.deepEqual(await found(finder, { words: 'apples' }), ['a'])
  })
}

function longTests(withFinder: FinderTest): void {
  withFinder('a long log is indexed whole', async (finder, store) => {
    await store.create(newSession('long'))
    for (let page = 0; page < 5; page++)
      await store.append({
        session: 'long',
        epoch: 1,
        seq: page * 200 + 1,
        events: Array.from(
          { length: 200 },
          (_, at): Event => ({
            v: 1,
            at: BORN,
            type: 'turn.started',
            turn: 't',
            wire: 'test',
            parts: [{ type: 'text', text: `number${page * 200 + at} ${'x '.repeat(500)}` }],
          }),
        ),
        status: 'running',
      })
    for (const number of ['number0', 'number499', 'number999'])
      assert.deepEqual(await found(finder, { words: number }), ['long'])
  })
}

function orderTests(withFinder: FinderTest): void {
  withFinder('sessions come in every order, in pages, each once', async (finder, store) => {
    await turn(store, 'a', { at: BORN, cost: 3, ms: 5 })
    await turn(store, 'b', { at: BORN + 10, cost: 1, ms: 90 })
    await turn(store, 'c', { at: BORN + 20, cost: 2, ms: 1 })
    await turn(store, 'd', { at: BORN + 30, cost: 2, ms: 2 })
    const inPages = async (query: Partial<FindQuery>): Promise<string> => {
      let all = ''
      let after: string | undefined
      do {
        const page = await finder.find({
          owner: null,
          limit: 1,
          order: 'created',
          ...query,
          ...(after && { after }),
        })
        assert.equal(page.total, after === undefined ? 4 : undefined)
        assert.equal(page.behind === undefined, after !== undefined, 'only the first page counts')
        all += page.rows.map(({ id }) => id).join('')
        after = page.next
      } while (after !== undefined)
      return all
    }
    assert.equal(await inPages({}), 'dcba')
    assert.equal(await inPages({ ascending: true }), 'abcd')
    assert.equal(await inPages({ order: 'changed' }), 'bdca')
    assert.equal(await inPages({ order: 'cost' }), 'adcb')
    assert.equal(await inPages({ order: 'tokens', ascending: true }), 'bcda')
    assert.equal(await inPages({ order: 'lasted' }), 'badc')
    await rejects(finder.find({ owner: null, limit: 1, order: 'created', after: 'nonsense' }), 'bad_request')
  })
}

function filterTests(withFinder: FinderTest): void {
  withFinder('owner, agent, status, model and time leave out the others', async (finder, store) => {
    await turn(store, 'a', { owner: 'ada', at: BORN })
    await turn(store, 'b', { owner: 'bo', agent: 'clerk', at: BORN + 1_000, error: 'It broke.' })
    await turn(store, 'c', { owner: 'bo', at: BORN + 2_000 })
    const settings = { tools: null, options: {}, clientTools: [], model: 'big' }
    await store.append({
      session: 'c',
      epoch: 1,
      seq: 4,
      events: [],
      status: 'waiting',
      summary: { settings },
    })
    const worker = { settings: { ...settings }, parent: 'a' }
    await store.create(newSession('worker', { owner: 'ada', summary: worker }))
    assert.deepEqual(await found(finder, {}), ['c', 'b', 'a'], 'sessions that work for others are left out')
    assert.deepEqual(await found(finder, { owner: 'bo' }), ['c', 'b'])
    assert.deepEqual(await found(finder, { owner: 'bo', words: 'hello', agent: 'clerk' }), ['b'])
    assert.deepEqual(await found(finder, { owner: 'ada', words: 'broke' }), [], 'nothing of another owner')
    assert.deepEqual(await found(finder, { status: 'failed' }), ['b'])
    assert.deepEqual(await found(finder, { status: 'waiting' }), ['c'])
    assert.deepEqual(await found(finder, { model: { name: 'big', agents: ['clerk'] } }), ['c', 'b'])
    assert.deepEqual(await found(finder, { from: BORN + 500, to: BORN + 1_500 }), ['b'])
  })
}

function countTests(withFinder: FinderTest): void {
  withFinder('turns, steps, calls, times and cost are counted once, by the hour', async (finder, store) => {
    const hour = BORN - (BORN % hourMs)
    await turn(store, 'a', {
      at: hour,
      ms: 100,
      call: { name: 'look', text: '{}', result: 'no', kind: 'error' },
    })
    await turn(store, 'b', { at: hour + 2 * hourMs, agent: 'clerk', error: 'It broke.', ms: 1_000 })
    for (const _ of [1, 2]) {
      const report = await whole(() => finder.activity(week))
      const { all, slots, agents, models, tools, used } = report
      assert.deepEqual([all.turns.turns, all.turns.failed, all.steps.steps, all.steps.failed], [2, 1, 2, 1])
      assert.deepEqual(
        [all.steps.input, all.steps.output, all.steps.cost, all.steps.unpriced],
        [20, 10, 1, 0],
      )
      assert.deepEqual(all.calls.outcomes, { error: 1 })
      assert.deepEqual(
        slots.map(({ at, turns }) => [at, turns.turns, turns.failed]),
        [
          [hour, 1, 0],
          [hour + 2 * hourMs, 1, 1],
        ],
      )
      assert.ok(Math.abs((all.turns.p95 ?? 0) - 1_000) < 100, `p95 of turns is ${all.turns.p95}`)
      assert.ok(Math.abs((all.steps.p50 ?? 0) - 100) < 10, `the median of steps is ${all.steps.p50}`)
      assert.deepEqual(agents.map(({ name }) => name).sort(), ['clerk', 'helper'])
      assert.deepEqual(models.find(({ name }) => name === 'm')?.steps, 2)
      assert.deepEqual(
        tools.map(({ name, calls }) => [name, calls]),
        [['look', 1]],
      )
      assert.deepEqual(used, [{ at: hour, agent: 'helper', model: 'm', tokens: 30, cost: 1 }])
    }
    await store.remove('a')
    const now = async (since: number): Promise<number> =>
      (await whole(() => finder.activity({ ...week, since }))).all.turns.turns
    assert.equal(await now(week.since), 2, 'removing a session takes nothing back')
    assert.equal(await now(hour + hourMs), 1)
  })
}

function waitTests(withFinder: FinderTest): void {
  withFinder('the time of a turn is without its waits for a person', async (finder, store) => {
    const part = { type: 'call', id: 'c', name: 'send', form: 'json', text: '{}' } as const
    const at = (ms: number): { v: 1; at: number } => ({ v: 1, at: BORN + ms })
    const events: Event[] = [
      { ...at(0), type: 'turn.started', turn: 't', wire: 'test', parts: [] },
      { ...at(100), type: 'model.answered', parts: [part], stop: 'calls', model: 'm' },
      { ...at(100), type: 'call.handed', callId: 'c', argsHash: '', toolHash: '' },
      {
        ...at(900_100),
        type: 'call.settled',
        callId: 'c',
        outcome: { kind: 'ok', parts: [], from: { source: 'client' } },
      },
      { ...at(900_200), type: 'turn.ended', turn: 't', stop: 'end' },
    ]
    await store.create(newSession('s', { events }))
    const { all } = await whole(() => finder.activity(week))
    assert.ok(Math.abs((all.turns.p95 ?? 0) - 200) < 20, `${all.turns.p95} ms`)
    assert.equal(all.steps.unpriced, 1)
  })
}
