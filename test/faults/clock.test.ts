// The time of day jumps, forwards and back, while a turn works, while it waits for people, and between two processes: no
// call is lost, run twice or ended by the clock, and what was recorded is read in its order.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { test } from 'node:test'
import { type Acked, converse, create, kill, start } from '../crash/client.ts'
import { checkPromises, logOf } from '../crash/promises.ts'
import { inFolder, survive } from '../crash/survive.ts'
import { wallClock } from './clock.ts'

const hour = 3600

test('the time of day jumps by hours while a turn works, and between two processes', async t => {
  const clock = wallClock(t)
  if (typeof clock === 'string') return t.skip(clock)
  await inFolder(async folder => {
    const acked: Acked = new Set()
    const server = await start(folder, undefined, clock.wrap)
    assert.ok(server)
    t.after(() => kill(server).catch(() => {}))
    const id = await create(server.url)
    // It jumps again and again while the turn works and waits: the client takes dozens of requests for it.
    const jumps = [hour, -2 * hour, 30 * hour, -hour]
    let next = 0
    const jumping = setInterval(() => clock.set(jumps[next++ % jumps.length]!), 15)
    await converse(server.url, id, 'go', 'All done.', acked).finally(() => clearInterval(jumping))
    assert.ok(next > 1, 'the clock jumped while the turn was open')
    await kill(server)
    const calls = await checkPromises(folder, id)
    const kinds = new Set([...calls.values()].map(({ outcome }) => outcome?.kind))
    assert.deepEqual([...kinds], ['ok'], 'no call was ended by the clock')
    const times = (await logOf(folder, id)).map(({ event }) => event.at)
    assert.ok(
      times.some((at, index) => index > 0 && at < times[index - 1]!),
      'the log saw the clock go back',
    )
    // The next process has the time of this one, which is later than a part of the log and earlier than another.
    await survive(folder, acked)
  })
})

const namespace = ['unshare', '-rT', '--monotonic', '86400', '--boottime', '86400', '--fork']
const tried = spawnSync(namespace[0]!, [...namespace.slice(1), 'true'], { encoding: 'utf8' })

test('the monotonic clock of the next process is a day behind', {
  skip: tried.status === 0 ? false : `no time namespace can be made: ${tried.stderr || tried.error?.message}`,
}, async t => {
  await inFolder(async folder => {
    const acked: Acked = new Set()
    const server = await start(folder, undefined, namespace)
    assert.ok(server)
    t.after(() => kill(server).catch(() => {}))
    await converse(server.url, await create(server.url), 'go', 'All done.', acked)
    await kill(server)
    await survive(folder, acked)
  })
})
