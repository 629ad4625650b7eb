// What JSON Schema says, keyword by keyword, as data: values that are valid and values that are not. A case holds in every
// dialect unless it names those in which it does. `exceptions` are schemas that are valid JSON Schema and are refused here
// by design; none of them may ever accept a value.
import type { Json, JsonObject } from '../../src/lib/json/index.ts'

export const dialects = {
  'draft-04': 'http://json-schema.org/draft-04/schema#',
  'draft-06': 'http://json-schema.org/draft-06/schema#',
  'draft-07': 'http://json-schema.org/draft-07/schema#',
  '2019-09': 'https://json-schema.org/draft/2019-09/schema',
  '2020-12': 'https://json-schema.org/draft/2020-12/schema',
} as const
export type DialectName = keyof typeof dialects

export type Case = { keyword: string; schema: JsonObject; valid: Json[]; invalid: Json[]; in?: DialectName[] }

const from06: DialectName[] = ['draft-06', 'draft-07', '2019-09', '2020-12']
const from07: DialectName[] = ['draft-07', '2019-09', '2020-12']
const from2019: DialectName[] = ['2019-09', '2020-12']
const before2020: DialectName[] = ['draft-04', 'draft-06', 'draft-07', '2019-09']

export const cases: Case[] = [
  // ---- any value -----------------------------------------------------------------------------------------------
  {
    keyword: 'type',
    schema: { type: 'integer' },
    valid: [1, 1.0, -3, 1e30],
    invalid: [1.5, '1', null, true, [], {}],
  },
  {
    keyword: 'type',
    schema: { type: ['string', 'null'] },
    valid: ['', null],
    invalid: [0, false, [], {}],
  },
  { keyword: 'type', schema: { type: 'object' }, valid: [{}], invalid: [[], null, 'x'] },
  { keyword: 'type', schema: { type: 'number' }, valid: [1, 1.5], invalid: ['1', true, null] },
  { keyword: 'type', schema: { type: 'boolean' }, valid: [true, false], invalid: [0, 'true', null] },
  {
    keyword: 'enum',
    schema: { enum: [6, 'foo', [], true, { foo: 12 }, null] },
    valid: [6, [], { foo: 12 }, null, true],
    invalid: ['6', 1, [0], { foo: '12' }, { foo: 12, bar: 1 }, false],
  },
  { keyword: 'enum', schema: { enum: [[false]] }, valid: [[false]], invalid: [[0], [[false]], false] },
  {
    keyword: 'const',
    in: from06,
    schema: { const: { a: 1, b: [0] } },
    valid: [{ b: [0], a: 1 }],
    invalid: [{ a: 1 }, { a: 1, b: [false] }, 1, null],
  },
  { keyword: 'const', in: from06, schema: { const: null }, valid: [null], invalid: [0, false, '', {}] },
  // ---- numbers -------------------------------------------------------------------------------------------------
  { keyword: 'minimum', schema: { minimum: 1.1 }, valid: [1.1, 2, 'x'], invalid: [1, -5] },
  { keyword: 'maximum', schema: { maximum: 3 }, valid: [3, 2.9, {}], invalid: [3.1] },
  {
    keyword: 'exclusiveMinimum',
    in: from06,
    schema: { exclusiveMinimum: 1 },
    valid: [1.1, 'x'],
    invalid: [1, 0],
  },
  { keyword: 'exclusiveMaximum', in: from06, schema: { exclusiveMaximum: 3 }, valid: [2.9], invalid: [3, 4] },
  {
    keyword: 'exclusiveMinimum',
    schema: { minimum: 1, exclusiveMinimum: true, maximum: 3, exclusiveMaximum: false },
    valid: [1.1, 3],
    invalid: [1, 3.1],
  },
  { keyword: 'multipleOf', schema: { multipleOf: 2 }, valid: [4, 0, -2, 'x'], invalid: [3, 1.5] },
  { keyword: 'multipleOf', schema: { multipleOf: 0.01 }, valid: [4.5, 0], invalid: [0.005] },
  // ---- texts ---------------------------------------------------------------------------------------------------
  { keyword: 'minLength', schema: { minLength: 2 }, valid: ['ab', '💩💩', 1], invalid: ['a', '💩'] },
  { keyword: 'maxLength', schema: { maxLength: 2 }, valid: ['ab', '💩💩', []], invalid: ['abc'] },
  { keyword: 'pattern', schema: { pattern: 'a+' }, valid: ['xaay', 3], invalid: ['xy'] },
  {
    keyword: 'pattern',
    schema: { pattern: '^\\S(|(.|\\n)*\\S)\\Z' },
    valid: ['a', 'a b'],
    invalid: ['a ', ' a'],
  },
  {
    keyword: 'pattern',
    schema: { pattern: '^\\s$' },
    valid: ['\u00a0', '\u2003', '\ufeff'],
    invalid: ['\u0085', 'a'],
  },
  { keyword: 'pattern', schema: { pattern: '^\\p{Letter}cole$' }, valid: ['école'], invalid: ['1cole'] },
  { keyword: 'pattern', schema: { pattern: '^\\p{digit}+$' }, valid: ['৪২', '42'], invalid: ['-%#'] },
  { keyword: 'pattern', schema: { pattern: '^\\d\\w$' }, valid: ['1a'], invalid: ['৪a', '1é'] },
  { keyword: 'format', schema: { format: 'ipv4' }, valid: ['127.0.0.1', 4], invalid: ['256.1.1.1'] },
  { keyword: 'format', schema: { format: 'own' }, valid: ['x'], invalid: [] },
  // ---- lists ---------------------------------------------------------------------------------------------------
  {
    keyword: 'items',
    schema: { items: { type: 'integer' } },
    valid: [[1, 2], [], { a: 'x' }],
    invalid: [[1, 'x']],
  },
  {
    keyword: 'items',
    in: before2020,
    schema: { items: [{ type: 'integer' }, { type: 'string' }] },
    valid: [[1, 'a', null], [1], []],
    invalid: [['a'], [1, 2]],
  },
  {
    keyword: 'additionalItems',
    schema: { items: [{}], additionalItems: { type: 'integer' } },
    valid: [['a', 1], ['a'], {}],
    invalid: [['a', 'b']],
  },
  {
    keyword: 'additionalItems',
    in: before2020,
    schema: { items: {}, additionalItems: false },
    valid: [[1, 2, 3]],
    invalid: [],
  },
  {
    keyword: 'prefixItems',
    in: ['2020-12'],
    schema: { prefixItems: [{ type: 'integer' }, { type: 'string' }], items: false },
    valid: [[1, 'a'], [1], []],
    invalid: [['a'], [1, 'a', 2]],
  },
  {
    keyword: 'contains',
    in: from06,
    schema: { contains: { minimum: 5 } },
    valid: [[1, 5], {}],
    invalid: [[1], []],
  },
  {
    keyword: 'minContains',
    in: from2019,
    schema: { contains: { const: 1 }, minContains: 2, maxContains: 3 },
    valid: [
      [1, 1],
      [1, 2, 1, 1],
    ],
    invalid: [[1], [1, 1, 1, 1], []],
  },
  { keyword: 'maxContains', in: from2019, schema: { maxContains: 1 }, valid: [[1, 1]], invalid: [] },
  {
    keyword: 'minContains',
    in: from2019,
    schema: { contains: { const: 1 }, minContains: 0 },
    valid: [[]],
    invalid: [],
  },
  { keyword: 'minItems', schema: { minItems: 1 }, valid: [[1], ''], invalid: [[]] },
  { keyword: 'maxItems', schema: { maxItems: 1 }, valid: [[], [1]], invalid: [[1, 2]] },
  {
    keyword: 'uniqueItems',
    schema: { uniqueItems: true },
    valid: [
      [1, true],
      [{ a: 1 }, { a: 2 }],
      [[1], [true]],
      ['a', 'b'],
    ],
    invalid: [
      [1, 1],
      [
        { a: 1, b: 2 },
        { b: 2, a: 1 },
      ],
      [[1], [1]],
      [1, 1.0],
    ],
  },
  {
    keyword: 'unevaluatedItems',
    in: ['2020-12'],
    schema: {
      prefixItems: [{ type: 'string' }],
      allOf: [{ prefixItems: [true, { type: 'number' }] }],
      unevaluatedItems: false,
    },
    valid: [['a', 1], ['a']],
    invalid: [['a', 1, 2]],
  },
  // ---- objects -------------------------------------------------------------------------------------------------
  {
    keyword: 'properties',
    schema: {
      properties: { a: { type: 'integer' }, 'b"c\n': { type: 'string' }, toString: { type: 'integer' } },
    },
    valid: [{}, { a: 1, d: [] }, { toString: 1 }, []],
    invalid: [{ a: 'x' }, { 'b"c\n': 1 }, { toString: 'x' }],
  },
  {
    keyword: 'patternProperties',
    schema: { patternProperties: { '^a': { type: 'integer' }, b$: { minimum: 3 } } },
    valid: [{ a1: 1, c: 'x' }, { ab: 3 }],
    invalid: [{ a1: 'x' }, { ab: 1 }, { xb: 1 }],
  },
  {
    keyword: 'additionalProperties',
    schema: { properties: { a: {} }, patternProperties: { '^x': {} }, additionalProperties: false },
    valid: [{ a: 1, x1: 2 }, [], 'a'],
    invalid: [{ b: 1 }, { a: 1, constructor: 1 }],
  },
  {
    keyword: 'additionalProperties',
    schema: { properties: { a: {} }, additionalProperties: { type: 'boolean' } },
    valid: [{ a: 1, b: true }],
    invalid: [{ b: 1 }],
  },
  {
    keyword: 'required',
    schema: { required: ['a', 'toString', '__proto__'] },
    valid: [JSON.parse('{"a":1,"toString":1,"__proto__":1}') as Json, []],
    invalid: [{}, { a: 1 }, { a: 1, toString: 1 }],
  },
  { keyword: 'minProperties', schema: { minProperties: 1 }, valid: [{ a: 1 }, []], invalid: [{}] },
  {
    keyword: 'maxProperties',
    schema: { maxProperties: 1 },
    valid: [{}, { a: 1 }],
    invalid: [{ a: 1, b: 2 }],
  },
  {
    keyword: 'propertyNames',
    in: from06,
    schema: { propertyNames: { maxLength: 3, pattern: '^a' } },
    valid: [{ abc: 1 }, {}, []],
    invalid: [{ abcd: 1 }, { b: 1 }],
  },
  {
    keyword: 'dependencies',
    schema: { dependencies: { a: ['b'], c: { properties: { d: { type: 'string' } } } } },
    valid: [{}, { a: 1, b: 2 }, { c: 1, d: 'x' }, { d: 1 }],
    invalid: [{ a: 1 }, { c: 1, d: 1 }],
  },
  {
    keyword: 'dependentRequired',
    in: from2019,
    schema: { dependentRequired: { a: ['b', 'c'], d: [], 'e\tf': ['g'] } },
    valid: [{}, { a: 1, b: 2, c: 3 }, { d: 1 }, { b: 1 }, []],
    invalid: [{ a: 1 }, { a: 1, b: 2 }, { 'e\tf': 1 }],
  },
  {
    keyword: 'dependentSchemas',
    in: from2019,
    schema: { dependentSchemas: { a: { required: ['b'], properties: { b: { type: 'integer' } } } } },
    valid: [{}, { a: 1, b: 2 }, { b: 'x' }],
    invalid: [{ a: 1 }, { a: 1, b: 'x' }],
  },
  {
    keyword: 'unevaluatedProperties',
    in: from2019,
    schema: {
      allOf: [{ properties: { a: {} } }],
      anyOf: [{ required: ['b'], properties: { b: {} } }, {}],
      unevaluatedProperties: false,
    },
    valid: [{ a: 1 }, { a: 1, b: 2 }],
    invalid: [{ c: 1 }, { toString: 1 }],
  },
  {
    keyword: 'unevaluatedProperties',
    in: from2019,
    schema: {
      if: { properties: { a: { const: 1 } }, required: ['a'] },
      else: { properties: { b: {} } },
      unevaluatedProperties: false,
    },
    valid: [{ a: 1 }, { b: 1 }, {}],
    invalid: [{ a: 2 }, { a: 1, b: 1 }, { a: 2, b: 1 }],
  },
  // ---- combinations --------------------------------------------------------------------------------------------
  { keyword: 'allOf', schema: { allOf: [{ minimum: 1 }, { maximum: 3 }] }, valid: [2, 'x'], invalid: [0, 4] },
  {
    keyword: 'anyOf',
    schema: { anyOf: [{ type: 'integer' }, { minimum: 2 }] },
    valid: [1, 2.5, 'x'],
    invalid: [1.5],
  },
  {
    keyword: 'oneOf',
    schema: { oneOf: [{ type: 'integer' }, { minimum: 2 }] },
    valid: [1, 2.5],
    invalid: [3, 1.5],
  },
  {
    keyword: 'not',
    schema: { not: { type: ['integer', 'boolean'] } },
    valid: ['x', 1.5],
    invalid: [1, true],
  },
  { keyword: 'not', schema: { properties: { a: { not: {} } } }, valid: [{ b: 1 }], invalid: [{ a: 1 }] },
  {
    keyword: 'if',
    in: from07,
    schema: { if: { exclusiveMaximum: 0 }, then: { minimum: -10 }, else: { multipleOf: 2 } },
    valid: [-1, 4, -10],
    invalid: [-100, 3],
  },
  { keyword: 'then', in: from07, schema: { then: { const: 0 } }, valid: [1], invalid: [] },
  {
    keyword: 'else',
    in: from07,
    schema: { if: { const: 1 }, else: { const: 0 } },
    valid: [0, 1],
    invalid: [2],
  },
  // ---- references ----------------------------------------------------------------------------------------------
  {
    keyword: '$ref',
    schema: { properties: { next: { $ref: '#' } }, additionalProperties: false },
    valid: [{ next: { next: {} } }],
    invalid: [{ next: { last: 1 } }],
  },
  {
    keyword: 'definitions',
    schema: {
      definitions: { 'a/b': { type: 'integer' }, 'c%d': { type: 'string' } },
      items: { $ref: '#/definitions/a~1b' },
    },
    valid: [[1]],
    invalid: [['a']],
  },
  {
    keyword: '$defs',
    in: from2019,
    schema: {
      $defs: { 'c%d': { type: 'string' } },
      properties: { a: { $ref: '#/$defs/c%25d', maxLength: 2 } },
    },
    valid: [{ a: 'ab' }],
    invalid: [{ a: 1 }, { a: 'abc' }],
  },
  {
    keyword: '$anchor',
    in: from2019,
    schema: { $defs: { a: { $anchor: 'foo', type: 'integer' } }, items: { $ref: '#foo' } },
    valid: [[1]],
    invalid: [['a']],
  },
  {
    keyword: '$id',
    in: from2019,
    schema: {
      $id: 'https://example.test/root',
      $defs: { a: { $id: 'other', type: 'integer', $defs: { b: { type: 'string' } } } },
      properties: { a: { $ref: 'other' }, b: { $ref: 'other#/$defs/b' } },
    },
    valid: [{ a: 1, b: 'x' }],
    invalid: [{ a: 'x' }, { b: 1 }],
  },
  {
    keyword: '$id',
    in: ['draft-06', 'draft-07'],
    schema: {
      $id: 'http://example.test/root',
      definitions: {
        foo: { $id: 'http://example.test/foo', type: 'string' },
        b: { $id: 'http://b.test/', definitions: { foo: { type: 'number' } } },
      },
      allOf: [{ $id: 'http://b.test/', $ref: 'foo' }],
    },
    valid: ['a'],
    invalid: [1],
  },
  {
    keyword: 'id',
    in: ['draft-04'],
    schema: {
      id: 'http://example.test/root',
      definitions: { a: { id: '#foo', type: 'integer' } },
      items: { $ref: '#foo' },
    },
    valid: [[1]],
    invalid: [['a']],
  },
  {
    keyword: '$id',
    in: ['2020-12'],
    schema: {
      $defs: {
        a: { own: { $id: 'https://example.test/x', type: 'null' } },
        b: { $id: 'https://example.test/x', type: 'string' },
      },
      $ref: 'https://example.test/x',
    },
    valid: ['a'],
    invalid: [null],
  },
  {
    keyword: '$dynamicRef',
    in: ['2020-12'],
    schema: {
      type: 'array',
      items: { $dynamicRef: '#items' },
      $defs: { foo: { $dynamicAnchor: 'items', type: 'string' } },
    },
    valid: [['a']],
    invalid: [['a', 1]],
  },
  {
    keyword: '$dynamicAnchor',
    in: ['2020-12'],
    schema: {
      $id: 'https://example.test/tree',
      $dynamicAnchor: 'node',
      properties: { data: true, children: { type: 'array', items: { $dynamicRef: '#node' } } },
      additionalProperties: false,
    },
    valid: [{ children: [{ data: 1 }] }],
    invalid: [{ children: [{ daat: 1 }] }],
  },
  {
    keyword: '$dynamicRef',
    in: ['2020-12'],
    schema: {
      $id: 'https://example.test/root',
      $ref: 'list',
      $defs: {
        foo: { $dynamicAnchor: 'items', type: 'string' },
        list: {
          $id: 'list',
          type: 'array',
          items: { $dynamicRef: '#items' },
          $defs: { items: { $anchor: 'items' } },
        },
      },
    },
    valid: [['a', 42]],
    invalid: ['a'],
  },
  {
    keyword: '$recursiveRef',
    in: ['2019-09'],
    schema: { properties: { foo: { $recursiveRef: '#' } }, additionalProperties: false },
    valid: [{ foo: { foo: {} } }],
    invalid: [{ foo: { bar: 1 } }],
  },
  // ---- what checks nothing -------------------------------------------------------------------------------------
  {
    keyword: 'default',
    schema: { properties: { a: { type: 'integer', default: 'x' } } },
    valid: [{}],
    invalid: [{ a: 'x' }],
  },
  {
    keyword: 'contentMediaType',
    in: from07,
    schema: { contentMediaType: 'application/json', contentEncoding: 'base64' },
    valid: ['{:}', 1],
    invalid: [],
  },
]

