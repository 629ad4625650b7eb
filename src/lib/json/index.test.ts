import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import {
  canonicalJson,
  isJsonObject,
  type Json,
  JsonError,
  type JsonErrorReason,
  parseJson,
} from './index.ts'

function refused(text: string, reason: JsonErrorReason, offset?: number): void {
  assert.throws(
    () => parseJson(text),
    (error: unknown) => {
      assert.ok(error instanceof JsonError)
      assert.equal(error.reason, reason)
      if (offset !== undefined) assert.equal(error.offset, offset)
      return true
    },
  )
}

test('valid JSON gives the same value as JSON.parse', () => {
  fc.assert(
    fc.property(fc.json({ maxDepth: 5 }), text => {
      assert.deepEqual(parseJson(text), JSON.parse(text))
    }),
  )
})

test('text that JSON.parse refuses is a syntax error with an offset within the text', () => {
  const alphabet = [
    '{',
    '}',
    '[',
    ']',
    ',',
    ':',
    '"a"',
    '"b\\"',
    '1',
    '-',
    '0',
    'e',
    '.',
    'true',
    'nul',
    ' ',
    '\\',
  ]
  fc.assert(
    fc.property(fc.array(fc.constantFrom(...alphabet), { maxLength: 12 }), parts => {
      const text = parts.join('')
      let native: unknown
      try {
        native = JSON.parse(text)
      } catch {
        assert.throws(
          () => parseJson(text),
          (error: unknown) => error instanceof JsonError && error.offset >= 0 && error.offset <= text.length,
        )
        return
      }
      try {
        assert.deepEqual(parseJson(text), native)
      } catch (error) {
        assert.ok(error instanceof JsonError && error.reason === 'duplicate-key', text)
      }
    }),
    { numRuns: 2000 },
  )
})

test('a syntax error names its offset and what was expected', () => {
  refused('', 'syntax', 0)
  refused('{"a":1,}', 'syntax', 7)
  refused('[1,2', 'syntax', 4)
  refused('{"a" 1}', 'syntax', 5)
  refused('{a:1}', 'syntax', 1)
  refused('[1] x', 'syntax', 4)
  refused('[01]', 'syntax', 2)
  refused('"a\nb"', 'syntax', 2)
  refused('"\\x"', 'syntax', 1)
  refused('["abc', 'syntax', 1)
  refused('NaN', 'syntax', 0)
  refused('[1}', 'syntax', 2)
  refused('\ufeff{}', 'syntax', 0)
  assert.throws(() => parseJson('{"a":tru}'), /offset 5: expected a value, found "t"/)
})

test('a repeated key in one object is refused, also when it is escaped differently', () => {
  refused('{"a":1,"a":2}', 'duplicate-key', 7)
  refused('{"a":1,"\\u0061":2}', 'duplicate-key', 7)
  refused('{"\\u0061":1,"a":2}', 'duplicate-key')
  refused('{"x":[{"k":1,"k":1}]}', 'duplicate-key')
  refused('{"__proto__":1,"__proto__":2}', 'duplicate-key')
  refused('{"a\\"":1,"b":{},"a\\"":2}', 'duplicate-key')
  const many = Array.from({ length: 50 }, (_, i) => `"k${i}":${i}`)
  refused(`{${[...many, '"k7":0'].join(',')}}`, 'duplicate-key')
})

test('the same key in different objects, or as a value, is not a duplicate', () => {
  const text = '[{"a":"a"},{"a":{"a":["a","a"]}},{"b":"a","a":"b"},{"\\\\u0061":1,"a":2}]'
  assert.deepEqual(parseJson(text), JSON.parse(text))
})

test('too much depth is refused before anything is built, even for a million open brackets', () => {
  refused('['.repeat(1_000_000), 'too-deep', 64)
  refused('{"a":'.repeat(500_000), 'too-deep')
  refused('['.repeat(65) + ']'.repeat(65), 'too-deep')
  const deepest = '['.repeat(64) + ']'.repeat(64)
  assert.equal(JSON.stringify(parseJson(deepest)), deepest)
  assert.equal(JSON.stringify(parseJson(`"${'['.repeat(100)}"`)), `"${'['.repeat(100)}"`)
  assert.throws(() => parseJson('[[1]]', { maxDepth: 1 }), { reason: 'too-deep' })
})

