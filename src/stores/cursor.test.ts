// Cursors decode to the position that was encoded, and nothing else decodes.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { checkLimit, decodeCursor, encodeCursor } from './cursor.ts'

const secret = 'a secret of thirty-two bytes, ok'

test('a cursor decodes to its position and id', () => {
  for (const position of [1, 2, 35, 36, 123_456, Number.MAX_SAFE_INTEGER])
    for (const id of ['', 'sess_1', 'é 🜁'])
      assert.deepEqual(decodeCursor(secret, 'ada', encodeCursor(secret, 'ada', position, id)), {
        position,
        id,
      })
})

test('a cursor with one changed character is refused', () => {
  const cursor = encodeCursor(secret, 'ada', 123_456)
  for (let at = 0; at < cursor.length; at++) {
    const changed = cursor.slice(0, at) + (cursor[at] === '7' ? '8' : '7') + cursor.slice(at + 1)
    assert.throws(() => decodeCursor(secret, 'ada', changed), { code: 'bad_request' }, changed)
  }
})

test('a cursor is valid for one owner and one secret only', () => {
  const cursor = encodeCursor(secret, 'ada', 1, 'sess_1')
  assert.throws(() => decodeCursor(secret, 'bob', cursor), { code: 'bad_request' })
  assert.throws(() => decodeCursor('other', 'ada', cursor), { code: 'bad_request' })
})

test('a limit is a whole number above zero', () => {
  checkLimit(1)
  assert.throws(() => checkLimit(0), { code: 'bad_request' })
})
