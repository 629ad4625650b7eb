import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import type { Json, JsonObject } from '../../lib/json.ts'
import { compileSchema } from '../../lib/schema.ts'
import { findFacts } from './facts.ts'
import { fillArguments } from './fill.ts'
import { sampleOf } from './pattern.ts'
import { fits } from './schemas.ts'
import { sourceOf } from './slots.ts'
import { stem } from './words.ts'

const now = Date.UTC(2026, 0, 14)

function fill(schema: JsonObject, text: string): JsonObject {
  const facts = findFacts(text, { now, vocabulary: new Set() })
  return fillArguments(schema, sourceOf({ text, free: text, facts, pool: [], vocabulary: new Set(), now }))
}

function filled(properties: JsonObject, text: string, required = Object.keys(properties)): JsonObject {
  return fill({ type: 'object', properties, required }, text)
}

describe('any schema', () => {
  const text = fc.constantFrom(
    'Send 3 mails to ana@example.com about "Lunch" in Paris tomorrow',
    'set the mode to fast with count 7 and ratio 0.5',
    'read /tmp/a.txt and https://example.com/x',
    'hello',
    '',
    '🙂 12 * 4, “ünïcode” 99',
  )

  test('the arguments fit it, by the checker that the gate uses', () => {
    fc.assert(
      fc.property(objectSchema, text, (schema, words) => {
        const value = fill(schema, words)
        assert.equal(compileSchema(schema).check(value), null, JSON.stringify({ schema, value }))
      }),
      { numRuns: 250 },
    )
  })

  test('the small check agrees with the whole one', () => {
    fc.assert(
      fc.property(objectSchema, objectSchema, text, (schema, other, words) => {
        const value = fill(other, words)
        assert.equal(fits(schema, value, schema), compileSchema(schema).check(value) === null)
      }),
      { numRuns: 60 },
    )
  })
})

// ---- random schemas --------------------------------------------------------------------------------------

const name = fc.constantFrom(
  'to',
  'city',
  'path',
  'count',
  'mode',
  'body',
  'when',
  'url',
  'isFast',
  'user_name',
  'x',
)

const stringSchema = fc.oneof<fc.Arbitrary<JsonObject>[]>(
  fc.constant({ type: 'string' }),
  fc.record({ least: fc.nat(12), more: fc.nat(12) }).map(({ least, more }) => ({
    type: 'string',
    minLength: least,
    maxLength: least + more,
  })),
  fc
    .constantFrom('email', 'uri', 'date', 'date-time', 'time', 'uuid', 'ipv4', 'ipv6', 'hostname', 'duration')
    .map(format => ({ type: 'string', format })),
  fc
    .constantFrom('^[A-Z]{3}$', '^\\d{4}-\\d{2}$', '^(?:GET|POST)$', '^#[0-9a-f]{6}$', '^[a-z_]+@v\\d+$')
    .map(pattern => ({ type: 'string', pattern })),
  fc.constant({ type: 'string', examples: ['Oslo'], default: 'Rome' }),
)
const numberSchema: fc.Arbitrary<JsonObject> = fc
  .record({
    type: fc.constantFrom('integer', 'number'),
    low: fc.integer({ min: -50, max: 50 }),
    span: fc.integer({ min: 2, max: 40 }),
    open: fc.boolean(),
    step: fc.constantFrom(undefined, 1, 2, 0.5),
  })
  .map(({ type, low, span, open, step }) => ({
    type,
    ...(open
      ? { exclusiveMinimum: low, exclusiveMaximum: low + span + 2 }
      : { minimum: low, maximum: low + span }),
    ...(step === undefined ? {} : { multipleOf: step }),
  }))
