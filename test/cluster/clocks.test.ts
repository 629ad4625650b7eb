// The time of day of nodes jumps by an hour, in both directions and each for itself, while turns are at work: leases are counted
// by the database and by a clock that nobody sets. So no node loses its lease by it, and none keeps it for longer.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { wallClock } from '../faults/clock.ts'
import { startLoad } from './load.ts'
import { begin, processes, say, stateOf, until } from './processes.ts'

const leaseMs = 3_000
const hour = 3600

test('clocks of nodes that jump by an hour end no lease and make none longer', {
  timeout: 240_000,
}, async t => {
  const clocks = [wallClock(t), wallClock(t)]
  const [first, second] = clocks
  if (typeof first !== 'object') return t.skip(first)
  if (typeof second !== 'object') return t.skip(second)
  const cluster = await processes(t, leaseMs)
  const a = await cluster.start({ wrap: first.wrap })
  const b = await cluster.start({ wrap: second.wrap })
  const c = await cluster.start()
  const nodes = [a, b, c]
  const living = async (): Promise<string[]> => {
    const rows = await cluster.query<{ id: string }>(
      'SELECT id FROM $schema.nodes WHERE lease_until > clock_timestamp() ORDER BY id',
    )
    return rows.map(({ id }) => id)
  }
  const before = await living()
  assert.equal(before.length, 3)
  let next = 0
  const any = (): string => nodes[next++ % nodes.length]!.url
  const sessions = await Promise.all(Array.from({ length: 6 }, () => begin(any())))
  const load = startLoad(sessions, any, 2)
  const jumps = [hour, -hour, 2 * hour, -2 * hour, 0]
  for (let jump = 0; jump < 2 * jumps.length; jump++) {
    first.set(jumps[jump % jumps.length]!)
    second.set(-jumps[(jump + 2) % jumps.length]!)
    await pause(leaseMs / 4)
  }
  await load.stop()
  await load.check()
  assert.deepEqual(await living(), before, 'every node has the lease that it had')
  for (const { log } of nodes) assert.doesNotMatch(log(), /lost its lease/)

  // A clock that was set back makes no lease longer: a node that stops is replaced as any other.
  first.set(-hour)
  const id = await begin(a.url)
  void say(a.url, id, 'Please pay').catch(() => {})
  await until(() => cluster.effects().length === 1)
  a.child.kill('SIGSTOP')
  await until(async () => (await stateOf(b.url, id)).status === 'idle')
  // While it slept an hour went by, as it is told.
  first.set(hour)
  cluster.release()
  a.child.kill('SIGCONT')
  await until(() => a.log().includes('It was discarded.'))
  await until(async () => (await fetch(`${a.url}/health`)).status === 200)
  assert.equal((await say(a.url, id, 'Hello')).stopReason, 'end_turn')
  assert.equal(cluster.effects().length, 1)
})
