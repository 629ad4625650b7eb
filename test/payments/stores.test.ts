// Stores of payments: each passes the contract, a folder's also through the socket of the process that has it, and payments of
// the form before, in which each was a session, are moved when the data is opened.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { type TestContext, test } from 'node:test'
import type { NewSession, Store } from '../../src/engine/ports/index.ts'
import { Turnwire } from '../../src/index.ts'
import type { Recorded } from '../../src/language/events.ts'
import { runtimeOf } from '../../src/library/turnwire.ts'
import { visitSessions } from '../../src/library/visit.ts'
import { scripted } from '../../src/models/scripted/index.ts'
import type { KeepsPayments } from '../../src/payments/port.ts'
import { memoryStore } from '../../src/stores/memory.ts'
import { postgresStore } from '../../src/stores/postgres/index.ts'
import { sqliteStore } from '../../src/stores/sqlite/index.ts'
import { newSession } from '../../src/testing/contracts/store-samples.ts'
import { paymentStoreContract, samplePayment } from '../contracts/payment-store.ts'
import { newFolder } from '../crash/killed-server.ts'
import { makeFolder } from '../stores/folder.ts'
import { databaseUrl, newSchema, own, withClient } from '../stores/postgres/server.ts'

paymentStoreContract('memory', async () => ({ store: memoryStore(), cleanup: async () => {} }))

paymentStoreContract('SQLite', async () => {
  const folder = makeFolder()
  let store = sqliteStore({ file: folder.path('sessions.db') })
  return {
    store,
    async reopen() {
      await store.close()
      store = sqliteStore({ file: folder.path('sessions.db') })
      return store
    },
    async cleanup() {
      await store.close()
      folder.remove()
    },
  }
})

async function onPostgres() {
  const url = await databaseUrl()
  const schema = newSchema()
  let store = postgresStore({ url, schema, connections: 2 })
  return {
    url,
    schema,
    store,
    async reopen() {
      await store.close()
      store = postgresStore({ url, schema, connections: 2 })
      return store
    },
    async cleanup() {
      await store.close()
      await withClient(url, sql => sql.unsafe(`DROP SCHEMA IF EXISTS "${schema}" CASCADE`))
    },
  }
}

if (!own.skip) paymentStoreContract('PostgreSQL', onPostgres)

const config = (data: string) => ({ agents: [{ name: 'helper', model: scripted([{ text: 'Hi.' }]) }], data })

async function openOn(t: Pick<TestContext, 'after'>, data: string) {
  const turnwire = await Turnwire.open(config(data))
  t.after(() => turnwire.close())
  return runtimeOf(turnwire)
}

paymentStoreContract('a folder that another process has', async () => {
  const folder = makeFolder()
  const owner = await Turnwire.open(config(folder.path('data')))
  // In this process too, but it has not the folder.
  const other = await Turnwire.open(config(folder.path('data')))
  const { payments } = runtimeOf(other)
  assert.ok(payments)
  assert.equal(await runtimeOf(other).local(), undefined)
  return {
    store: { payments },
    async reopen() {
      // The process that had it leaves, and the other one takes it.
      await owner.close()
      return { payments }
    },
    async cleanup() {
      await other.close()
      await owner.close()
      folder.remove()
    },
  }
})

test('a command reads and writes the payments of a folder, beside a process that has it and without one', async t => {
  const data = join(newFolder(t), 'data')
  const turnwire = await Turnwire.open(config(data))
  const { payments } = runtimeOf(turnwire)
  await payments?.reserve(samplePayment('a'))
  await visitSessions(data, undefined, async (_, { payments: seen }) => {
    const kept = await seen.find('a')
    assert.ok(kept)
    await seen.record(kept, { state: 'settled' })
  })
  assert.equal((await payments?.find('a'))?.record.state, 'settled')
  await turnwire.close()
  await visitSessions(data, undefined, async (_, { payments: seen }) => {
    assert.equal((await seen.list({ limit: 10 })).rows.length, 1)
  })
})

// ---- the form before -------------------------------------------------------------------------------------------

const frozen = JSON.parse(
  readFileSync(new URL('../transcripts/fixtures/payment.json', import.meta.url), 'utf8'),
) as { log: Recorded[] }

/** A payment as a version kept it that had sessions for them. */
function oldPayment(id: string, wire: string): NewSession {
  const made = newSession(id, { request: { key: `x402:${id}`, hash: `hash of ${id}` } })
  const events = frozen.log.map(({ event }) =>
    event.type === 'payment.recorded' && event.change.id
      ? { ...event, change: { ...event.change, id } }
      : event,
  )
  const settings = { tools: null, options: {}, clientTools: [] }
  return { ...made, events, summary: { settings, wire } }
}

async function checkMoved(store: Store & KeepsPayments): Promise<void> {
  assert.deepEqual(
    (await store.list(null, { limit: 10 })).rows.map(({ id }) => id),
    ['plain'],
  )
  assert.equal(await store.requested('ada', 'x402:pay_a'), undefined)
  const { rows } = await store.payments.list({ limit: 10, open: true })
  assert.deepEqual(
    rows.map(({ record }) => record.id),
    ['pay_b', 'pay_a'],
  )
  const { record } = (await store.payments.find('pay_a'))!
  assert.deepEqual(
    [record.hash, record.state, record.amount, record.tries, record.payer, record.given],
    ['hash of pay_a', 'settling', '300', 1, '0x0a', { x402Version: 2 }],
  )
  await assert.rejects(store.payments.reserve({ ...record, hash: 'another' }), { code: 'payment_conflict' })
}

async function makeOld(store: Store): Promise<void> {
  for (const [id, wire] of [
    ['pay_a', 'payments'],
    ['plain', 'aap'],
    ['pay_b', 'payments'],
  ] as const)
    await store.create(oldPayment(id, wire))
}

test('payments that are sessions of a data folder are moved, once, and are sessions no more', async t => {
  const data = newFolder(t)
  const file = join(data, 'sessions.db')
  const before = sqliteStore({ file })
  await makeOld(before)
  await before.close()
  const db = new DatabaseSync(file)
  db.exec('DROP TABLE payments; DROP TABLE spending; DROP TABLE records; PRAGMA user_version = 3')
  db.close()
  const runtime = await openOn(t, data)
  const listed = await runtime.engine.list(null, { limit: 10 })
  assert.deepEqual(
    listed.rows.map(({ id }) => id),
    ['plain'],
  )
  assert.equal((await runtime.payments?.find('pay_b'))?.record.state, 'settling')
  const after = sqliteStore({ file })
  await checkMoved(after)
  await after.close()
})

test('the same on PostgreSQL, by several nodes at once', { skip: own.skip }, async t => {
  const under = await onPostgres()
  t.after(() => under.cleanup())
  await makeOld(under.store)
  const { schema } = under
  await withClient(under.url, sql =>
    sql.unsafe(
      `DROP TABLE "${schema}".payments, "${schema}".spending, "${schema}".records; DELETE FROM "${schema}".migrations WHERE number >= 3`,
    ),
  )
  const nodes = [1, 2, 3].map(() => postgresStore({ url: under.url, schema, connections: 2 }))
  t.after(() => Promise.all(nodes.map(node => node.close())))
  await Promise.all(nodes.map(node => node.payments.find('pay_a')))
  await checkMoved(nodes[0]!)
})
