// Every refusal of the Gemini double that concerns a single field, part or tool, by rule and message.
// `request.test.ts` has the rules about how things relate. Remove a check from the double, and one of these fails.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { postGoogle, refusesEach, type ShapeCase, shownError } from '../../../../test/doubles/rig.ts'
import type { JsonRecord } from '../shape.ts'
import { checkRequestAll, startDouble } from '../vendors.ts'

const PNG = 'iVBORw0KGgoAAAANSUhEUg=='
const SIGNED = { thoughtSignature: 'skip_thought_signature_validator' }

const gemini = { contents: [{ role: 'user', parts: [{ text: 'hi' }] }] }
const parts = (...given: unknown[]): JsonRecord => ({ contents: [{ role: 'user', parts: given }] })
const turns = (call: JsonRecord, response: JsonRecord): JsonRecord => ({
  contents: [
    { role: 'user', parts: [{ text: 'a' }] },
    { role: 'model', parts: [{ functionCall: call, ...SIGNED }] },
    { role: 'user', parts: [{ functionResponse: response }] },
  ],
})
const call = (more: JsonRecord = {}) => ({ id: '1', name: 'f', args: {}, ...more })
const response = (more: JsonRecord = {}) => ({ id: '1', name: 'f', response: { output: 'x' }, ...more })
const declare = (more: JsonRecord): JsonRecord => ({
  tools: [{ functionDeclarations: [{ name: 'f', ...more }] }],
})
const choose = (functionCallingConfig: unknown): JsonRecord => ({
  tools: [{ functionDeclarations: [{ name: 'f' }] }],
  toolConfig: { functionCallingConfig },
})

const geminiCases: ShapeCase[] = [
  ['G-00', "Invalid value at 'tools' (type.googleapis.com", { tools: {} }],
  ['G-00', "Invalid value at 'generation_config'", { generationConfig: 5 }],
  ['G-14', 'system_instruction: only text parts are supported.', { systemInstruction: { parts: [] } }],
  ['G-14', 'GenerateContentRequest.contents[0].parts: contents.parts must not be empty.', parts()],
  [
    'G-14',
    'Invalid JSON payload received. Unknown name "type" at \'contents[0].parts[0]\'',
    parts({ text: 'a', type: 'text' }),
  ],
  [
    'G-IMG',
    'Unsupported MIME type: image/gif',
    parts({ inlineData: { mimeType: 'image/gif', data: 'R0lGODlhAQABAAAAACw=' } }),
  ],
  [
    'G-IMG',
    'Unable to process input image.',
    parts({ inlineData: { mimeType: 'image/png', data: 'aGVsbG8=' } }),
  ],
  [
    'G-IMG',
    'Unsupported MIME type: image/svg+xml',
    turns(call(), response({ parts: [{ inlineData: { mimeType: 'image/svg+xml', data: 'PHN2Zy8+' } }] })),
  ],
  [
    'G-03',
    "Invalid value at 'contents[1].parts[0].function_call.args' (type.googleapis.com",
    turns(call({ args: [] }), response()),
  ],
  [
    'G-03',
    'GenerateContentRequest.contents[1].parts[0].function_call.name: Name cannot be empty.',
    turns(call({ name: '' }), response()),
  ],
  [
    'G-08',
    'GenerateContentRequest.contents[1].parts[0].function_call.name: Invalid function name.',
    turns(call({ name: 'wipe disk' }), response({ name: 'wipe disk' })),
  ],
  [
    'G-08',
    'GenerateContentRequest.contents[2].parts[0].function_response.name: Invalid function name.',
    turns(call(), response({ name: 'f'.repeat(65) })),
  ],
  [
    'G-00',
    'Invalid JSON payload received. Unknown name "result" at \'contents[2].parts[0].function_response\'',
    turns(call(), response({ result: 1 })),
  ],
  [
    'G-03',
    'contents[2].parts[0].function_response.name: does not match',
    turns(call(), response({ name: 'g' })),
  ],
  [
    'G-00',
    'Invalid JSON payload received. Unknown name "strict" at \'tools[0].function_declarations[0]\'',
    declare({ strict: true }),
  ],
  [
    'G-12',
    'GenerateContentRequest.tools[0].function_declarations[0].parameters_json_schema: must be an object schema.',
    declare({ parametersJsonSchema: { type: 'string' } }),
  ],
  [
    'G-10',
    "Invalid value at 'tools[0].function_declarations[0].parameters.type'",
    declare({ parameters: { type: 'map' } }),
  ],
  ['G-15', "Invalid value at 'tool_config'", { toolConfig: 5 }],
  [
    'G-15',
    'Invalid JSON payload received. Unknown name "choice" at \'tool_config\'',
    { toolConfig: { choice: 'auto' } },
  ],
  ['G-15', "Invalid value at 'tool_config.function_calling_config'", choose('AUTO')],
  [
    'G-15',
    "allowed_function_names: 'g' is not a declared function.",
    choose({ mode: 'ANY', allowedFunctionNames: ['g'] }),
  ],
  [
    'G-15',
    'Function calling config is set without function_declarations.',
    { toolConfig: { functionCallingConfig: { mode: 'ANY' } } },
  ],
]

refusesEach('gemini', gemini, geminiCases, { status: 400 })

test('pictures of kinds that Gemini reads are accepted', () => {
  const picture = (mimeType: string, data: string) =>
    checkRequestAll('gemini', parts({ inlineData: { mimeType, data } }))
  assert.deepEqual(picture('image/png', PNG), [])
  assert.deepEqual(picture('image/heic', 'AAAAGGZ0eXBoZWljAAAAAA=='), [])
  assert.deepEqual(picture('audio/wav', 'AAAA'), [])
})

test('a body that cannot be read is refused before any rule', async t => {
  const double = await startDouble({ vendor: 'gemini' })
  t.after(() => double.close())
  const path = '/v1beta/models/gemini-3-pro:generateContent'
  assert.match(
    shownError(await postGoogle(double, path, '{}', 'text/plain')),
    /^400 Invalid content type: expected application\/json/,
  )
  assert.match(
    shownError(await postGoogle(double, path, '{"contents"')),
    /^400 Invalid JSON payload received\./,
  )
  assert.equal(
    shownError(await postGoogle(double, path, '[]')),
    '400 Invalid JSON payload received. Expected an object.',
  )
})
