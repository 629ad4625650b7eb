// The database of three nodes crashes and starts again, or its standby takes its place, while turns are at work on all of them:
// nothing that was accepted is lost, nothing is recorded or takes effect twice, and turns that were at work go on.
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { isLong } from '../faults/scale.ts'
import { type OwnServer, own, startPair, startServer, withClient } from '../stores/postgres/server.ts'
import { startLoad } from './load.ts'
import { begin, historyOf, insist, type Processes, processes, say, stateOf, until } from './processes.ts'

const leaseMs = 4_000

/** Starts three nodes at work on a database, lets `act` harm it, and checks what is left. */
async function throughOutage(t: TestContext, cluster: Processes, act: () => Promise<void>): Promise<void> {
  const nodes = [await cluster.start(), await cluster.start(), await cluster.start()]
  let next = 0
  const any = (): string => nodes[next++ % nodes.length]!.url
  const sessions = await Promise.all(Array.from({ length: 9 }, () => begin(any())))
  const paying = await Promise.all(nodes.map(({ url }) => begin(url)))
  // Each pays on its own node. Requests that were lost are sent again, under the same key.
  const paid = Promise.all(
    paying.map((id, index) => insist(() => say(nodes[index]!.url, id, 'Please pay', `pay-${id}`))),
  )
  const load = startLoad(sessions, any, 3)
  try {
    await until(() => load.turns() >= sessions.length && cluster.effects().length === paying.length)
    await act()
    const before = load.turns()
    await until(() => load.turns() >= before + sessions.length)
  } finally {
    cluster.release()
    await load.stop()
    await paid
  }
  await load.check()
  // Nobody asks for them: they are continued by themselves.
  await until(async () => {
    const rows = await cluster.query<{ id: string }>(`SELECT id FROM $schema.sessions WHERE status <> 'idle'`)
    return rows.length === 0
  })
  for (const id of paying) {
    assert.equal((await stateOf(any(), id)).status, 'idle')
    const [question, asked, told, answer, ...more] = await historyOf(any(), id)
    assert.deepEqual(
      [question?.role, asked?.role, told?.role, answer?.role, more.length],
      ['user', 'assistant', 'tool', 'assistant', 0],
    )
    // Its node kept its lease, or lost it while the tool ran.
    assert.match(JSON.stringify(told), /"paid"|not known whether it took effect/)
  }
  assert.equal(cluster.effects().length, paying.length, 'each call took effect once')
  await until(async () => {
    const health = await Promise.all(nodes.map(({ url }) => fetch(`${url}/health`)))
    return health.every(({ status }) => status === 200)
  })
  t.diagnostic(
    `${load.turns()} turns; ${nodes.map(({ log }) => log().match(/lost its lease/g)?.length ?? 0).join(', ')} leases lost`,
  )
}

async function crash(server: OwnServer, awayMs: number): Promise<void> {
  await server.stop('immediate')
  await pause(awayMs)
  await server.start()
}

test('a database that crashes and is back soon, and one that is away for longer than a lease', {
  ...own,
  timeout: 300_000,
}, async t => {
  const server = await startServer()
  const ends: (() => Promise<void>)[] = []
  t.after(async () => {
    for (const end of ends) await end()
    await server.remove()
  })
  const cluster = await processes({ after: end => void ends.unshift(end) }, leaseMs, server.url)
  await throughOutage(t, cluster, async () => {
    for (let round = 0; round < (isLong ? 5 : 1); round++) {
      await crash(server, 100)
      await pause(500)
      await crash(server, leaseMs + 1_000)
      await pause(500)
    }
  })
})

test('a standby that is promoted under three nodes', { ...own, timeout: 300_000 }, async t => {
  const { primary, standby, url } = await startPair()
  const ends: (() => Promise<void>)[] = []
  t.after(async () => {
    for (const end of ends) await end()
    await standby.remove()
    await primary.remove()
  })
  const cluster = await processes({ after: end => void ends.unshift(end) }, leaseMs, url)
  await throughOutage(t, cluster, async () => {
    await primary.stop('immediate')
    await withClient(standby.url, sql => sql`SELECT pg_promote()`)
  })
})
