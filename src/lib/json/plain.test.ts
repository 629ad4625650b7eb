import assert from 'node:assert/strict'
import { test } from 'node:test'
import { copyPlain, roughSize } from './plain.ts'

test('a copy is equal and shares no object with what it was made of', () => {
  const value = { a: [1, { b: 'two' }, null], c: undefined, d: { e: [] as number[] } }
  const copy = copyPlain(value)
  assert.deepStrictEqual(copy, value)
  assert.ok('c' in copy)
  assert.notEqual(copy.a, value.a)
  assert.notEqual(copy.a[1], value.a[1])
  copy.d.e.push(1)
  assert.deepEqual(value.d.e, [])
})

test('a member named __proto__ is copied as a member', () => {
  const value = JSON.parse('{"__proto__":{"isAdmin":true},"n":1}')
  const copy = copyPlain(value)
  assert.equal(JSON.stringify(copy), JSON.stringify(value))
  assert.equal(copy.isAdmin, undefined)
})

test('the rough size of a value is near the length of its JSON', () => {
  const values = [
    'x'.repeat(1000),
    { type: 'text', text: 'y'.repeat(5000), at: 1_700_000_000_000, more: [true, null, 1.5] },
    Array.from({ length: 200 }, (_, n) => ({ name: `member ${n}`, n, deep: { list: [n, `${n}`] } })),
  ]
  for (const value of values) {
    const exact = JSON.stringify(value).length
    const rough = roughSize(value)
    assert.ok(rough > exact * 0.7 && rough < exact * 1.4, `${rough} for ${exact}`)
  }
})
