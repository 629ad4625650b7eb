// Ten thousand simulations, each from its seed. SIM_SEED=<n> runs one and prints the end of its trace, SIM_SEEDS=<n>
// changes their number, SIM_FROM=<n> the first seed.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { outcomeKinds } from '../../src/language/calls.ts'
import { simulate } from './simulation.ts'

const { SIM_SEED, SIM_SEEDS = '10000', SIM_FROM = '1' } = process.env

if (SIM_SEED !== undefined)
  test(`seed ${SIM_SEED} breaks no promise`, async () => {
    const result = await simulate(Number(SIM_SEED))
    console.log(result.tail)
    assert.equal(result.broken, undefined)
  })
else {
  test('the same seed gives the same trace', async () => {
    for (const seed of [1, 2, 3, 42, 777]) {
      const [first, second] = [await simulate(seed), await simulate(seed)]
      assert.equal(first.digest, second.digest, `seed ${seed} is not repeatable`)
      assert.ok(first.seen.length > 0)
    }
    assert.notEqual((await simulate(1)).digest, (await simulate(2)).digest)
  })

  test(`no promise is broken in ${SIM_SEEDS} simulations`, async () => {
    const seen = new Map<string, number>()
    const last = Number(SIM_FROM) + Number(SIM_SEEDS) - 1
    for (let seed = Number(SIM_FROM); seed <= last; seed += 1) {
      const result = await simulate(seed)
      for (const what of result.seen) seen.set(what, (seen.get(what) ?? 0) + 1)
      if (result.broken !== undefined)
        assert.fail(
          `${result.tail}\n\nseed ${seed}: ${result.broken}\nAgain: SIM_SEED=${seed} node --test test/sim/sim.test.ts`,
        )
    }
    // A simulation in which little happens proves little.
    for (const what of [
      ...outcomeKinds,
      'call.late',
      'call.edited',
      'history.compacted',
      'grant.revoked',
      'control.returned',
    ])
      assert.ok(
        (seen.get(what) ?? 0) > Number(SIM_SEEDS) / 200,
        `${what} hardly ever happened: ${seen.get(what)}`,
      )
  })
}
