// Every refusal of the Responses double that concerns a single field, part or tool, by rule and message.
// `request.test.ts` has the rules about how things relate. Remove a check from the double, and one of these fails.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { refusesEach, type ShapeCase } from '../../../../test/doubles/rig.ts'
import type { JsonRecord } from '../shape.ts'
import { checkRequestAll, startDouble } from '../vendors.ts'

const SVG = 'data:image/svg+xml;base64,PHN2Zy8+'

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

const responsesCases: ShapeCase[] = [
  [
    'R-00',
    "Missing required parameter: 'text.format.name'.",
    { text: { format: { type: 'json_schema', schema: {} } } },
  ],
  [
    '2.4',
    "Invalid schema for response_format 'r': In context=(), 'additionalProperties' is required",
    { text: { format: { type: 'json_schema', name: 'r', strict: true, schema: { type: 'object' } } } },
  ],
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

refusesEach('openai-responses', responses, responsesCases, { type: 'invalid_request_error' })

test('R-00 refuses a body that is not an object', () => {
  assert.match(checkRequestAll('openai-responses', 'hi')[0]?.message ?? '', /^Invalid type for 'body'/)
})

test('refuses reasoning of another organisation, a changed program, a stream that is over and an unknown path', async () => {
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
