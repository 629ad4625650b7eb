// The first share of the simulations; and a seed always gives the same one.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { testSeeds } from './seeds.ts'
import { simulate } from './simulation.ts'

test('the same seed gives the same trace', async () => {
  for (const seed of [1, 2, 3, 42, 777]) {
    const [first, second] = [await simulate(seed), await simulate(seed)]
    assert.equal(first.digest, second.digest, `seed ${seed} is not repeatable`)
    assert.ok(first.seen.length > 0)
  }
  assert.notEqual((await simulate(1)).digest, (await simulate(2)).digest)
})

testSeeds(1)
