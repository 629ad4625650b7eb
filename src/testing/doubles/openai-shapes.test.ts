// Every refusal of the two OpenAI doubles that concerns a single field, part, item or tool: by rule and in the vendor's
// words. How calls and outputs stand to one another is in the tests of the rules. Take a line of a double away, and one
// of these fails.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { checkRequestAll, startDouble, type VendorName } from './index.ts'
import type { JsonRecord } from './shape.ts'

type Case = [rule: string, message: string, patch: JsonRecord]

const SVG = 'data:image/svg+xml;base64,PHN2Zy8+'
const pick = (patch: JsonRecord, base: JsonRecord): JsonRecord =>
  Object.fromEntries(Object.entries({ ...base, ...patch }).filter(([, value]) => value !== undefined))

function check(vendor: VendorName, base: JsonRecord, [rule, message, patch]: Case): void {
  const found = checkRequestAll(vendor, pick(patch, base))
  const own = found.find(each => each.message.startsWith(message))
  assert.ok(own, JSON.stringify(found))
  assert.deepEqual([own.rule, own.type], [rule, 'invalid_request_error'])
}

// ---- Chat Completions --------------------------------------------------------------------------------------

const chat = { model: 'gpt-5.2', messages: [{ role: 'user', content: 'hi' }] }
const say = (...messages: unknown[]): JsonRecord => ({ messages })
const f = { type: 'function', function: { name: 'f', parameters: { type: 'object', properties: {} } } }
const called = (call: unknown): JsonRecord =>
  say({ role: 'user', content: 'a' }, { role: 'assistant', content: null, tool_calls: [call] })
const choose = (tool_choice: unknown): JsonRecord => ({ tools: [f], tool_choice })
const format = (response_format: unknown): JsonRecord => ({ response_format })
const grammar = (grammar: unknown): JsonRecord => ({
  tools: [{ type: 'custom', custom: { name: 'g', format: { type: 'grammar', grammar } } }],
})

