// The page of performance is made from what was measured, in as many rounds as there is time for.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { runTrial, type Trial } from '../bench/harness.ts'
import { measuredTable, withTable } from '../bench/page.ts'

const bar = { id: 'P1', ours: 'turnwire', floor: 'bare loop', most: 5 }
const result = (ratio: number) => ({
  trial: 'one cycle (CPU)',
  medians: { turnwire: 10 * ratio, 'bare loop': 10 },
  bars: [{ ...bar, ratio, met: ratio <= 5 }],
})
const about = { at: '2026-01-01T00:00', commit: 'abc' }

test('each bar is a row with both numbers, and says by how much it was missed', () => {
  const rows = (ratio: number): string =>
    measuredTable({ cycle: { ...about, order: 0, results: [result(ratio)] } })
  assert.match(
    rows(4),
    /^\| P1 \| one cycle \(CPU\) \| bare loop 10\.0 us \| turnwire 40\.0 us \| 4\.00 \| 5 \| met \|$/m,
  )
  assert.match(rows(6), /\| 6\.00 \| 5 \| missed, within a quarter \|$/m)
  assert.match(rows(7), /\| 7\.00 \| 5 \| \*\*missed\*\* \|$/m)
})

test('trials stand in their order, and one that failed says why', () => {
  const table = measuredTable({
    later: { ...about, order: 1, failed: 'there is no PostgreSQL | here' },
    first: { ...about, order: 0, results: [result(1)] },
  })
  const [, , one, other] = table.split('\n')
  assert.match(one ?? '', /P1/)
  assert.equal(other, '| | later | | | | | not measured: there is no PostgreSQL \\| here |')
})

test('only the table between the marks is replaced', () => {
  const text = 'before\n<!-- measured: from -->\nold\n<!-- measured: to -->\nafter\n'
  const written = withTable(text, 'new\n')
  assert.equal(written, 'before\n<!-- measured: from -->\n\nnew\n\n<!-- measured: to -->\nafter\n')
  assert.equal(withTable(written, 'new\n'), written)
  assert.throws(() => withTable('no marks', 'new'), /needs the marks/)
})

test('a trial without time has one round of warm-up and three that are measured', async () => {
  let runs = 0
  const trial: Trial = {
    name: 'counted',
    measure: 'told',
    units: 1,
    rounds: 9,
    warmUps: 5,
    variants: [{ name: 'ours', run: () => ++runs }],
    bars: [],
  }
  const { medians } = await runTrial(trial, 0)
  assert.deepEqual([runs, medians['ours']], [4, 3])
  await runTrial(trial)
  assert.equal(runs, 4 + 14)
})
