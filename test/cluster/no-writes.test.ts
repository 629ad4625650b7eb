// A lease is renewed by a real write: a node whose database answers reads but takes no writes loses it, and `/health` says so.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { scripted, startServer as serve, Turnwire } from '../../src/index.ts'
import { runtimeOf } from '../../src/library/turnwire.ts'
import { postgresStore } from '../../src/stores/postgres/index.ts'
import { own, startServer, withClient } from '../stores/postgres/server.ts'
import { secret, until } from './rig.ts'

test('nodes whose database takes no writes lose their leases although it answers, and come back', {
  ...own,
  timeout: 120_000,
}, async t => {
  const database = await startServer()
  const ends: (() => Promise<void>)[] = [() => database.remove()]
  t.after(async () => {
    for (const end of ends) await end()
  })
  const start = async () => {
    const turnwire = await Turnwire.open({
      data: postgresStore({ url: database.url, connections: 2, patienceMs: 200 }),
      agents: [{ name: 'helper', model: scripted(() => ({ text: 'Well.' })) }],
      server: { log: 'silent', graceMs: 1, cluster: { secret, leaseMs: 2_000 } },
    })
    const server = await serve(turnwire, { port: 0 })
    ends.unshift(() => server.stop())
    const { node } = runtimeOf(turnwire)
    return { turnwire, url: server.url, node: node! }
  }
  const nodes = [await start(), await start()]
  const health = () => Promise.all(nodes.map(async ({ url }) => (await fetch(`${url}/health`)).status))
  assert.deepEqual(await health(), [200, 200])
  const before = nodes.map(({ node }) => node.id)
  await withClient(database.url, async sql => {
    await sql.unsafe('ALTER SYSTEM SET default_transaction_read_only = on')
    await sql.unsafe('SELECT pg_reload_conf()')
  })
  await until(() => nodes.every(({ node }) => node.failure()?.code === 'lease_lost'))
  assert.deepEqual(await health(), [503, 503])
  // Reads are answered: it is no outage.
  const [row] = await withClient(database.url, sql => sql`SELECT count(*)::int AS count FROM turnwire.nodes`)
  assert.equal(row?.['count'], 2)
  assert.equal((await fetch(`${nodes[0]!.url}/health/live`)).status, 200)
  await withClient(`${database.url}?default_transaction_read_only=off`, async sql => {
    await sql.unsafe('ALTER SYSTEM RESET default_transaction_read_only')
    await sql.unsafe('SELECT pg_reload_conf()')
  })
  await until(async () => (await health()).every(status => status === 200))
  for (const [index, { node }] of nodes.entries()) assert.notEqual(node.id, before[index])
  const session = await nodes[0]!.turnwire.session('helper')
  assert.equal((await session.send('Hello')).status, 'done')
})
