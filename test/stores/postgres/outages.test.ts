// A database that restarts, crashes, fills up, or hands over to a standby: nothing that was acknowledged is lost, nothing is
// recorded twice, and the store works again by itself.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import type { Store } from '../../../src/engine/ports/index.ts'
import { TurnwireError } from '../../../src/language/errors.ts'
import { postgresStore } from '../../../src/stores/postgres/index.ts'
import {
  batch,
  eventNumbers,
  newSession,
  rejects,
  upTo,
} from '../../../src/testing/contracts/store-samples.ts'
import { type OwnServer, own, startPair, startServer, withClient } from './server.ts'

/** Appends to its session until it is told to stop. What it was told is durable is in `acked`. */
class Appender {
  acked = 0
  refused = 0
  readonly #store: Store
  readonly session: string
  #epoch = 1
  stopped = false

  constructor(store: Store, session: string) {
    this.#store = store
    this.session = session
  }

  /** As the engine does: after a refusal it claims the session, and goes on from what is there. */
  async run(): Promise<void> {
    await this.#store.create(newSession(this.session))
    while (!this.stopped) {
      try {
        await this.#store.append(batch(this.session, this.acked + 1, 2, { epoch: this.#epoch }))
        this.acked += 2
      } catch (error) {
        if (!(error instanceof TurnwireError)) throw error
        this.refused += 1
        await this.#again()
      }
    }
  }

  async #again(): Promise<void> {
    try {
      const claimed = await this.#store.claim(this.session)
      assert.ok(claimed, 'the session is there')
      const { head } = claimed.row
      assert.ok(head === this.acked || head === this.acked + 2, `${head} events, ${this.acked} acknowledged`)
      assert.equal(head, this.acked, 'a refused append was not recorded')
      this.#epoch = claimed.epoch
    } catch (error) {
      if (!(error instanceof TurnwireError)) throw error
      await pause(50)
    }
  }
}

async function atWork(store: Store, count: number, act: (appenders: Appender[]) => Promise<void>) {
  const appenders = Array.from({ length: count }, (_, index) => new Appender(store, `s${index}`))
  const running = Promise.all(appenders.map(each => each.run()))
  try {
    await Promise.race([act(appenders), running])
  } finally {
    for (const each of appenders) each.stopped = true
  }
  await running
  return appenders
}

async function grown(appenders: readonly Appender[]): Promise<void> {
  const before = appenders.map(({ acked }) => acked)
  while (appenders.some(({ acked }, index) => acked < before[index]! + 4)) await pause(20)
}

async function checkLogs(store: Store, appenders: readonly Appender[]): Promise<void> {
  for (const { session, acked } of appenders) {
    assert.deepEqual(await eventNumbers(store, session), upTo(acked), session)
    assert.equal((await store.row(session))?.head, acked)
  }
}

async function withServer(work: (server: OwnServer) => Promise<void>): Promise<void> {
  const server = await startServer()
  try {
    await work(server)
  } finally {
    await server.remove()
  }
}

test('a server that crashes in the middle of commits loses and doubles nothing', own, () =>
  withServer(async server => {
    const store = postgresStore({ url: server.url, patienceMs: 60_000 })
    const appenders = await atWork(store, 20, async all => {
      for (let round = 0; round < 4; round++) {
        await grown(all)
        await server.stop('immediate')
        await server.start()
      }
      await grown(all)
    })
    await checkLogs(store, appenders)
    assert.deepEqual(
      appenders.map(({ refused }) => refused),
      appenders.map(() => 0),
    )
    await store.close()
  }),
)

test('a restart of the server is waited for', own, () =>
  withServer(async server => {
    const store = postgresStore({ url: server.url, patienceMs: 60_000 })
    await store.create(newSession('s'))
    await server.stop('fast')
    const appended = store.append(batch('s', 1, 1))
    const read = store.read('s')
    await pause(300)
    await server.start()
    await appended
    assert.ok((await read).length <= 1)
    assert.deepEqual(await eventNumbers(store, 's'), [1])
    await store.close()
  }),
)

