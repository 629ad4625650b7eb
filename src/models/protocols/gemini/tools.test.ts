// Tools, names, schemas and the tool choice of generateContent, checked by its strict double.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Entry } from '../../../language/history.ts'
import type { JsonObject } from '../../../lib/json/index.ts'
import { checkGeminiSchema } from '../../../testing/doubles/index.ts'
import { asString } from '../../common/json-read.ts'
import {
  answerOf,
  at,
  bodyOf,
  callsIn,
  entryOf,
  request,
  results,
  rows,
  startTalk,
  target,
  tool,
  user,
} from '../google/harness.test.ts'
import { geminiGenerate } from './index.ts'

const talk = () => startTalk(geminiGenerate)
const bodyFor = (history: Entry[], over: Parameters<typeof request>[0] = {}, to = target()): JsonObject =>
  bodyOf(geminiGenerate.prepare(request({ history, ...over }), to))
const two = [
  { name: 'read', input: { p: 'x' } },
  { name: 'read', input: { p: 'y' } },
]

// ---- tools -------------------------------------------------------------------------------------------------

const openApi = target({ quirks: new Set(['openapi-schemas']) })
const bare = tool('now', { input: { form: 'json', schema: { type: 'object', properties: {} } } })
const map = tool('map', {
  input: { form: 'json', schema: { type: 'object', additionalProperties: { type: 'string' } } },
})

test('names that the vendor refuses get another spelling, and are read back', () => {
  const tools = [
    tool('fs/read'),
    tool('fs_read'),
    tool('9'),
    tool('имя'),
    tool('x'.repeat(200)),
    tool('a.b:c-d'),
  ]
  const double = talk()
  const { prepared, body } = double.ask({ text: 'x' }, request({ tools }))
  const names = rows(at(body, 'tools', 0, 'functionDeclarations')).map(one => asString(one['name']))
  assert.equal(new Set(names).size, tools.length)
  assert.deepEqual(
    names.map(name => prepared.reading.names.get(name)),
    tools.map(one => one.name),
  )
  assert.ok(names.includes('a.b:c-d'))
  const answer = answerOf(double.ask({ calls: [{ name: names[0]!, input: {} }] }, request({ tools })))
  assert.equal(callsIn(answer)[0]?.name, 'fs/read')
  const entry = entryOf(answer)
  const { body: next } = double.ask(
    { text: 'x' },
    request({ tools, history: [user('a'), entry, results(entry)] }),
  )
  assert.equal(at(next, 'contents', 2, 'parts', 0, 'functionResponse', 'name'), names[0])
})

test('schemas are JSON Schema, or OpenAPI by quirk, or absent for tools without arguments', () => {
  const schema: JsonObject = {
    type: 'object',
    properties: {
      a: { type: ['string', 'null'] },
      b: { const: 1 },
      c: { $ref: '#/$defs/c' },
      d: { type: 'array' },
    },
    required: ['a', 'zzz'],
    additionalProperties: false,
    $defs: { c: { type: 'object', properties: {} } },
  }
  const tools = [bare, map, tool('hard', { input: { form: 'json', schema } })]
  for (const to of [target(), openApi]) assert.deepEqual(talk().judge(request({ tools }), to), [])
  const json = rows(at(bodyFor([user('a')], { tools }), 'tools', 0, 'functionDeclarations'))
  assert.deepEqual(json[0], { name: 'now', description: 'Does now.' })
  assert.ok(at(json[1], 'parametersJsonSchema', 'additionalProperties'))
  assert.equal(at(json[2], 'parametersJsonSchema', 'type'), 'object')
  const old = rows(at(bodyFor([user('a')], { tools }, openApi), 'tools', 0, 'functionDeclarations'))
  assert.ok(old.every(one => !('parametersJsonSchema' in one)))
  assert.deepEqual(checkGeminiSchema(old[2]?.['parameters']), [])
})

