// Further broken histories of real callers: the vendor, the mistake, and the reported changes. The vendor's double accepts
// the result, and every change is reported.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Json, JsonObject } from '../../src/lib/json.ts'
import { checkHistory, type DoctorVendor, repairHistory } from '../../src/testing/doctor.ts'

type Case = [vendor: DoctorVendor, name: string, body: Json, does: RegExp[], holds?: RegExp]

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
    [/message directly after their calls/],
  ],
  [
    'anthropic',
    'tools of OpenAI',
    claude([user('a')], { tools: [nested] }),
    [/Wrote the tool "f"/],
    /"description":"d","input_schema"/,
  ],
  [
    'anthropic',
    'tools of Gemini',
    claude([user('a')], { tools: [{ functionDeclarations: [{ name: 'f' }, { name: 'g' }] }] }),
    [/"f"/, /"g"/],
  ],
  [
    'anthropic',
    'a forced tool in the form of OpenAI',
    claude([user('a')], { tool_choice: { type: 'function', function: { name: 'read' } } }),
    [/Wrote the tool choice/],
    /"tool_choice":\{"type":"tool","name":"read"\}/,
  ],
  [
    'anthropic',
    'a forced tool that is not offered',
    claude([user('a')], { tool_choice: { type: 'tool', name: 'x' } }),
    [/Dropped `tool_choice`/],
  ],
  [
    'anthropic',
    'an MCP server that nothing uses',
    claude([user('a')], { mcp_servers: [{ type: 'url', name: 'm', url: 'https://m' }] }),
    [/Dropped the MCP server "m"/],
  ],
  [
    'anthropic',
    'a toolset without its server',
    claude([user('a')], { tools: [{ type: 'mcp_toolset', mcp_server_name: 'm' }] }),
    [/Dropped a toolset/],
  ],
  [
    'anthropic',
    'all tools deferred',
    claude([user('a')], { tools: [{ name: 'read', input_schema: schema, defer_loading: true }] }),
    [/Turned off deferred loading of "read"/],
  ],
  [
    'anthropic',
    'a deferred search tool',
    claude([user('a')], { tools: [{ ...search, defer_loading: true }, own] }),
    [/Turned off deferred loading of the search tool/],
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
    [/Declared the tool "gone"/],
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
    [/container of the code is missing/],
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
    [/Turned off strict mode/, /Dropped the callers/],
  ],
  [
    'anthropic',
    'more than four cache breakpoints',
    claude([
      user(range(5).map(at => ({ type: 'text', text: `x${at}`, cache_control: { type: 'ephemeral' } }))),
    ]),
    [/Dropped a cache mark/],
  ],
  [
    'anthropic',
    'a block of another vendor',
    claude([user([{ type: 'input_text', text: 'hello' }])]),
    [/block of the type "input_text" as text/],
    /"text":"hello"/,
  ],
  ['anthropic', 'no message at all', claude([]), [/Added a message/]],
  [
    'anthropic',
    'a tool of an unknown kind',
    claude([user('a')], { tools: [{ type: 'web_browser_2020', name: 'x' }] }),
    [/Dropped the tool "x"/],
  ],
  [
    'anthropic',
    'a picture of no known kind',
    claude([user([picture('image/svg+xml', 'PHN2Zy8+')])]),
    [/Replaced a picture/],
  ],
  [
    'anthropic',
    'a picture under the wrong type',
    claude([user('a'), said(use('t1')), user([result('t1', { content: [picture('image/jpeg', PNG)] })])]),
    [/type of a picture to image\/png/],
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
    [/Renamed the second call "a"/],
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
    [/Gave the call of "f", and its result, the id/],
  ],
  [
    'openai-chat',
    '130 calls',
    chat([hi, asks(...range(130).map(at => call(`c${at}`))), ...range(130).map(at => answers(`c${at}`))]),
    [/Split the 130 calls/],
  ],
  [
    'openai-chat',
    'tools of Responses',
    chat([hi], { tools: [flat] }),
    [/Wrote the tool "f"/],
    /"function":\{"name":"f"/,
  ],
  ['openai-chat', 'tools of Anthropic', chat([hi], { tools: [own] }), [/Wrote the tool "f"/]],
  [
    'openai-chat',
    'the choice "any" of Anthropic',
    chat([hi], { tools: [nested], tool_choice: { type: 'any' } }),
    [/Wrote the tool choice/],
    /"tool_choice":"required"/,
  ],
  [
    'openai-chat',
    'a tool choice of Responses',
    chat([hi], { tools: [nested], tool_choice: { type: 'function', name: 'f' } }),
    [/Wrote the tool choice/],
    /"tool_choice":\{"type":"function","function":\{"name":"f"\}\}/,
  ],
  [
    'openai-chat',
    'the role "model" of Gemini',
    chat([{ role: 'model', content: 'x' }, hi]),
    [/"model" to assistant/],
    /"content":"x"/,
  ],
  [
    'openai-chat',
    'content that is a number',
    chat([part(), { role: 'user', content: 5 }]),
    [/user a text/, /user a text/],
    /"content":"5"/,
  ],
  [
    'openai-chat',
    'parts of Responses',
    chat([
      part({ type: 'input_text', text: 'hello' }, { type: 'input_image', image_url: 'https://x/a.png' }),
    ]),
    [/as `text`/, /picture/],
    /"text":"hello"/,
  ],
  ['openai-chat', 'no message at all', chat([]), [/Added a message/]],
  ['openai-chat', 'half of a surrogate pair', chat([{ role: 'user', content: 'a\ud83d' }]), [/surrogate/]],
  [
    'openai-chat',
    'a picture of no known kind',
    chat([part({ type: 'image_url', image_url: { url: SVG } })]),
    [/Replaced a picture/],
  ],
  [
    'openai-chat',
    'an output format whose schema is not strict',
    chat([hi], { response_format: { type: 'json_schema', json_schema: format('x', { name: 'x' }) } }),
    [/answer format/],
  ],
  [
    'openai-chat',
    'two token limits',
    chat([hi], { max_tokens: 5, max_completion_tokens: 5 }),
    [/Dropped `max_tokens`/],
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
    [/custom tool call/],
  ],
  ['openai-responses', 'tools of Chat', responses([hi], { tools: [nested] }), [/Wrote the tool "f"/]],
  [
    'openai-responses',
    'an MCP tool without an address',
    responses([hi], { tools: [flat, { type: 'mcp', server_label: 'x' }] }),
    [/Dropped the tool "mcp"/],
  ],
  [
    'openai-responses',
    'a tool choice of Chat',
    responses([hi], { tools: [flat], tool_choice: { type: 'tool', name: 'f' } }),
    [/Wrote the tool choice/],
    /"tool_choice":\{"type":"function","name":"f"\}/,
  ],
  [
    'openai-responses',
    'parts of Chat',
    responses([
      part({ type: 'text', text: 'hello' }, { type: 'image_url', image_url: { url: 'https://x/a.png' } }),
    ]),
    [/as `input_text`/, /picture/],
  ],
  [
    'openai-responses',
    'an assistant message with input parts',
    responses([hi, { role: 'assistant', content: [{ type: 'input_text', text: 'x' }] }]),
    [/as `output_text`/],
  ],
  [
    'openai-responses',
    'an approval without its request',
    responses([hi, { type: 'mcp_approval_response', approval_request_id: 'mcpr_1', approve: true }]),
    [/"mcp_approval_response"/],
  ],
  [
    'openai-responses',
    'calls of a program that is missing',
    responses([hi, item('a', { caller }), output('a', { caller })]),
    [/Dropped the caller of "a"/, /caller of its call/],
  ],
  [
    'openai-responses',
    'a computer call without an output',
    responses([hi, { type: 'computer_call', id: 'cu_1', call_id: 'k', actions: [] }]),
    [/"computer_call"/],
  ],
  [
    'openai-responses',
    'a previous response and a conversation at once',
    responses([hi], { previous_response_id: 'resp_1', conversation: 'conv_1' }),
    [/Dropped `conversation`/],
  ],
  [
    'openai-responses',
    'reasoning items for a model that does not reason',
    responses(
      [hi, { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'x' }, item('a'), output('a')],
      { model: 'gpt-4o', include: ['reasoning.encrypted_content'] },
    ),
    [/all reasoning/, /request for encrypted/],
  ],
  [
    'openai-responses',
    'half of a surrogate pair',
    responses([{ role: 'user', content: 'a\ud83d' }]),
    [/surrogate/],
  ],
  [
    'openai-responses',
    'a picture in an output',
    responses([hi, item('a'), output('a', { output: [{ type: 'input_image', image_url: SVG }] })]),
    [/Replaced a picture/],
  ],
  [
    'openai-responses',
    'an output format whose schema is not strict',
    responses([hi], { text: { format: format('json_schema', { name: 'x' }) } }),
    [/answer format/],
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
    [/turn directly after their calls/],
  ],
  [
    'gemini',
    'a response with another id',
    gemini([a, turn('model', asked('f', { id: '1' })), turn('user', replied('f', { id: '2' }))]),
    [/name and id of its call/],
  ],
  [
    'gemini',
    'two data fields in one part',
    gemini([turn('user', { text: 'a', inlineData: { mimeType: 'image/png', data: PNG } })]),
    [/Split a part/],
  ],
  ['gemini', 'no contents', gemini([]), [/Added a user turn/]],
  ['gemini', 'a string as contents', gemini('hello'), [/Added a user turn/], /"text":"hello"/],
  [
    'gemini',
    'system instructions as a string',
    gemini([a], { systemInstruction: 'be nice' }),
    [/instructions as parts/],
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
    [/Wrote the tool "f"/],
    /"functionDeclarations":\[\{"name":"f"/,
  ],
  [
    'gemini',
    'a GIF',
    gemini([turn('user', { inlineData: { mimeType: 'image/gif', data: GIF } })]),
    [/Replaced a picture/],
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
    [/Gave the call of "f", and its result, the id/],
  ],
  [
    'gemini-interactions',
    'a list of strings as a result',
    interaction([says, thought, step(), gave({ result: ['x', 'y'] })]),
    [/not a list of content, as text/],
  ],
  [
    'gemini-interactions',
    'tools of OpenAI',
    interaction([says], { tools: [nested] }),
    [/Wrote the tool "f"/],
  ],
  [
    'gemini-interactions',
    'tools of Anthropic',
    interaction([says], { tools: [own] }),
    [/Wrote the tool "f"/],
  ],
  [
    'gemini-interactions',
    'a tool of an unknown kind',
    interaction([says], { tools: [{ type: 'web_search' }] }),
    [/Dropped the tool "web_search"/],
  ],
  ['gemini-interactions', 'an empty input', interaction([]), [/Added an input/]],
  ['gemini-interactions', 'a number for an input', interaction(5), [/Made the input a text/]],
  [
    'gemini-interactions',
    'a GIF',
    interaction([{ type: 'user_input', content: [{ type: 'image', mime_type: 'image/gif', data: GIF }] }]),
    [/Replaced a picture/],
  ],
]

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
    assert.equal(changes.length, does.length, changes.join(' | '))
    for (const [at, pattern] of does.entries()) assert.match(changes[at] ?? '', pattern)
    if (holds) assert.match(JSON.stringify(mended), holds)
  })
