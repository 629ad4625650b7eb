// No statement looks at more rows than it needs: PostgreSQL's own plans, on tables that are large enough to matter.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type postgres from 'postgres'
import type { Store } from '../../../src/engine/ports/index.ts'
import { postgresStore } from '../../../src/stores/postgres/index.ts'
import { makeStatements } from '../../../src/stores/postgres/statements.ts'
import { newSession } from '../../../src/testing/contracts/store-samples.ts'
import { databaseUrl, newSchema, withClient } from './server.ts'

const schema = newSchema()
const quoted = `"${schema}"`
const sessions = 20_000

/** One value for each parameter of a statement, as text; the planner needs no more. */
type Case = { text: string; values: string[] }

function cases(): Record<string, Case> {
  const sql = makeStatements(quoted)
  const append = [
    "'{s1,s2}'",
    "'{1,1}'",
    "'{3,3}'",
    "'{1,1}'",
    "'{9,9}'",
    "'{idle,idle}'",
    "'{1,1}'",
    "'{NULL,NULL}'",
    "'{f,f}'",
    "'{[],[]}'",
  ]
  const more = ["'{s1}'", "'{x}'", "'{s1,s2}'", "'{4,4}'", "'{[],[]}'"]
  const page = ['1700000000000000', "'s5'", '20']
  return {
    append: {
      text: sql.appendEvents({ further: false, summarises: false, spends: false, notes: false }),
      values: append,
    },
    'append of much': {
      text: sql.appendEvents({ further: true, summarises: true, spends: false, notes: false }),
      values: [...append, ...more],
    },
    reread: { text: sql.rereadAppends, values: ["'{s1,s2}'", "'{1,1}'", "'{1,1}'"] },
    claim: { text: sql.claimSessions, values: ["'{s1,s2}'", "'{0,0}'", "'n1'"] },
    lock: { text: sql.lockSession, values: ["'s1'"] },
    row: { text: sql.selectSession, values: ["'s1'"] },
    request: { text: sql.selectRequest, values: ["'ada'", "'k1'"] },
    read: { text: sql.selectEvents, values: ["'s1'", '1', '100000'] },
    'list of an owner': { text: sql.listSessions(true, undefined), values: [...page, "'owner7'"] },
    'list of all': { text: sql.listSessions(false, undefined), values: page },
    'waiting of an owner': { text: sql.listSessions(true, 'waiting'), values: [...page, "'owner7'"] },
    'waiting of all': { text: sql.listSessions(false, 'waiting'), values: page },
    'next owner': { text: sql.nextOwner, values: ["'owner3'"] },
    'first owner': { text: sql.firstOwner, values: [] },
    usage: { text: sql.selectUsage, values: ["'owner7'"] },
    spent: { text: sql.selectSpent, values: ["'owner'", "'owner7'", "'2026-01'"] },
    'add to what is spent': {
      text: sql.addSpending,
      values: [
        "'{agent,owner}'",
        "'{helper,owner7}'",
        "'{2026-01-01,2026-01-01}'",
        "'{5,5}'",
        "'{0.1,0.1}'",
        "'{1,1}'",
      ],
    },
    unfinished: { text: sql.listUnfinished, values: ["'n1'"] },
    holder: { text: sql.selectHolder, values: ["'s1'"] },
    adopt: { text: sql.adoptSession, values: ["'s1'", '1', "'n1'"] },
    release: { text: sql.releaseSession, values: ["'s1'", '1'] },
    abandoned: { text: sql.listAbandoned, values: ["'s1'", '20'] },
    blob: { text: sql.selectBlob, values: ["'s1'", "'b'"] },
    'blob range': { text: sql.selectPieces, values: ["'s1'", "'b'", '0', '10'] },
    pieced: { text: sql.selectPieced, values: ["'s1'", "'b'"] },
    'names of blobs': { text: sql.selectBlobNames, values: ["'s1'"] },
    'count of a blob': { text: sql.countBlob, values: ["'s1'", "'b'", '4'] },
    'count of a piece': { text: sql.countPiece, values: ["'s1'", '4'] },
    'delete pieces': { text: sql.deletePieces, values: ["'s1'", "'b'"] },
    'delete pieced': { text: sql.deletePieced, values: ["'s1'", "'b'"] },
    'delete request': { text: sql.deleteRequest, values: ["'owner7'", "'k7'", "'s7'"] },
    'all events': { text: sql.selectAllEvents, values: ["'s1'"] },
    payment: { text: sql.selectPayment, values: ["'p7'"] },
    'change of a payment': {
      text: sql.updatePayment,
      values: ["'s1'", 'true', "'{}'", 'NULL', 'NULL', "'p7'", '1'],
    },
    payments: { text: sql.listPayments(null, false), values: page },
    'open payments': { text: sql.listPayments(null, true), values: page },
    'payments of a wallet': { text: sql.listPayments('payer', false), values: [...page, "'owner7'"] },
    'open payments of a wallet': { text: sql.listPayments('payer', true), values: [...page, "'owner7'"] },
    'payments of a session': { text: sql.listPayments('session', false), values: [...page, "'s7'"] },
    record: { text: sql.selectRecord, values: ["'webhook'", "'r7'"] },
    'change of a record': { text: sql.updateRecord, values: ["'{}'", '1', "'webhook'", "'r7'", '1'] },
    'delete record': { text: sql.deleteRecord, values: ["'webhook'", "'r7'", '1'] },
    records: { text: sql.listRecords, values: ["'webhook'", '1700000000000', "'r7'", '20'] },
    'due records': { text: sql.listDueRecords, values: ["'webhook'", '20'] },
    create: {
      text: sql.createSessions,
      values: [
        ..."'{n1}' '{o}' '{a}' '{idle}' '{1}' '{1}' '{1}' '{9}' '{f}' '{k}' '{h}'".split(' '),
        ...['1', "'{n1}'", "'{1}'", "'{[]}'", "'{n1}'", "'{x}'", "'n1'"],
      ],
    },
    ...Object.fromEntries(
      sql.deleteSession.map(text => [text.replace(/.*\./, 'delete '), { text, values: ["'s1'"] }]),
    ),
  }
}

