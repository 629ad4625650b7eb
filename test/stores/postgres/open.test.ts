// Opening a database: several nodes at once, databases that may not be used, and conflicts that pass.
import assert from 'node:assert/strict'
import { afterEach, beforeEach, test } from 'node:test'
import type { Store } from '../../../src/engine/ports/index.ts'
import { type PostgresOptions, postgresStore } from '../../../src/stores/postgres/index.ts'
import {
  batch,
  eventNumbers,
  newSession,
  rejects,
  upTo,
} from '../../../src/testing/contracts/store-samples.ts'
import { databaseUrl, newSchema, withClient } from './server.ts'

let url: string
let schema: string
const opened: Store[] = []

beforeEach(async () => {
  url = await databaseUrl()
  schema = newSchema()
})
afterEach(async () => {
  for (const store of opened.splice(0)) await store.close()
  await withClient(url, sql => sql.unsafe(`DROP SCHEMA IF EXISTS "${schema}" CASCADE`))
})

function open(more: Partial<PostgresOptions> = {}): Store {
  const store = postgresStore({ url, schema, connections: 2, patienceMs: 200, ...more })
  opened.push(store)
  return store
}

test('nodes that start together on an empty database all work, and make the schema once', async () => {
  const stores = Array.from({ length: 8 }, () => open())
  await Promise.all(stores.map((store, index) => store.create(newSession(`s${index}`))))
  const first = await stores[0]!.list('ada', { limit: 4 })
  // All nodes have the same secret: the cursor of one is good for another.
  const second = await stores[7]!.list('ada', { limit: 4, after: first.next! })
  const ids = [...first.rows, ...second.rows].map(({ id }) => id).sort()
  assert.deepEqual(
    ids,
    Array.from({ length: 8 }, (_, index) => `s${index}`),
  )
  const applied = await withClient(url, sql => sql.unsafe(`SELECT number FROM "${schema}".migrations`))
  assert.equal(new Set(applied.map(({ number }) => String(number))).size, applied.length)
})

test('a schema of a newer version is refused, and nothing is changed', async () => {
  await open().create(newSession('s'))
  await withClient(url, sql => sql.unsafe(`INSERT INTO "${schema}".migrations (number) VALUES (900)`))
  await rejects(open().row('s'), 'store_newer')
})

test('a database that may lose what it acknowledges is refused', async () => {
  const reckless = new URL(url)
  reckless.searchParams.set('synchronous_commit', 'off')
  await assert.rejects(open({ url: reckless.href }).row('s'), /synchronous_commit is off/)
})

test('an address that cannot be used is said so, without its password', async () => {
  const wrong = new URL(url)
  wrong.pathname = '/there-is-none'
  wrong.password = 'very-secret'
  for (const address of [wrong.href, 'postgres://127.0.0.1:1/x', 'postgres://u:very-secret@h:port/x'])
    await assert.rejects(open({ url: address }).row('s'), (error: Error) => {
      assert.match(error.message, /database/)
      assert.doesNotMatch(error.message, /very-secret/)
      return true
    })
})

test('serialisation failures and deadlocks are tried again, and nobody notices', async () => {
  const store = open()
  await store.create(newSession('s'))
  await withClient(url, async sql => {
    await sql.unsafe(`CREATE SEQUENCE "${schema}".tries`)
    await sql.unsafe(`CREATE FUNCTION "${schema}".fail() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
      CASE nextval('"${schema}".tries') % 3
        WHEN 1 THEN RAISE EXCEPTION 'conflict' USING ERRCODE = '40001';
        WHEN 2 THEN RAISE EXCEPTION 'deadlock' USING ERRCODE = '40P01';
        ELSE RETURN NEW;
      END CASE; END $$`)
    for (const table of ['events', 'blobs'])
      await sql.unsafe(`CREATE TRIGGER fails BEFORE INSERT ON "${schema}".${table}
        FOR EACH ROW EXECUTE FUNCTION "${schema}".fail()`)
  })
  for (let seq = 1; seq <= 4; seq++) await store.append(batch('s', seq, 1))
  await store.putBlob('s', 'b', 'body')
  assert.deepEqual(await eventNumbers(store, 's'), upTo(4))
  assert.equal(await store.blob('s', 'b'), 'body')
})

test('writers that meet in opposite order do not stop each other', async () => {
  const [one, two] = [open(), open()]
  const ids = upTo(20).map(number => `s${number}`)
  await Promise.all(ids.map(id => one.create(newSession(id))))
  // Both claim all sessions at once, in opposite order.
  await Promise.all([
    ...ids.map(id => one.claim(id)),
    ...ids.toReversed().map(id => two.claim(id)),
    ...ids.map(id => two.claim(id)),
  ])
  for (const id of ids) assert.equal((await one.claim(id))?.epoch, 5)
})

test('one append that the database refuses does not fail the others of its statement', async () => {
  const store = open()
  await Promise.all(['a', 'b', 'c'].map(id => store.create(newSession(id))))
  await withClient(url, sql =>
    sql.unsafe(`ALTER TABLE "${schema}".events ADD CONSTRAINT picky CHECK (session <> 'b')`),
  )
  await Promise.all([
    store.append(batch('a', 1, 2)),
    rejects(store.append(batch('b', 1, 1)), 'store_failed'),
    store.append(batch('c', 1, 1)),
  ])
  assert.deepEqual(await eventNumbers(store, 'a'), [1, 2])
  assert.deepEqual(await eventNumbers(store, 'b'), [])
  assert.deepEqual(await eventNumbers(store, 'c'), [1])
  assert.equal(store.failure?.(), undefined)
})

test('tables that were made before, partitioned by session, are used as they are', async () => {
  const made = newSchema()
  await open({ schema: made }).create(newSession('model'))
  await withClient(url, async sql => {
    await sql.unsafe(`CREATE SCHEMA "${schema}"`)
    for (const [table, key] of [
      ['sessions', 'id'],
      ['events', 'session'],
    ]) {
      await sql.unsafe(`CREATE TABLE "${schema}".${table} (LIKE "${made}".${table} INCLUDING INDEXES)
        PARTITION BY HASH (${key})`)
      for (const part of [0, 1, 2])
        await sql.unsafe(`CREATE TABLE "${schema}".${table}_${part} PARTITION OF "${schema}".${table}
          FOR VALUES WITH (MODULUS 3, REMAINDER ${part})`)
    }
  })
  const store = open()
  const ids = upTo(12).map(number => `s${number}`)
  await Promise.all(ids.map(id => store.create(newSession(id))))
  await Promise.all(ids.flatMap(id => [store.append(batch(id, 1, 1)), store.append(batch(id, 2, 2))]))
  for (const id of ids) assert.deepEqual(await eventNumbers(store, id), upTo(3))
  assert.equal((await store.list('ada', { limit: 50 })).rows.length, 12)
  assert.equal((await store.unfinished()).length, 12)
  await withClient(url, sql => sql.unsafe(`DROP SCHEMA "${made}" CASCADE`))
})
