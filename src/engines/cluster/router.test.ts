// How long a call looks for the node that has its session, with a clock that goes to the next timer by itself.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { EngineHere } from '../../engine/ports/local.ts'
import type { NodeStore } from '../../engine/ports/node.ts'
import { TurnwireError } from '../../language/errors.ts'
import type { NodeLease } from './node-lease.ts'
import { Unreachable } from './peers.ts'
import { Router } from './router.ts'
import { pause, type Timing } from './timing.ts'

const ref = { session: 'ses_1', owner: 'anna' }
const local = { heldEpoch: () => undefined } as unknown as EngineHere // All that a search asks of it.
const patienceMs = 5_000

function fakeTiming(): Timing {
  let now = 0
  const timers: { at: number; run: () => void }[] = []
  const fireNext = (): void => {
    const [next] = timers.sort((a, b) => a.at - b.at).splice(0, 1)
    if (!next) return
    now = next.at
    next.run()
  }
  return {
    now: () => now,
    after(ms, run) {
      timers.push({ at: now + ms, run })
      setImmediate(fireNext)
      return () => {}
    },
    random: () => 1,
  }
}

/** A search for a session of another node, which does not answer and whose lease ends. */
function searchFor({ leaseMs, connectMs, lookMs }: { leaseMs: number; connectMs: number; lookMs: number }) {
  const timing = fakeTiming()
  const store = {
    holder: async () => {
      const leftMs = leaseMs - timing.now()
      await pause(timing, lookMs)
      return { epoch: 1, node: { id: 'node_b', address: '127.0.0.1:1', version: '1', leftMs } }
    },
  } as unknown as NodeStore // A read of a session asks for nothing else.
  const router = new Router({
    local,
    store,
    lease: { id: 'node_a', held: true } as NodeLease,
    peers: {
      to: async () => {
        await pause(timing, connectMs)
        throw new Unreachable('it does not answer')
      },
    },
    patienceMs,
    timing,
  })
  return { search: router.search('summary', ref), timing }
}

const moved = new TurnwireError('moved', 'The session is elsewhere now.')

test('a node that takes a connection and never answers is waited for until its lease is over, no longer', async () => {
  const { search, timing } = searchFor({ leaseMs: 3_000, connectMs: 60_000, lookMs: 1 })
  await search.again(moved)
  assert.equal((await search.find()).engine, local)
  assert.ok(timing.now() < 3_200, `found after ${timing.now()} ms`)
})

test('a look that took all the patience is followed by one more: the lease may have ended meanwhile', async () => {
  const { search } = searchFor({ leaseMs: 3_000, connectMs: 1, lookMs: patienceMs + 1 })
  await search.again(moved)
  assert.equal((await search.find()).engine, local)
})

test('a node that cannot be reached while its lease lasts is given up as `moved`', async () => {
  const { search } = searchFor({ leaseMs: 3_600_000, connectMs: 400, lookMs: 1 })
  await assert.rejects(search.find(), { code: 'moved' })
})
