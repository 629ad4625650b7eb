// How a node takes over what others left: its own share first, in small batches with pauses of random length, the rest later; and
// again if the store fails meanwhile. Time and chance are the test's.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { AbandonedSession, SeenNode } from '../../src/engine/index.ts'
import { TakeOver } from '../../src/engines/cluster/take-over.ts'
import type { Timing } from '../../src/engines/cluster/timing.ts'
import { TurnwireError } from '../../src/language/errors.ts'

const seen = (id: string, leftMs: number): SeenNode => ({ id, version: '1', leftMs })

type Batch = { at: number; ids: readonly string[] }

function rig(count: number) {
  let now = 0
  let chances = 0
  const planned: { at: number; run: () => void }[] = []
  const timing: Timing = {
    now: () => now,
    after(ms, run) {
      const each = { at: now + ms, run }
      planned.push(each)
      return () => void planned.splice(planned.indexOf(each), planned.includes(each) ? 1 : 0)
    },
    random() {
      chances += 1
      return (chances % 10) / 10
    },
  }
  let left: AbandonedSession[] = Array.from({ length: count }, (_, index) => ({
    id: `s${String(index).padStart(5, '0')}`,
    epoch: 1,
  }))
  const batches: Batch[] = []
  const fails = { next: 0 }
  const takeOver = new TakeOver({
    store: {
      nodes: async () => [],
      adopt: async () => true,
      abandoned: async (after, limit) => {
        if (fails.next-- > 0) throw new TurnwireError('store_failed', 'The store fails.')
        return left.filter(({ id }) => id > after).slice(0, limit)
      },
    },
    self: () => 'a',
    recover: async ids => {
      batches.push({ at: now, ids })
      left = left.filter(({ id }) => !ids.includes(id))
      return ids.length
    },
    isAwaited: () => false,
    log() {},
    timing,
  })
  return {
    takeOver,
    batches,
    fails,
    chances: () => chances,
    left: () => left.length,
    /** Lets what is planned happen, one thing after the other, up to a time. */
    passUntil: async (end: number) => {
      for (;;) {
        await new Promise(resolve => setImmediate(resolve))
        planned.sort((one, other) => one.at - other.at)
        if (planned[0] === undefined || planned[0].at > end) return
        const [next] = planned.splice(0, 1)
        now = next!.at
        next!.run()
      }
    },
  }
}

test('a survivor takes its share in small batches, with pauses, and leaves the rest to the others for a while', async () => {
  const { takeOver, batches, passUntil, left, chances } = rig(1_200)
  takeOver.seen([seen('a', 5_000), seen('b', 5_000), seen('c', 5_000), seen('dead', -1)])
  await passUntil(350)
  const taken = batches.flatMap(({ ids }) => ids)
  assert.ok(taken.length > 300 && taken.length < 500, `${taken.length} of 1,200`)
  for (const { ids } of batches) assert.ok(ids.length <= 64, `a batch of ${ids.length}`)
  const times = batches.map(({ at }) => at)
  assert.ok(new Set(times).size > batches.length / 2, 'batches do not come at once')
  assert.ok(chances() >= batches.length, 'each pause is of a random length')
  assert.equal(left(), 1_200 - taken.length)
  // The others never came.
  await passUntil(2_000)
  assert.equal(left(), 0)
  takeOver.stop()
})

test('a take-over that the store refused is tried again', async () => {
  const { takeOver, fails, passUntil, left } = rig(10)
  fails.next = 3
  takeOver.seen([seen('a', 60_000), seen('dead', -1)])
  await passUntil(10)
  assert.equal(left(), 10)
  await passUntil(20_000)
  assert.equal(left(), 0)
  takeOver.stop()
})
