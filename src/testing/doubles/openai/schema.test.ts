import assert from 'node:assert/strict'
import { test } from 'node:test'
import { checkLooseSchema, checkStrictSchema } from './schema.ts'

type Schema = Record<string, unknown>

const closed = (properties: Record<string, unknown>, more: Schema = {}): Schema => ({
  type: 'object',
  properties,
  required: Object.keys(properties),
  additionalProperties: false,
  ...more,
})
const text = { type: 'string' }
const nested = (levels: number): Schema => (levels === 1 ? closed({}) : closed({ a: nested(levels - 1) }))
const words = (count: number, length: number) =>
  Array.from({ length: count }, (_, at) => String(at).padStart(length, 'w'))

const accepted: [string, Schema][] = [
  ['an empty closed object', closed({})],
  ['an optional value as a union with null', closed({ a: { type: ['string', 'null'] } })],
  ['anyOf below the root', closed({ a: { anyOf: [text, { type: 'null' }] } })],
  [
    'definitions that refer to themselves',
    closed(
      { tree: { $ref: '#/$defs/node' }, all: { $ref: '#' } },
      { $defs: { node: closed({ next: { anyOf: [{ $ref: '#/$defs/node' }, { type: 'null' }] } }) } },
    ),
  ],
  ['limits on strings, numbers and arrays', closed({ a: { type: 'array', items: text, maxItems: 3 } })],
  ['ten levels', nested(10)],
  ['a long enum of short values', closed({ a: { type: 'string', enum: words(300, 10) } })],
]

for (const [what, schema] of accepted) {
  test(`strict mode accepts ${what}`, () => {
    assert.equal(checkStrictSchema('f', schema), null)
  })
}

const CLOSE = "'additionalProperties' is required to be supplied and to be false."
const REQUIRE = "'required' is required to be supplied and to be an array including every key in properties."
const TOP =
  "schema must have type 'object' and not have 'oneOf'/'anyOf'/'allOf'/'enum'/'not' at the top level."

const refused: [string, unknown, string][] = [
  ['an open root', { type: 'object', properties: {} }, `In context=(), ${CLOSE}`],
  ['an open child', closed({ x: { type: 'object' } }), `In context=('properties', 'x'), ${CLOSE}`],
  [
    'additionalProperties: true',
    closed({ x: closed({}, { additionalProperties: true }) }),
    `In context=('properties', 'x'), ${CLOSE}`,
  ],
  ['an optional property', closed({ x: text }, { required: [] }), `In context=(), ${REQUIRE} Missing 'x'.`],
  [
    'an optional property further down',
    closed({ x: closed({ y: text }, { required: [] }) }),
    `In context=('properties', 'x'), ${REQUIRE} Missing 'y'.`,
  ],
  [
    'a required key that is no property',
    closed({ x: text }, { required: ['x', 'z'] }),
    `In context=(), ${REQUIRE} Extra required key 'z' supplied.`,
  ],
  ['no type', {}, `schema must be a JSON Schema of 'type: "object"', got 'type: "None"'.`],
  [
    'an array root',
    { type: 'array' },
    `schema must be a JSON Schema of 'type: "object"', got 'type: "array"'.`,
  ],
  ['anyOf at the root', { type: 'object', anyOf: [] }, TOP],
  ['a schema that is no object', true, `true is not of type 'object', 'boolean'.`],
  [
    'an array without items',
    closed({ x: { type: 'array' } }),
    "In context=('properties', 'x'), array schema missing items.",
  ],
  [
    'an open object in items',
    closed({ x: { type: 'array', items: { type: 'object' } } }),
    `In context=('properties', 'x', 'items'), ${CLOSE}`,
  ],
  [
    'an open object in a branch',
    closed({ x: { anyOf: [text, { type: 'object' }] } }),
    `In context=('properties', 'x', 'anyOf', '1'), ${CLOSE}`,
  ],
  [
    'an open definition',
    closed({}, { $defs: { node: { type: 'object' } } }),
    `In context=('$defs', 'node'), ${CLOSE}`,
  ],
  [
    'a reference to nowhere',
    closed({ x: { $ref: '#/$defs/none' } }),
    "In context=('properties', 'x'), reference can only point to definitions defined at the top level of the schema.",
  ],
  [
    'an untyped property',
    closed({ x: {} }),
    "In context=('properties', 'x'), schema must have a 'type' key.",
  ],
  [
    'eleven levels',
    nested(11),
    `In context=(${"'properties', 'a', ".repeat(10).slice(0, -2)}), schema exceeds the maximum nesting depth of 10 levels.`,
  ],
  [
    'more than 5000 properties',
    closed(Object.fromEntries(words(5001, 4).map(name => [name, text]))),
    'schema may have at most 5000 object properties in total, got 5001.',
  ],
  [
    'more than 1000 enum values',
    closed({ a: { type: 'string', enum: words(600, 4) }, b: { type: 'string', enum: words(600, 4) } }),
    'schema may have at most 1000 enum values in total, got 1200.',
  ],
  [
    'a long enum of long values',
    closed({ a: { type: 'string', enum: words(251, 60) } }),
    "In context=('properties', 'a'), an enum of more than 250 values may hold at most 15000 characters, got 15060.",
  ],
  [
    'too many characters of names',
    closed({ ['n'.repeat(120_001)]: text }),
    'the names, enum values and const values of a schema may hold at most 120000 characters, got 120001.',
  ],
  ...['allOf', 'oneOf', 'not', 'dependentRequired', 'if', 'then', 'else', 'patternProperties', 'default'].map(
    (keyword): [string, unknown, string] => [
      keyword,
      closed({ x: { type: 'string', [keyword]: {} } }),
      `In context=('properties', 'x'), '${keyword}' is not permitted.`,
    ],
  ),
]

