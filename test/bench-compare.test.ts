import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Compared, describeChange, note } from '../bench/compare.ts'

const compared = (here: number[], there: number[]): Compared => ({ name: 'a cycle', here, there })

test('a trial is slower only if its spread does not overlap with that of the other commit', () => {
  assert.ok(describeChange(compared([12, 13, 14], [9, 10, 11])).isRegression)
  assert.match(describeChange(compared([12, 13, 14], [9, 10, 11])).text, /13 \(12–14\).*1\.30x SLOWER/)
  assert.equal(describeChange(compared([10, 13, 14], [9, 10, 11])).isRegression, false)
  // Less than a twentieth is not told apart from noise.
  assert.equal(describeChange(compared([10.4, 10.4, 10.4], [10, 10, 10])).isRegression, false)
})

test('a trial that became quicker, or is in one commit alone, is no regression', () => {
  assert.match(describeChange(compared([5, 6, 5], [9, 10, 11])).text, /0\.50x quicker/)
  const added = describeChange(compared([5, 6, 5], []))
  assert.match(added.text, /only here/)
  assert.equal(added.isRegression, false)
})

test('what a bar compares counts as its ratio, everything else as its median', () => {
  const found = new Map<string, Compared>()
  const bar = { id: 'P1', ours: 'turnwire', floor: 'bare loop', most: 5, ratio: 4, met: true }
  for (const side of ['here', 'there'] as const)
    note(found, side, [{ trial: 'cycle', medians: { 'bare loop': 10, turnwire: 40, pi: 100 }, bars: [bar] }])
  assert.deepEqual(
    [...found.values()],
    [
      { name: 'cycle, P1: turnwire / bare loop', here: [4], there: [4] },
      { name: 'cycle: pi', here: [100], there: [100] },
    ],
  )
})
