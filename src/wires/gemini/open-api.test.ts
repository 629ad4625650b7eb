import assert from 'node:assert/strict'
import { test } from 'node:test'
import { inspectSchema } from '../../lib/schema/index.ts'
import { fromOpenApi } from './open-api.ts'

test('types in capitals, nullable, counts as text and words of OpenAPI become JSON Schema', () => {
  const schema = fromOpenApi({
    type: 'OBJECT',
    description: 'All of it.',
    properties: {
      city: { type: 'STRING', nullable: true, enum: ['Oslo', 'Rome'], format: 'enum' },
      days: { type: 'ARRAY', items: { type: 'INTEGER', format: 'int64' }, minItems: '1', max_items: 3 },
      at: { type: 'STRING', format: 'date-time', example: '2026-01-01T00:00:00Z' },
      either: { anyOf: [{ type: 'NUMBER' }, { type: 'BOOLEAN' }], nullable: true },
      type: { type: 'STRING' },
    },
    required: ['city'],
    propertyOrdering: ['city', 'days'],
  })
  assert.deepEqual(schema, {
    type: 'object',
    description: 'All of it.',
    properties: {
      city: { type: ['string', 'null'], enum: ['Oslo', 'Rome', null] },
      days: { type: 'array', items: { type: 'integer' }, minItems: 1, maxItems: 3 },
      at: { type: 'string', format: 'date-time', examples: ['2026-01-01T00:00:00Z'] },
      either: { anyOf: [{ type: 'number' }, { type: 'boolean' }, { type: 'null' }] },
      type: { type: 'string' },
    },
    required: ['city'],
  })
  assert.doesNotThrow(() => inspectSchema(schema))
})

test('JSON Schema stays as it is', () => {
  const schema = {
    type: 'object',
    properties: { q: { type: ['string', 'null'], minLength: 1 } },
    additionalProperties: { type: 'string' },
  }
  assert.deepEqual(fromOpenApi(schema), schema)
  assert.deepEqual(fromOpenApi({ type: 'TYPE_UNSPECIFIED' }), {})
})