test('the size limit counts bytes, not characters', () => {
  assert.equal(parseJson('"ab"', { maxBytes: 4 }), 'ab')
  assert.throws(() => parseJson('"abc"', { maxBytes: 4 }), { reason: 'too-large' })
  assert.equal(parseJson('"é"', { maxBytes: 4 }), 'é')
  assert.throws(() => parseJson('"éé"', { maxBytes: 5 }), { reason: 'too-large' })
  refused(`"${'x'.repeat(4 * 1024 * 1024)}"`, 'too-large')
})

test('the key limit counts the keys of the whole text', () => {
  assert.throws(() => parseJson('[{"a":1},{"a":1},{"a":1}]', { maxKeys: 2 }), { reason: 'too-many-keys' })
  assert.deepEqual(parseJson('[{"a":1},{"a":1}]', { maxKeys: 2 }), [{ a: 1 }, { a: 1 }])
})

test('a number that overflows a double is refused', () => {
  refused('1e400', 'not-finite', 0)
  refused('[1,-1e400]', 'not-finite', 3)
  refused(`{"a":${'9'.repeat(400)}}`, 'not-finite', 5)
  assert.deepEqual(parseJson('[1e308,1e-400,"1e400",1E5]'), [1e308, 0, '1e400', 1e5])
})

test('the keys __proto__ and constructor are plain data', () => {
  const value = parseJson('{"__proto__":{"polluted":true},"constructor":{"prototype":{"polluted":true}}}')
  assert.ok(isJsonObject(value))
  assert.equal(Object.getPrototypeOf(value), Object.prototype)
  assert.deepEqual(Object.keys(value), ['__proto__', 'constructor'])
  assert.equal(({} as Record<string, unknown>)['polluted'], undefined)
  assert.equal(canonicalJson(value), JSON.stringify(value))
})

test('an unterminated run of backslashes and quotes is refused in linear time', () => {
  refused(`"${'\\'.repeat(1_000_001)}"`, 'syntax')
  refused('"\\"'.repeat(100_001), 'syntax')
})

test('canonical text does not depend on the order of keys', () => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 4 }), value => {
      const json = value as Json
      assert.equal(canonicalJson(reversed(json)), canonicalJson(json))
      assert.deepEqual(JSON.parse(canonicalJson(json)), JSON.parse(JSON.stringify(json)))
    }),
  )
})

function reversed(value: Json): Json {
  if (Array.isArray(value)) return value.map(reversed)
  if (!isJsonObject(value)) return value
  const entries = Object.entries(value).reverse()
  return Object.fromEntries(entries.map(([key, item]) => [key, reversed(item)]))
}

test('canonical text sorts by UTF-16 units and prints numbers as ECMAScript does', () => {
  assert.equal(
    canonicalJson({ '\u{1f600}': 1, '\ufb33': 2, a: -0, '10': 1e21, '9': 1e-7, B: 333333333.3333333 }),
    '{"10":1e+21,"9":1e-7,"B":333333333.3333333,"a":0,"\u{1f600}":1,"\ufb33":2}',
  )
  assert.equal(canonicalJson([null, true, '\u20ac$\u000f\nA\'"\\']), '[null,true,"€$\\u000f\\nA\'\\"\\\\"]')
})

test('canonical text is well-formed, and a lone surrogate differs from U+FFFD', () => {
  const text = canonicalJson({ '\ud800': '\udc00x' })
  assert.ok(text.isWellFormed())
  assert.notEqual(text, canonicalJson({ '\ufffd': '\ufffdx' }))
})

test('canonicalJson refuses values that have no JSON form', () => {
  assert.throws(() => canonicalJson([Number.NaN]), { reason: 'not-finite' })
  const ring: Json[] = []
  ring.push(ring)
  assert.throws(() => canonicalJson(ring), { reason: 'too-deep' })
})
