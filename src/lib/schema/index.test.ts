import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Json, type JsonObject, parseJson } from '../json/index.ts'
import { checkDeclaredSchema } from './declared.ts'
import { compileSchema, inspectSchema, SchemaError } from './index.ts'

const WEATHER: JsonObject = {
  type: 'object',
  properties: {
    city: { type: 'string', minLength: 1 },
    unit: { enum: ['celsius', 'fahrenheit'] },
    days: { type: ['integer', 'null'], maximum: 7 },
  },
  required: ['city'],
  additionalProperties: false,
}

function refusedAtOnce(schema: Json, message: RegExp): void {
  assert.throws(
    () => compileSchema(schema),
    (error: unknown) => error instanceof SchemaError && message.test(error.message),
  )
}

function refusedWhenCompiled(schema: Json, message: RegExp): void {
  const validator = compileSchema(schema)
  const isRefusal = (error: unknown) => error instanceof SchemaError && message.test(error.message)
  assert.throws(() => validator.prepare(), isRefusal)
  assert.throws(() => validator.check(null), isRefusal)
}

// ---------------------------------------------------------------------------------------------------------
// Values

test('a valid value has no issues', () => {
  const weather = compileSchema(WEATHER)
  assert.equal(weather.check({ city: 'Paris', unit: 'celsius', days: null }), null)
  assert.equal(compileSchema(true).check(1), null)
  assert.equal(compileSchema({}).check('anything'), null)
})

test('an issue says where, what was expected, and which names and values are allowed', () => {
  assert.deepEqual(compileSchema(WEATHER).check({ unit: 'kelvin', days: 'two', town: 'Paris' }), [
    { path: '', message: 'is missing the required property "city"' },
    { path: '', message: 'has the unknown property "town"; known are: "city", "unit", "days"' },
    { path: '/unit', message: 'must be one of: "celsius", "fahrenheit"' },
    { path: '/days', message: 'must be integer or null, but is string' },
  ])
  assert.deepEqual(compileSchema({ properties: { 'a/b': { const: 3 } } }).check({ 'a/b': 4 }), [
    { path: '/a~1b', message: 'must be exactly 3' },
  ])
  assert.deepEqual(compileSchema({ minimum: 3 }).check(1), [{ path: '', message: 'must be >= 3' }])
  assert.deepEqual(compileSchema(false).check(1), [{ path: '', message: 'is not allowed here' }])
  assert.deepEqual(compileSchema({ oneOf: [{ type: 'number' }, { minimum: 0 }] }).check(1), [
    { path: '', message: 'matches more than one of the alternatives in oneOf, but must match exactly one' },
  ])
})

test('at most 20 issues are reported', () => {
  const strings = compileSchema({ items: { type: 'string' } })
  assert.equal(strings.check(Array.from({ length: 100 }, () => 1))?.length, 20)
  assert.equal(strings.check(Array.from({ length: 100_000 }, () => 1))?.length, 1)
})

test('names and values from outside are kept short in messages', () => {
  const issues = compileSchema(WEATHER).check({ city: 'x', ['n'.repeat(10_000)]: 1 })
  assert.ok(issues?.every(issue => issue.message.length < 400))
})

test('the value is never changed', () => {
  const value = { city: '5', days: undefined }
  const defaults = compileSchema({ properties: { unit: { default: 'celsius' }, city: { type: 'number' } } })
  assert.ok(defaults.check(value))
  assert.deepEqual(value, { city: '5', days: undefined })
  const parsed = { a: {} }
  compileSchema({ properties: { a: { properties: { b: { default: 1 } } } } }).check(parsed)
  assert.deepEqual(parsed, { a: {} })
})

test('inherited names such as toString count as properties only when the value has them', () => {
  const wanted = compileSchema({ type: 'object', required: ['toString', '__proto__', 'constructor'] })
  assert.equal(wanted.check({})?.length, 3)
  const typed = compileSchema({ properties: { constructor: { type: 'string' } } })
  assert.equal(typed.check({}), null)
  assert.equal(typed.check({ constructor: 1 })?.[0]?.path, '/constructor')
})

