// Further broken histories of real callers: the vendor, the mistake, and the reported changes. The vendor's double accepts
// the result, and every change is reported.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { checkHistory, type DoctorVendor, repairHistory } from '../../src/doctor/index.ts'
import type { Json, JsonObject } from '../../src/lib/json/index.ts'

type Case = [vendor: DoctorVendor, name: string, body: Json, does: string[], holds?: RegExp]

const PNG = 'iVBORw0KGgoAAAANSUhEUg=='
const GIF = 'R0lGODlhAQABAAAAACw='
const SVG = 'data:image/svg+xml;base64,PHN2Zy8+'
const range = (count: number): number[] => Array.from({ length: count }, (_, at) => at)

// ---- Anthropic ---------------------------------------------------------------------------------------------

const schema = { type: 'object', properties: {} }
const claude = (messages: Json[], more: JsonObject = {}): JsonObject => ({
  model: 'claude-sonnet-4-6',
  max_tokens: 100,
  tools: [{ name: 'read', input_schema: schema }],
  messages,
  ...more,
})
const user = (content: Json): JsonObject => ({ role: 'user', content })
const said = (...content: Json[]): JsonObject => ({ role: 'assistant', content })
const use = (id: string, more: JsonObject = {}): JsonObject => ({
  type: 'tool_use',
  id,
  name: 'read',
  input: {},
  ...more,
})
const result = (id: string, more: JsonObject = {}): JsonObject => ({
  type: 'tool_result',
  tool_use_id: id,
  content: 'ok',
  ...more,
})
const picture = (media_type: string, data: string): JsonObject => ({
  type: 'image',
  source: { type: 'base64', media_type, data },
})
const code = { type: 'code_execution_20260120', name: 'code_execution' }
const search = { type: 'tool_search_tool_regex_20251119', name: 'tool_search_tool_regex' }
const nested = { type: 'function', function: { name: 'f', description: 'd', parameters: schema } }
const flat = { type: 'function', name: 'f', parameters: schema }
const own = { name: 'f', input_schema: schema }

