import assert from 'node:assert/strict'
import { test } from 'node:test'
import { runInNewContext } from 'node:vm'
import fc from 'fast-check'
import type { Json, JsonObject } from '../json/index.ts'
import { checkDeclaredSchema } from './declared.ts'
import { compileSchema, SchemaError } from './index.ts'
import { describeSchema } from './standard.ts'

function refused(schema: unknown, words: RegExp): void {
  assert.throws(
    () => checkDeclaredSchema(schema as Json), // the point: it may be anything
    (error: unknown) => error instanceof SchemaError && words.test(error.message),
    JSON.stringify(schema),
  )
}

test('a misspelled keyword is refused, and the right one is named', () => {
  for (const [schema, meant] of [
    [{ type: 'object', propertes: { a: {} } }, 'properties'],
    [{ type: 'object', additional_properties: false }, 'additionalProperties'],
    [{ properties: { a: { type: 'string', maxlength: 3 } } }, 'maxLength'],
    [{ properties: { a: { tpye: 'string' } } }, 'type'],
    [{ properties: { a: { typ: 'string' } } }, 'type'],
    [{ requires: ['a'] }, 'required'],
    [{ enums: ['a'] }, 'enum'],
    [{ items: { ref: '#' } }, '\\$ref'],
    [{ type: 'number', min: 3 }, 'minimum'],
    [{ type: 'string', regex: '^a' }, 'pattern'],
    [{ anyof: [{}] }, 'anyOf'],
  ] as const)
    refused(schema, new RegExp(`is not a keyword of JSON Schema, so nothing would be checked. "${meant}"`))
})

test('another unknown keyword is warned about, also a format that is nearly known', () => {
  assert.deepEqual(checkDeclaredSchema({ optional: true, note: 'x', items: { optional: false } }).warnings, [
    '"optional" is not a keyword of JSON Schema and is not checked.',
    '"note" is not a keyword of JSON Schema and is not checked.',
  ])
  for (const [given, known] of [
    ['datetime', 'date-time'],
    ['emial', 'email'],
    ['hostnam', 'hostname'],
  ])
    assert.deepEqual(checkDeclaredSchema({ format: given ?? '' }).warnings, [
      `The format "${given}" is not known and is not checked. Known is "${known}".`,
    ])
  for (const format of [
    'int32',
    'double',
    'float',
    'byte',
    'binary',
    'password',
    'idn-email',
    'iri',
    'phone',
  ])
    assert.deepEqual(checkDeclaredSchema({ format }).warnings, [], format)
  for (const schema of [
    {
      'x-own': 1,
      example: 'a',
      discriminator: { propertyName: 'a' },
      $comment: 'c',
      title: 't',
      format: 'int64',
    },
    { id: 'a', nullable: true, readOnly: true, $vocabulary: {}, contentEncoding: 'base64', externalDocs: {} },
    { 'x-own': { propertes: {} }, enum: [{ propertes: {} }], properties: { propertes: {} } },
  ])
    assert.deepEqual(checkDeclaredSchema(schema).warnings, [], JSON.stringify(schema))
  const many = Object.fromEntries(Array.from({ length: 100 }, (_, i) => [`own${i}`, true]))
  assert.equal(checkDeclaredSchema(many).warnings.length, 10)
})

test('a key in a schema is warned about, without being shown', () => {
  const key = `sk-${'a1'.repeat(12)}`
  for (const schema of [
    { enum: ['a', key] },
    { const: key },
    { default: { auth: key } },
    { description: `Use ${key}.` },
  ]) {
    const { warnings } = checkDeclaredSchema({ properties: { key: schema } })
    assert.match(warnings[0] ?? '', /^"\w+" has a value that looks like a key. .* take it out of the schema/)
    assert.ok(!warnings.join().includes(key))
  }
  assert.deepEqual(
    checkDeclaredSchema({ enum: ['sk-short', 'task-list-of-everything-in-sight'] }).warnings,
    [],
  )
})

test('an instance of a class is never JSON Schema, at any depth', () => {
  class ZodObject {
    readonly _def = { typeName: 'ZodObject' }
    safeParse(): void {}
  }
  class Shape {
    readonly type = 'object'
  }
  for (const [schema, words] of [
    [new ZodObject(), /schema of zod 3.* Use zod 4/],
    [{ type: 'object', properties: { a: new ZodObject() } }, /zod 3.*\(at \/properties\/a\)/],
    [new Shape(), /an instance of Shape, not JSON Schema/],
    [{ properties: new Map([['a', {}]]) }, /an instance of Map/],
    [{ properties: { a: new (class {})() } }, /instance of a class/],
  ] as const)
    refused(schema, words)
  assert.throws(() => describeSchema(new ZodObject()), /zod 3.* Use zod 4/)
  assert.throws(() => describeSchema({ amount: new ZodObject() }), /zod 3.* Use zod 4.*\(at \/amount\)/)
  checkDeclaredSchema(Object.assign(Object.create(null), { type: 'object' }))
  checkDeclaredSchema(runInNewContext('({ type: "object", properties: { a: {} } })') as JsonObject)
})