test('__proto__ in a value is an unknown property like any other', () => {
  const value = parseJson('{"city":"x","__proto__":{"unit":"celsius"}}')
  assert.match(compileSchema(WEATHER).check(value)?.[0]?.message ?? '', /unknown property "__proto__"/)
  assert.equal(compileSchema({ type: 'object' }).check(value), null)
  const open: JsonObject = {
    anyOf: [{ properties: { a: {} } }, { properties: { b: {} }, required: ['b'] }],
    unevaluatedProperties: false,
  }
  for (const text of ['{"__proto__":1}', '{"toString":1}', '{"a":1,"constructor":1}', '{"c":1}']) {
    assert.ok(compileSchema(open).check(parseJson(text)), text)
  }
  assert.equal(compileSchema(open).check({ a: 1 }), null)
})

test('uniqueItems compares by value', () => {
  const unique = compileSchema({ uniqueItems: true })
  assert.equal(unique.check([1, '1', { a: 1 }, [1]]), null)
  assert.deepEqual(
    unique.check([
      { a: 1, b: 2 },
      { b: 2, a: 1 },
    ]),
    [{ path: '', message: 'must not contain equal items' }],
  )
  assert.equal(unique.check(Array.from({ length: 50_000 }, (_, i) => ({ i }))), null)
})

test('known formats are checked, unknown ones are ignored', () => {
  assert.deepEqual(compileSchema({ format: 'email' }).check('nobody'), [
    { path: '', message: 'must be a valid email' },
  ])
  assert.equal(compileSchema({ format: 'date-time' }).check('2025-01-02T03:04:05Z'), null)
  assert.equal(compileSchema({ format: 'no-such-format' }).check('x'), null)
})

// ---------------------------------------------------------------------------------------------------------
// Patterns

test('a pattern that explodes elsewhere takes linear time', () => {
  const pattern = compileSchema({ type: 'string', pattern: '^(a+)+$' })
  assert.ok(pattern.check(`${'a'.repeat(40)}!`))
  assert.equal(pattern.check('a'.repeat(40)), null)
})

test('two patterns in one schema are not confused', () => {
  const both = compileSchema({
    properties: { a: { pattern: '^a$' }, b: { pattern: '^b$' } },
    patternProperties: { '^x-': { pattern: '^\\p{Lu}\\u{1F600}?$' } },
  })
  assert.equal(both.check({ a: 'a', b: 'b', 'x-1': 'Ä😀' }), null)
  assert.deepEqual(
    both.check({ a: 'b', b: 'a', 'x-1': 'ä' })?.map(issue => issue.path),
    ['/a', '/b', '/x-1'],
  )
})

test('patterns beyond RE2 are refused with the reason', () => {
  refusedWhenCompiled({ pattern: '(?=a)b' }, /looks ahead or behind. Use "allOf"/)
  refusedWhenCompiled({ patternProperties: { '(a)\\1': {} } }, /not supported/)
  refusedWhenCompiled({ pattern: '(' }, /\) is missing/)
  refusedWhenCompiled({ pattern: '((a{30}){30}){30}' }, /not supported/)
  refusedAtOnce({ pattern: 'a'.repeat(5000) }, /longer than 4096/)
})

// ---------------------------------------------------------------------------------------------------------
// Dialects and bad schemas

test('the dialect follows $schema', () => {
  const tuple: JsonObject = { items: [{ type: 'string' }], additionalItems: false }
  for (const $schema of [
    'http://json-schema.org/draft-07/schema#',
    'http://json-schema.org/draft-06/schema#',
    'http://json-schema.org/draft-04/schema#',
    'https://json-schema.org/draft/2019-09/schema',
  ]) {
    const validator = compileSchema({ $schema, ...tuple })
    assert.equal(validator.check(['a']), null)
    assert.ok(validator.check(['a', 1]))
  }
  const modern = compileSchema({
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    prefixItems: [{ type: 'string' }],
    items: false,
  })
  assert.ok(modern.check(['a', 1]))
  refusedAtOnce(
    { $schema: 'http://json-schema.org/draft-03/schema#' },
    /not supported. Use JSON Schema 2020-12/,
  )
})

