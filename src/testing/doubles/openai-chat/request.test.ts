import assert from 'node:assert/strict'
import { test } from 'node:test'
import { checkRequest, checkRequestAll } from '../vendors.ts'

type Body = Record<string, unknown>

const user = { role: 'user', content: 'hello' }
const call = (id: string, name = 'read', more: Body = {}) => ({
  id,
  type: 'function',
  function: { name, arguments: '{}', ...more },
})
const asks = (...calls: unknown[]) => ({ role: 'assistant', content: null, tool_calls: calls })
const answers = (id: string, content: unknown = 'ok') => ({ role: 'tool', tool_call_id: id, content })
const tool = (name = 'read', more: Body = {}) => ({
  type: 'function',
  function: { name, parameters: { type: 'object', properties: {} }, ...more },
})
const body = (messages: unknown[], more: Body = {}): Body => ({ model: 'm', messages, ...more })
const withTools = (tools: unknown[], more: Body = {}) => body([user], { tools, ...more })

const PATTERN =
  "string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'."

type Row = [
  id: string,
  what: string,
  body: unknown,
  refusal: { message: string; param: string | null; code: string | null },
]

const rows: Row[] = [
  [
    'C-01',
    'a call without an answer',
    body([user, asks(call('call_a'), call('call_b'), call('call_c')), answers('call_b'), user]),
    {
      message:
        "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: call_a, call_c",
      param: 'messages.[1].role',
      code: null,
    },
  ],
  [
    'C-01',
    'an answer that comes after another message',
    body([user, asks(call('call_a')), user, answers('call_a')]),
    {
      message:
        "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: call_a",
      param: 'messages.[1].role',
      code: null,
    },
  ],
  [
    'C-02',
    'a tool message that answers nothing',
    body([user, user, answers('call_a')]),
    {
      message:
        "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.",
      param: 'messages.[2].role',
      code: null,
    },
  ],
  [
    'C-02',
    'a second answer to one call',
    body([user, asks(call('call_a')), answers('call_a'), answers('call_a')]),
    {
      message: "Duplicate value for 'tool_call_id' of 'call_a' in message[3].",
      param: 'messages.[3].tool_call_id',
      code: null,
    },
  ],
  [
    'C-02',
    'an answer to a call nobody made',
    body([user, asks(call('call_a')), answers('call_a'), answers('call_z')]),
    {
      message: "Invalid parameter: 'tool_call_id' of 'call_z' not found in 'tool_calls' of previous message.",
      param: 'messages.[3].tool_call_id',
      code: null,
    },
  ],
  [
    'C-02',
    'an answer without an id',
    body([user, asks(call('call_a')), { role: 'tool', content: 'ok' }]),
    {
      message: "Missing parameter 'tool_call_id': messages with role 'tool' must have a 'tool_call_id'.",
      param: 'messages.[2].tool_call_id',
      code: null,
    },
  ],
  [
    'C-03',
    'an id of 45 characters',
    body([user, asks(call('i'.repeat(45))), answers('i'.repeat(45))]),
    {
      message:
        "Invalid 'messages[1].tool_calls[0].id': string too long. Expected a string with maximum length 40, but got a string with length 45 instead.",
      param: 'messages[1].tool_calls[0].id',
      code: 'string_above_max_length',
    },
  ],
  [
    'C-03',
    'an empty id',
    body([user, asks(call('')), answers('')]),
    {
      message:
        "Invalid 'messages[1].tool_calls[0].id': empty string. Expected a string with minimum length 1, but got an empty string instead.",
      param: 'messages[1].tool_calls[0].id',
      code: 'empty_string',
    },
  ],
  [
    'C-04',
    'a name with a dot',
    withTools([tool('a.b')]),
    {
      message: `Invalid 'tools[0].function.name': ${PATTERN}`,
      param: 'tools[0].function.name',
      code: 'invalid_value',
    },
  ],
  [
    'C-04',
    'a name of 65 characters',
    withTools([tool(), tool('n'.repeat(65))]),
    {
      message:
        "Invalid 'tools[1].function.name': string too long. Expected a string with maximum length 64, but got a string with length 65 instead.",
      param: 'tools[1].function.name',
      code: 'string_above_max_length',
    },
  ],
  [
    'C-04',
    'a name with a dot in history',
    body([user, asks(call('call_a', 'a.b')), answers('call_a')]),
    {
      message: `Invalid 'messages[1].tool_calls[0].function.name': ${PATTERN}`,
      param: 'messages[1].tool_calls[0].function.name',
      code: 'invalid_value',
    },
  ],
  [
    'C-05',
    '129 tools',
    withTools(Array.from({ length: 129 }, (_, at) => tool(`t${at}`))),
    {
      message:
        "Invalid 'tools': array too long. Expected an array with maximum length 128, but got an array with length 129 instead.",
      param: 'tools',
      code: 'array_above_max_length',
    },
  ],
  [
    'C-05',
    '129 calls in a message',
    body([
      user,
      asks(...Array.from({ length: 129 }, (_, at) => call(`c${at}`))),
      ...Array.from({ length: 129 }, (_, at) => answers(`c${at}`)),
    ]),
    {
      message:
        "Invalid 'messages[1].tool_calls': array too long. Expected an array with maximum length 128, but got an array with length 129 instead.",
      param: 'messages[1].tool_calls',
      code: 'array_above_max_length',
    },
  ],
  [
    'C-06',
    'no tools in the list',
    withTools([]),
    {
      message:
        "Invalid 'tools': empty array. Expected an array with minimum length 1, but got an empty array instead.",
      param: 'tools',
      code: 'empty_array',
    },
  ],
  [
    'C-06',
    'no calls in the list',
    body([user, { role: 'assistant', content: 'x', tool_calls: [] }, user]),
    {
      message:
        "Invalid 'messages[1].tool_calls': empty array. Expected an array with minimum length 1, but got an empty array instead.",
      param: 'messages[1].tool_calls',
      code: 'empty_array',
    },
  ],
  [
    'C-07',
    'a tool choice without tools',
    body([user], { tool_choice: 'auto' }),
    {
      message: "Invalid value for 'tool_choice': 'tool_choice' is only allowed when 'tools' are specified.",
      param: 'tool_choice',
      code: null,
    },
  ],
  [
    'C-07',
    'parallel_tool_calls without tools',
    body([user], { parallel_tool_calls: false }),
    {
      message:
        "Invalid value for 'parallel_tool_calls': 'parallel_tool_calls' is only allowed when 'tools' are specified.",
      param: 'parallel_tool_calls',
      code: null,
    },
  ],
  [
    'C-08',
    'arguments that are an object',
    body([user, asks(call('call_a', 'read', { arguments: {} })), answers('call_a')]),
    {
      message:
        "Invalid type for 'messages[1].tool_calls[0].function.arguments': expected a string, but got an object instead.",
      param: 'messages[1].tool_calls[0].function.arguments',
      code: 'invalid_type',
    },
  ],
  [
    'C-08',
    'an image in a tool message',
    body([user, asks(call('call_a')), answers('call_a', [{ type: 'image_url', image_url: { url: 'x' } }])]),
    {
      message: "Invalid value: 'image_url'. Supported values are: 'text'.",
      param: 'messages[2].content[0].type',
      code: 'invalid_value',
    },
  ],
  [
    'C-08',
    'a tool message with no parts',
    body([user, asks(call('call_a')), answers('call_a', [])]),
    {
      message:
        "Invalid 'messages[2].content': empty array. Expected an array with minimum length 1, but got an empty array instead.",
      param: 'messages[2].content',
      code: 'empty_array',
    },
  ],
  [
    'C-09',
    'a strict tool with an open schema',
    withTools([tool('f', { strict: true })]),
    {
      message:
        "Invalid schema for function 'f': In context=(), 'additionalProperties' is required to be supplied and to be false.",
      param: 'tools[0].function.parameters',
      code: 'invalid_function_parameters',
    },
  ],
  [
    'C-09',
    'an array without items in a tool that is not strict',
    withTools([tool('f', { parameters: { type: 'object', properties: { x: { type: 'array' } } } })]),
    {
      message: "Invalid schema for function 'f': In context=('properties', 'x'), array schema missing items.",
      param: 'tools[0].function.parameters',
      code: 'invalid_function_parameters',
    },
  ],
  [
    'C-10',
    "another vendor's word",
    withTools([tool()], { tool_choice: 'any' }),
    {
      message: "Invalid value: 'any'. Supported values are: 'none', 'auto', and 'required'.",
      param: 'tool_choice',
      code: 'invalid_value',
    },
  ],
  [
    'C-10',
    'the flat form of the other endpoint',
    withTools([tool()], { tool_choice: { type: 'function', name: 'read' } }),
    {
      message: "Missing required parameter: 'tool_choice.function'.",
      param: 'tool_choice.function',
      code: 'missing_required_parameter',
    },
  ],
  [
    'C-10',
    'a choice that was not offered',
    withTools([tool()], { tool_choice: { type: 'function', function: { name: 'write' } } }),
    {
      message:
        "Invalid value for 'tool_choice': no function named 'write' was specified in the 'tools' parameter.",
      param: 'tool_choice',
      code: null,
    },
  ],
  [
    'C-00',
    "another vendor's parameter",
    body([user], { max_output_tokens: 50 }),
    { message: 'Unrecognized request argument supplied: max_output_tokens', param: null, code: null },
  ],
  [
    'C-00',
    'an assistant message that says nothing',
    body([user, { role: 'assistant', content: null }, user]),
    {
      message: "Invalid value for 'content': expected a string, got null.",
      param: 'messages.[1].content',
      code: null,
    },
  ],
  [
    'C-00',
    'a grammar in an unknown syntax',
    withTools([
      { type: 'custom', custom: { name: 'sql', format: { type: 'grammar', grammar: { syntax: 'ebnf' } } } },
    ]),
    {
      message: "Invalid value: 'ebnf'. Supported values are: 'lark' and 'regex'.",
      param: 'tools[0].custom.format.grammar.syntax',
      code: 'invalid_value',
    },
  ],
]