const leaf = fc.oneof<fc.Arbitrary<JsonObject>[]>(
  stringSchema,
  numberSchema,
  fc.constant({ type: 'boolean' }),
  fc.constant({ type: 'null' }),
  fc.constant({ const: 'fixed' }),
  fc
    .uniqueArray(fc.constantFrom<Json>('fast', 'slow', 'living room', 3, 7, true, null), { minLength: 1 })
    .map(list => ({ enum: list })),
  fc
    .constantFrom(['string', 'null'], ['null', 'integer'], ['boolean', 'string'])
    .map(type => ({ type: [...type] })),
  fc.constant({ $ref: '#/$defs/Shared' }),
)
const { schema: anySchema } = fc.letrec<{ schema: JsonObject }>(tie => ({
  schema: fc.oneof(
    { maxDepth: 3, withCrossShrink: true },
    leaf,
    fc
      .record({ items: tie('schema'), least: fc.nat(3), more: fc.nat(3), unique: fc.boolean() })
      .map(({ items, least, more, unique }) => ({
        type: 'array',
        items: unique ? { type: 'integer', minimum: 0 } : items,
        minItems: least,
        maxItems: least + more,
        ...(unique ? { uniqueItems: true } : {}),
      })),
    members(tie('schema')),
    fc.tuple(tie('schema'), tie('schema')).map(list => ({ anyOf: list })),
    fc.tuple(stringSchema, numberSchema).map(list => ({ oneOf: list })),
    fc.tuple(members(tie('schema')), fc.constant({ title: 'both' })).map(list => ({ allOf: list })),
  ),
}))

function members(schema: fc.Arbitrary<JsonObject>): fc.Arbitrary<JsonObject> {
  return fc
    .uniqueArray(fc.record({ name, schema, required: fc.boolean() }), {
      selector: one => one.name,
      maxLength: 4,
    })
    .map(list => ({
      type: 'object',
      properties: Object.fromEntries(list.map(one => [one.name, one.schema])),
      required: list.filter(one => one.required).map(one => one.name),
      additionalProperties: false,
    }))
}

const objectSchema: fc.Arbitrary<JsonObject> = members(anySchema).map(schema => ({
  ...schema,
  $defs: { Shared: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] } },
}))

// ---- one thing at a time ---------------------------------------------------------------------------------

