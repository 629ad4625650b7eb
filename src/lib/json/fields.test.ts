import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { excerpt, type FieldWordings, fieldReader, isAbsent, names, optional } from './fields.ts'
import type { Json, JsonObject } from './index.ts'

/** Says which wording was used, and with what. */
const wordings: FieldWordings = {
  missing: (path, expected) => new Error(`${path} missing: ${expected}`),
  wrongType: (path, expected, given) => new Error(`${path} not ${expected}: ${JSON.stringify(given)}`),
  notOneOf: (path, given, supported) =>
    new Error(`${path} ${JSON.stringify(given)} not in ${supported.join(' ')}`),
  outOfRange: (path, bound) =>
    new Error(
      bound.bound === 'pattern'
        ? `${path} unlike ${bound.pattern.source}`
        : `${path} ${bound.of} ${bound.given}, ${bound.bound} ${bound.limit}`,
    ),
  unknown: (path, name) => new Error(`${path} has ${name}`),
}

const { object, list, objects, text, flag, number, count, oneOf, onlyKnown } = fieldReader(wordings)

const refused = (read: () => unknown, message: string): void => assert.throws(read, { message })

describe('fields of a request', () => {
  it('a value of the right type is given as it is', () => {
    const value: JsonObject = { a: 1 }
    const items: Json[] = [1]
    assert.equal(object(value, 'x'), value)
    assert.equal(list(items, 'x'), items)
    assert.equal(text('', 'x'), '')
    assert.equal(flag(false, 'x'), false)
    assert.equal(number(0.5, 'x'), 0.5)
    assert.equal(count(1, 'x'), 1)
    assert.equal(oneOf('b', 'x', ['a', 'b']), 'b')
  })

  it('each object of a list is read with its path', () => {
    const read = (item: JsonObject, path: string, index: number): Json => [item['a'] ?? null, path, index]
    assert.deepEqual(objects([{ a: 1 }, { a: 2 }], 'x', read), [
      [1, 'x[0]', 0],
      [2, 'x[1]', 1],
    ])
    refused(() => objects([{}, 1], 'x', read), 'x[1] not object: 1')
    refused(() => objects([], 'x', read, { min: 1 }), 'x list 0, least 1')
    const dotted = fieldReader({ ...wordings, element: (path, index) => `${path}.${index}` })
    assert.deepEqual(dotted.objects([{ a: 1 }], 'x', read), [[1, 'x.0', 0]])
  })

  it('a missing field and one of the wrong type are told apart, with the type that was expected', () => {
    const readers = { object, list, text, flag, number, integer: count }
    for (const [type, read] of Object.entries(readers)) {
      refused(() => read(undefined, 'x'), `x missing: ${type}`)
      refused(() => read(null, 'x'), `x not ${type}: null`)
    }
    refused(() => object([], 'x'), 'x not object: []')
    refused(() => list({}, 'x'), 'x not list: {}')
    refused(() => oneOf(undefined, 'x', ['a']), 'x missing: text')
  })

  it('a count is a whole number, and at least 1 unless other bounds are given', () => {
    refused(() => count(1.5, 'x'), 'x not integer: 1.5')
    refused(() => count(2 ** 53, 'x'), 'x not integer: 9007199254740992')
    refused(() => count(0, 'x'), 'x number 0, least 1')
    assert.equal(count(0, 'x', { min: 0, max: 9 }), 0)
    refused(() => count(10, 'x', { min: 0, max: 9 }), 'x number 10, most 9')
    refused(() => number(-0.5, 'x', { min: 0 }), 'x number -0.5, least 0')
  })

  it('the length of a text and of a list has bounds, and a text a pattern', () => {
    refused(() => text('', 'x', { min: 1 }), 'x text 0, least 1')
    refused(() => text('abc', 'x', { max: 2 }), 'x text 3, most 2')
    refused(() => text('a b', 'x', { max: 3, pattern: /^\w+$/ }), 'x unlike ^\\w+$')
    assert.equal(text('ab', 'x', { min: 1, max: 2, pattern: /^\w+$/ }), 'ab')
    refused(() => list([], 'x', { min: 1 }), 'x list 0, least 1')
    refused(() => list([1, 2], 'x', { max: 1 }), 'x list 2, most 1')
  })

  it('a word that is not among those supported is refused with them', () => {
    refused(() => oneOf('c', 'x', ['a', 'b']), 'x "c" not in a b')
    refused(() => oneOf(7, 'x', ['a', 'b']), 'x 7 not in a b')
  })

  it('members that are not known are refused by name', () => {
    const known = names('a b')
    onlyKnown({ a: 1, b: 2 }, known, 'x')
    refused(() => onlyKnown({ a: 1, c: 2 }, known, 'x'), 'x has c')
    refused(() => onlyKnown({ c: 2 }, known, ''), ' has c')
  })

  it('an optional field may be absent or null', () => {
    assert.equal(optional(undefined, 'x', text), undefined)
    assert.equal(optional(null, 'x', text), undefined)
    assert.equal(optional('a', 'x', text), 'a')
    refused(() => optional(1, 'x', text), 'x not text: 1')
    assert.deepEqual([undefined, null, 0, ''].map(isAbsent), [true, true, false, false])
  })

  it('a text that a refusal repeats is bounded and well-formed', () => {
    assert.equal(excerpt('short'), 'short')
    assert.equal(excerpt('x'.repeat(129)), `${'x'.repeat(128)}…`)
    assert.equal(excerpt('ab😀', 3), 'ab\uFFFD…')
  })
})
