// Schemas of strict tools: the subset that the API compiles. `request.test.ts` has the limits that are summed over
// tools.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { checkInputSchema, checkStrictTools } from './tools.ts'

const object = (properties: object, more: object = {}): object => ({
  type: 'object',
  properties,
  additionalProperties: false,
  ...more,
})
const strict = (schema: unknown): string[] =>
  checkStrictTools([{ schema, at: 'tools.0.custom' }]).map(({ rule, message }) => `${rule} ${message}`)

const refused: [what: string, schema: object, message: string][] = [
  ['an open object', { type: 'object' }, "For 'object' type, 'additionalProperties' must be explicitly set"],
  [
    'an open object in a definition',
    object({}, { $defs: { a: { type: 'object' } } }),
    "For 'object' type, 'additionalProperties'",
  ],
  [
    'bounds of a number',
    object({ n: { type: 'integer', minimum: 0, maximum: 9 } }),
    "For 'integer' type, properties maximum, minimum are not supported",
  ],
  [
    'bounds of a string',
    object({ s: { type: 'string', minLength: 1 } }),
    "For 'string' type, properties minLength are not supported",
  ],
  [
    'more than one required item',
    object({ l: { type: 'array', items: { type: 'string' }, minItems: 2 } }),
    "For 'array' type, 'minItems' values other than 0 or 1 are not supported",
  ],
  [
    'a reference to another document',
    object({ r: { $ref: 'https://a.example/s.json' } }),
    "External '$ref' values are not supported",
  ],
]

for (const [what, schema, message] of refused)
  test(`A-15 refuses ${what} in a strict tool`, () => {
    const [first = ''] = strict(schema)
    assert.ok(first.startsWith(`A-15 tools.0.custom: ${message}`), first)
  })

test('A-15 accepts closed objects, enums, unions and local references in a strict tool', () => {
  const schema = object(
    { a: { $ref: '#/$defs/b' }, c: { anyOf: [{ type: 'string' }, { type: 'null' }] }, d: { enum: [1] } },
    { $defs: { b: { type: 'array', items: { type: 'string' }, minItems: 1 } } },
  )
  assert.deepEqual(strict(schema), [])
})

test('A-14 refuses a local reference that leads nowhere', () => {
  const schema = { type: 'object', properties: { a: { $ref: '#/$defs/none/x' } } }
  const [first] = checkInputSchema(schema)
  assert.match(first?.message ?? '', /It must match JSON Schema draft 2020-12$/)
})