/** By design: what would need a document that is not there, or would be answered wrongly. */
export const exceptions: { why: string; schema: JsonObject; in: DialectName; words: RegExp }[] = [
  {
    why: 'nothing is fetched',
    in: '2020-12',
    schema: { $ref: 'https://json-schema.org/draft/2020-12/schema' },
    words: /nothing is fetched/,
  },
  {
    why: 'nothing is fetched',
    in: 'draft-07',
    schema: { $ref: 'http://localhost:1234/integer.json' },
    words: /nothing is fetched/,
  },
  {
    why: 'the name is special to JavaScript',
    in: '2020-12',
    schema: JSON.parse('{"properties":{"__proto__":{"type":"number"}}}') as JsonObject,
    words: /"__proto__" cannot be declared/,
  },
  {
    why: 'its target depends on the path that led to it',
    in: '2020-12',
    schema: {
      $id: 'https://example.test/root',
      $ref: 'list',
      $defs: {
        foo: { $dynamicAnchor: 'items', type: 'string' },
        list: {
          $id: 'list',
          items: { $dynamicRef: '#items' },
          $defs: { items: { $dynamicAnchor: 'items' } },
        },
      },
    },
    words: /several resources.*Use \$ref/,
  },
  {
    why: 'its target depends on the path that led to it',
    in: '2019-09',
    schema: {
      $id: 'https://example.test/root',
      $recursiveAnchor: true,
      $defs: { a: { $id: 'a', $recursiveAnchor: true, items: { $recursiveRef: '#' } } },
    },
    words: /several resources/,
  },
  {
    why: 'which items a failed alternative has seen is not known',
    in: '2020-12',
    schema: { unevaluatedItems: { type: 'boolean' }, anyOf: [{ items: { type: 'string' } }, true] },
    words: /"unevaluatedItems" cannot be used/,
  },
  {
    why: 'which items "contains" has seen is not known',
    in: '2020-12',
    schema: { prefixItems: [true], contains: { type: 'string' }, unevaluatedItems: false },
    words: /"unevaluatedItems" cannot be used/,
  },
  {
    why: 'only the named dialects are read',
    in: '2020-12',
    schema: { $schema: 'https://example.test/own-dialect' },
    words: /is not supported/,
  },
  { why: 'patterns take linear time', in: '2020-12', schema: { pattern: '^(?!a)' }, words: /looks ahead/ },
]