test('an invalid schema is refused, an unknown keyword is not', () => {
  refusedWhenCompiled({ type: 'strin' }, /not valid JSON Schema.*\/type/)
  refusedWhenCompiled({ properties: [] }, /not valid JSON Schema/)
  refusedWhenCompiled({ required: 'city' }, /not valid JSON Schema/)
  refusedWhenCompiled({ minLength: '3' }, /not valid JSON Schema/)
  refusedAtOnce('string', /must be an object/)
  refusedAtOnce([], /must be an object/)
  assert.equal(compileSchema({ 'x-order': 1, widget: 'select' }).check(1), null)
})

test('an asynchronous schema is refused, because its promise would count as true', () => {
  refusedAtOnce({ $async: true, type: 'string' }, /Asynchronous/)
  refusedAtOnce({ properties: { a: { $async: true } } }, /Asynchronous/)
})

test('two schemas may have the same $id, even that of a metaschema', () => {
  for (const $id of ['https://example.test/s', 'https://json-schema.org/draft/2020-12/schema']) {
    const text = compileSchema({ $id, type: 'string' })
    const number = compileSchema({ $id, type: 'number' })
    assert.equal(text.check('a'), null)
    assert.equal(number.check(1), null)
    assert.ok(text.check(1))
  }
})

// ---------------------------------------------------------------------------------------------------------
// References

test('a reference to another document is refused, and nothing is fetched', t => {
  const fetched = t.mock.method(globalThis, 'fetch', () => Promise.reject(new Error('fetched')))
  refusedAtOnce({ $ref: 'http://127.0.0.1:9/x' }, /nothing is fetched/)
  refusedAtOnce({ properties: { a: { $ref: 'file:///etc/passwd' } } }, /nothing is fetched/)
  refusedAtOnce({ $id: 'https://a.test/s', $ref: 'other.json' }, /nothing is fetched/)
  refusedAtOnce({ $ref: '#/$defs/none' }, /leads nowhere/)
  refusedAtOnce({ items: { $ref: '#none' } }, /leads nowhere/)
  assert.equal(fetched.mock.callCount(), 0)
})

test('a $ref inside const, enum or default is data', () => {
  const schema: JsonObject = { const: { $ref: 'http://127.0.0.1:9/x' } }
  assert.equal(compileSchema(schema).check({ $ref: 'http://127.0.0.1:9/x' }), null)
  assert.equal(compileSchema({ properties: { $ref: { type: 'string' } } }).check({ $ref: 'x' }), null)
})

test('references within the schema work: pointer, anchor, relative id, root', () => {
  const schema: JsonObject = {
    $id: 'https://a.test/root',
    properties: {
      pointer: { $ref: '#/$defs/text' },
      anchor: { $ref: '#text' },
      relative: { $ref: 'number' },
      again: { $ref: '#' },
    },
    $defs: {
      text: { $anchor: 'text', type: 'string' },
      number: { $id: 'number', type: 'number' },
    },
  }
  const validator = compileSchema(schema)
  assert.equal(validator.check({ pointer: 'a', anchor: 'b', relative: 1, again: { relative: 2 } }), null)
  const issues = validator.check({ pointer: 1, anchor: 1, relative: 'x', again: { relative: 'x' } })
  assert.deepEqual(
    issues?.map(issue => issue.path),
    ['/pointer', '/anchor', '/relative', '/again/relative'],
  )
})

test('a recursive schema checks nested data', () => {
  const tree = compileSchema({
    type: 'object',
    properties: { children: { type: 'array', items: { $ref: '#' } } },
    additionalProperties: false,
  })
  assert.equal(tree.check({ children: [{ children: [] }, {}] }), null)
  assert.equal(tree.check({ children: [{ children: [{ leaf: 1 }] }] })?.[0]?.path, '/children/0/children/0')
})

// ---------------------------------------------------------------------------------------------------------
// Budgets

