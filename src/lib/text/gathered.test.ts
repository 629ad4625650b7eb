import assert from 'node:assert/strict'
import { test } from 'node:test'
import { GatheredText } from './gathered.ts'

test('a gathered text is all of its pieces in order, also when it is read in between', () => {
  const text = new GatheredText('0')
  let expected = '0'
  assert.equal(text.whole, expected)
  for (let count = 1; count <= 2_345; count += 1) {
    text.add(` ${count}`)
    expected += ` ${count}`
    if (count % 777 === 0) assert.equal(text.whole, expected)
  }
  assert.equal(text.whole, expected)
  assert.equal(text.whole, expected)
})
