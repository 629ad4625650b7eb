import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createRedactor, type RedactRule } from './redact.ts'
import { redactArguments } from './redact-arguments.ts'

const key = 'sk-abcdefghij0123456789'
const card: RedactRule = { name: 'card', pattern: '[0-9]{15}' }
const password: RedactRule = { name: 'password', pattern: '"password":"[^"]*"' }
const redactor = createRedactor(['secrets', card, password])!
const redact = (text: string, form: 'json' | 'text' = 'json'): string => redactArguments(text, form, redactor)

test('arguments without a secret keep their spelling', () => {
  for (const text of ['', '{}', '{ "a" : 1.0 }', '{"a":"\\u0061"}', '{"a":', 'null'])
    assert.equal(redact(text), text)
})

test('a secret is removed wherever it stands, and JSON stays JSON', () => {
  const hidden = '[redacted: api-keys]'
  const nested = JSON.stringify({ a: [{ b: `use ${key}, please` }], [key]: 1, c: JSON.stringify({ d: key }) })
  assert.deepEqual(JSON.parse(redact(nested)), {
    a: [{ b: `use ${hidden}, please` }],
    [hidden]: 1,
    c: JSON.stringify({ d: hidden }),
  })
})

test('escapes hide nothing', () => {
  const escaped = key.replace('-', '\\u002d')
  assert.equal(redact(`{"a":"${escaped}"}`), '{"a":"[redacted: api-keys]"}')
  const inner = JSON.stringify({ a: `{"b":"${escaped}"}` })
  assert.equal(redact(inner), JSON.stringify({ a: '{"b":"[redacted: api-keys]"}' }))
})

test('a number that is removed becomes a text', () => {
  assert.equal(redact('{"card":123456789012345}'), '{"card":"[redacted: card]"}')
})

test('a rule over a name and its value leaves valid JSON', () => {
  const given = redact('{"user":"ana","password":"hush"}')
  assert.deepEqual(JSON.parse(given), { redacted: '{"user":"ana",[redacted: password]}' })
})

test('free text, and JSON that is not whole, are redacted as they stand', () => {
  assert.equal(redact(`curl ${key}`, 'text'), 'curl [redacted: api-keys]')
  assert.equal(redact(`{"a":"${key}`), '{"a":"[redacted: api-keys]')
  const deep = `${'['.repeat(5000)}"${key}"${']'.repeat(5000)}`
  assert.ok(!redact(deep).includes(key))
})
