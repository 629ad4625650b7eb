// Simulations from many seeds, divided among test files so that they run side by side and none takes long. SIM_SEED=<n> runs
// one and prints the end of its trace, SIM_SEEDS=<n> changes their number, SIM_FROM=<n> the first seed.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { outcomeKinds } from '../../src/language/calls.ts'
import { simulate } from './simulation.ts'

const { SIM_SEED, SIM_SEEDS = '10000', SIM_FROM = '1' } = process.env
const shares = 4

/** A simulation in which little happens proves little. */
const expected = [
  ...outcomeKinds,
  'call.late',
  'call.edited',
  'history.compacted',
  'grant.revoked',
  'control.returned',
]

/** `share`: 1 to 4. */
export function testSeeds(share: number): void {
  if (SIM_SEED === undefined) testShare(share)
  else if (share === 1) testOne(Number(SIM_SEED))
}

/** The same with several nodes that have leases. A plain run takes a fifth of the seeds. */
export function testNodes(): void {
  if (SIM_SEED !== undefined) {
    testOne(Number(SIM_SEED), true)
    return
  }
  const count = process.env['SIM_SEEDS'] === undefined ? Number(SIM_SEEDS) / 5 : Number(SIM_SEEDS)
  testRange(Number(SIM_FROM), Number(SIM_FROM) + count - 1, true)
}

function testOne(seed: number, isCluster = false): void {
  test(`seed ${seed} breaks no promise`, async () => {
    const result = await simulate(seed, isCluster)
    console.log(result.tail)
    assert.equal(result.broken, undefined)
  })
}

function testShare(share: number): void {
  const count = Math.ceil(Number(SIM_SEEDS) / shares)
  const first = Number(SIM_FROM) + (share - 1) * count
  testRange(first, Math.min(first + count, Number(SIM_FROM) + Number(SIM_SEEDS)) - 1, false)
}

function testRange(first: number, last: number, isCluster: boolean): void {
  const count = last - first + 1
  const file = isCluster ? 'nodes' : 'sim-1'
  test(`no promise is broken in the simulations ${first} to ${last}`, async () => {
    const seen = new Map<string, number>()
    for (let seed = first; seed <= last; seed += 1) {
      const result = await simulate(seed, isCluster)
      for (const what of result.seen) seen.set(what, (seen.get(what) ?? 0) + 1)
      if (result.broken !== undefined)
        assert.fail(
          `${result.tail}\n\nseed ${seed}: ${result.broken}\nAgain: SIM_SEED=${seed} node scripts/test.mjs test/sim/${file}`,
        )
    }
    for (const what of expected)
      assert.ok((seen.get(what) ?? 0) > count / 200, `${what} hardly ever happened: ${seen.get(what)}`)
  })
}