test('a schema with too many states is adapted or its tool left out, with a warning', () => {
  const properties: JsonObject = {}
  for (let i = 0; i < 400; i++)
    properties[`p${i}`] = {
      type: 'array',
      maxItems: 1000,
      items: { type: 'integer', minimum: 0, maximum: 1e9 },
    }
  const tools = [bare, tool('huge', { input: { form: 'json', schema: { type: 'object', properties } } })]
  for (const to of [target(), openApi]) {
    assert.deepEqual(talk().judge(request({ tools }), to), [])
    assert.match(geminiGenerate.prepare(request({ tools }), to).warnings.join(), /"huge"/)
  }
})

test('every choice', () => {
  const rows = [
    ['auto', undefined],
    ['none', { mode: 'NONE' }],
    ['required', { mode: 'ANY' }],
    [{ tool: 'read' }, { mode: 'ANY', allowedFunctionNames: ['read'] }],
    [
      { allowed: ['read', 'gone', 'read'], mode: 'auto' },
      { mode: 'VALIDATED', allowedFunctionNames: ['read'] },
    ],
    [
      { allowed: ['patch'], mode: 'required' },
      { mode: 'ANY', allowedFunctionNames: ['patch'] },
    ],
    [{ tool: 'gone' }, { mode: 'NONE' }],
  ] as const
  for (const [choice, expected] of rows) {
    const asked = request({
      choice:
        typeof choice === 'object' && 'allowed' in choice
          ? { ...choice, allowed: [...choice.allowed] }
          : choice,
    })
    assert.deepEqual(talk().judge(asked), [])
    assert.deepEqual(
      at(bodyOf(geminiGenerate.prepare(asked, target())), 'toolConfig', 'functionCallingConfig'),
      expected,
    )
  }
  assert.deepEqual(talk().judge(request({ tools: [], choice: 'required' })), [])
})

test('a strict tool sets the validated mode, and the operator’s settings stay', () => {
  const strict = tool('s', {
    input: { form: 'json', schema: { type: 'object', properties: { a: { type: 'string' } } }, strict: true },
  })
  const to = target({
    body: {
      generationConfig: { temperature: 0, maxOutputTokens: 1 },
      toolConfig: { includeServerSideToolInvocations: true },
      labels: { a: 'b' },
    },
    hosted: [{ googleSearch: {} }],
  })
  const body = bodyFor([user('a')], { tools: [strict], maxTokens: 7 }, to)
  assert.deepEqual(body['toolConfig'], {
    includeServerSideToolInvocations: true,
    functionCallingConfig: { mode: 'VALIDATED' },
  })
  assert.deepEqual(body['generationConfig'], { temperature: 0, maxOutputTokens: 7 })
  assert.deepEqual(at(body, 'tools', 1), { googleSearch: {} })
  assert.deepEqual(body['labels'], { a: 'b' })
})

test('without parallel calls only the first is kept, with a warning', () => {
  const double = talk()
  const heard = double.ask({ calls: two, text: 'x' }, request({ parallel: false }))
  assert.match(heard.prepared.warnings.join(), /only the first call/)
  const answer = answerOf(heard)
  assert.deepEqual(
    callsIn(answer).map(one => one.text),
    ['{"p":"x"}'],
  )
  const entry = entryOf(answer)
  double.ask({ text: 'y' }, request({ history: [user('a'), entry, results(entry)] }))
})

test('a text tool is declared and read as a function of one string', () => {
  const double = talk()
  const heard = double.ask({
    calls: [
      { name: 'patch', input: { input: '*** "a"\n' } },
      { name: 'patch', input: { text: 'odd' } },
    ],
  })
  const answer = answerOf(heard)
  assert.deepEqual(
    callsIn(answer).map(one => [one.form, one.text]),
    [
      ['text', '*** "a"\n'],
      ['text', '{"text":"odd"}'],
    ],
  )
  const entry = entryOf(answer)
  const { body } = double.ask({ text: 'x' }, request({ history: [user('a'), entry, results(entry)] }))
  assert.deepEqual(at(body, 'contents', 1, 'parts', 0, 'functionCall', 'args'), { input: '*** "a"\n' })
  assert.deepEqual(at(body, 'contents', 1, 'parts', 1, 'functionCall', 'args'), { text: 'odd' })
})