const anthropic: Case[] = [
  [
    'anthropic',
    'results in two messages',
    claude([user('a'), said(use('t1'), use('t2')), user([result('t1')]), user([result('t2')])]),
    ['Added messages[2].content[1]', 'Dropped messages[3]'],
  ],
  [
    'anthropic',
    'tools of OpenAI',
    claude([user('a')], { tools: [nested] }),
    ['Dropped tools[0]', 'Added tools[0]'],
    /"description":"d","input_schema"/,
  ],
  [
    'anthropic',
    'tools of Gemini',
    claude([user('a')], { tools: [{ functionDeclarations: [{ name: 'f' }, { name: 'g' }] }] }),
    ['Dropped tools[0]', 'Added tools[0]', 'Added tools[1]'],
  ],
  [
    'anthropic',
    'a forced tool in the form of OpenAI',
    claude([user('a')], { tool_choice: { type: 'function', function: { name: 'read' } } }),
    ['Changed tool_choice.type', 'Dropped tool_choice.function', 'Added tool_choice.name'],
    /"tool_choice":\{"type":"tool","name":"read"\}/,
  ],
  [
    'anthropic',
    'a forced tool that is not offered',
    claude([user('a')], { tool_choice: { type: 'tool', name: 'x' } }),
    ['Dropped tool_choice'],
  ],
  [
    'anthropic',
    'an MCP server that nothing uses',
    claude([user('a')], { mcp_servers: [{ type: 'url', name: 'm', url: 'https://m' }] }),
    ['Dropped mcp_servers'],
  ],
  [
    'anthropic',
    'a toolset without its server',
    claude([user('a')], { tools: [{ type: 'mcp_toolset', mcp_server_name: 'm' }] }),
    ['Dropped tools'],
  ],
  [
    'anthropic',
    'all tools deferred',
    claude([user('a')], { tools: [{ name: 'read', input_schema: schema, defer_loading: true }] }),
    ['Dropped tools[0].defer_loading', 'Added tools[0].description'],
  ],
  [
    'anthropic',
    'a deferred search tool',
    claude([user('a')], { tools: [{ ...search, defer_loading: true }, own] }),
    ['Dropped tools[0]'],
  ],
  [
    'anthropic',
    'a reference to a tool that is not declared',
    claude(
      [
        user('a'),
        said(
          { type: 'server_tool_use', id: 'srvtoolu_1', name: search.name, input: {} },
          {
            type: 'tool_search_tool_result',
            tool_use_id: 'srvtoolu_1',
            content: {
              type: 'tool_search_tool_search_result',
              tool_references: [{ type: 'tool_reference', tool_name: 'gone' }],
            },
          },
        ),
        user('b'),
      ],
      { tools: [search, own] },
    ),
    ['Moved tools[0]', 'Added tools[2]'],
  ],
  [
    'anthropic',
    'calls from code without a container',
    claude(
      [
        user('a'),
        said(
          { type: 'server_tool_use', id: 'srvtoolu_1', name: 'code_execution', input: {} },
          use('t1', { caller: { type: 'code_execution_20260120', tool_id: 'srvtoolu_1' } }),
        ),
        user([result('t1')]),
      ],
      { tools: [code, { name: 'read', input_schema: schema, allowed_callers: ['code_execution_20260120'] }] },
    ),
    ['Dropped messages[1].content[1].caller', 'Dropped messages[1].content[0]'],
  ],
  [
    'anthropic',
    'callers without a code execution tool',
    claude([user('a')], {
      tools: [
        {
          ...own,
          strict: true,
          allowed_callers: ['code_execution_20260120'],
          input_schema: { ...schema, additionalProperties: false },
        },
      ],
    }),
    ['Dropped tools[0].allowed_callers', 'Added tools[0].description'],
  ],
  [
    'anthropic',
    'more than four cache breakpoints',
    claude([
      user(range(5).map(at => ({ type: 'text', text: `x${at}`, cache_control: { type: 'ephemeral' } }))),
    ]),
    [
      'Dropped messages[0].content[0].cache_control',
      'Dropped messages[0].content[1].cache_control',
      'Dropped messages[0].content[2].cache_control',
      'Dropped messages[0].content[3].cache_control',
      'Dropped messages[0].content[4].cache_control',
    ],
  ],
  [
    'anthropic',
    'a block of another vendor',
    claude([user([{ type: 'input_text', text: 'hello' }])]),
    ['Dropped messages[0].content[0]', 'Added messages[0].content[0]'],
    /"text":"hello"/,
  ],
  ['anthropic', 'no message at all', claude([]), ['Added messages[0]']],
  [
    'anthropic',
    'a tool of an unknown kind',
    claude([user('a')], { tools: [{ type: 'web_browser_2020', name: 'x' }] }),
    ['Dropped tools'],
  ],
  [
    'anthropic',
    'a picture of no known kind',
    claude([user([picture('image/svg+xml', 'PHN2Zy8+')])]),
    ['Dropped messages[0].content[0]', 'Added messages[0].content[0]'],
  ],
  [
    'anthropic',
    'a picture under the wrong type',
    claude([user('a'), said(use('t1')), user([result('t1', { content: [picture('image/jpeg', PNG)] })])]),
    ['Changed messages[2].content[0].content[0].source.media_type'],
    /"media_type":"image\/png"/,
  ],
]

// ---- OpenAI ------------------------------------------------------------------------------------------------

const chat = (messages: Json[], more: JsonObject = {}): JsonObject => ({
  model: 'gpt-5.2',
  messages,
  ...more,
})
const hi = { role: 'user', content: 'hi' }
const asks = (...calls: Json[]): JsonObject => ({ role: 'assistant', content: null, tool_calls: calls })
const call = (id: string, more: JsonObject = {}): JsonObject => ({
  id,
  type: 'function',
  function: { name: 'f', arguments: '{}' },
  ...more,
})
const answers = (id: string, content: Json = 'x'): JsonObject => ({ role: 'tool', tool_call_id: id, content })
const part = (...content: Json[]): JsonObject => ({ role: 'user', content })
const format = (type: string, more: JsonObject): JsonObject => ({
  type,
  strict: true,
  schema: { type: 'object', properties: { a: { type: 'string' } } },
  ...more,
})