test('while the database is away, writes and reads are refused; when it is back, both work', own, () =>
  withServer(async server => {
    const seen: string[] = []
    const onChange = (failure: unknown) => void seen.push(failure ? 'away' : 'back')
    const store = postgresStore({ url: server.url, patienceMs: 200, onChange })
    await store.create(newSession('s'))
    assert.equal(store.failure?.(), undefined)
    await server.stop('fast')
    await rejects(store.append(batch('s', 1, 1)), 'store_failed')
    await rejects(store.read('s'), 'store_failed')
    await rejects(store.create(newSession('t')), 'store_failed')
    await rejects(store.list('ada', { limit: 1 }), 'store_failed')
    assert.equal(store.failure?.()?.code, 'store_failed')
    await server.start()
    // Nobody writes: asking for its health finds it.
    while (store.failure?.()) await pause(20)
    const claimed = await store.claim('s')
    await store.append(batch('s', 1, 1, { epoch: claimed!.epoch }))
    assert.deepEqual(await eventNumbers(store, 's'), [1])
    assert.deepEqual(seen, ['away', 'back'])
    await store.close()
  }),
)

test('a database that takes no writes refuses them, and is not mistaken for a working one', own, () =>
  withServer(async server => {
    const store = postgresStore({ url: server.url, patienceMs: 200 })
    await store.create(newSession('s'))
    const set = (value: string) =>
      withClient(server.url, async sql => {
        await sql.unsafe(`ALTER SYSTEM SET default_transaction_read_only = ${value}`)
        await sql.unsafe('SELECT pg_reload_conf()')
      })
    await set('on')
    await pause(300)
    await rejects(store.append(batch('s', 1, 1)), 'store_failed')
    for (let check = 0; check < 5; check++) {
      assert.match(store.failure?.()?.message ?? '', /takes no writes/, `check ${check}`)
      assert.equal((await store.row('s'))?.head, 0, 'reads succeed')
    }
    await withClient(`${server.url}?default_transaction_read_only=off`, async sql => {
      await sql.unsafe('ALTER SYSTEM RESET default_transaction_read_only')
      await sql.unsafe('SELECT pg_reload_conf()')
    })
    while (store.failure?.()) await pause(20)
    await store.append(batch('s', 1, 1))
    await store.close()
  }),
)

test('a full database fails steadily, although small writes and reads succeed, until it has room', own, () =>
  withServer(async server => {
    const seen: string[] = []
    const onChange = (failure: unknown) => void seen.push(failure ? 'full' : 'room')
    const store = postgresStore({ url: server.url, patienceMs: 200, onChange })
    await store.create(newSession('s'))
    // As on a full disk: the table of events cannot grow, and rows of others are rewritten in their pages.
    await withClient(server.url, async sql => {
      await sql.unsafe(`CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN RAISE EXCEPTION 'could not extend file' USING ERRCODE = '53100'; END $$`)
      await sql.unsafe(`CREATE TRIGGER full_disk BEFORE INSERT ON turnwire.events
        FOR EACH STATEMENT EXECUTE FUNCTION full_disk()`)
    })
    await rejects(store.append(batch('s', 1, 1)), 'store_full')
    let epoch = 1
    for (let check = 0; check < 5; check++) {
      assert.equal(store.failure?.()?.code, 'store_full', `check ${check}`)
      epoch = (await store.claim('s'))!.epoch
      assert.equal((await store.row('s'))?.head, 0)
    }
    await withClient(server.url, sql => sql.unsafe('DROP TRIGGER full_disk ON turnwire.events'))
    while (store.failure?.()) await pause(20)
    await store.append(batch('s', 1, 1, { epoch }))
    assert.deepEqual(seen, ['full', 'room'])
    const [row] = await withClient(server.url, sql => sql`SELECT count(*)::int AS count FROM turnwire.events`)
    assert.equal(row?.['count'], 1, 'probes leave nothing')
    await store.close()
    await rejects(store.row('s'), 'stopping')
    await rejects(store.append(batch('s', 2, 1, { epoch })), 'stopping')
  }),
)

test(
  'a promoted standby goes on where the primary ended, and nothing acknowledged is lost',
  own,
  async () => {
    const { primary, standby, url } = await startPair()
    try {
      const store = postgresStore({ url, patienceMs: 60_000 })
      const appenders = await atWork(store, 10, async all => {
        await grown(all)
        await primary.stop('immediate')
        await withClient(standby.url, sql => sql`SELECT pg_promote()`)
        await grown(all)
      })
      await checkLogs(store, appenders)
      assert.ok(
        await withClient(
          standby.url,
          async sql => (await sql`SELECT pg_is_in_recovery()`)[0]?.['pg_is_in_recovery'] === false,
        ),
      )
      await store.close()
    } finally {
      await standby.remove()
      await primary.remove()
    }
  },
)