for (const [what, schema, problem] of refused) {
  test(`strict mode refuses ${what}`, () => {
    assert.deepEqual(checkStrictSchema('f', schema, { param: 'tools[0].parameters' }), {
      rule: '2.4',
      status: 400,
      type: 'invalid_request_error',
      message: `Invalid schema for function 'f': ${problem}`,
      param: 'tools[0].parameters',
      code: 'invalid_function_parameters',
    })
  })
}

test('an output format is refused under its own name and code', () => {
  const rejection = checkStrictSchema('DoubleAnswer', {}, { subject: 'response_format' })
  assert.match(rejection?.message ?? '', /^Invalid schema for response_format 'DoubleAnswer': /)
  assert.equal(rejection?.code, 'invalid_json_schema')
})

test('outside strict mode open objects and unusual keywords are accepted', () => {
  const schema = {
    type: 'object',
    properties: { a: { type: 'string', default: 'x' }, b: { type: 'object' } },
  }
  assert.equal(checkLooseSchema('f', schema), null)
})

const looseRefused: [string, unknown, string][] = [
  ['no root type', {}, `schema must be a JSON Schema of 'type: "object"', got 'type: "None"'.`],
  ['oneOf at the root', { type: 'object', properties: {}, oneOf: [] }, TOP],
  ['a root without properties', { type: 'object' }, 'In context=(), object schema missing properties.'],
  [
    'an array without items in a branch',
    { type: 'object', properties: { x: { anyOf: [text, { type: 'array' }] } } },
    "In context=('properties', 'x', 'anyOf', '1'), array schema missing items.",
  ],
  [
    'an array in a type list without items',
    { type: 'object', properties: { x: { type: ['string', 'array'] } } },
    "In context=('properties', 'x', 'type', '1'), array schema missing items.",
  ],
]

for (const [what, schema, problem] of looseRefused) {
  test(`outside strict mode it refuses ${what}`, () => {
    assert.equal(checkLooseSchema('f', schema)?.message, `Invalid schema for function 'f': ${problem}`)
  })
}
