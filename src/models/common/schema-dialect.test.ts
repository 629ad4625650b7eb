// The nastiest schemas that tools declare, through every dialect, judged by the doubles of the vendors.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Ajv2020 } from 'ajv/dist/2020.js'
import fc from 'fast-check'
import { isJsonObject, type JsonObject } from '../../lib/json/index.ts'
import {
  checkGeminiSchema,
  checkInputSchema,
  checkLooseSchema,
  checkRequest,
  checkStrictSchema,
  checkStrictTools,
} from '../../testing/doubles/index.ts'
import {
  anthropicPlain,
  anthropicStrict,
  type Dialect,
  geminiJson,
  geminiOpenApi,
  openaiLoose,
  openaiStrict,
  strictCost,
  toDialect,
} from './schema-dialect.ts'

const text = { type: 'string' }
const nasty: Record<string, JsonObject> = {
  'nothing at all': {},
  'no properties': { type: 'object' },
  'root anyOf': {
    anyOf: [
      { type: 'object', properties: { id: text }, required: ['id'] },
      { type: 'object', properties: { name: text, id: { type: 'integer' } }, required: ['name'] },
    ],
  },
  'root oneOf beside properties': {
    type: 'object',
    properties: { a: text, b: text },
    oneOf: [{ required: ['a'] }, { required: ['b'] }],
    additionalProperties: false,
  },
  'root allOf by reference': {
    allOf: [{ $ref: '#/$defs/base' }, { properties: { more: { const: 4 } }, required: ['more'] }],
    $defs: { base: { type: 'object', properties: { kind: { const: 'x' } }, required: ['kind'] } },
  },
  'root reference': {
    $ref: '#/definitions/Args',
    definitions: { Args: { type: 'object', properties: { a: text }, required: ['a'] } },
  },
  'root type list': { type: ['object', 'null'], properties: { a: text } },
  'recursion through $defs': {
    type: 'object',
    properties: { tree: { $ref: '#/$defs/node' } },
    $defs: {
      node: {
        type: 'object',
        properties: { value: text, children: { type: 'array', items: { $ref: '#/$defs/node' } } },
        required: ['value'],
      },
    },
  },
  'recursion through the root': {
    type: 'object',
    properties: { next: { $ref: '#' }, also: { anyOf: [{ $ref: '#' }, { type: 'null' }] } },
  },
  'references that lead nowhere': {
    type: 'object',
    properties: { a: { $ref: '#/$defs/gone' }, b: { $ref: 'https://example.com/s.json' }, c: { $ref: '#x' } },
  },
  'anchors and escaped pointers': {
    type: 'object',
    properties: { a: { $ref: '#here' }, b: { $ref: '#/$defs/x~1y%25' } },
    $defs: { p: { $anchor: 'here', type: 'string' }, 'x/y%': { type: 'integer' } },
  },
  'tuples of two drafts': {
    type: 'object',
    properties: {
      old: { type: 'array', items: [text, { type: 'number' }], additionalItems: false },
      new: { type: 'array', prefixItems: [text, { type: 'number' }], items: false },
    },
  },
  'arrays without items': {
    type: 'object',
    properties: { a: { type: 'array' }, b: { type: ['array', 'null'] } },
  },
  'numeric and mixed enums': {
    type: 'object',
    properties: {
      n: { enum: [1, 2, 3] },
      m: { enum: ['a', 1, true, null, ''] },
      only: { type: 'integer', const: 7 },
      none: { const: null },
      list: { enum: [[1], { a: 1 }] },
    },
  },
  'type lists': { type: 'object', properties: { a: { type: ['string', 'number', 'null'], minLength: 2 } } },
  'boolean schemas': {
    type: 'object',
    properties: { any: true, never: false, list: { type: 'array', items: true } },
  },
  'draft-04 bounds': {
    type: 'object',
    properties: {
      n: { type: 'number', minimum: 1, exclusiveMinimum: true },
      i: { type: 'integer', exclusiveMaximum: 5 },
    },
  },
  'odd property names': {
    type: 'object',
    properties: { 'with space': text, имя: text, '': text, ['a'.repeat(70)]: text, ok: text },
    required: ['with space', 'ok'],
    additionalProperties: false,
  },
  'prototype names': JSON.parse(
    '{"type":"object","properties":{"__proto__":{"type":"string"},"constructor":{"type":"string"},"toString":{"type":"array"}},"required":["__proto__"]}',
  ) as JsonObject,
  'a huge enum': {
    type: 'object',
    properties: { city: { enum: Array.from({ length: 12_000 }, (_, at) => `city-${at}`) } },
  },
  'wide bounds': {
    type: 'object',
    properties: {
      grid: {
        type: 'array',
        maxItems: 500,
        items: { type: 'array', maxItems: 500, items: { type: 'integer' } },
      },
    },
  },
  'conditionals and the rest': {
    type: 'object',
    properties: {
      a: { type: 'string', format: 'uri', pattern: '^(?=x)', not: { const: 'y' } },
      b: { type: 'object', patternProperties: { '^x': text, '[': text }, propertyNames: { pattern: '^x' } },
      c: { type: 'array', items: text, uniqueItems: true, contains: { const: 'k' }, minContains: 1 },
      d: { type: 'number', multipleOf: 0.5 },
      e: { type: 'object', additionalProperties: { type: 'integer' } },
    },
    if: { required: ['a'] },
    then: { required: ['b'] },
    dependentRequired: { a: ['c'] },
    minProperties: 1,
  },
  'keywords with values that make no sense': {
    type: 'object',
    properties: {
      a: { type: 'text', minLength: -1, pattern: '(', enum: 'x', required: true },
      b: 'string',
      c: { type: 'array', items: 5, anyOf: [] },
    },
    required: 'a',
  },
  'a required name that is not described': { type: 'object', properties: { a: text }, required: ['a', 'b'] },
  'untyped parts': {
    type: 'object',
    properties: { any: {}, said: { description: 'anything' }, o: { type: 'object' } },
  },
  'nullable alternatives': {
    type: 'object',
    properties: {
      a: { anyOf: [text, { type: 'null' }], description: 'maybe' },
      b: {
        oneOf: [{ type: 'object', properties: { k: { const: 'x' } } }, { type: 'array' }, { type: 'null' }],
      },
      c: { allOf: [{ type: 'object', properties: { p: text } }, { required: ['p'] }] },
    },
  },
}

