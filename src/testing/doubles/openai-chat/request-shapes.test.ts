// Every refusal of the Chat Completions double that concerns a single field, part or tool, by rule and message.
// `request.test.ts` has the rules about how things relate. Remove a check from the double, and one of these fails.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { refusesEach, type ShapeCase } from '../../../../test/doubles/rig.ts'
import type { JsonRecord } from '../shape.ts'
import { checkRequestAll } from '../vendors.ts'

const SVG = 'data:image/svg+xml;base64,PHN2Zy8+'

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

const chatCases: ShapeCase[] = [
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

refusesEach('openai-chat', chat, chatCases, { type: 'invalid_request_error' })

test('C-00 refuses a body that is not an object, also as a compatible server', () => {
  for (const vendor of ['openai-chat', 'openai-compatible'] as const)
    assert.match(checkRequestAll(vendor, 'hi')[0]?.message ?? '', /^Invalid type for 'body'/)
  assert.match(checkRequestAll('openai-compatible', {})[0]?.message ?? '', /'messages'/)
  assert.match(checkRequestAll('openai-compatible', say('hi'))[0]?.message ?? '', /'messages\[0\]'/)
})
