// Nodes that share a database pass the contract of stores that nodes share, and the store of a node that of stores.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import type { NodeStore } from '../../../src/engine/index.ts'
import { postgresStore } from '../../../src/stores/postgres/index.ts'
import { type NodesUnderTest, nodeStoreContract } from '../../../src/testing/contracts/node-store.ts'
import { storeContract } from '../../../src/testing/contracts/store.ts'
import { newSession } from '../../../src/testing/contracts/store-samples.ts'
import { databaseUrl, newSchema, postgresUnderTest, withClient } from './server.ts'

async function nodesUnderTest(): Promise<NodesUnderTest & { url: string; schema: string }> {
  const url = await databaseUrl()
  const schema = newSchema()
  const stores: NodeStore[] = []
  return {
    url,
    schema,
    open: async () => {
      const store = postgresStore({ url, schema, connections: 2 })
      stores.push(store)
      return store
    },
    pass: ms => pause(ms),
    cleanup: async () => {
      await Promise.all(stores.map(store => store.close()))
      await withClient(url, sql => sql.unsafe(`DROP SCHEMA IF EXISTS "${schema}" CASCADE`))
    },
  }
}

nodeStoreContract('PostgreSQL', nodesUnderTest)

storeContract('PostgreSQL of a node', async () => {
  const under = await postgresUnderTest()
  const join = async (store: NodeStore): Promise<NodeStore> => {
    await store.join({ id: `node-${Math.random()}`, version: '1' }, 600_000)
    return store
  }
  await join(under.store as NodeStore) // It is made by postgresStore.
  return {
    ...under,
    reopen: async () => {
      await (under.store as NodeStore).leave()
      return join((await under.reopen!()) as NodeStore)
    },
  }
})

describe('what a lease costs', () => {
  test('no index has a column of a lease, so a heartbeat changes no index', async () => {
    const under = await nodesUnderTest()
    try {
      const store = await under.open()
      await store.join({ id: 'a', version: '1' }, 60_000)
      await store.create(newSession('s'))
      const indexes = await withClient(under.url, sql =>
        sql.unsafe<{ indexdef: string }[]>(
          `SELECT indexdef FROM pg_indexes WHERE schemaname = '${under.schema}'`,
        ),
      )
      assert.ok(indexes.length > 5)
      assert.deepEqual(
        indexes.filter(({ indexdef }) => /lease_until|\bnode\b|epoch/.test(indexdef)),
        [],
      )
      for (let beat = 0; beat < 50; beat++) assert.equal(await store.renew(), true)
      await pause(1_100) // The statistics of a connection are told once a second.
      await store.renew()
      const [stats] = await withClient(under.url, sql =>
        sql.unsafe<{ n_tup_upd: string; n_tup_hot_upd: string }[]>(
          `SELECT n_tup_upd, n_tup_hot_upd FROM pg_stat_user_tables
           WHERE schemaname = '${under.schema}' AND relname = 'nodes'`,
        ),
      )
      assert.ok(Number(stats?.n_tup_upd) >= 50)
      assert.equal(stats?.n_tup_hot_upd, stats?.n_tup_upd)
    } finally {
      await under.cleanup()
    }
  })

  test('abandoned sessions are found through the index of those at work', async () => {
    const under = await nodesUnderTest()
    try {
      const store = await under.open()
      await store.join({ id: 'a', version: '1' }, 60_000)
      await store.create(newSession('s'))
      const plan = await withClient(under.url, async sql => {
        await sql.unsafe(`INSERT INTO "${under.schema}".sessions
          SELECT 'idle-' || i, 'ada', 'helper', 'idle', 1, 0, 0, 0, 0, 0, 0, i, false, false
          FROM generate_series(1, 20000) AS i`)
        await sql.unsafe(`ANALYZE "${under.schema}".sessions`)
        const { nodeStatements } = await import('../../../src/stores/postgres/node-statements.ts')
        const { listAbandoned } = nodeStatements(`"${under.schema}"`)
        return sql.unsafe<{ 'QUERY PLAN': string }[]>(
          `EXPLAIN ${listAbandoned.replace('$1', `''`).replace('$2', '500')}`,
        )
      })
      const lines = plan.map(each => each['QUERY PLAN']).join('\n')
      assert.match(lines, /sessions_at_work/)
      assert.doesNotMatch(lines, /Seq Scan on sessions/)
    } finally {
      await under.cleanup()
    }
  })
})