type Judge = (schema: JsonObject) => unknown
const judges: [Dialect, Judge][] = [
  [openaiLoose, schema => checkLooseSchema('t', schema)],
  [openaiStrict, schema => checkStrictSchema('t', schema)],
  [anthropicPlain, schema => checkInputSchema(schema)[0] ?? null],
  [
    anthropicStrict,
    schema => checkStrictTools([{ schema, at: 't' }])[0] ?? checkInputSchema(schema)[0] ?? null,
  ],
  [geminiOpenApi, geminiVerdict('parameters')],
  [geminiJson, geminiVerdict('parametersJsonSchema')],
]

/** A function without parameters is sent without a schema, so the double is asked about the whole request. */
function geminiVerdict(field: string): Judge {
  return schema => {
    const empty = isJsonObject(schema['properties']) && Object.keys(schema['properties']).length === 0
    const declaration = empty ? { name: 't' } : { name: 't', [field]: schema }
    const body = {
      contents: [{ role: 'user', parts: [{ text: 'x' }] }],
      tools: [{ functionDeclarations: [declaration] }],
    }
    return (
      checkRequest('gemini', body) ??
      (field === 'parameters' && !empty ? (checkGeminiSchema(schema)[0] ?? null) : null)
    )
  }
}

describe('the vendors accept what the converter gives', () => {
  for (const [dialect, judge] of judges)
    for (const [name, schema] of Object.entries(nasty))
      test(`${dialect.name}: ${name}`, () => {
        const before = JSON.stringify(schema)
        const adapted = toDialect(schema, dialect)
        assert.equal(JSON.stringify(schema), before, 'the declaration is left alone')
        if ('unusable' in adapted) {
          assert.ok(dialect.strict !== undefined, adapted.unusable)
          assert.notEqual(adapted.unusable, '')
          return
        }
        assert.equal(judge(adapted.schema), null)
        assert.ok(isJsonObject(adapted.schema['properties']))
      })
})

