import assert from 'node:assert/strict'
import { test } from 'node:test'
import { RowHeights } from './row-heights.ts'

test('sums, places and changes agree with adding up, for lists of any length', () => {
  for (const length of [0, 1, 2, 7, 64, 1000]) {
    const heights = Array.from({ length }, (_, index) => 10 + ((index * 37) % 50))
    const rows = new RowHeights(length, index => heights[index]!)
    const check = (): void => {
      let sum = 0
      for (const [index, height] of heights.entries()) {
        assert.equal(rows.start(index), sum)
        assert.equal(rows.indexAt(sum), index)
        assert.equal(rows.indexAt(sum + height - 1), index)
        sum += height
      }
      assert.equal(rows.start(length), sum)
      assert.equal(rows.indexAt(sum + 1000), Math.max(0, length - 1))
      assert.equal(rows.indexAt(-5), 0)
    }
    check()
    for (let index = 0; index < length; index += 3) {
      heights[index] = 99
      rows.set(index, 99)
    }
    check()
  }
})
