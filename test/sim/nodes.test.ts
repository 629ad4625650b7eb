// Simulations of several nodes on one store, with leases: nodes die, are paused past their leases, lose the store, and take
// up each other's sessions.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { testNodes } from './seeds.ts'
import { simulate } from './simulation.ts'

test('the same seed gives the same trace, and nodes take over from others', async () => {
  let takeOvers = 0
  for (const seed of [1, 2, 3, 42, 777]) {
    const [first, second] = [await simulate(seed, true), await simulate(seed, true)]
    assert.equal(first.digest, second.digest, `seed ${seed} is not repeatable`)
    takeOvers += first.takeOvers
  }
  assert.ok(takeOvers > 0, 'no session ever changed its node')
})

testNodes()
