// Schemas as tool servers really send them, offered to every vendor. A tool that a vendor cannot take must never cost
// the other tools.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Settings } from '../../src/language/events.ts'
import type { JsonObject } from '../../src/lib/json/index.ts'
import { clientTool } from '../engine/rig.ts'
import {
  begin,
  lastExchange,
  openTable,
  refusals,
  startVendors,
  tell,
  type Vendors,
  vendorNames,
} from './rig.ts'

const deep = (levels: number): JsonObject =>
  levels === 0
    ? { type: 'string' }
    : { type: 'object', properties: { in: deep(levels - 1) }, required: ['in'], additionalProperties: false }

const nasty: Record<string, JsonObject> = {
  nothing: {},
  'empty.object': { type: 'object' },
  'no properties': { type: 'object', properties: {}, additionalProperties: false },
  draft7: {
    $schema: 'http://json-schema.org/draft-07/schema#',
    type: 'object',
    definitions: { id: { type: 'string', minLength: 1 } },
    properties: { id: { $ref: '#/definitions/id' } },
    dependencies: { id: ['x'] },
  },
  recursive: {
    type: 'object',
    properties: { tree: { $ref: '#/$defs/node' } },
    $defs: {
      node: {
        type: 'object',
        properties: {
          value: { type: 'string' },
          children: { type: 'array', items: { $ref: '#/$defs/node' } },
        },
      },
    },
  },
  'root-ref': {
    $ref: '#/$defs/root',
    $defs: { root: { type: 'object', properties: { a: { type: 'string' } }, required: ['a'] } },
  },
  'root-one-of': {
    type: 'object',
    oneOf: [
      { properties: { a: { type: 'string' } }, required: ['a'] },
      { properties: { b: { type: 'number' } }, required: ['b'] },
    ],
  },
  'root-all-of': {
    allOf: [
      { type: 'object', properties: { a: { type: 'string' } } },
      { type: 'object', properties: { b: { type: 'integer', exclusiveMinimum: 0, multipleOf: 5 } } },
    ],
  },
  'root-any-of': { anyOf: [{ type: 'object', properties: { a: {} } }, { type: 'object' }] },
  types: {
    type: 'object',
    properties: {
      either: { type: ['string', 'null', 'integer'] },
      fixed: { const: 'x' },
      nothing: { type: 'null' },
      mixed: { enum: ['a', 1, true, null] },
      numbers: { type: 'integer', enum: [1, 2, 3] },
      anything: true,
      never: false,
      bare: {},
    },
    required: ['either', 'missing'],
  },
  arrays: {
    type: 'object',
    properties: {
      bare: { type: 'array' },
      tuple: { type: 'array', prefixItems: [{ type: 'string' }, { type: 'number' }], items: false },
      any: { type: 'array', items: true },
      bounded: {
        type: 'array',
        items: { type: 'string' },
        minItems: 1,
        maxItems: 100_000,
        uniqueItems: true,
      },
      contains: { type: 'array', contains: { const: 1 }, minContains: 2 },
    },
  },
  objects: {
    type: 'object',
    properties: {
      map: { type: 'object', additionalProperties: { type: 'number' } },
      patterned: { type: 'object', patternProperties: { '^x-': { type: 'string' } } },
      conditional: { if: { type: 'string' }, then: { minLength: 1 }, else: { type: 'number' } },
      not: { not: { type: 'string' } },
      named: { type: 'object', propertyNames: { pattern: '^[a-z]+$' } },
    },
    dependentRequired: { map: ['patterned'] },
    unevaluatedProperties: false,
  },
  keys: {
    type: 'object',
    properties: {
      'with space': { type: 'string' },
      $ref: { type: 'string' },
      'a/b~c': { type: 'string' },
      ключ: { type: 'string' },
      ['k'.repeat(80)]: { type: 'string' },
      properties: { type: 'object', properties: { type: { type: 'string' } } },
      __proto__x: { type: 'string' },
    },
  },
  words: {
    type: 'object',
    title: 'T',
    description: 'half \ud83d',
    'x-vendor': { a: 1 },
    properties: {
      when: { type: 'string', format: 'date-time', examples: ['now'], deprecated: true, readOnly: true },
      odd: { type: 'string', format: 'iso-country', pattern: '^(?<year>\\d{4})\\p{L}$' },
      data: { type: 'string', contentEncoding: 'base64', contentMediaType: 'image/png' },
      pick: { type: 'string', enum: ['', 'a', 'a'], default: 'a', $comment: 'twice' },
    },
  },
  many: {
    type: 'object',
    properties: Object.fromEntries(
      Array.from({ length: 300 }, (_, at) => [`p${at}`, { type: ['string', 'null'] }]),
    ),
  },
  'large-enum': {
    type: 'object',
    properties: { e: { enum: Array.from({ length: 1200 }, (_, at) => `value ${at}`) } },
  },
  deep: deep(30),
  ['long'.repeat(32)]: { type: 'object' },
}

let vendors: Vendors
before(async () => {
  vendors = await startVendors()
})
after(() => vendors.close())

for (const vendor of vendorNames)
  test(`${vendor} accepts all of them in one request, with strict unset and false`, async () => {
    const table = openTable(vendors)
    for (const strict of [undefined, false]) {
      const clientTools: Settings['clientTools'] = Object.entries(nasty).map(([name, schema]) => ({
        ...clientTool(name),
        input: { form: 'json', schema, ...(strict !== undefined && { strict }) },
      }))
      const session = await begin(table, vendor, { clientTools })
      await tell(session, 'Which tools have you?')
      assert.deepEqual(refusals(vendors.doubles[vendor]), [])
      assert.equal(session.state.lastStop?.stop, 'end')
      const { rawText } = lastExchange(vendors, vendor)
      const offered = rawText.match(/"description":"[^"]*run by the application"/g)?.length ?? 0
      assert.ok(offered >= clientTools.length - 2, `${offered} of ${clientTools.length} are offered`)
    }
  })

for (const vendor of vendorNames)
  test(`${vendor} accepts each of them as strict, or the client is told why it cannot be`, async () => {
    const table = openTable(vendors)
    let strictOnes = 0
    for (const [name, schema] of Object.entries(nasty)) {
      const input = { form: 'json', schema, strict: true } as const
      const session = await begin(table, vendor, { clientTools: [{ ...clientTool(name), input }] })
      await tell(session, 'Which tools have you?')
      assert.deepEqual(refusals(vendors.doubles[vendor]), [], name)
      const { stop, error } = session.state.lastStop ?? {}
      if (stop === 'end') strictOnes += 1
      else
        assert.match(`${error?.code} ${error?.message}`, /^invalid_tool .*cannot be strict with this model/)
    }
    assert.ok(strictOnes > 3, `${strictOnes} could be`)
  })
