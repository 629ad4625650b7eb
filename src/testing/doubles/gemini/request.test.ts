import assert from 'node:assert/strict'
import { test } from 'node:test'
import { reasons } from '../../../doctor/reasons.ts'
import { DUMMY_SIGNATURES } from '../google/common.ts'
import type { Mode } from '../script.ts'
import { seal } from '../seal.ts'
import { checkRequestAll } from '../vendors.ts'
import { signedText } from './history.ts'

type Body = Record<string, unknown>

const declare = (extra: object = {}): object => ({
  name: 'read',
  parameters: { type: 'OBJECT', properties: { p: { type: 'STRING' } } },
  ...extra,
})
const call = (extra: object = {}, name = 'read'): Record<string, unknown> => ({
  functionCall: { name, args: { p: 'x' }, ...extra },
})
const signed = (part: Record<string, unknown>): Record<string, unknown> => ({
  ...part,
  thoughtSignature: seal('thought', signedText(part)),
})
const answer = (extra: object = {}): object => ({
  functionResponse: { name: 'read', response: { output: 1 }, ...extra },
})
const user = (...parts: object[]): object => ({ role: 'user', parts })
const model = (...parts: object[]): object => ({ role: 'model', parts })
const ask = user({ text: 'go' })
const request = (contents: object[], extra: object = {}): Body => ({
  contents,
  tools: [{ functionDeclarations: [declare()] }],
  ...extra,
})
const declared = (...declarations: object[]): Body =>
  request([ask], { tools: [{ functionDeclarations: declarations }] })
const parameters = (schema: unknown): Body => declared(declare({ parameters: schema }))
const field = (schema: unknown): Body => parameters({ type: 'OBJECT', properties: { p: schema } })
const calling = (functionCallingConfig: object): Body =>
  request([ask], { toolConfig: { functionCallingConfig } })

const COUNT =
  'Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.'
const AT = 'tools[0].function_declarations[0].parameters'