describe('what the words hold', () => {
  const text = { type: 'string' }

  test('named values win over values of the right kind', () => {
    assert.deepEqual(filled({ body: text, subject: text }, 'subject "A" and then "B"'), {
      body: 'B',
      subject: 'A',
    })
    assert.deepEqual(filled({ b: { type: 'integer' }, a: { type: 'integer' } }, 'a=1, b: 2'), { b: 2, a: 1 })
    assert.deepEqual(filled({ from: text, to: text }, 'a train to Oslo from Rome'), {
      from: 'Rome',
      to: 'Oslo',
    })
  })

  test('optional members stay out unless something fits them', () => {
    const properties = { query: text, limit: { type: 'integer' }, since: { ...text, format: 'date' } }
    assert.deepEqual(filled(properties, 'cats', ['query']), { query: 'cats' })
    assert.deepEqual(filled(properties, 'cats limit 5 since 2025-02-03', ['query']), {
      query: 'cats limit 5 since 2025-02-03',
      limit: 5,
      since: '2025-02-03',
    })
  })

  test('nested objects, lists and references', () => {
    const schema = {
      type: 'object',
      properties: {
        where: { $ref: '#/$defs/place' },
        guests: { type: 'array', items: { type: 'string', format: 'email' } },
        tree: { $ref: '#/$defs/tree' },
      },
      required: ['where'],
      $defs: {
        place: { type: 'object', properties: { city: text, floor: { type: 'integer' } }, required: ['city'] },
        tree: { type: 'object', properties: { kids: { type: 'array', items: { $ref: '#/$defs/tree' } } } },
      },
    }
    assert.deepEqual(fill(schema, 'meet in Paris on floor 3 with a@x.org and b@x.org'), {
      where: { city: 'Paris', floor: 3 },
      guests: ['a@x.org', 'b@x.org'],
    })
  })

  test('defaults and examples stand in for what was not said', () => {
    assert.deepEqual(filled({ city: { ...text, examples: ['Oslo'] } }, 'what about it'), { city: 'Oslo' })
    assert.deepEqual(filled({ unit: { ...text, default: 'metre' } }, 'how long'), { unit: 'metre' })
    assert.deepEqual(filled({ n: { type: 'integer', maximum: 5, default: 9 } }, 'roll 40'), { n: 5 })
  })

  test('moments', () => {
    const moment = { ...text, format: 'date-time' }
    assert.deepEqual(filled({ start: moment }, 'tomorrow at 3 pm'), { start: '2026-01-15T15:00:00Z' })
    assert.deepEqual(filled({ start: moment }, 'at 2026-05-01T10:00'), { start: '2026-05-01T10:00:00Z' })
    assert.deepEqual(filled({ day: text }, 'next friday'), { day: 'next friday' })
    assert.deepEqual(filled({ day: { ...text, format: 'date' } }, 'next friday'), { day: '2026-01-16' })
  })

  test('a schema cannot make it work or remember without end', () => {
    const grows = {
      type: 'object',
      properties: Object.fromEntries(Array.from({ length: 12 }, (_, at) => [`k${at}`, { $ref: '#' }])),
    }
    assert.deepEqual(fill(grows, 'k1 k2 "x"'), {})
    const endless = { type: 'object', properties: { again: { $ref: '#' } }, required: ['again'] }
    assert.ok(JSON.stringify(fill(endless, 'again')).length < 10_000)
    const huge = filled(
      { x: { type: 'string', minLength: 1e12 }, y: { type: 'array', minItems: 1e12 } },
      'go',
    )
    assert.ok(JSON.stringify(huge).length < 100_000)
    const hostile = { type: 'object', required: ['__proto__', 'toString'] }
    assert.equal(JSON.stringify(fill(hostile, 'x')), '{"__proto__":"value","toString":"value"}')
  })
})

test('facts are found once, and the stronger reading wins', () => {
  const kinds = (text: string) =>
    findFacts(text, { now, vocabulary: new Set() }).map(fact => `${fact.kind}:${fact.text}`)
  assert.deepEqual(kinds('mail ana@example.com "a 5" at 9:30'), [
    'email:ana@example.com',
    'quoted:a 5',
    'time:09:30',
  ])
  assert.deepEqual(kinds('see https://example.com/a.txt.'), ['url:https://example.com/a.txt'])
  assert.deepEqual(kinds('from ~/a/b.md to ./c, e.g. and/or'), ['path:~/a/b.md', 'path:./c'])
  assert.deepEqual(kinds('on 5 March 2027, three of 1,200'), ['date:2027-03-05', 'number:3', 'number:1200'])
  assert.deepEqual(kinds('on 31 February'), ['number:31', 'proper:February'])
  assert.deepEqual(kinds("I'm in Rio de Janeiro's south"), ['proper:Rio de Janeiro'])
  assert.deepEqual(kinds('What did Ana Lima say'), ['proper:Ana Lima'])
})

test('stems meet', () => {
  const pairs = [
    ['files', 'file'],
    ['reading', 'read'],
    ['writes', 'writing'],
    ['running', 'run'],
    ['searches', 'search'],
    ['copies', 'copy'],
    ['recursively', 'recursive'],
    ['emails', 'mail'],
  ]
  for (const [a, b] of pairs) assert.equal(stem(a!), stem(b!))
  assert.notEqual(stem('status'), stem('state'))
})

test('samples of simple patterns, and none of the others', () => {
  assert.equal(sampleOf('^[A-Z]{2}\\d+(?:-x)?$'), 'AA1')
  assert.equal(sampleOf('(a|b)c{2,}'), 'acc')
  for (const pattern of ['(?=a)b', '[^a]', '(a', '\\1', '']) assert.equal(sampleOf(pattern), undefined)
})