const chatCases: Case[] = [
  ['C-00', 'you must provide a model parameter', { model: undefined }],
  ['C-00', "The 'stream_options' parameter is only allowed", { stream_options: { include_usage: true } }],
  ['C-00', "Setting 'max_tokens' and 'max_completion_tokens'", { max_tokens: 1, max_completion_tokens: 1 }],
  ['C-00', "Missing required parameter: 'messages'.", { messages: undefined }],
  ['C-00', "Invalid type for 'messages': expected an array of objects", { messages: 'hi' }],
  ['C-00', "Invalid 'messages': empty array.", { messages: [] }],
  ['C-00', "Invalid type for 'messages[0]': expected an object", say('hi')],
  ['C-00', "Missing required parameter: 'messages[0].role'.", say({ content: 'hi' })],
  ['C-00', "Invalid value: 'model'. Supported values are: 'system'", say({ role: 'model', content: 'hi' })],
  ['C-00', "Missing required parameter: 'messages[0].name'.", say({ role: 'function', content: 'x' })],
  ['C-00', "Missing required parameter: 'messages[0].content'.", say({ role: 'user' })],
  [
    'C-00',
    "Invalid type for 'messages[0].content': expected one of a string",
    say({ role: 'user', content: 5 }),
  ],
  [
    'C-00',
    "Invalid type for 'messages[0].content[0]': expected an object",
    say({ role: 'user', content: ['hi'] }),
  ],
  [
    'C-00',
    "Invalid type for 'messages[0].content[0].text': expected a string",
    say({ role: 'user', content: [{ type: 'text', text: 5 }] }),
  ],
  [
    'C-IMG',
    'The image data you provided does not represent a valid image.',
    say({ role: 'user', content: [{ type: 'image_url', image_url: { url: SVG } }] }),
  ],
  [
    'C-00',
    "Invalid type for 'messages[1].tool_calls': expected an array",
    say({ role: 'user', content: 'a' }, { role: 'assistant', content: 'x', tool_calls: {} }),
  ],
  ['C-08', "Invalid type for 'messages[1].tool_calls[0]': expected an object", called('f')],
  [
    'C-08',
    "Invalid value: 'mcp'. Supported values are: 'function' and 'custom'",
    called({ id: 'c', type: 'mcp' }),
  ],
  [
    'C-08',
    "Missing required parameter: 'messages[1].tool_calls[0].function'.",
    called({ id: 'c', type: 'function' }),
  ],
  ['C-00', "Invalid type for 'tools': expected an array of objects", { tools: {} }],
  ['C-00', "Invalid type for 'tools[0]': expected an object", { tools: ['f'] }],
  ['C-00', "Missing required parameter: 'tools[0].type'.", { tools: [{ function: { name: 'f' } }] }],
  [
    'C-00',
    "Invalid value: 'web_search'. Supported values are: 'function'",
    { tools: [{ type: 'web_search' }] },
  ],
  ['C-00', "Missing required parameter: 'tools[0].function'.", { tools: [{ type: 'function' }] }],
  [
    'C-00',
    "Invalid type for 'tools[0].custom.format': expected an object",
    { tools: [{ type: 'custom', custom: { name: 'g', format: 5 } }] },
  ],
  [
    'C-00',
    "Invalid value: 'json'. Supported values are: 'text' and 'grammar'",
    { tools: [{ type: 'custom', custom: { name: 'g', format: { type: 'json' } } }] },
  ],
  ['C-00', "Missing required parameter: 'tools[0].custom.format.grammar'.", grammar(undefined)],
  [
    'C-00',
    "Invalid value: 'ebnf'. Supported values are: 'lark' and 'regex'",
    grammar({ syntax: 'ebnf', definition: 'x' }),
  ],
  [
    'C-00',
    "Missing required parameter: 'tools[0].custom.format.grammar.definition'.",
    grammar({ syntax: 'lark' }),
  ],
  [
    'C-00',
    "Invalid type for 'parallel_tool_calls': expected a boolean",
    { tools: [f], parallel_tool_calls: 'no' },
  ],
  ['C-10', "Invalid type for 'tool_choice': expected one of a tool choice object", choose(5)],
  ['C-10', "Invalid value: 'tool'. Supported values are: 'function'", choose({ type: 'tool' })],
  ['C-10', "Missing required parameter: 'tool_choice.allowed_tools'.", choose({ type: 'allowed_tools' })],
  [
    'C-10',
    "Invalid value: 'any'. Supported values are: 'auto' and 'required'",
    choose({ type: 'allowed_tools', allowed_tools: { mode: 'any', tools: [] } }),
  ],
  [
    'C-10',
    "Missing required parameter: 'tool_choice.allowed_tools.tools'.",
    choose({ type: 'allowed_tools', allowed_tools: { mode: 'auto' } }),
  ],
  [
    'C-10',
    "Invalid type for 'tool_choice.allowed_tools.tools[0]': expected an object",
    choose({ type: 'allowed_tools', allowed_tools: { mode: 'auto', tools: ['f'] } }),
  ],
  [
    'C-10',
    "Missing required parameter: 'tool_choice.function.name'.",
    choose({ type: 'function', function: {} }),
  ],
  ['C-00', "Invalid type for 'response_format': expected an object", format('json')],
  ['C-00', "Invalid value: 'xml'. Supported values are: 'json_object'", format({ type: 'xml' })],
  ['C-00', "Missing required parameter: 'response_format.json_schema'.", format({ type: 'json_schema' })],
  [
    'C-09',
    "Missing required parameter: 'response_format.json_schema.name'.",
    format({ type: 'json_schema', json_schema: {} }),
  ],
]

for (const each of chatCases) test(`chat ${each[0]} ${each[1]}`, () => check('openai-chat', chat, each))

test('chat C-00 a body that is no object, strict and compatible', () => {
  for (const vendor of ['openai-chat', 'openai-compatible'] as const)
    assert.match(checkRequestAll(vendor, 'hi')[0]?.message ?? '', /^Invalid type for 'body'/)
  assert.match(checkRequestAll('openai-compatible', {})[0]?.message ?? '', /'messages'/)
  assert.match(checkRequestAll('openai-compatible', say('hi'))[0]?.message ?? '', /'messages\[0\]'/)
})

// ---- Responses ---------------------------------------------------------------------------------------------

const responses = { model: 'gpt-5.2', input: 'hi' }
const give = (...input: unknown[]): JsonRecord => ({ input })
const user = (content: unknown, more: JsonRecord = {}) => ({
  type: 'message',
  role: 'user',
  content,
  ...more,
})
const offer = (...tools: unknown[]): JsonRecord => ({ tools })
const fn = { type: 'function', name: 'f', parameters: { type: 'object', properties: {} } }
const want = (tool_choice: unknown): JsonRecord => ({ tools: [fn], tool_choice })
const call = (more: JsonRecord = {}) => ({
  type: 'function_call',
  call_id: 'c',
  name: 'f',
  arguments: '{}',
  ...more,
})
const output = (more: JsonRecord = {}) => ({
  type: 'function_call_output',
  call_id: 'c',
  output: 'x',
  ...more,
})
const program = { type: 'program', id: 'prg_1', call_id: 'p', code: 'f()', fingerprint: 'fp' }
const made = { type: 'program', caller_id: 'p' }