/** Insert a row by its key, or read a table that has a few rows. `listOldPayments` runs once, when an older database is migrated. */
const small = [
  ...['insertPayment', 'insertRecord', 'listOldPayments'],
  ...['putMeta', 'selectMeta', 'touch', 'takeRoom', 'putBlob', 'putPieced', 'insertPiece'],
  ...['joinNode', 'forgetNodes', 'renewNode', 'endNode', 'listNodes'],
]

test('the plan of every statement of the store is looked at', () => {
  const planned = new Set(Object.values(cases()).map(({ text }) => text))
  const isPlanned = (statement: unknown): boolean =>
    typeof statement === 'string'
      ? planned.has(statement)
      : Array.isArray(statement)
        ? statement.every(isPlanned)
        : // A statement with several forms: those with the most and the least in them.
          true
  const left = Object.entries(makeStatements(quoted)).filter(([, statement]) => !isPlanned(statement))
  assert.deepEqual(left.map(([name]) => name).sort(), [...small].sort())
})

describe('plans on large tables', () => {
  let store: Store
  before(async () => {
    const url = await databaseUrl()
    store = postgresStore({ url, schema })
    await store.create(newSession('first'))
    await withClient(url, fill)
  })
  after(async () => {
    await store.close()
    await withClient(await databaseUrl(), sql => sql.unsafe(`DROP SCHEMA ${quoted} CASCADE`))
  })

  for (const generic of [true, false])
    test(`no statement scans a table, planned ${generic ? 'for any values' : 'for these values'}`, async () => {
      const scans = await withClient(await databaseUrl(), async sql => {
        await sql.unsafe(`SET plan_cache_mode = ${generic ? 'force_generic_plan' : 'force_custom_plan'}`)
        const found: string[] = []
        const control = { text: `SELECT 1 FROM ${quoted}.events WHERE body = $1`, values: ["'x'"] }
        assert.match(await planOf(sql, control), /Seq Scan/)
        for (const [name, each] of Object.entries(cases())) {
          const plan = await planOf(sql, each)
          // A cluster has few nodes.
          if (/Seq Scan on (?!nodes\b)/.test(plan)) found.push(`${name}:\n${plan}`)
        }
        return found
      })
      assert.deepEqual(scans, [])
    })
})

async function planOf(sql: postgres.Sql, { text, values }: Case): Promise<string> {
  await sql.unsafe(`PREPARE planned AS ${text}`)
  const rows = await sql.unsafe(
    `EXPLAIN EXECUTE planned${values.length === 0 ? '' : ` (${values.join(', ')})`}`,
  )
  await sql.unsafe('DEALLOCATE planned')
  return rows.map(row => String(row['QUERY PLAN'])).join('\n')
}

async function fill(sql: postgres.Sql): Promise<void> {
  const numbers = `generate_series(1, ${sessions}) AS n`
  for (const statement of [
    `INSERT INTO ${quoted}.sessions SELECT 's' || n, 'owner' || n % 100, 'helper',
      CASE WHEN n % 500 = 0 THEN 'waiting' WHEN n % 500 = 1 THEN 'running' ELSE 'idle' END,
      1, 2, 10, 0, 0, n, n, 1700000000000000 + n, false, n % 500 = 1, NULL, 'k' || n FROM ${numbers}`,
    `INSERT INTO ${quoted}.events SELECT 's' || n, m, 1, '[]' FROM ${numbers}, generate_series(1, 2) AS m`,
    `INSERT INTO ${quoted}.summaries SELECT 's' || n, '{}' FROM ${numbers}`,
    `INSERT INTO ${quoted}.requests SELECT 'owner' || n % 100, 'k' || n, 's' || n, 'h' FROM ${numbers}`,
    `INSERT INTO ${quoted}.blobs SELECT 's' || n, 'b', 4, 'body' FROM ${numbers}`,
    `INSERT INTO ${quoted}.blobs_in_pieces SELECT 's' || n, 'b', 4, true FROM ${numbers}`,
    `INSERT INTO ${quoted}.pieces SELECT 's' || n, 'b', 0, 'body' FROM ${numbers}`,
    `INSERT INTO ${quoted}.payments
      SELECT 'p' || n, 'owner' || n % 100, 's' || n, n % 500 = 0, 1, 1700000000000000 + n, '{}' FROM ${numbers}`,
    `INSERT INTO ${quoted}.records
      SELECT 'webhook', 'r' || n, 's' || n, n, CASE WHEN n % 2 = 0 THEN n END, 1, '{}' FROM ${numbers}`,
    ...[
      'sessions',
      'events',
      'summaries',
      'requests',
      'blobs',
      'blobs_in_pieces',
      'pieces',
      'payments',
      'records',
    ].map(table => `ANALYZE ${quoted}.${table}`),
  ])
    await sql.unsafe(statement)
}