test('a library’s schema that cannot describe itself is refused with what to use instead', () => {
  const of = (vendor: string) => ({
    '~standard': { version: 1, vendor, validate: (value: unknown) => ({ value }) },
  })
  assert.throws(() => describeSchema(of('zod')), /Use zod 4/)
  assert.throws(() => describeSchema(of('valibot')), /toStandardJsonSchema.*"@valibot\/to-json-schema"/)
  assert.throws(() => describeSchema(of('other')), /Write JSON Schema in its place/)
})

test('a keyword of another dialect is refused, because it would check nothing', () => {
  const draft07 = 'http://json-schema.org/draft-07/schema#'
  refused({ $schema: draft07, prefixItems: [{}] }, /"prefixItems" has no meaning in draft-07/)
  refused({ $schema: draft07, items: { dependentRequired: { a: ['b'] } } }, /no meaning in draft-07/)
  refused({ $schema: draft07, unevaluatedProperties: false }, /no meaning in draft-07/)
  refused(
    { $schema: 'https://json-schema.org/draft/2019-09/schema', prefixItems: [{}] },
    /no meaning in 2019-09/,
  )
})

test('values that a keyword cannot have are refused', () => {
  for (const [schema, words] of [
    [{ pattern: '(?=a)' }, /looks ahead/],
    [{ patternProperties: { '(?!a)': {} } }, /looks ahead/],
    [{ pattern: /a/ }, /"pattern" must be a text/],
    [{ maximum: Number.POSITIVE_INFINITY }, /"maximum" must be a number/],
    [{ minLength: '3' }, /"minLength" must be a whole number/],
    [{ multipleOf: 0 }, /above 0/],
    [{ enum: [] }, /with one at least/],
    [{ type: [] }, /one at least/],
    [{ required: ['a', 'a'] }, /each once/],
    [{ dependentRequired: { a: 'b' } }, /lists of property names/],
    [{ title: 1 }, /"title" must be a text/],
    [{ examples: 'a' }, /"examples" must be a list/],
    [{ uniqueItems: 'yes' }, /true or false/],
    [{ $ref: '#/$defs/none' }, /leads nowhere/],
  ] as const)
    refused(schema, words)
})

test('a schema that is accepted when it is declared can be compiled', () => {
  const value = fc.oneof(
    fc.constantFrom<Json>(
      true,
      false,
      null,
      0,
      1,
      -1,
      1.5,
      '',
      'a',
      '#',
      '^a',
      '(?=a)',
      'string',
      'email',
      [],
    ),
    fc.constantFrom<Json>(
      {},
      ['a'],
      ['string', 'null'],
      [{}],
      [true],
      { a: {} },
      { a: ['b'] },
      { a: 1 },
      [1],
    ),
    fc.constantFrom<Json>({ type: 'object' }, [{ type: 'string' }], { properties: { a: { const: 1 } } }),
  )
  const keyword = fc.constantFrom(
    ...[
      'type',
      'enum',
      'const',
      'properties',
      'required',
      'additionalProperties',
      'patternProperties',
      'items',
    ],
    ...[
      'prefixItems',
      'additionalItems',
      'contains',
      'minContains',
      'minItems',
      'uniqueItems',
      'allOf',
      'anyOf',
    ],
    ...[
      'oneOf',
      'not',
      'if',
      'then',
      'else',
      'dependentRequired',
      'dependentSchemas',
      'dependencies',
      'minimum',
    ],
    ...[
      'exclusiveMinimum',
      'multipleOf',
      'minLength',
      'pattern',
      'format',
      'title',
      'default',
      'examples',
      '$ref',
    ],
    ...[
      '$defs',
      'nullable',
      'unevaluatedProperties',
      'unevaluatedItems',
      'propertyNames',
      'maxProperties',
      'own',
    ],
  )
  const dialect = fc.constantFrom(
    ...[undefined, 'http://json-schema.org/draft-07/schema#', 'http://json-schema.org/draft-04/schema#'],
  )
  let accepted = 0
  fc.assert(
    fc.property(fc.dictionary(keyword, value, { maxKeys: 3 }), dialect, (keywords, $schema) => {
      const schema: JsonObject = { ...($schema && { $schema }), items: {}, ...keywords }
      try {
        checkDeclaredSchema(schema)
      } catch (error) {
        assert.ok(error instanceof SchemaError)
        return
      }
      accepted += 1
      compileSchema(schema).prepare()
    }),
    { numRuns: 1_500 },
  )
  assert.ok(accepted > 100)
})
