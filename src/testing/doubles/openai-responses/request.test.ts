import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  responsesBody as body,
  callItem as call,
  outputItem as output,
  responsesTool as tool,
  userItem as user,
} from '../../../../test/doubles/rig.ts'
import { checkRequest, checkRequestAll } from '../vendors.ts'
import { sealReasoning } from './history.ts'

type Body = Record<string, unknown>

const sealed = (id: string, more: Body = {}) => ({
  type: 'reasoning',
  id,
  summary: [],
  encrypted_content: sealReasoning(id, null),
  ...more,
})

type Row = [
  id: string,
  what: string,
  body: unknown,
  refusal: { message: string; param: string | null; code: string | null; status?: number },
]

const rows: Row[] = [
  [
    'R-01',
    'a call without an output',
    body([user, call('call_a'), call('call_b'), output('call_b')]),
    { message: 'No tool output found for function call call_a.', param: 'input', code: null },
  ],
  [
    'R-01',
    'a custom call without an output',
    body([user, { type: 'custom_tool_call', call_id: 'call_a', name: 'sql', input: 'x' }]),
    { message: 'No tool output found for custom tool call call_a.', param: 'input', code: null },
  ],
  [
    'R-02',
    'an output without a call',
    body([user, output('call_a')]),
    {
      message: 'No tool call found for function call output with call_id call_a.',
      param: 'input',
      code: null,
    },
  ],
  [
    'R-02',
    'an output of the wrong kind',
    body([
      user,
      { type: 'custom_tool_call', call_id: 'call_a', name: 'sql', input: 'x' },
      { type: 'custom_tool_call_output', call_id: 'call_a', output: 'y' },
      output('call_a'),
    ]),
    {
      message: 'No tool call found for function call output with call_id call_a.',
      param: 'input',
      code: null,
    },
  ],
  [
    'R-02',
    'a second output for one call',
    body([call('call_a'), output('call_a'), output('call_a')]),
    {
      message: 'No tool call found for function call output with call_id call_a.',
      param: 'input',
      code: null,
    },
  ],
  [
    'R-03',
    'a call_id of 73 characters',
    body([call('c'.repeat(73)), output('c'.repeat(73))]),
    {
      message:
        "Invalid 'input[0].call_id': string too long. Expected a string with maximum length 64, but got a string with length 73 instead.",
      param: 'input[0].call_id',
      code: 'string_above_max_length',
    },
  ],
  [
    'R-03',
    'an empty call_id',
    body([call(''), output('')]),
    {
      message:
        "Invalid 'input[0].call_id': empty string. Expected a string with minimum length 1, but got an empty string instead.",
      param: 'input[0].call_id',
      code: 'empty_string',
    },
  ],
  [
    'R-03',
    'an item id with the wrong prefix',
    body([call('call_x', { id: 'call_x' }), output('call_x')]),
    {
      message: "Invalid 'input[0].id': 'call_x'. Expected an ID that begins with 'fc'.",
      param: 'input[0].id',
      code: 'invalid_value',
    },
  ],
  [
    'R-03',
    'an item id with a dot',
    body([call('call_x', { id: 'fc_a.b' }), output('call_x')]),
    {
      message:
        "Invalid 'input[0].id': 'fc_a.b'. Expected an ID that contains letters, numbers, underscores, or dashes, but this value contained additional characters.",
      param: 'input[0].id',
      code: 'invalid_value',
    },
  ],
  [
    'R-03',
    'an item id twice',
    body([call('a', { id: 'fc_1' }), output('a'), call('b', { id: 'fc_1' }), output('b')]),
    {
      message: 'Duplicate item found with id fc_1. Remove duplicate items from your input and try again.',
      param: 'input',
      code: null,
    },
  ],
  [
    'R-04',
    'a name with a dot',
    body([user], { tools: [tool('a.b')] }),
    {
      message:
        "Invalid 'tools[0].name': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'.",
      param: 'tools[0].name',
      code: 'invalid_value',
    },
  ],
  [
    'R-04',
    'a name of 129 characters',
    body([user], { tools: [tool('n'.repeat(129))] }),
    {
      message:
        "Invalid 'tools[0].name': string too long. Expected a string with maximum length 128, but got a string with length 129 instead.",
      param: 'tools[0].name',
      code: 'string_above_max_length',
    },
  ],
  [
    'R-04',
    'a namespace of 65 characters',
    body([call('a', { namespace: 'n'.repeat(65) }), output('a')]),
    {
      message:
        "Invalid 'input[0].namespace': string too long. Expected a string with maximum length 64, but got a string with length 65 instead.",
      param: 'input[0].namespace',
      code: 'string_above_max_length',
    },
  ],
  [
    'R-05',
    'an output that is an object',
    body([call('a'), output('a', { output: { ok: true } })]),
    {
      message:
        "Invalid type for 'input[1].output': expected one of an array of objects or string, but got an object instead.",
      param: 'input[1].output',
      code: 'invalid_type',
    },
  ],
  [
    'R-05',
    'an output of parts that only a model writes',
    body([call('a'), output('a', { output: [{ type: 'output_text', text: 'x' }] })]),
    {
      message:
        "Invalid value: 'output_text'. Supported values are: 'input_text', 'input_image', and 'input_file'.",
      param: 'input[1].output[0].type',
      code: 'invalid_value',
    },
  ],
  [
    'R-05',
    'an output beyond 10 485 760 characters',
    body([call('a'), output('a', { output: 'x'.repeat(10_485_761) })]),
    {
      message:
        "Invalid 'input[1].output': string too long. Expected a string with maximum length 10485760, but got a string with length 10485761 instead.",
      param: 'input[1].output',
      code: 'string_above_max_length',
    },
  ],
  [
    'R-06',
    'reasoning that leads to nothing',
    body([user, sealed('rs_1')], { store: false }),
    {
      message: "Item 'rs_1' of type 'reasoning' was provided without its required following item.",
      param: 'input',
      code: null,
    },
  ],
  [
    'R-07',
    'reasoning that is neither sealed nor stored',
    body([user, { type: 'reasoning', id: 'rs_1', summary: [] }, call('a'), output('a')]),
    {
      message:
        "Item with id 'rs_1' not found. Items are not persisted when `store` is set to false. Try again with `store` set to true, or remove this item from your input.",
      param: 'input',
      code: null,
      status: 404,
    },
  ],
  [
    'R-07',
    'a previous response that is not there',
    body('hello', { previous_response_id: 'resp_none' }),
    {
      message: "Previous response with id 'resp_none' not found.",
      param: 'previous_response_id',
      code: 'previous_response_not_found',
    },
  ],
  [
    'R-08',
    'a seal moved to another item',
    body([sealed('rs_1', { id: 'rs_2' }), call('a'), output('a')]),
    {
      message:
        'The encrypted content for item rs_2 could not be verified. Reason: Encrypted content item_id did not match the target item id.',
      param: null,
      code: 'invalid_encrypted_content',
    },
  ],
  [
    'R-08',
    'a seal of unknown make',
    body([sealed('rs_1', { encrypted_content: 'gAAAAABforeign' }), call('a'), output('a')]),
    {
      message:
        'The encrypted content for item rs_1 could not be verified. Reason: Encrypted content could not be decrypted or parsed.',
      param: null,
      code: 'invalid_encrypted_content',
    },
  ],
  [
    'R-10',
    'a previous response together with a conversation',
    body('hello', { previous_response_id: 'resp_1', conversation: 'conv_1' }),
    {
      message:
        "Mutually exclusive parameters: 'previous_response_id' and 'conversation'. Ensure you are only providing one of them.",
      param: null,
      code: 'mutually_exclusive_parameters',
    },
  ],
  [
    'R-11',
    'fewer than 16 output tokens',
    body('hello', { max_output_tokens: 5 }),
    {
      message:
        "Invalid 'max_output_tokens': integer below minimum value. Expected a value >= 16, but got 5 instead.",
      param: 'max_output_tokens',
      code: 'integer_below_min_value',
    },
  ],
  [
    'R-11',
    "the other endpoint's max_tokens",
    body('hello', { max_tokens: 50 }),
    {
      message:
        "Unsupported parameter: 'max_tokens'. In the Responses API, this parameter has moved to 'max_output_tokens'. Try again with the new parameter. See the API documentation for more information: https://platform.openai.com/docs/api-reference/responses/create.",
      param: 'max_tokens',
      code: 'unsupported_parameter',
    },
  ],
  [
    'R-12',
    'a required tool where there is none',
    body('hello', { tool_choice: 'required' }),
    {
      message: "Tool choice 'required' must be specified with 'tools' parameter.",
      param: 'tool_choice',
      code: null,
    },
  ],
  [
    'R-12',
    'a choice that was not offered',
    body('hello', { tools: [tool('read')], tool_choice: { type: 'function', name: 'write' } }),
    {
      message: "Tool choice 'function' not found in 'tools' parameter.",
      param: 'tool_choice',
      code: null,
    },
  ],
  [
    'R-12',
    'the nested form of the other endpoint',
    body('hello', { tools: [tool('read')], tool_choice: { type: 'function', function: { name: 'read' } } }),
    {
      message: "Missing required parameter: 'tool_choice.name'.",
      param: 'tool_choice.name',
      code: 'missing_required_parameter',
    },
  ],
  [
    '2.4',
    'a strict tool with an open schema',
    body('hello', { tools: [tool('f', { strict: true })] }),
    {
      message:
        "Invalid schema for function 'f': In context=(), 'additionalProperties' is required to be supplied and to be false.",
      param: 'tools[0].parameters',
      code: 'invalid_function_parameters',
    },
  ],
  [
    'R-04',
    "a tool in the other endpoint's form",
    body('hello', { tools: [{ type: 'function', function: { name: 'f' } }] }),
    {
      message: "Missing required parameter: 'tools[0].name'.",
      param: 'tools[0].name',
      code: 'missing_required_parameter',
    },
  ],
  [
    'R-00',
    'a field that an item does not have',
    body([call('a', { parsed_arguments: {} }), output('a')]),
    {
      message: "Unknown parameter: 'input[0].parsed_arguments'.",
      param: 'input[0].parsed_arguments',
      code: 'unknown_parameter',
    },
  ],
  [
    'R-00',
    'text of the user marked as output',
    body([{ role: 'user', content: [{ type: 'output_text', text: 'x' }] }]),
    {
      message:
        "Invalid value: 'output_text'. Supported values are: 'input_text', 'input_image', and 'input_file'.",
      param: 'input[0].content[0].type',
      code: 'invalid_value',
    },
  ],
]

