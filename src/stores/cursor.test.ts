// Cursors: what goes in comes out, and nothing else does.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { checkLimit, decodeCursor, encodeCursor } from './cursor.ts'

const secret = Buffer.from('a secret of thirty-two bytes, ok')

test('a cursor gives back its position', () => {
  for (const position of [1, 2, 35, 36, 123_456, Number.MAX_SAFE_INTEGER])
    assert.equal(decodeCursor(secret, 'ada', encodeCursor(secret, 'ada', position)), position)
})

test('no single character can be changed', () => {
  const cursor = encodeCursor(secret, 'ada', 123_456)
  for (let at = 0; at < cursor.length; at++) {
    const changed = cursor.slice(0, at) + (cursor[at] === '7' ? '8' : '7') + cursor.slice(at + 1)
    assert.throws(() => decodeCursor(secret, 'ada', changed), { code: 'bad_request' }, changed)
  }
})

test('a cursor is good for one owner and one secret', () => {
  const cursor = encodeCursor(secret, 'ada', 1)
  assert.throws(() => decodeCursor(secret, 'bob', cursor), { code: 'bad_request' })
  assert.throws(() => decodeCursor(Buffer.from('other'), 'ada', cursor), { code: 'bad_request' })
})

test('a limit is a whole number above zero', () => {
  checkLimit(1)
  assert.throws(() => checkLimit(0), { code: 'bad_request' })
})
