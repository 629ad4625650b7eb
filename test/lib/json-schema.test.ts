import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { checkDeclaredSchema } from '../../src/lib/schema/declared.ts'
import { compileSchema, SchemaError } from '../../src/lib/schema/index.ts'
import { type Case, cases, type DialectName, dialects, exceptions } from './json-schema-cases.ts'

const all = Object.keys(dialects) as DialectName[]

/** Draft-04 has no Boolean schemas and no exclusive numbers, but the cases of every dialect use none of them. */
function check({ keyword, schema, valid, invalid }: Case, $schema?: string): void {
  const declared = $schema === undefined ? schema : { $schema, ...schema }
  checkDeclaredSchema(declared)
  const validator = compileSchema(declared)
  for (const value of valid) assert.equal(validator.check(value), null, `${keyword} ${JSON.stringify(value)}`)
  for (const value of invalid)
    assert.ok(validator.check(value) !== null, `${keyword} must refuse ${JSON.stringify(value)}`)
}

for (const name of all)
  describe(name, () => {
    for (const [index, one] of cases.entries())
      if ((one.in ?? all).includes(name))
        test(`${one.keyword} (case ${index})`, () => check(one, dialects[name]))
  })

test('a schema that names no dialect is read as 2020-12, and so are keywords of older drafts', () => {
  for (const one of cases) if ((one.in ?? all).includes('2020-12')) check(one)
  check({
    keyword: 'items',
    schema: { items: [{ type: 'integer' }], additionalItems: false },
    valid: [[1], []],
    invalid: [['a'], [1, 2]],
  })
})

test('every keyword of JSON Schema has a case', () => {
  const cited = new Set(cases.map(({ keyword }) => keyword))
  const keywords =
    'type enum const minimum maximum exclusiveMinimum exclusiveMaximum multipleOf minLength maxLength pattern format items ' +
    'additionalItems prefixItems contains minContains maxContains minItems maxItems uniqueItems unevaluatedItems properties ' +
    'patternProperties additionalProperties required minProperties maxProperties propertyNames dependencies ' +
    'dependentRequired dependentSchemas unevaluatedProperties allOf anyOf oneOf not if then else $ref definitions $defs ' +
    '$anchor $id id $dynamicRef $dynamicAnchor $recursiveRef default contentMediaType'
  assert.deepEqual(
    keywords.split(' ').filter(keyword => !cited.has(keyword)),
    [],
  )
})

for (const { why, schema, in: dialect, words } of exceptions)
  test(`refused by design, because ${why}: ${JSON.stringify(schema).slice(0, 60)}`, () => {
    const declared = { $schema: dialects[dialect], ...schema }
    const isRefusal = (error: unknown): boolean => error instanceof SchemaError && words.test(error.message)
    assert.throws(() => checkDeclaredSchema(declared), isRefusal)
    assert.throws(() => compileSchema(declared).prepare(), isRefusal)
  })