test('a schema above a limit is refused at once, with the reason', () => {
  const many = Object.fromEntries(Array.from({ length: 100_000 }, (_, i) => [`p${i}`, {}]))
  refusedAtOnce({ properties: many }, /more than 5000 subschemas|larger than/)
  refusedAtOnce({ prefixItems: Array.from({ length: 5001 }, () => ({})) }, /more than 5000 subschemas/)
  refusedAtOnce({ 'x-hidden': Array.from({ length: 5001 }, () => ({})) }, /more than 5000 subschemas/)
  refusedAtOnce({ description: 'x'.repeat(300_000) }, /larger than 262144 bytes/)
  refusedAtOnce({ enum: Array.from({ length: 200_000 }, () => 1) }, /larger than 262144 bytes/)
  refusedAtOnce({ oneOf: Array.from({ length: 1001 }, () => true) }, /more than 1000 oneOf/)
  let deep: Json = {}
  for (let i = 0; i < 100_000; i++) deep = { not: deep }
  refusedAtOnce(deep, /nests deeper than 64/)
  const ring: JsonObject = {}
  ring['items'] = ring
  refusedAtOnce(ring, /nests deeper than 64/)
  refusedAtOnce(JSON.parse('{"properties":{"__proto__":{}}}'), /cannot be declared/)
})

test('a refusal names the path in the schema', () => {
  const long = 'a'.repeat(5000)
  const deep = (levels: number): Json => (levels === 0 ? {} : { not: deep(levels - 1) })
  for (const [schema, path] of [
    [{ properties: { 'a/b': { items: { pattern: long } } } }, '/properties/a~1b/items/pattern'],
    [{ $defs: { a: { patternProperties: { [long]: {} } } } }, '/$defs/a/patternProperties'],
    [{ anyOf: [true, { allOf: [{ $async: true }] }] }, '/anyOf/1/allOf/0/$async'],
    [{ 'x-~': [[{ $ref: 'http://a.example/' }]] }, '/x-~0/0/0/$ref'],
    [JSON.parse('{"then":{"properties":{"__proto__":{}}}}'), '/then/properties'],
    [{ oneOf: Array.from({ length: 1001 }, () => true) }, '/oneOf'],
    [{ not: deep(63) }, '/not'.repeat(64).slice(0, 200)],
    [{ not: { not: deep(61), title: 'x' }, enum: [[{ a: long }]] }, undefined],
  ] as [Json, string | undefined][])
    if (path === undefined) inspectSchema(schema)
    else
      assert.throws(
        () => inspectSchema(schema),
        (error: unknown) => error instanceof SchemaError && error.path.replace('…', '') === path,
        path,
      )
})

test('mistakes in a declared schema are named with their path', () => {
  checkDeclaredSchema({ properties: { type: { enum: [{ type: 'strin' }] } }, 'x-own': [{ type: 'strin' }] })
  checkDeclaredSchema({ dependencies: { a: ['b'], b: { type: 'object' } }, properties: {} })
  for (const [schema, path] of [
    [{ properties: { 'a/b': { type: ['null', 'strin'] } } }, '/properties/a~1b/type'],
    [{ items: [true, { type: 1 }] }, '/items/1/type'],
    [{ allOf: [{ required: ['a', 1] }] }, '/allOf/0/required'],
    [{ $defs: { a: { enum: 'x' } } }, '/$defs/a/enum'],
    [{ if: { anyOf: [] } }, '/if/anyOf'],
    [{ properties: { a: 'string' } }, '/properties/a'],
    [{ dependentSchemas: [] }, '/dependentSchemas'],
    [{ 'x-own': { type: 1 }, dependencies: { a: { type: 1 } } }, '/dependencies/a/type'],
    [{ unevaluatedProperties: { not: { properties: null } } }, '/unevaluatedProperties/not/properties'],
    [{ $ref: 'http://a.example/' }, '/$ref'],
    [{ additionalProperties: 'no' }, '/additionalProperties'],
  ] as [Json, string][])
    assert.throws(() => checkDeclaredSchema(schema), { name: 'SchemaError', path })
})

