import assert from 'node:assert/strict'
import { test } from 'node:test'
import { findSuspicions } from '../language/suspicions.ts'
import type { Json } from '../lib/json/index.ts'
import { checkAgainst } from './schema-check.ts'

const schema = {
  type: 'object',
  properties: {
    to: { type: 'string', minLength: 1, maxLength: 5 },
    count: { type: 'integer', minimum: 1, exclusiveMaximum: 10 },
    unit: { enum: ['C', 'F'] },
    tags: { type: 'array', items: { type: 'string' }, maxItems: 2 },
  },
  required: ['to'],
  additionalProperties: false,
}

const words = (value: Json): string[] =>
  checkAgainst(schema, value).map(({ path, message }) => `${path} ${message}`)

test('what fits gives no issue', () => {
  assert.deepEqual(words({ to: 'ana', count: 3, unit: 'C', tags: ['a'] }), [])
  assert.deepEqual(checkAgainst(undefined, { anything: 1 }), [])
})

test('each issue has its place and says what to do', () => {
  assert.deepEqual(words({ to: '' }), ['/to must not be empty'])
  assert.deepEqual(words({ to: 'abcdef' }), ['/to must have at most 5 characters'])
  assert.deepEqual(words({ count: 1.5 }), ['/to is required', '/count must be a whole number'])
  assert.deepEqual(words({ to: 'a', count: 0 }), ['/count must be at least 1'])
  assert.deepEqual(words({ to: 'a', count: 10 }), ['/count must be below 10'])
  assert.deepEqual(words({ to: 'a', unit: 'K' }), ['/unit must be one of "C", "F"'])
  assert.deepEqual(words({ to: 'a', tags: ['x', 1] }), ['/tags/1 must be a text'])
  assert.deepEqual(words({ to: 'a', tags: ['x', 'y', 'z'] }), ['/tags must have at most 2 items'])
  assert.deepEqual(words({ to: 'a', other: 1 }), ['/other is not known to the tool'])
  assert.deepEqual(words([]), [' must be an object'])
})

test('hidden characters, mixed alphabets and long values are pointed out', () => {
  assert.deepEqual(findSuspicions({ to: 'ana@example.org', body: 'Zwölf\nZeilen' }), [])
  assert.match(findSuspicions({ to: 'gro\u202eexample' })[0] ?? '', /^1 hidden/)
  assert.match(findSuspicions({ host: 'p\u0430ypal.com' })[0] ?? '', /several alphabets/)
  assert.match(findSuspicions({ body: 'x'.repeat(1_000_000) })[0] ?? '', /^\/body has 1,000,000 characters/)
  assert.deepEqual(findSuspicions({ name: 'Москва', city: 'Αθήνα' }), [])
})