for (const [rule, what, request, expected] of rows) {
  test(`${rule} refuses ${what}`, () => {
    assert.deepEqual(checkRequest('openai-chat', request), {
      rule,
      status: 400,
      type: 'invalid_request_error',
      ...expected,
    })
  })
}

const grammar = { type: 'grammar', grammar: { syntax: 'lark', definition: 'start: "x"' } }
const offered = [tool(), { type: 'custom', custom: { name: 'sql', format: grammar } }]
const allowed = (mode: string) => ({
  type: 'allowed_tools',
  allowed_tools: { mode, tools: [{ type: 'function', function: { name: 'read' } }] },
})

const accepted: [string, unknown][] = [
  ['C-01 answers in any order', body([user, asks(call('a'), call('b')), answers('b'), answers('a'), user])],
  ['C-02 text parts as an answer', body([user, asks(call('a')), answers('a', [{ type: 'text', text: '' }])])],
  ['C-03 ids of 40 characters', body([user, asks(call('i'.repeat(40))), answers('i'.repeat(40))])],
  [
    'C-08 a custom call',
    body([user, asks({ id: 'a', type: 'custom', custom: { name: 'sql', input: 'x' } }), answers('a')]),
  ],
  ...['none', 'auto', 'required'].map((choice): [string, unknown] => [
    `C-10 the choice ${choice}`,
    withTools(offered, { tool_choice: choice, parallel_tool_calls: false }),
  ]),
  [
    'C-10 a named function',
    withTools(offered, { tool_choice: { type: 'function', function: { name: 'read' } } }),
  ],
  [
    'C-10 a named custom tool',
    withTools(offered, { tool_choice: { type: 'custom', custom: { name: 'sql' } } }),
  ],
  ['C-10 allowed tools', withTools(offered, { tool_choice: allowed('required') })],
  ['C-09 a tool without parameters', withTools([{ type: 'function', function: { name: 'now' } }])],
]

for (const [what, request] of accepted) {
  test(`${what} is accepted`, () => {
    assert.deepEqual(checkRequestAll('openai-chat', request), [])
  })
}

test('every broken rule is reported, and the first is the one that the API reports', () => {
  const request = body([user, asks(call('i'.repeat(45), 'a.b')), user], { tools: [], tool_choice: 'any' })
  const rules = checkRequestAll('openai-chat', request).map(rejection => rejection.rule)
  assert.deepEqual(rules, ['C-03', 'C-04', 'C-06', 'C-01', 'C-10'])
})

test('a compatible server accepts what OpenAI refuses, but not arguments that are not text', () => {
  const loose = body([user, asks(call('i'.repeat(500), 'a.b')), user], { tools: [], num_ctx: 4096 })
  assert.deepEqual(checkRequestAll('openai-compatible', loose), [])
  const wrong = body([user, asks(call('a', 'read', { arguments: {} }))])
  assert.equal(checkRequest('openai-compatible', wrong)?.rule, 'C-08')
})