test('large schemas within the limits work', () => {
  const typed = (i: number): [string, Json] => [`p${i}`, { type: 'string', minLength: 1 }]
  const wide = compileSchema({
    properties: Object.fromEntries(Array.from({ length: 2000 }, (_, i) => typed(i))),
  })
  assert.equal(wide.check({ p1: 'x' }), null)
  assert.deepEqual(wide.check({ p1999: 1 }), [{ path: '/p1999', message: 'must be string, but is number' }])
  assert.match(wide.check(Array.from({ length: 200_000 }, () => 1))?.[0]?.message ?? '', /too many steps/)
  const either = compileSchema({ oneOf: Array.from({ length: 1000 }, (_, i) => ({ const: i })) })
  assert.equal(either.check(999), null)
  assert.equal(either.check(1000)?.length, 20)
})

test('a schema that only the compiler finds too large is refused by it', () => {
  const $defs: JsonObject = { d900: {} }
  for (let i = 0; i < 900; i++) $defs[`d${i}`] = { properties: { x: { $ref: `#/$defs/d${i + 1}` } } }
  refusedWhenCompiled({ $defs, $ref: '#/$defs/d0' }, /too involved/)
  const patterns = Array.from({ length: 200 }, (_, i) => ({ pattern: `^[a-z]{1,${i + 700}}$` }))
  refusedWhenCompiled({ prefixItems: patterns }, /patterns grow too large/)
})

test('alternatives that double with each reference are refused', () => {
  const $defs: JsonObject = { s20: { type: 'string' } }
  for (let i = 0; i < 20; i++) $defs[`s${i}`] = { anyOf: [next(i), next(i)] }
  function next(i: number): Json {
    return { $ref: `#/$defs/s${i + 1}` }
  }
  refusedAtOnce({ $defs, $ref: '#/$defs/s0' }, /more than 10000 subschemas/)
})

test('a reference that leads to itself on the same value is refused', () => {
  refusedAtOnce({ $ref: '#' }, /leads back to itself/)
  refusedAtOnce({ $defs: { a: { allOf: [{ $ref: '#/$defs/a' }] } }, $ref: '#/$defs/a' }, /leads back/)
  refusedWhenCompiled({ $defs: { a: { $anchor: 'a', allOf: [{ $ref: '#a' }] } }, $ref: '#a' }, /too involved/)
})

test('a check that doubles with each level of the value is stopped', () => {
  const schema: JsonObject = { type: 'object', properties: { x: { oneOf: [{ $ref: '#' }, { $ref: '#' }] } } }
  let value: Json = {}
  for (let i = 0; i < 60; i++) value = { x: value }
  assert.match(compileSchema(schema).check(value)?.[0]?.message ?? '', /too many steps/)
})

/** Names that a matcher can tell only at their end, and so short a schema that nothing else of it costs much. */
const ambiguous = '^.*a.{40}$'
const longNames = (count: number): JsonObject =>
  Object.fromEntries(Array.from({ length: count }, (_, n) => [`${'ab'.repeat(150)}${n}`, 1]))

test('matching names and texts is charged for the pattern times the text', async () => {
  const value = longNames(300)
  const text = 'ab'.repeat(50_000)
  for (const [what, schema, given, within] of [
    ['names', { patternProperties: { [ambiguous]: {} } }, value, longNames(1)],
    ['names that must match', { propertyNames: { pattern: ambiguous } }, value, longNames(1)],
    ['a text', { properties: { text: { pattern: ambiguous } } }, { text }, { text: 'ab'.repeat(50) }],
  ] as [string, JsonObject, Json, Json][]) {
    const validator = compileSchema(schema)
    validator.prepare()
    // The loop gives checks new time when it turns.
    await new Promise(resolve => setImmediate(resolve))
    assert.notEqual(validator.checkOnLoop(within, JSON.stringify(within)), undefined, `${what}: little`)
    assert.equal(validator.checkOnLoop(given, JSON.stringify(given)), undefined, `${what}: much`)
    assert.match(validator.check(given, 12_000)?.[0]?.message ?? '', /too many steps/, what)
  }
})

test('nothing is compiled before the first check', () => {
  assert.doesNotThrow(() => inspectSchema({ type: 'strin' }))
  const validator = compileSchema({ type: 'strin' })
  assert.throws(() => validator.check(1), SchemaError)
})
