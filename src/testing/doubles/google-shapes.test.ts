// Every refusal of the two Google doubles that concerns a single field, part, step or tool: by rule, and for
// generateContent in the vendor's words. How calls and responses stand to one another is in `gemini.test.ts` and
// `interactions.test.ts`. Take a line of a double away, and one of these fails.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { checkRequestAll, startDouble, type VendorName } from './index.ts'
import type { JsonRecord } from './shape.ts'

type Case = [rule: string, message: string, patch: JsonRecord]

const PNG = 'iVBORw0KGgoAAAANSUhEUg=='
const SIGNED = { thoughtSignature: 'skip_thought_signature_validator' }

function check(vendor: VendorName, base: JsonRecord, [rule, message, patch]: Case): void {
  const found = checkRequestAll(vendor, { ...base, ...patch })
  const own = found.find(each => each.message.startsWith(message))
  assert.ok(own, JSON.stringify(found))
  assert.deepEqual([own.rule, own.status], [rule, 400])
}

// ---- generateContent -----------------------------------------------------------------------------------------

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

const geminiCases: Case[] = [
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

for (const each of geminiCases) test(`gemini ${each[0]} ${each[1]}`, () => check('gemini', gemini, each))

test('gemini: pictures that it takes', () => {
  const picture = (mimeType: string, data: string) =>
    checkRequestAll('gemini', parts({ inlineData: { mimeType, data } }))
  assert.deepEqual(picture('image/png', PNG), [])
  assert.deepEqual(picture('image/heic', 'AAAAGGZ0eXBoZWljAAAAAA=='), [])
  assert.deepEqual(picture('audio/wav', 'AAAA'), [])
})

// ---- Interactions --------------------------------------------------------------------------------------------

const interactions = { model: 'gemini-3-pro', input: 'hi' }
const steps = (...input: unknown[]): JsonRecord => ({ input, tools: [{ type: 'function', name: 'f' }] })
const user = { type: 'user_input', content: [{ type: 'text', text: 'a' }] }
const thought = { type: 'thought', signature: SIGNED.thoughtSignature }
const asked = (more: JsonRecord = {}) => ({
  type: 'function_call',
  id: '1',
  name: 'f',
  arguments: {},
  ...more,
})
const result = (more: JsonRecord = {}) => ({
  type: 'function_result',
  call_id: '1',
  name: 'f',
  result: 'x',
  ...more,
})
const offer = (...tools: unknown[]): JsonRecord => ({ tools })
const f = { type: 'function', name: 'f' }

const interactionsCases: Case[] = [
  ['I-01', "'input' must not be empty.", { input: [] }],
  ['I-01', "'input' must be a string, content, or a list", { input: 5 }],
  ['I-01', 'input[2].id is required.', steps(user, thought, asked({ id: '' }), result())],
  ['I-01', 'input[0].content must not be empty.', steps({ type: 'user_input', content: [] })],
  [
    'I-02',
    'input[3].result: a list must hold content only.',
    steps(user, thought, asked(), result({ result: [{ type: 'file' }] })),
  ],
  ['I-02', "input[4].id: '1' was used before.", steps(user, thought, asked(), result(), asked(), result())],
  [
    'I-02',
    "input[3].name: function call '1' was made to 'f'.",
    steps(user, thought, asked(), result({ name: 'g' })),
  ],
  ['I-02', 'Function calls without a function_result: 1.', steps(user, thought, asked(), user)],
  [
    'I-IMG',
    'Unsupported MIME type: image/gif',
    steps({
      type: 'user_input',
      content: [{ type: 'image', mime_type: 'image/gif', data: 'R0lGODlhAQABAAAAACw=' }],
    }),
  ],
  [
    'I-IMG',
    'Unable to process input image.',
    steps(
      user,
      thought,
      asked(),
      result({ result: [{ type: 'image', mime_type: 'image/png', data: 'aGVsbG8=' }] }),
    ),
  ],
  ['I-03', "tools[0].type: 'bash' is not a tool type.", offer({ type: 'bash' })],
  ['I-03', "tools[0]: unknown parameter 'strict'.", offer({ ...f, strict: true })],
  ['I-03', 'tools[0].name: Invalid function name.', offer({ ...f, name: 'a b' })],
  ['I-03', 'tools[0].parameters must be a JSON schema.', offer({ ...f, parameters: 'none' })],
  ['I-03', 'Duplicate function declaration found: f', offer(f, f)],
  [
    'I-08',
    'generation_config.tool_choice: expected { allowed_tools',
    { generation_config: { tool_choice: { tools: ['f'] } } },
  ],
]

for (const each of interactionsCases)
  test(`interactions ${each[0]} ${each[1]}`, () => check('gemini-interactions', interactions, each))

// ---- what only a server can refuse ---------------------------------------------------------------------------

test('bodies that cannot be read, and what cannot be cancelled', async () => {
  const gemini = await startDouble({ vendor: 'gemini' })
  const interactions = await startDouble({ vendor: 'gemini-interactions', script: [{ text: 'yes' }] })
  const post = async (
    url: string,
    body: string,
    type = 'application/json',
  ): Promise<[number, JsonRecord]> => {
    const response = await fetch(url, {
      method: 'POST',
      headers: { 'x-goog-api-key': 'k', 'content-type': type },
      body,
    })
    return [response.status, (await response.json()) as JsonRecord]
  }
  const words = ([status, { error }]: [number, JsonRecord]): string =>
    `${status} ${(error as { message: string }).message}`
  const generate = `${gemini.url}/v1beta/models/gemini-3-pro:generateContent`
  const create = `${interactions.url}/v1beta/interactions`
  try {
    assert.match(
      words(await post(generate, '{}', 'text/plain')),
      /^400 Invalid content type: expected application\/json/,
    )
    assert.match(words(await post(generate, '{"contents"')), /^400 Invalid JSON payload received\./)
    assert.equal(words(await post(generate, '[]')), '400 Invalid JSON payload received. Expected an object.')
    assert.match(words(await post(create, '{"input"')), /^400 Invalid JSON payload received\./)
    assert.equal(words(await post(create, '[]')), '400 The body must be a JSON object.')
    const [, { id }] = await post(create, JSON.stringify({ model: 'gemini-3-pro', input: 'hi' }))
    assert.equal(
      words(await post(`${create}/${String(id)}/cancel`, '{}')),
      '400 Only a background interaction can be cancelled.',
    )
    const [status, { error }] = await post(`${interactions.url}/v1beta/nothing`, '{}')
    assert.deepEqual(
      [status, error],
      [404, { code: 'not_found', message: 'Requested entity was not found.' }],
    )
  } finally {
    await gemini.close()
    await interactions.close()
  }
})
