import assert from 'node:assert/strict'
import { test } from 'node:test'
import { randomIds } from './random.ts'

const randomId = randomIds()

test('ids have the prefix and 22 base62 characters, and do not repeat within or across sources', () => {
  const ids = new Set<string>()
  const other = randomIds()
  for (let i = 0; i < 2000; i++) {
    const id = randomId('call')
    assert.match(id, /^call_[0-9A-Za-z]{22}$/)
    ids.add(id).add(other('call'))
  }
  assert.equal(ids.size, 4000)
})

test('every letter of the alphabet occurs', () => {
  const seen = new Set(Array.from({ length: 500 }, () => randomId('x').slice(2)).join(''))
  assert.equal(seen.size, 62)
})
