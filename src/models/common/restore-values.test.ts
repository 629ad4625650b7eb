import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { z } from 'zod'
import type { ModelAnswer, ModelDelta } from '../../engine/ports/index.ts'
import { isJsonObject, type Json, type JsonObject } from '../../lib/json/index.ts'
import { compileSchema } from '../../lib/schema/index.ts'
import { describeSchema } from '../../lib/schema/standard.ts'
import { checkStrictTools } from '../../testing/doubles/anthropic/tools.ts'
import { checkStrictSchema as checkOpenAi } from '../../testing/doubles/openai/schema.ts'
import { restorerFor, restoreText } from './restore-values.ts'
import { anthropicFitted, openaiFitted, toDialect } from './schema-dialect.ts'

const order = describeSchema(
  z.object({
    id: z.int(),
    note: z.string().max(10).optional(),
    gift: z.string().nullable().optional(),
    size: z.enum(['s', 'm']).optional(),
    lines: z.array(z.object({ sku: z.string(), count: z.int().min(1).optional() })).optional(),
    pay: z
      .discriminatedUnion('by', [
        z.object({ by: z.literal('card'), number: z.string(), name: z.string().optional() }),
        z.object({ by: z.literal('cash'), change: z.number().optional() }),
      ])
      .optional(),
  }),
).json

function fitted(schema: JsonObject, dialect = openaiFitted): JsonObject {
  const adapted = toDialect(schema, dialect)
  assert.ok('schema' in adapted, JSON.stringify(adapted))
  return adapted.schema
}

test('a schema that was asked to be strict is fitted, and the vendor takes it', () => {
  const schema = fitted(order)
  assert.equal(checkOpenAi('order', schema), null)
  assert.equal(schema['additionalProperties'], false)
  assert.deepEqual(schema['required'], ['id', 'note', 'gift', 'size', 'lines', 'pay'])
  const { note, gift, size } = schema['properties'] as Record<string, Json>
  assert.deepEqual(note, { type: ['string', 'null'], description: '(maxLength: 10)' })
  assert.deepEqual(gift, { type: ['string', 'null'] })
  assert.deepEqual(size, { anyOf: [{ type: 'string', enum: ['s', 'm'] }, { type: 'null' }] })
  const other = fitted(order, anthropicFitted)
  assert.deepEqual(checkStrictTools([{ at: 'tools.0.custom', schema: other }]), [])
  assert.deepEqual(other['required'], ['id'])
  assert.deepEqual((other['properties'] as Record<string, Json>)['id'], { type: 'integer' })
})

test('a schema that cannot be fitted is named with the reason', () => {
  for (const [schema, words] of [
    [{ type: 'object', additionalProperties: { type: 'string' } }, /allows properties that it does not name/],
    [{ type: 'object', properties: { a: {} } }, /has no type/],
    [{ type: 'object', properties: { a: { type: 'object' } } }, /allows properties/],
    [{ type: 'object', properties: { a: { not: { type: 'string' } } } }, /"not"/],
    [{ type: 'object', properties: { a: { allOf: [{ type: 'string' }] } } }, /"allOf"/],
  ] as [JsonObject, RegExp][]) {
    const adapted = toDialect(schema, openaiFitted)
    assert.match('unusable' in adapted ? adapted.unusable : 'usable', words)
  }
})

test('nulls that stand for what is absent are taken out, all others stay', () => {
  const restored = (value: Json): Json => JSON.parse(restoreText(JSON.stringify(value), order)) as Json
  assert.deepEqual(restored({ id: 1, note: null, gift: null, size: null, lines: null, pay: null }), {
    id: 1,
    gift: null,
  })
  assert.deepEqual(
    restored({ id: 1, lines: [{ sku: 'a', count: null }], pay: { by: 'card', number: '1', name: null } }),
    { id: 1, lines: [{ sku: 'a' }], pay: { by: 'card', number: '1' } },
  )
  assert.deepEqual(restored({ id: 1, pay: { by: 'cash', change: null } }), { id: 1, pay: { by: 'cash' } })
  assert.deepEqual(restored({ id: null, other: null }), { id: null, other: null })
  for (const text of ['{"note":null', '{"id":1,"note":null,"note":"x"}', '{ "id": 1 }', 'null', '"a"'])
    assert.equal(restoreText(text, order), text)
})

test('what the fitted schema allows is restored to what the declared one allows', () => {
  const text = fc.string({ maxLength: 10 })
  const line = fc.record({ sku: text, count: fc.option(fc.integer({ min: 1, max: 9 })) })
  const pay = fc.oneof(
    fc.record({ by: fc.constant('card'), number: text, name: fc.option(text) }),
    fc.record({ by: fc.constant('cash'), change: fc.option(fc.integer()) }),
  )
  const strict = compileSchema(fitted(order))
  const declared = compileSchema(order)
  fc.assert(
    fc.property(
      fc.record({
        ...{ id: fc.integer(), note: fc.option(text), gift: fc.option(text) },
        ...{ size: fc.option(fc.constantFrom('s', 'm')), lines: fc.option(fc.array(line, { maxLength: 3 })) },
        pay: fc.option(pay),
      }),
      value => {
        assert.equal(strict.check(value), null)
        const restored = JSON.parse(restoreText(JSON.stringify(value), order)) as Json
        assert.equal(declared.check(restored), null)
        assert.ok(isJsonObject(restored))
        for (const [name, item] of Object.entries(value))
          if (item !== null && name !== 'lines' && name !== 'pay') assert.deepEqual(restored[name], item)
      },
    ),
    { numRuns: 200 },
  )
})

test('deltas of what has to be restored are held until it is whole, and sum up to it', () => {
  const shown: ModelDelta[] = []
  const restorer = restorerFor({ tools: new Map([['order', order]]), text: order }, delta =>
    shown.push(delta),
  )
  const written = '{"id":1,"note":null}'
  for (const delta of [
    { type: 'text', text: 'Well: ' },
    { type: 'call', index: 0, name: 'other', form: 'json' },
    { type: 'arguments', index: 0, text: '{"a":null}' },
    { type: 'call', index: 1, name: 'order', form: 'json' },
    { type: 'arguments', index: 1, text: written },
  ] as ModelDelta[])
    restorer.watch(delta)
  const answer: ModelAnswer = {
    parts: [
      { type: 'text', text: 'Well: ' },
      { type: 'call', name: 'other', form: 'json', text: '{"a":null}' },
      { type: 'call', name: 'order', form: 'json', text: written },
    ],
    stop: 'calls',
  }
  const { parts } = restorer.restore(answer)
  assert.deepEqual(
    parts.map(part => ('text' in part ? part.text : '')),
    ['Well: ', '{"a":null}', '{"id":1}'],
  )
  assert.deepEqual(shown.at(-1), { type: 'arguments', index: 1, text: '{"id":1}' })
  assert.equal(shown.filter(({ type }) => type === 'text').length, 1)

  shown.length = 0
  restorer.watch({ type: 'reset' })
  restorer.watch({ type: 'text', text: written })
  const said = restorer.restore({ parts: [{ type: 'text', text: written }], stop: 'end' })
  assert.deepEqual(said.parts, [{ type: 'text', text: '{"id":1}' }])
  assert.deepEqual(shown, [{ type: 'reset' }, { type: 'text', text: '{"id":1}' }])
})
