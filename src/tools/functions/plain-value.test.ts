import assert from 'node:assert/strict'
import { test } from 'node:test'
import { jsonText } from './plain-value.ts'

const written = (value: unknown): unknown => JSON.parse(jsonText(value, 'look'))

test('values that JSON.stringify would lose or refuse are written as what they mean', () => {
  assert.deepEqual(written({ count: 12n, id: 12345678901234567890n }), {
    count: 12,
    id: '12345678901234567890',
  })
  assert.deepEqual(written(new Map([['a', new Set([1, 2])]])), { a: [1, 2] })
  assert.deepEqual(written(new Map([[1, 'a']])), [[1, 'a']])
  assert.deepEqual(written({ got: new Headers({ 'x-a': '1' }), asked: new URLSearchParams('a=1&a=2') }), {
    got: { 'x-a': '1' },
    asked: [
      ['a', '1'],
      ['a', '2'],
    ],
  })
  assert.deepEqual(written([new RangeError('too far'), /a+/g, new Date(0)]), [
    { name: 'RangeError', message: 'too far' },
    '/a+/g',
    '1970-01-01T00:00:00.000Z',
  ])
})

test('values that JSON cannot hold are refused with what to return instead', () => {
  const loop: Record<string, unknown> = { a: 1 }
  loop['self'] = loop
  const cases: [unknown, RegExp][] = [
    [loop, /The tool "look" returned a value that refers to itself\. Return only/],
    [{ inner: new Map([['x', loop]]) }, /refers to itself/],
    [Buffer.from('a'), /returned bytes\. Return text \(buffer\.toString\(\)\)/],
    [{ photo: new Uint8Array(2) }, /returned bytes in "photo"/],
    [new Response('a'), /returned a Response\. Return what it holds: await response\.text\(\)/],
    [{ page: Promise.resolve(1) }, /a promise in "page"\. Await it/],
    [() => 1, /returned a function\. Return text, JSON, parts or nothing/],
  ]
  for (const [value, words] of cases) assert.throws(() => written(value), words)
})

test('plain data is written as JSON.stringify writes it', () => {
  const value = { a: [1, 'b', null, { c: undefined, d: () => 1 }], e: { toJSON: () => 'own' } }
  assert.equal(jsonText(value, 'look'), JSON.stringify(value))
})