const REFUSED: { id: string; why: string; body: Body; says: string; mode?: Mode; model?: string }[] = [
  {
    id: 'G-01',
    why: 'fewer responses than calls',
    body: request([ask, model(signed(call()), call()), user(answer())]),
    says: COUNT,
  },
  {
    id: 'G-01',
    why: 'a call with no response at all',
    body: request([ask, model(signed(call())), ask]),
    says: COUNT,
  },
  { id: 'G-01', why: 'a call as the last turn', body: request([ask, model(signed(call()))]), says: COUNT },
  {
    id: 'G-02',
    why: 'a history that starts with a call',
    body: request([model(signed(call())), user(answer())]),
    says: 'Please ensure that function call turn comes immediately after a user turn or after a function response turn.',
  },
  {
    id: 'G-02',
    why: 'a response after no call',
    body: request([ask, model({ text: 'hi' }), user(answer())]),
    says: 'Please ensure that function response turn comes immediately after a function call turn.',
  },
  {
    id: 'G-03',
    why: 'a response that is text',
    body: request([ask, model(signed(call())), user(answer({ response: 'x' }))]),
    says: "Invalid value at 'contents[2].parts[0].function_response.response'",
  },
  {
    id: 'G-03',
    why: 'a response without a name',
    body: request([ask, model(signed(call())), user(answer({ name: '' }))]),
    says: 'contents[2].parts[0].function_response.name: Name cannot be empty.',
  },
  {
    id: 'G-03',
    why: 'a response without the id of its call',
    body: request([ask, model(signed(call({ id: 'f1' }))), user(answer())]),
    says: 'is not the id of an open function call',
  },
  {
    id: 'G-04',
    why: 'a call without its signature',
    body: request([ask, model(call()), user(answer())]),
    says: 'Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly, and missing thought_signature may lead to degraded model performance. Additional data, function call `default_api:read` , position 2. Please refer to https://ai.google.dev/gemini-api/docs/thought-signatures for more details.',
  },
  {
    id: 'G-04',
    why: 'a signature on the second of parallel calls only',
    body: request([ask, model(call(), signed(call())), user(answer(), answer())]),
    says: 'is missing a thought_signature',
  },
  {
    id: 'G-04',
    why: 'a second step without its signature',
    body: request([ask, model(signed(call())), user(answer()), model(call()), user(answer())]),
    says: 'position 4',
  },
  {
    id: 'G-05',
    why: 'a signature of unknown origin',
    body: request([ask, model({ ...call(), thoughtSignature: 'Zm9yZWlnbg==' }), user(answer())]),
    says: 'Corrupted thought signature.',
  },
  {
    id: 'G-05',
    why: 'a signature moved to another part',
    body: request([ask, model({ ...signed(call()), ...call({ args: { p: 'y' } }) }), user(answer())]),
    says: 'Corrupted thought signature.',
  },
  {
    id: 'G-05',
    why: 'a signature that is no base64',
    body: request([ask, model({ ...call(), thoughtSignature: '!' }), user(answer())]),
    says: "Invalid value at 'contents[1].parts[0].thought_signature' (TYPE_BYTES), Base64 decoding failed",
  },
  {
    id: 'G-07',
    why: 'a signed part merged with its neighbour',
    body: request([ask, model({ ...signed({ text: '' }), text: 'joined' }), ask]),
    says: 'Corrupted thought signature.',
  },
  {
    id: 'G-08',
    why: 'a name that starts with a digit',
    body: declared(declare({ name: '1read' })),
    says: 'GenerateContentRequest.tools[0].function_declarations[0].name: Invalid function name. Must start with a letter or an underscore.',
  },
  {
    id: 'G-08',
    why: 'a name of 65 characters',
    body: declared(declare({ name: 'x'.repeat(65) })),
    says: 'maximum length of 64',
  },
  {
    id: 'G-09',
    why: 'one name twice',
    body: declared(declare(), declare()),
    says: 'Duplicate function declaration found: read',
  },
  ...[
    'additionalProperties',
    '$ref',
    '$defs',
    '$schema',
    'const',
    'exclusiveMinimum',
    'multipleOf',
    'uniqueItems',
    'x-order',
  ].map(name => ({
    id: 'G-10',
    why: `the key ${name}`,
    body: parameters({ type: 'OBJECT', properties: { p: { type: 'STRING' } }, [name]: false }),
    says: `Invalid JSON payload received. Unknown name "${name}" at '${AT}': Cannot find field.`,
  })),
  {
    id: 'G-10',
    why: 'a nested unknown key',
    body: field({ type: 'STRING', const: 'x' }),
    says: `Unknown name "const" at '${AT}.properties[0].value'`,
  },
  {
    id: 'G-10',
    why: 'a list of types',
    body: field({ type: ['STRING', 'NULL'] }),
    says: 'Proto field is not repeating, cannot start list.',
  },
  { id: 'G-10', why: 'an enum of numbers', body: field({ type: 'STRING', enum: [1] }), says: 'enum[0]' },
  {
    id: 'G-10',
    why: 'tuple items',
    body: field({ type: 'ARRAY', items: [{ type: 'STRING' }] }),
    says: 'Unknown name "items"',
  },
  {
    id: 'G-10',
    why: 'a boolean schema',
    body: field(true),
    says: `Invalid value at '${AT}.properties[0].value'`,
  },
  {
    id: 'G-11',
    why: 'an object without properties',
    body: parameters({ type: 'OBJECT', properties: {} }),
    says: `GenerateContentRequest.${AT}.properties: should be non-empty for OBJECT type`,
  },
  {
    id: 'G-11',
    why: 'an array without items',
    body: field({ type: 'ARRAY' }),
    says: 'properties[p].items: missing field',
  },
  {
    id: 'G-11',
    why: 'an enum of a number',
    body: field({ type: 'INTEGER', enum: ['1'] }),
    says: 'enum: only allowed for STRING type',
  },
  {
    id: 'G-11',
    why: 'a required property that is none',
    body: parameters({ type: 'OBJECT', properties: { p: { type: 'STRING' } }, required: ['q'] }),
    says: 'required[0]: property is not defined',
  },
  {
    id: 'G-11',
    why: 'a format it does not know',
    body: field({ type: 'STRING', format: 'uri' }),
    says: "format: only 'enum' and 'date-time' are supported for STRING type",
  },
  {
    id: 'G-12',
    why: 'both dialects at once',
    body: declared(declare({ parametersJsonSchema: { type: 'object' } })),
    says: "only one of 'parameters' and 'parameters_json_schema' can be set",
  },
  {
    id: 'G-13',
    why: 'nested bounded arrays',
    body: field({
      type: 'ARRAY',
      maxItems: 200,
      items: { type: 'ARRAY', maxItems: 200, items: { type: 'STRING' } },
    }),
    says: 'The specified schema produces a constraint that has too many states for serving.',
  },
  {
    id: 'G-14',
    why: 'no contents',
    body: request([]),
    says: 'Unable to submit request because at least one contents field is required',
  },
  {
    id: 'G-14',
    why: "another vendor's role",
    body: request([{ role: 'assistant', parts: [{ text: 'x' }] }]),
    says: 'Please use a valid role: user, model.',
  },
  {
    id: 'G-14',
    why: 'a part with two data fields',
    body: request([user({ text: 'x', inlineData: {} })]),
    says: "oneof field 'data' is already set",
  },
  {
    id: 'G-14',
    why: 'a part with none',
    body: request([user({})]),
    says: "required oneof field 'data' must have one initialized field",
  },
  {
    id: 'G-15',
    why: 'a mode in lower case',
    body: calling({ mode: 'any' }),
    says: "Invalid value at 'tool_config.function_calling_config.mode'",
  },
  {
    id: 'G-15',
    why: 'allowed names with AUTO',
    body: calling({ mode: 'AUTO', allowedFunctionNames: ['read'] }),
    says: 'allowed_function_names should be set only when',
  },
  {
    id: 'G-15',
    why: 'a switch for parallel calls',
    body: calling({ mode: 'AUTO', disableParallel: true }),
    says: 'Unknown name "disableParallel"',
  },
]

