import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { Budget } from '../checks/budget.ts'
import type { Json, JsonObject } from '../json/index.ts'
import { compile } from './compile.ts'
import { compileSchema, inspectSchema } from './index.ts'
import { SchemaError } from './keywords.ts'
import { fitsPlain, readPlain } from './plain.ts'

const names = fc.constantFrom('a', 'b', 'city', 'toString', 'constructor', 'a/b')
const counts = fc.constantFrom(0, 1, 2, 3)
const numbers = fc.constantFrom(-1, -0, 0, 0.5, 1, 2, 3, 1e9)
const leaves = fc.constantFrom<Json>(null, true, false, 0, 1, 2.5, '', 'a', 'ab', '😀', 'a😀b')
const types = fc.constantFrom('string', 'number', 'integer', 'boolean', 'null', 'object', 'array')

/** Values that no plain keyword has: the schema has to be left to ajv, or refused. */
const mistakes = fc.constantFrom<Json>('x', -1, 1.5, null, [], [1], [{}], {}, true, ['a', 'a'])

const { schema } = fc.letrec<{ schema: JsonObject }>(tie => ({
  schema: fc
    .record(
      {
        type: fc.oneof(types, fc.uniqueArray(types, { minLength: 1, maxLength: 3 })),
        enum: fc.uniqueArray(leaves, { minLength: 1, maxLength: 4 }),
        const: leaves,
        required: fc.uniqueArray(names, { maxLength: 2 }),
        properties: fc.dictionary(names, tie('schema'), { maxKeys: 3 }),
        additionalProperties: fc.oneof(fc.boolean(), tie('schema')),
        items: tie('schema'),
        minLength: counts,
        maxLength: counts,
        minItems: counts,
        maxItems: counts,
        minProperties: counts,
        maxProperties: counts,
        minimum: numbers,
        maximum: numbers,
        exclusiveMinimum: numbers,
        exclusiveMaximum: numbers,
        description: fc.constant('A text.'),
        default: leaves,
      },
      { requiredKeys: [] },
    )
    // Few keywords at once, else hardly any value fits.
    .chain(all => fc.subarray(Object.entries(all), { maxLength: 4 }).map(some => Object.fromEntries(some))),
}))

/** Also values that no JSON holds: tools in JavaScript return what they like. */
const values = fc.letrec<{ value: unknown }>(tie => ({
  value: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    leaves,
    fc.constantFrom(undefined, Number.NaN, Number.POSITIVE_INFINITY, -0, 3n, new Date(0)),
    fc.array(tie('value'), { maxLength: 3 }),
    fc.dictionary(names, tie('value'), { maxKeys: 3 }),
  ),
})).value

const enough = (): Budget => new Budget(1e9)
const isPlain = (given: Json): boolean => readPlain(given, inspectSchema(given).bytes) !== undefined

test('a value fits a plain schema if and only if ajv takes it, at the same cost', () => {
  const seen = { fit: 0, misfit: 0 }
  fc.assert(
    fc.property(schema, fc.array(values, { minLength: 16, maxLength: 16 }), (given, candidates) => {
      const plain = readPlain(given, inspectSchema(given).bytes)
      assert.ok(plain, 'it is plain')
      const compiled = compile(given, enough())
      for (const value of candidates) {
        const [ours, theirs] = [enough(), enough()]
        const fits = fitsPlain(plain, value, ours)
        assert.equal(fits, compiled.first(value, theirs) === null)
        if (fits) assert.ok(Math.abs(ours.left - theirs.left) < 0.001, `${ours.left} of ${theirs.left}`)
        seen[fits ? 'fit' : 'misfit'] += 1
      }
    }),
    { numRuns: 50 },
  )
  assert.ok(seen.fit > 100 && seen.misfit > 100, JSON.stringify(seen))
})

test('a schema with a mistake is not plain, unless ajv takes it too', () => {
  const keywords = Object.keys({
    ...{ type: 1, enum: 1, const: 1, required: 1, properties: 1, additionalProperties: 1, items: 1 },
    ...{
      minLength: 1,
      maxItems: 1,
      minProperties: 1,
      minimum: 1,
      description: 1,
      deprecated: 1,
      examples: 1,
    },
  })
  const refused: string[] = []
  for (const keyword of keywords)
    for (const value of fc.sample(mistakes, { numRuns: 60, seed: 1 })) {
      const given = { [keyword]: value }
      try {
        compile(given, enough())
      } catch (error) {
        assert.ok(error instanceof SchemaError)
        assert.ok(!isPlain(given), JSON.stringify(given))
        refused.push(keyword)
      }
    }
  assert.ok(new Set(refused).size > 10)
})

test('other keywords, other types of schema and large schemas are left to ajv', () => {
  for (const given of [
    ...[true, { pattern: 'a' }, { format: 'email' }, { $ref: '#' }, { anyOf: [{}] }, { nullable: true }],
    ...[{ items: [{}] }, { properties: { a: true } }, { enum: [{}] }, { const: [] }, { uniqueItems: true }],
    ...[{ not: {} }, { $id: 'x' }, { properties: { a: { $schema: 'x' } } }, { multipleOf: 2 }],
    { description: 'x'.repeat(9_000) },
  ] as Json[])
    assert.equal(
      readPlain(given, JSON.stringify(given).length),
      undefined,
      JSON.stringify(given).slice(0, 80),
    )
})

test('a value that does not fit gets the words of ajv, and the dialect makes no difference', () => {
  for (const $schema of [
    'http://json-schema.org/draft-07/schema#',
    'https://json-schema.org/draft/2020-12/schema',
  ]) {
    const town = { $schema, type: 'object', properties: { city: { minLength: 2 } }, required: ['city'] }
    assert.ok(isPlain(town))
    const validator = compileSchema(town)
    assert.equal(validator.check({ city: 'Oslo' }), null)
    assert.deepEqual(validator.check({}), [{ path: '', message: 'is missing the required property "city"' }])
    assert.deepEqual(validator.check({ city: 'x' }), [
      { path: '/city', message: 'must NOT have fewer than 2 characters' },
    ])
  }
})

test('a value that costs more than the budget is not checked to its end', () => {
  const list = compileSchema({ items: { type: 'number' } })
  const numbers = Array.from({ length: 3_000 }, (_, at) => at)
  assert.equal(list.check(numbers), null)
  assert.match(list.check(numbers, 100)?.[0]?.message ?? '', /too many steps/)
})