const openaiChat: Case[] = [
  [
    'openai-chat',
    'two calls of one id',
    chat([hi, asks(call('a'), call('a')), answers('a', 'one'), answers('a', 'two')]),
    ['Changed messages[1].tool_calls[1].id', 'Changed messages[3].tool_call_id'],
  ],
  [
    'openai-chat',
    'calls without ids',
    chat([
      hi,
      {
        role: 'assistant',
        content: null,
        tool_calls: [{ type: 'function', function: { name: 'f', arguments: '{}' } }],
      },
      { role: 'tool', content: 'x' },
    ]),
    ['Added messages[1].tool_calls[0].id', 'Added messages[2].tool_call_id'],
  ],
  [
    'openai-chat',
    '130 calls',
    chat([hi, asks(...range(130).map(at => call(`c${at}`))), ...range(130).map(at => answers(`c${at}`))]),
    ['Dropped messages[1].tool_calls[128]', 'Dropped messages[1].tool_calls[129]', 'Added messages[130]'],
  ],
  [
    'openai-chat',
    'tools of Responses',
    chat([hi], { tools: [flat] }),
    ['Dropped tools[0].name', 'Dropped tools[0].parameters', 'Added tools[0].function'],
    /"function":\{"name":"f"/,
  ],
  ['openai-chat', 'tools of Anthropic', chat([hi], { tools: [own] }), ['Dropped tools[0]', 'Added tools[0]']],
  [
    'openai-chat',
    'the choice "any" of Anthropic',
    chat([hi], { tools: [nested], tool_choice: { type: 'any' } }),
    ['Changed tool_choice'],
    /"tool_choice":"required"/,
  ],
  [
    'openai-chat',
    'a tool choice of Responses',
    chat([hi], { tools: [nested], tool_choice: { type: 'function', name: 'f' } }),
    ['Dropped tool_choice.name', 'Added tool_choice.function'],
    /"tool_choice":\{"type":"function","function":\{"name":"f"\}\}/,
  ],
  [
    'openai-chat',
    'the role "model" of Gemini',
    chat([{ role: 'model', content: 'x' }, hi]),
    ['Dropped messages[0]', 'Added messages[0]'],
    /"content":"x"/,
  ],
  [
    'openai-chat',
    'content that is a number',
    chat([part(), { role: 'user', content: 5 }]),
    ['Changed messages[0].content', 'Dropped messages[1]'],
    /"content":"5"/,
  ],
  [
    'openai-chat',
    'parts of Responses',
    chat([
      part({ type: 'input_text', text: 'hello' }, { type: 'input_image', image_url: 'https://x/a.png' }),
    ]),
    [
      'Dropped messages[0].content[0]',
      'Dropped messages[0].content[1]',
      'Added messages[0].content[0]',
      'Added messages[0].content[1]',
    ],
    /"text":"hello"/,
  ],
  ['openai-chat', 'no message at all', chat([]), ['Added messages[0]']],
  [
    'openai-chat',
    'half of a surrogate pair',
    chat([{ role: 'user', content: 'a\ud83d' }]),
    ['Changed messages[0].content'],
  ],
  [
    'openai-chat',
    'a picture of no known kind',
    chat([part({ type: 'image_url', image_url: { url: SVG } })]),
    ['Changed messages[0].content'],
  ],
  [
    'openai-chat',
    'an output format whose schema is not strict',
    chat([hi], { response_format: { type: 'json_schema', json_schema: format('x', { name: 'x' }) } }),
    ['Changed response_format.json_schema.strict'],
  ],
  [
    'openai-chat',
    'two token limits',
    chat([hi], { max_tokens: 5, max_completion_tokens: 5 }),
    ['Dropped max_tokens'],
  ],
]

const responses = (input: Json, more: JsonObject = {}): JsonObject => ({ model: 'gpt-5.2', input, ...more })
const item = (call_id: string, more: JsonObject = {}): JsonObject => ({
  type: 'function_call',
  call_id,
  name: 'f',
  arguments: '{}',
  ...more,
})
const output = (call_id: string, more: JsonObject = {}): JsonObject => ({
  type: 'function_call_output',
  call_id,
  output: 'x',
  ...more,
})
const caller = { type: 'program', caller_id: 'p' }

const openaiResponses: Case[] = [
  [
    'openai-responses',
    'an output of the wrong type',
    responses([hi, { type: 'custom_tool_call', call_id: 'a', name: 'g', input: 'x' }, output('a')]),
    ['Dropped input[2]', 'Added input[2]'],
  ],
  [
    'openai-responses',
    'tools of Chat',
    responses([hi], { tools: [nested] }),
    [
      'Dropped tools[0].function',
      'Added tools[0].name',
      'Added tools[0].description',
      'Added tools[0].parameters',
      'Added tools[0].strict',
    ],
  ],
  [
    'openai-responses',
    'an MCP tool without an address',
    responses([hi], { tools: [flat, { type: 'mcp', server_label: 'x' }] }),
    ['Dropped tools[1]'],
  ],
  [
    'openai-responses',
    'a tool choice of Chat',
    responses([hi], { tools: [flat], tool_choice: { type: 'tool', name: 'f' } }),
    ['Changed tool_choice.type'],
    /"tool_choice":\{"type":"function","name":"f"\}/,
  ],
  [
    'openai-responses',
    'parts of Chat',
    responses([
      part({ type: 'text', text: 'hello' }, { type: 'image_url', image_url: { url: 'https://x/a.png' } }),
    ]),
    ['Dropped input[0]', 'Added input[0]'],
  ],
  [
    'openai-responses',
    'an assistant message with input parts',
    responses([hi, { role: 'assistant', content: [{ type: 'input_text', text: 'x' }] }]),
    ['Dropped input[1]', 'Added input[1]'],
  ],
  [
    'openai-responses',
    'an approval without its request',
    responses([hi, { type: 'mcp_approval_response', approval_request_id: 'mcpr_1', approve: true }]),
    ['Dropped input[1]'],
  ],
  [
    'openai-responses',
    'calls of a program that is missing',
    responses([hi, item('a', { caller }), output('a', { caller })]),
    ['Dropped input[1].caller'],
  ],
  [
    'openai-responses',
    'a computer call without an output',
    responses([hi, { type: 'computer_call', id: 'cu_1', call_id: 'k', actions: [] }]),
    ['Dropped input[1]'],
  ],
  [
    'openai-responses',
    'a previous response and a conversation at once',
    responses([hi], { previous_response_id: 'resp_1', conversation: 'conv_1' }),
    ['Dropped conversation'],
  ],
  [
    'openai-responses',
    'reasoning items for a model that does not reason',
    responses(
      [hi, { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'x' }, item('a'), output('a')],
      { model: 'gpt-4o', include: ['reasoning.encrypted_content'] },
    ),
    ['Dropped input[1]', 'Dropped include'],
  ],
  [
    'openai-responses',
    'half of a surrogate pair',
    responses([{ role: 'user', content: 'a\ud83d' }]),
    ['Dropped input[0]', 'Added input[0]'],
  ],
  [
    'openai-responses',
    'a picture in an output',
    responses([hi, item('a'), output('a', { output: [{ type: 'input_image', image_url: SVG }] })]),
    ['Dropped input[2].output[0]', 'Added input[2].output[0]'],
  ],
  [
    'openai-responses',
    'an output format whose schema is not strict',
    responses([hi], { text: { format: format('json_schema', { name: 'x' }) } }),
    ['Changed text.format.strict'],
  ],
]

// ---- Google ------------------------------------------------------------------------------------------------

const turn = (role: string, ...parts: Json[]): JsonObject => ({ role, parts })
const signed = { thoughtSignature: 'AAAA' }
const asked = (name: string, more: JsonObject = {}): JsonObject => ({
  functionCall: { name, args: {}, ...more },
  ...signed,
})
const replied = (name: string, more: JsonObject = {}): JsonObject => ({
  functionResponse: { name, response: { output: 'x' }, ...more },
})
const a = turn('user', { text: 'a' })
const gemini = (contents: Json, more: JsonObject = {}): JsonObject => ({ contents, ...more })

const google: Case[] = [
  [
    'gemini',
    'responses in two turns',
    gemini([
      a,
      turn('model', asked('f'), { functionCall: { name: 'g', args: {} } }),
      turn('user', replied('f')),
      turn('user', replied('g')),
    ]),
    ['Added contents[2].parts[1]', 'Dropped contents[3]'],
  ],
  [
    'gemini',
    'a response with another id',
    gemini([a, turn('model', asked('f', { id: '1' })), turn('user', replied('f', { id: '2' }))]),
    ['Changed contents[2].parts[0].functionResponse.id'],
  ],
  [
    'gemini',
    'two data fields in one part',
    gemini([turn('user', { text: 'a', inlineData: { mimeType: 'image/png', data: PNG } })]),
    ['Dropped contents[0].parts[0].inlineData', 'Added contents[0].parts[1]'],
  ],
  ['gemini', 'no contents', gemini([]), ['Added contents[0]']],
  ['gemini', 'a string as contents', gemini('hello'), ['Changed contents'], /"text":"hello"/],
  [
    'gemini',
    'system instructions as a string',
    gemini([a], { systemInstruction: 'be nice' }),
    ['Changed systemInstruction'],
    /"parts":\[\{"text":"be nice"\}\]/,
  ],
  [
    'gemini',
    'tools of OpenAI',
    gemini([a], {
      tools: [
        {
          ...nested,
          function: { name: 'f', parameters: { type: 'object', properties: { p: { type: 'string' } } } },
        },
      ],
    }),
    ['Dropped tools[0]', 'Added tools[0]'],
    /"functionDeclarations":\[\{"name":"f"/,
  ],
  [
    'gemini',
    'a GIF',
    gemini([turn('user', { inlineData: { mimeType: 'image/gif', data: GIF } })]),
    ['Dropped contents[0].parts[0]', 'Added contents[0].parts[0]'],
  ],
]

const interaction = (input: Json, more: JsonObject = {}): JsonObject => ({
  model: 'gemini-3-pro',
  input,
  tools: [{ type: 'function', name: 'f' }],
  ...more,
})
const says = { type: 'user_input', content: [{ type: 'text', text: 'a' }] }
const thought = { type: 'thought', signature: 'AAAA' }
const step = (more: JsonObject = {}): JsonObject => ({
  type: 'function_call',
  id: '1',
  name: 'f',
  arguments: {},
  ...more,
})
const gave = (more: JsonObject = {}): JsonObject => ({
  type: 'function_result',
  call_id: '1',
  name: 'f',
  result: 'x',
  ...more,
})

const interactions: Case[] = [
  [
    'gemini-interactions',
    'calls without ids',
    interaction([says, thought, step({ id: '' }), gave({ call_id: '' })]),
    ['Changed input[2].id', 'Changed input[3].call_id'],
  ],
  [
    'gemini-interactions',
    'a list of strings as a result',
    interaction([says, thought, step(), gave({ result: ['x', 'y'] })]),
    ['Changed input[3].result'],
  ],
  [
    'gemini-interactions',
    'tools of OpenAI',
    interaction([says], { tools: [nested] }),
    ['Dropped tools[0].function', 'Added tools[0].name', 'Added tools[0].description'],
  ],
  [
    'gemini-interactions',
    'tools of Anthropic',
    interaction([says], { tools: [own] }),
    ['Dropped tools[0]', 'Added tools[0]'],
  ],
  [
    'gemini-interactions',
    'a tool of an unknown kind',
    interaction([says], { tools: [{ type: 'web_search' }] }),
    ['Dropped tools'],
  ],
  ['gemini-interactions', 'an empty input', interaction([]), ['Added input[0]']],
  ['gemini-interactions', 'a number for an input', interaction(5), ['Changed input']],
  [
    'gemini-interactions',
    'a GIF',
    interaction([{ type: 'user_input', content: [{ type: 'image', mime_type: 'image/gif', data: GIF }] }]),
    ['Dropped input[0].content[0]', 'Added input[0].content[0]'],
  ],
]

/** What was done, and where. */
const beginning = (change: string): string => change.split(/: | from | to /)[0] ?? ''

for (const [vendor, name, body, does, holds] of [
  ...anthropic,
  ...openaiChat,
  ...openaiResponses,
  ...google,
  ...interactions,
])
  test(`${vendor}: repairs ${name}`, () => {
    assert.ok(checkHistory(vendor, body).length > 0, 'it is broken')
    const { left, changes, body: mended } = repairHistory(vendor, body)
    assert.deepEqual(left, [], changes.join(' '))
    assert.deepEqual(checkHistory(vendor, mended), [])
    assert.deepEqual(changes.map(beginning), does)
    if (holds) assert.match(JSON.stringify(mended), holds)
  })