const responsesCases: Case[] = [
  ['R-00', "Missing required parameter: 'model'.", { model: undefined }],
  ['R-00', "Unknown parameter: 'verbosity'.", { verbosity: 'low' }],
  ['R-00', "Invalid type for 'store': expected a boolean", { store: 'no' }],
  ['R-12', "Invalid type for 'parallel_tool_calls': expected a boolean", { parallel_tool_calls: 'no' }],
  ['R-11', "Invalid type for 'max_output_tokens': expected an integer", { max_output_tokens: 20.5 }],
  ['R-00', "Invalid type for 'include': expected an array of strings", { include: 'reasoning' }],
  [
    'R-00',
    "Invalid value: 'thoughts'. Supported values are: 'file_search_call.results'",
    { include: ['thoughts'] },
  ],
  [
    'R-NR',
    'Encrypted content is not supported with this model.',
    { model: 'gpt-4.1', include: ['reasoning.encrypted_content'] },
  ],
  [
    'R-NR',
    'Reasoning input items can only be provided to a reasoning or computer use model.',
    { model: 'gpt-4o', ...give({ type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'x' }) },
  ],
  ['R-10', "Conversation with id 'conv_1' not found.", { conversation: 'conv_1' }],
  ['R-00', 'One of "input" or "previous_response_id"', { input: undefined }],
  ['R-00', "Missing required parameter: 'text.format.name'.", { text: { format: { type: 'json_schema' } } }],
  ['R-00', "Invalid type for 'input': expected one of a string", { input: 5 }],
  ['R-00', "Invalid type for 'input[0]': expected an object", give('hi')],
  ['R-00', "Invalid value: 'tool_use'. Supported values are: 'message'", give({ type: 'tool_use' })],
  ['R-00', "Invalid value: 'tool'. Supported values are: 'assistant'", give(user('x', { role: 'tool' }))],
  ['R-00', "Missing required parameter: 'input[0].content'.", give({ role: 'user' })],
  ['R-00', "Invalid type for 'input[0].content': expected one of an array", give(user(5))],
  ['R-00', "Invalid type for 'input[0].content[0]': expected an object", give(user(['hi']))],
  [
    'R-00',
    "Invalid type for 'input[0].content[0].text': expected a string",
    give(user([{ type: 'input_text', text: 5 }])),
  ],
  [
    'R-IMG',
    'The image data you provided does not represent a valid image.',
    give(user([{ type: 'input_image', image_url: SVG }])),
  ],
  [
    'R-IMG',
    'The image data you provided does not represent a valid image.',
    give(call(), output({ output: [{ type: 'input_image', image_url: SVG }] })),
  ],
  [
    'R-14',
    "Invalid value: 'last'. Supported values are: 'commentary'",
    give(user('x', { role: 'assistant', phase: 'last' })),
  ],
  [
    'R-14',
    "Invalid value: 'last'. Supported values are: 'commentary'",
    give(user([{ type: 'output_text', text: 'x' }], { role: 'assistant', phase: 'last' })),
  ],
  [
    'R-03',
    "Missing required parameter: 'input[0].id'.",
    give({ type: 'reasoning', summary: [], encrypted_content: 'x' }),
  ],
  ['R-03', "Invalid 'input[0].id': string too long.", give(call({ id: `fc_${'x'.repeat(70)}` }), output())],
  ['R-00', "Missing required parameter: 'input[0].summary'.", give({ type: 'reasoning', id: 'rs_1' })],
  ['R-05', "Missing required parameter: 'input[1].output'.", give(call(), output({ output: undefined }))],
  [
    'R-00',
    "Invalid value: 'user'. Supported values are: 'developer'",
    give({ type: 'additional_tools', role: 'user', tools: [] }),
  ],
  [
    'R-00',
    "Invalid type for 'input[0].approve': expected a boolean",
    give({ type: 'mcp_approval_response', approval_request_id: 'mcpr_1', approve: 'yes' }),
  ],
  [
    'R-00',
    "Missing required parameter: 'input[0].fingerprint'.",
    give({ ...program, fingerprint: undefined }),
  ],
  ['R-00', "Missing required parameter: 'input[0].id'.", give({ type: 'item_reference' })],
  [
    'program',
    'No program found for function call c with caller_id p.',
    give(call({ caller: made }), output({ caller: made })),
  ],
  [
    'program',
    'The output of call c must carry the caller of its call.',
    give(program, call({ caller: made }), output()),
  ],
  ['R-00', "Invalid type for 'tools': expected an array of objects", { tools: {} }],
  ['R-00', "Invalid type for 'tools[0]': expected an object", offer('f')],
  ['R-00', "Missing required parameter: 'tools[0].type'.", offer({ name: 'f' })],
  ['R-00', "Missing required parameter: 'tools[0].container'.", offer({ type: 'code_interpreter' })],
  ['R-00', "Invalid value: 'bash'. Supported values are: 'function'", offer({ type: 'bash' })],
  [
    'R-00',
    "Missing required parameter: 'tools[0].tools'.",
    offer({ type: 'namespace', name: 'n', description: 'd' }),
  ],
  [
    'R-00',
    "Invalid 'tools[0].tools': empty array.",
    offer({ type: 'namespace', name: 'n', description: 'd', tools: [] }),
  ],
  [
    'R-00',
    "Invalid value: 'mcp'. Supported values are: 'function' and 'custom'",
    offer({ type: 'namespace', name: 'n', description: 'd', tools: [{ type: 'mcp' }] }),
  ],
  [
    'R-00',
    "Missing required parameter: 'tools[0].server_label'.",
    offer({ type: 'mcp', server_url: 'https://x' }),
  ],
  ['R-00', "Invalid 'tools[0]': exactly one of 'server_url'", offer({ type: 'mcp', server_label: 'x' })],
  ['R-12', "Invalid value: 'any'. Supported values are: 'none'", want('any')],
  ['R-12', "Invalid type for 'tool_choice': expected one of a tool choice object", want(5)],
  [
    'R-12',
    "Invalid value: 'any'. Supported values are: 'auto' and 'required'",
    want({ type: 'allowed_tools', mode: 'any', tools: [] }),
  ],
  ['R-12', "Missing required parameter: 'tool_choice.tools'.", want({ type: 'allowed_tools', mode: 'auto' })],
  [
    'R-12',
    "Invalid type for 'tool_choice.tools[0]': expected an object",
    want({ type: 'allowed_tools', mode: 'auto', tools: ['f'] }),
  ],
  ['R-12', "Invalid value: 'tool'. Supported values are: 'allowed_tools'", want({ type: 'tool', name: 'f' })],
  [
    '2.4',
    "Invalid schema for function 'f': In context=('properties', 'a'), schema must have a 'type' key.",
    offer({
      ...fn,
      strict: true,
      parameters: { type: 'object', additionalProperties: false, required: ['a'], properties: { a: {} } },
    }),
  ],
]

