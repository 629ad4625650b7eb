import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { elementsAt, findValue, valueText } from './places.ts'

const cut = (text: string, ...path: (string | number)[]): string | undefined => {
  const at = findValue(text, 0, path)
  return at < 0 ? undefined : valueText(text, at)
}

test('a value is cut out as it was written', () => {
  const text = ' { "a" : [ 1 , {"b":{ "n": 12345678901234567890.10 ,"s":"}]\\"\\\\"} } ] , "c":null}'
  assert.equal(cut(text, 'a', 1, 'b'), '{ "n": 12345678901234567890.10 ,"s":"}]\\"\\\\"}')
  assert.equal(cut(text, 'a', 1, 'b', 'n'), '12345678901234567890.10')
  assert.equal(cut(text, 'a', 1, 'b', 's'), '"}]\\"\\\\"')
  assert.equal(cut(text, 'c'), 'null')
  assert.deepEqual(
    [...elementsAt(text, findValue(text, 0, ['a']))].map(at => valueText(text, at)[0]),
    ['1', '{'],
  )
})

test('a path that does not exist gives -1', () => {
  for (const path of [['x'], ['a', 2], ['a', 'b'], [0], ['c', 'd'], ['a', 0, 'b']])
    assert.equal(cut('{"a":[1,{}],"c":"d"}', ...path), undefined)
  assert.equal(cut('', 'a'), undefined)
  assert.deepEqual([...elementsAt('[]', 0)], [])
})

test('escapes in keys are decoded before keys are compared', () => {
  assert.equal(cut('{"\\u0061\\"":1}', 'a"'), '1')
})

test('every value of any JSON text is found', () => {
  const walk = (text: string, value: unknown, path: (string | number)[]): void => {
    assert.deepEqual(JSON.parse(cut(text, ...path) ?? 'nothing'), value)
    if (Array.isArray(value)) for (const [index, item] of value.entries()) walk(text, item, [...path, index])
    else if (typeof value === 'object' && value !== null)
      for (const [key, item] of Object.entries(value)) walk(text, item, [...path, key])
  }
  fc.assert(
    fc.property(fc.json(), fc.constantFrom(undefined, 1, '\t'), (json, space) => {
      const value: unknown = JSON.parse(json)
      walk(JSON.stringify(value, null, space), value, [])
    }),
  )
})