for (const { id, why, body, says, mode = 'strict', model: name = 'gemini-3-pro' } of REFUSED) {
  test(`${id} refuses ${why}`, () => {
    const all = checkRequestAll('gemini', body, { mode, model: name })
    const rules = id === 'G-07' ? ['G-05'] : [id]
    const match = all.find(rejection => rules.includes(rejection.rule) && rejection.message.includes(says))
    assert.ok(match, `expected ${id} "${says}", found ${JSON.stringify(all, null, 1)}`)
    assert.deepEqual([match.status, match.type], [400, 'INVALID_ARGUMENT'])
  })
}

const ACCEPTED: { id: string; why: string; body: Body; mode?: Mode; model?: string }[] = [
  {
    id: 'G-01',
    why: 'parallel calls answered in one turn',
    body: request([
      ask,
      model(signed(call({ id: 'a' })), call({ id: 'b' })),
      user(answer({ id: 'b' }), answer({ id: 'a' })),
    ]),
  },
  {
    id: 'G-02',
    why: 'step after step',
    body: request([ask, model(signed(call())), user(answer()), model(signed(call())), user(answer())]),
  },
  {
    id: 'G-03',
    why: 'calls without ids, by order',
    body: request([ask, model(signed(call()), call()), user(answer(), answer())]),
  },
  {
    id: 'G-04',
    why: 'an earlier turn without signatures',
    body: request([ask, model(call()), user(answer()), model({ text: 'so' }), ask]),
  },
  {
    id: 'G-04',
    why: 'no signatures on 2.5',
    body: request([ask, model(call()), user(answer())]),
    model: 'gemini-2.5-flash',
  },
  ...DUMMY_SIGNATURES.map(thoughtSignature => ({
    id: 'G-04',
    why: `the dummy ${thoughtSignature}`,
    body: request([ask, model({ ...call(), thoughtSignature }), user(answer())]),
  })),
  {
    id: 'G-05',
    why: 'a moved signature (lenient)',
    body: request([ask, model({ ...signed(call()), ...call({ args: {} }) }), user(answer())]),
    mode: 'lenient' as const,
  },
  {
    id: 'G-07',
    why: 'a signature on an empty part',
    body: request([ask, model({ text: 'so' }, signed({ text: '' })), ask]),
  },
  {
    id: 'G-10',
    why: 'snake_case spellings',
    body: field({ type: 'array', max_items: 3, items: { any_of: [{ type: 'string' }, { type: 'NULL' }] } }),
  },
  { id: 'G-11', why: 'no parameters at all', body: declared({ name: 'now' }) },
  {
    id: 'G-12',
    why: 'a JSON schema alone',
    body: declared({
      name: 'read',
      parametersJsonSchema: { type: 'object', properties: { a: { const: 1 } }, additionalProperties: false },
    }),
  },
  {
    id: 'G-15',
    why: 'ANY with allowed names',
    body: calling({ mode: 'ANY', allowedFunctionNames: ['read'] }),
  },
]

for (const { id, why, body, mode = 'strict', model: name = 'gemini-3-pro' } of ACCEPTED) {
  test(`${id} accepts ${why}`, () => {
    assert.deepEqual(checkRequestAll('gemini', body, { mode, model: name }), [])
  })
}

test('unknown names are refused at every level, and the message names the place', () => {
  const all = checkRequestAll('gemini', request([ask], { generationConfig: { maxTokens: 1 }, n: 1 }))
  assert.deepEqual(
    all.map(rejection => rejection.message),
    [
      'Invalid JSON payload received. Unknown name "n": Cannot find field.',
      'Invalid JSON payload received. Unknown name "maxTokens" at \'generation_config\': Cannot find field.',
    ],
  )
})

test('every rule of generateContent has a case', () => {
  const cited = new Set([...REFUSED, ...ACCEPTED].map(row => row.id))
  const rows = Object.keys(reasons).filter(id => /^G-(?!00)\d\d$/.test(id))
  assert.equal(rows.length, 14)
  assert.deepEqual(
    rows.filter(row => !cited.has(row)),
    [],
  )
})
