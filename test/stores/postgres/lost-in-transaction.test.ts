// A connection that is lost inside a transaction: the store's client would answer with a ROLLBACK on the connection that is
// gone, and that ends the process with an error that nobody can catch.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { Database } from '../../../src/stores/postgres/database.ts'
import { DatabaseFault } from '../../../src/stores/postgres/faults.ts'
import { databaseUrl } from './server.ts'

test('a connection that is lost inside a transaction fails the transaction, and nothing else', async t => {
  const database = new Database({ url: await databaseUrl(), connections: 2 })
  t.after(() => database.close())
  for (let time = 0; time < 3; time += 1) {
    const lost = database.transaction(async run => {
      await run('SELECT pg_terminate_backend(pg_backend_pid())', [])
      await run('SELECT 1', [])
    })
    await assert.rejects(lost, error => error instanceof DatabaseFault && error.kind === 'lost')
    // What the client does afterwards.
    await pause(50)
    const [row] = await database.run<[number]>('SELECT 1', [])
    assert.equal(row?.[0], 1)
  }
  const [row] = await database.transaction(run => run<[number]>('SELECT 2', []))
  assert.equal(row?.[0], 2)
})
