// Where a group is committed: what the disk has been like decides, and the size of the group.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { DiskPace } from './commits.ts'

function paceAfter(...commits: [count: number, ms: number][]): DiskPace {
  const pace = new DiskPace()
  for (const [count, ms] of commits) for (let n = 0; n < count; n += 1) pace.note(ms)
  return pace
}

test('a disk is quick until a commit is slow, and again after some that are quick', () => {
  assert.equal(paceAfter().isQuick, true)
  assert.equal(paceAfter([100, 0.2]).isQuick, true)
  assert.equal(paceAfter([100, 0.2], [1, 500]).isQuick, false)
  assert.equal(paceAfter([1, 500], [15, 0.2]).isQuick, false)
  assert.equal(paceAfter([1, 500], [16, 0.2]).isQuick, true)
  assert.equal(
    paceAfter([1, 500], [10, 0.2], [1, 500], [15, 0.2]).isQuick,
    false,
    'each slow one starts anew',
  )
})

test('a disk that is slow now and then must be quick for longer and longer', () => {
  const spells: [number, number][] = Array.from({ length: 12 }, (_, n) => [
    n % 2 ? 1024 : 1,
    n % 2 ? 0.2 : 500,
  ])
  assert.equal(paceAfter(...spells).isQuick, true)
  let met = 0
  const pace = new DiskPace()
  for (let commit = 0; commit < 10_000; commit += 1) {
    const isSlow = commit % 50 === 0
    if (isSlow && pace.isQuick) met += 1
    pace.note(isSlow ? 500 : 0.2)
  }
  assert.ok(met <= 3, `${met} of 200 slow commits were met on the main thread`)
})

test('a long time without a slow commit is forgiven', () => {
  const often: [number, number][] = Array.from({ length: 20 }, (_, n) => [
    n % 2 ? 1024 : 1,
    n % 2 ? 0.2 : 500,
  ])
  assert.equal(paceAfter(...often, [2_500, 0.2], [1, 500], [8, 0.2]).isQuick, true)
})