for (const [rule, what, request, { status = 400, ...expected }] of rows) {
  test(`${rule} refuses ${what}`, () => {
    assert.deepEqual(checkRequest('openai-responses', request), {
      rule,
      status,
      type: 'invalid_request_error',
      ...expected,
    })
  })
}

const namespaced = { type: 'namespace', name: 'files', description: 'd', tools: [tool('open')] }
const everyTool = [
  tool('read'),
  { type: 'custom', name: 'sql', format: { type: 'grammar', syntax: 'regex', definition: '.*' } },
  namespaced,
  { type: 'tool_search', execution: 'client' },
  { type: 'mcp', server_label: 'docs', server_url: 'https://example.com' },
  { type: 'web_search' },
  { type: 'programmatic_tool_calling' },
]

const accepted: [string, unknown][] = [
  ['R-01 outputs in any order', body([call('a'), call('b'), output('b'), output('a'), user])],
  ['R-01 an async call without its output yet', body([call('a', { async: true }), user])],
  [
    'R-05 an output of parts',
    body([call('a'), output('a', { output: [{ type: 'input_image', image_url: 'data:' }] })]),
  ],
  ['R-06 sealed reasoning with its call', body([sealed('rs_1'), call('a'), output('a')], { store: false })],
  ['R-12 the choice auto without tools', body('hello', { tool_choice: 'auto', tools: [] })],
  [
    'R-12 allowed tools',
    body('hello', {
      tools: everyTool,
      tool_choice: { type: 'allowed_tools', mode: 'auto', tools: [{ type: 'custom', name: 'sql' }] },
    }),
  ],
  [
    'R-12 a choice of a server',
    body('hello', { tools: everyTool, tool_choice: { type: 'mcp', server_label: 'docs' } }),
  ],
  ['an open schema where strict is left out', body('hello', { tools: [tool('f')] })],
  [
    'a search carried out by the caller',
    body([
      { type: 'tool_search_call', call_id: 's1', execution: 'client', arguments: {}, status: 'completed' },
      { type: 'tool_search_output', call_id: 's1', execution: 'client', tools: [namespaced] },
    ]),
  ],
]

for (const [what, request] of accepted) {
  test(`${what} is accepted`, () => {
    assert.deepEqual(checkRequestAll('openai-responses', request), [])
  })
}