describe('kept and lost keywords', () => {
  const adapted = (schema: JsonObject, dialect: Dialect) => {
    const result = toDialect(schema, dialect)
    assert.ok(!('unusable' in result), JSON.stringify(result))
    return result
  }

  test('a plain schema passes every dialect without a loss', () => {
    const schema = {
      type: 'object',
      properties: {
        city: { type: 'string', description: 'A city.' },
        unit: { enum: ['c', 'f'], type: 'string' },
      },
      required: ['city', 'unit'],
      additionalProperties: false,
    }
    for (const [dialect] of judges) assert.deepEqual(adapted(schema, dialect).lost, [], dialect.name)
    assert.deepEqual(adapted(schema, openaiStrict).schema, schema)
    assert.deepEqual(adapted(schema, anthropicPlain).schema, schema)
  })

  test('alternatives at the root become one object that describes them', () => {
    const { schema, lost } = adapted(nasty['root anyOf']!, anthropicPlain)
    assert.deepEqual(schema['properties'], {
      id: { anyOf: [{ type: 'string' }, { type: 'integer' }] },
      name: { type: 'string' },
    })
    assert.equal(schema['required'], undefined)
    assert.match(JSON.stringify(schema['description']), /Give one of: ..id..; or ..name../)
    assert.equal(lost.length, 1)
  })

  test('a property whose name the vendor refuses is described in words', () => {
    const { schema } = adapted(nasty['odd property names']!, anthropicPlain)
    assert.deepEqual(Object.keys(schema['properties'] ?? {}), ['ok'])
    assert.deepEqual(schema['required'], ['ok'])
    assert.equal(schema['additionalProperties'], undefined)
    assert.match(JSON.stringify(schema['description']), /with space.. \(required\)/)
  })

  test('__proto__ is a property like any other', () => {
    for (const dialect of [openaiLoose, anthropicPlain, geminiOpenApi]) {
      const { schema } = adapted(nasty['prototype names']!, dialect)
      assert.match(JSON.stringify(schema), /"properties":\{"__proto__":\{"type":"string"\}/)
      assert.deepEqual(schema['required'], ['__proto__'])
    }
  })

  test('recursion is kept if the dialect has references, else cut', () => {
    const tree = nasty['recursion through $defs']!
    assert.deepEqual(adapted(tree, anthropicPlain).lost, [])
    const cut = adapted(tree, geminiOpenApi)
    assert.match(cut.lost.join(), /comes back to itself/)
    assert.ok(!JSON.stringify(cut.schema).includes('$ref'))
  })

  test('a schema that strict mode would change is not strict', () => {
    const closed = { type: 'object', properties: { a: text }, required: ['a'], additionalProperties: false }
    assert.ok('schema' in toDialect(closed, openaiStrict))
    for (const change of [
      { required: [] },
      { additionalProperties: true },
      { properties: { a: { type: 'string', minLength: 2 } } },
      { properties: { a: {} } },
      { anyOf: [{ required: ['a'] }] },
    ] satisfies JsonObject[])
      assert.ok('unusable' in toDialect({ ...closed, ...change }, openaiStrict), JSON.stringify(change))
    // An optional property is no hindrance to Anthropic's strict mode; a bound is.
    assert.ok('schema' in toDialect({ ...closed, required: [] }, anthropicStrict))
    const bound = { ...closed, properties: { a: { type: 'number', minimum: 1 } } }
    assert.ok('unusable' in toDialect(bound, anthropicStrict))
    assert.ok('schema' in toDialect(bound, openaiStrict))
  })

  test('strict drops annotations but not properties with such names', () => {
    const schema = {
      type: 'object',
      properties: { default: { type: 'string', default: 'x', examples: ['y'] } },
      required: ['default'],
      additionalProperties: false,
    }
    assert.deepEqual(adapted(schema, openaiStrict).schema['properties'], { default: { type: 'string' } })
  })

  test('arguments that can never be an object make a tool unusable', () => {
    for (const schema of [{ type: 'string' }, { anyOf: [{ type: 'array' }] }, { allOf: [{ type: 'null' }] }])
      assert.ok('unusable' in toDialect(schema, openaiLoose))
  })

  test('bounds are dropped if the schema has too many states', () => {
    const { schema, lost } = adapted(nasty['wide bounds']!, geminiOpenApi)
    assert.ok(!JSON.stringify(schema).includes('maxItems'))
    assert.match(lost.join(), /bounds and long lists/)
  })

  test('the same schema and dialect give the same object', () => {
    const schema = { type: 'object', properties: {} }
    assert.equal(toDialect(schema, openaiLoose), toDialect(schema, openaiLoose))
  })

  test('the cost of a strict tool', () => {
    const cost = strictCost({
      type: 'object',
      properties: { a: { type: ['string', 'null'] }, b: { type: 'object', properties: { c: text } } },
      required: ['a'],
    })
    assert.deepEqual([cost.optional, cost.unions], [2, 1])
  })
})

test('deep nesting and wide references terminate', () => {
  let deep: JsonObject = { type: 'string' }
  for (let level = 0; level < 500; level++) deep = { type: 'object', properties: { d: deep } }
  const defs: JsonObject = {}
  for (let level = 0; level < 30; level++) {
    const next = { $ref: `#/$defs/l${level + 1}` }
    defs[`l${level}`] = { type: 'object', properties: { a: next, b: next } }
  }
  defs['l30'] = text
  const fan = { type: 'object', properties: { top: { $ref: '#/$defs/l0' } }, $defs: defs }
  for (const [dialect] of judges)
    for (const schema of [deep, fan]) {
      const result = toDialect(schema, dialect)
      assert.ok(JSON.stringify(result).length < 4_000_000, dialect.name)
    }
})

test('a value that passes the declared schema passes the sent one', () => {
  const ajv = new Ajv2020({ strict: false, validateFormats: false, logger: false })
  const leaf = fc.constantFrom(1, 2, 7, 0.5, '', 'a', 'x', 'k', 'city-3', null, true, 'yyy')
  const value = fc.letrec<{ any: unknown }>(tie => ({
    any: fc.oneof(
      { weight: 4, arbitrary: leaf },
      fc.array(tie('any'), { maxLength: 3 }),
      fc.dictionary(fc.constantFrom('value', 'children', 'k', 'p', 'x1'), tie('any'), { maxKeys: 3 }),
    ),
  })).any
  for (const [name, schema] of Object.entries(nasty)) {
    // Merged alternatives describe a property as those do that mention it, where the others would take anything.
    if (name === 'root anyOf') continue
    let declared: (input: unknown) => unknown
    try {
      declared = ajv.compile(schema)
    } catch {
      continue // an older draft, or no schema at all: there is nothing to compare with
    }
    const properties = isJsonObject(schema['properties']) ? Object.keys(schema['properties']) : []
    const keys = [...properties, 'id', 'name', 'kind', 'more', 'x1', 'extra']
    const sent = [openaiLoose, anthropicPlain, geminiJson].map(dialect => {
      const adapted = toDialect(schema, dialect)
      assert.ok('schema' in adapted)
      return ajv.compile(adapted.schema)
    })
    const input = fc.dictionary(fc.constantFrom(...keys), value, { maxKeys: 6 })
    fc.assert(
      fc.property(input, each => {
        if (declared(each))
          for (const check of sent) assert.ok(check(each), `${name}: ${JSON.stringify(each)}`)
      }),
      { numRuns: 200 },
    )
  }
})

describe('schemas that grow without end', () => {
  /** `depth` levels, each of `width` references to the next: as many ways down as atoms. */
  const fan = (keyword: string, width: number, depth: number): JsonObject => {
    const levels = Array.from({ length: depth }, (_, at): [string, JsonObject] => [
      `n${at}`,
      { [keyword]: Array.from({ length: width }, () => ({ $ref: `#/$defs/n${at + 1}` })) },
    ])
    const leaf = { type: 'object', properties: { a: { type: 'string' } } }
    return { ...Object.fromEntries(levels), [`n${depth}`]: leaf }
  }
  const dialects = [openaiLoose, openaiStrict, anthropicPlain, anthropicStrict, geminiOpenApi, geminiJson]

  for (const keyword of ['anyOf', 'oneOf', 'allOf'])
    for (const dialect of dialects)
      test(`${keyword} for ${dialect.name}`, { timeout: 600_000 }, () => {
        const $defs = fan(keyword, 10, 20)
        const ref = { $ref: '#/$defs/n0' }
        for (const schema of [
          { $defs, ...ref },
          { $defs, type: 'object', properties: { p: ref, q: { type: 'array', items: ref } } },
        ]) {
          const adapted = toDialect(schema, dialect)
          assert.ok('unusable' in adapted || JSON.stringify(adapted.schema).length < 5_000_000)
        }
      })
})
