// Simulations from as many seeds as a budget of CPU time allows, divided among test files so that they run side by side.
// `npm run test:faults -- sim` runs 100,000.
// SIM_SEED=<n> runs one and prints the end of its trace, SIM_SEEDS=<n> takes a number of seeds in place of the budget,
// SIM_FROM=<n> changes the first seed.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { outcomeKinds } from '../../src/language/calls.ts'
import { simulate } from './simulation.ts'

const { SIM_SEED, SIM_SEEDS, SIM_FROM = '1' } = process.env
const shares = 4
/** For each file. CPU time, so that a busy machine runs as many as a quiet one. */
const budgetMs = 3_500
/** Fewer than these would not show everything in `expected`, so a slow machine runs them all the same. */
const fewest = 300

/** A simulation in which little happens proves little. */
const expected = [
  ...outcomeKinds,
  'call.late',
  'call.edited',
  'history.compacted',
  'grant.revoked',
  'control.returned',
  'message.queued',
  'message.delivered',
  'message.withdrawn',
  'approval.voted',
  'approval.refused',
]

/** `share`: 1 to 4. */
export function testSeeds(share: number): void {
  if (SIM_SEED === undefined) testShare(share)
  else if (share === 1) testOne(Number(SIM_SEED))
}

/** The same with several nodes that have leases. */
export function testNodes(): void {
  const count = SIM_SEEDS === undefined ? undefined : Number(SIM_SEEDS)
  if (SIM_SEED === undefined) testMany(Number(SIM_FROM), 1, count, true)
  else testOne(Number(SIM_SEED), true)
}

function testOne(seed: number, isCluster = false): void {
  test(`seed ${seed} breaks no promise`, async () => {
    const result = await simulate(seed, isCluster)
    console.log(result.tail)
    assert.equal(result.broken, undefined)
  })
}

/** Every fourth seed. */
function testShare(share: number): void {
  const count = SIM_SEEDS === undefined ? undefined : Math.ceil(Number(SIM_SEEDS) / shares)
  testMany(Number(SIM_FROM) + share - 1, shares, count, false)
}

/** `count`: without one, as many as the budget allows. */
function testMany(first: number, step: number, count: number | undefined, isCluster: boolean): void {
  const file = isCluster ? 'nodes' : 'sim-1'
  test(`no promise is broken in the simulations from seed ${first}`, async t => {
    const seen = new Map<string, number>()
    let ran = 0
    const started = process.cpuUsage()
    const goesOn = (): boolean =>
      count === undefined ? ran < fewest || usedMs(started) < budgetMs : ran < count
    for (; goesOn(); ran += 1) {
      const seed = first + ran * step
      const result = await simulate(seed, isCluster)
      for (const what of result.seen) seen.set(what, (seen.get(what) ?? 0) + 1)
      if (result.broken !== undefined)
        assert.fail(
          `${result.tail}\n\nseed ${seed}: ${result.broken}\nAgain: SIM_SEED=${seed} node scripts/test.mjs test/sim/${file}`,
        )
    }
    t.diagnostic(`${ran} simulations`)
    for (const what of expected)
      assert.ok((seen.get(what) ?? 0) > ran / 200, `${what} hardly ever happened: ${seen.get(what)}`)
  })
}

function usedMs(since: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(since)
  return (user + system) / 1000
}