for (const each of responsesCases)
  test(`responses ${each[0]} ${each[1]}`, () => check('openai-responses', responses, each))

test('responses R-00 a body that is no object', () => {
  assert.match(checkRequestAll('openai-responses', 'hi')[0]?.message ?? '', /^Invalid type for 'body'/)
})

// ---- what only a server can refuse ---------------------------------------------------------------------------

test('responses R-08 reasoning of another organisation, a program that was changed, a stream that is over', async () => {
  const double = await startDouble({
    vendor: 'openai-responses',
    script: [{ thinking: 'hm', text: 'yes', native: [{ ...program }] }],
  })
  const ask = async (key: string, body: JsonRecord): Promise<JsonRecord> => {
    const response = await fetch(`${double.url}/v1/responses`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'gpt-5.2', ...body }),
    })
    return (await response.json()) as JsonRecord
  }
  const words = ({ error }: JsonRecord): string => (error as { message: string }).message
  try {
    const include = ['reasoning.encrypted_content']
    const first = await ask('sk-one', { input: 'hi', include })
    const said = first['output'] as JsonRecord[]
    const again = { input: [{ role: 'user', content: 'hi' }, ...said], store: false }
    assert.match(
      words(await ask('sk-two', again)),
      /organization_id did not match the target organization\.$/,
    )
    const changed = said.map(item => (item['type'] === 'program' ? { ...item, fingerprint: 'other' } : item))
    const refused = await ask('sk-one', { ...again, input: [{ role: 'user', content: 'hi' }, ...changed] })
    assert.equal(words(refused), `The fingerprint of program prg_1 could not be verified.`)
    const streamed = await fetch(`${double.url}/v1/responses/${String(first['id'])}?stream=true`, {
      headers: { authorization: 'Bearer sk-one' },
    })
    assert.match(words((await streamed.json()) as JsonRecord), /^Only responses created with background=true/)
    const nowhere = await fetch(`${double.url}/v1/answers`, { headers: { authorization: 'Bearer sk-one' } })
    assert.deepEqual(
      [nowhere.status, words((await nowhere.json()) as JsonRecord)],
      [404, 'Invalid URL. Check the method and the path of the request.'],
    )
  } finally {
    await double.close()
  }
})
