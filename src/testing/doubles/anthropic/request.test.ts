import assert from 'node:assert/strict'
import { test } from 'node:test'
import { reasons } from '../../../doctor/reasons.ts'
import type { Mode } from '../script.ts'
import { seal } from '../seal.ts'
import { checkRequest, checkRequestAll } from '../vendors.ts'
import { type AnthropicMemory, newAnthropicMemory } from './history.ts'

type Body = Record<string, unknown>

const read = { name: 'read', input_schema: { type: 'object', properties: { p: { type: 'string' } } } }
const use = (id: string, extra: object = {}): object => ({
  type: 'tool_use',
  id,
  name: 'read',
  input: { p: 'x' },
  ...extra,
})
const result = (id: string, extra: object = {}): object => ({
  type: 'tool_result',
  tool_use_id: id,
  content: 'ok',
  ...extra,
})
const user = (...content: object[]): object => ({ role: 'user', content })
const assistant = (...content: object[]): object => ({ role: 'assistant', content })
const text = (value: string): object => ({ type: 'text', text: value })
const thought = (value: string): object => ({
  type: 'thinking',
  thinking: value,
  signature: seal('thinking', value),
})
const ask: object = { role: 'user', content: 'go' }
const tool = (extra: object): object => ({ ...read, ...extra })

const request = (messages: object[], extra: object = {}): Body => ({
  model: 'claude-sonnet-4-5',
  max_tokens: 4096,
  tools: [read],
  messages,
  ...extra,
})
const thinking = { thinking: { type: 'enabled', budget_tokens: 2000 } }
const schemaTool = (schema: unknown, extra: object = {}): Body =>
  request([ask], { tools: [{ name: 't', input_schema: schema, ...extra }] })
const object = (properties: object, extra: object = {}): object => ({ type: 'object', properties, ...extra })
const many = (count: number, make: (at: number) => object): object[] =>
  Array.from({ length: count }, (_, at) => make(at))
const closed = { additionalProperties: false }
const search = { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: { query: 'q' } }
const webSearch = { type: 'web_search_20260318', name: 'web_search' }
const found = (encrypted?: string): object => ({
  type: 'web_search_tool_result',
  tool_use_id: 'srvtoolu_1',
  content: [
    {
      type: 'web_search_result',
      url: 'https://a.example',
      title: 'A',
      ...(encrypted && { encrypted_content: encrypted }),
    },
  ],
})

type Case = {
  id: string
  why: string
  body: Body
  rule?: string
  says: string
  mode?: Mode
  memory?: AnthropicMemory
}

const REFUSED: Case[] = [
  {
    id: 'A-01',
    why: 'a call without a result',
    body: request([ask, assistant(use('toolu_a'), use('toolu_b')), user(text('next'))]),
    says: 'messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_a, toolu_b. Each `tool_use` block must have a corresponding `tool_result` block in the next message.',
  },
  {
    id: 'A-02',
    why: 'a result without a call',
    body: request([ask, assistant(text('hm')), user(result('toolu_x'))]),
    says: 'messages.2.content.0: unexpected `tool_use_id` found in `tool_result` blocks: toolu_x. Each `tool_result` block must have a corresponding `tool_use` block in the previous message.',
  },
  {
    id: 'A-03',
    why: 'text before a result',
    body: request([ask, assistant(use('toolu_a')), user(text('see'), result('toolu_a'))]),
    says: 'messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_a.',
  },
  {
    id: 'A-03',
    why: 'text between results',
    body: request([
      ask,
      assistant(use('toolu_a'), use('toolu_b')),
      user(result('toolu_a'), text('and'), result('toolu_b')),
    ]),
    says: 'immediately after: toolu_b.',
  },
  {
    id: 'A-04',
    why: 'two results for one call',
    body: request([ask, assistant(use('toolu_a')), user(result('toolu_a'), result('toolu_a'))]),
    says: 'messages.2.content.1: each tool_use must have a single result. Found multiple `tool_result` blocks with id: toolu_a',
  },
  {
    id: 'A-05',
    why: 'one id for two calls',
    body: request([ask, assistant(use('toolu_a'), use('toolu_a')), user(result('toolu_a'))]),
    says: 'messages.1.content.1: `tool_use` ids must be unique',
  },
  {
    id: 'A-06',
    why: 'an id with a dot',
    body: request([ask, assistant(use('a.b')), user(result('a.b'))]),
    says: "messages.1.content.0.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'",
  },
  {
    id: 'A-06',
    why: 'a server tool id of another kind',
    body: request([ask, assistant({ ...search, id: 'toolu_1' })], { tools: [webSearch] }),
    says: "messages.1.content.0.server_tool_use.id: String should match pattern '^srvtoolu_[a-zA-Z0-9_]+$'",
  },
  {
    id: 'A-07',
    why: 'a tool name with a dot',
    body: request([ask], { tools: [tool({ name: 'fs.read' })] }),
    says: "tools.0.custom.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'",
  },
  {
    id: 'A-07',
    why: 'a name of 129 characters',
    body: request([ask], { tools: [tool({ name: 'x'.repeat(129) })] }),
    says: 'tools.0.custom.name: String should match pattern',
  },
  {
    id: 'A-07',
    why: 'a dotted name in history',
    body: request([ask, assistant(use('toolu_a', { name: 'fs.read' })), user(result('toolu_a'))]),
    says: 'messages.1.content.0.tool_use.name: String should match pattern',
  },
  {
    id: 'A-08',
    why: 'one name twice',
    body: request([ask], { tools: [read, read] }),
    says: 'tools: Tool names must be unique.',
  },
  ...[null, '', [], 'x'].map(input => ({
    id: 'A-09',
    why: `input ${JSON.stringify(input)} in history`,
    body: request([ask, assistant(use('toolu_a', { input })), user(result('toolu_a'))]),
    says: 'messages.1.content.0.tool_use.input: Input should be a valid dictionary',
  })),
  {
    id: 'A-10',
    why: 'a result said by the assistant',
    body: request([ask, assistant(result('toolu_a')), ask]),
    says: 'messages.1: `tool_result` blocks can only be in `user` messages',
  },
  {
    id: 'A-11',
    why: 'a result for nothing',
    body: request([ask, assistant(use('toolu_a')), user({ type: 'tool_result', content: 'x' })]),
    says: 'messages.2.content.0.tool_result.tool_use_id: Field required',
  },
  {
    id: 'A-12',
    why: 'empty text',
    body: request([user(text(''))]),
    says: 'messages: text content blocks must be non-empty',
  },
  {
    id: 'A-12',
    why: 'an empty list',
    body: request([user()]),
    says: 'messages.0.content: List should have at least 1 item',
  },
  {
    id: 'A-12',
    why: 'an empty string',
    body: request([{ role: 'user', content: '' }]),
    says: 'messages: all messages must have non-empty content except for the optional final assistant message',
  },
  {
    id: 'A-12',
    why: 'an error result that says nothing',
    body: request([ask, assistant(use('toolu_a')), user(result('toolu_a', { content: '', is_error: true }))]),
    says: 'messages.2.content.0.tool_result: content cannot be empty if `is_error` is true',
  },
  {
    id: 'A-13',
    why: 'tool blocks without tools',
    body: request([ask, assistant(use('toolu_a')), user(result('toolu_a'))], { tools: undefined }),
    says: 'Requests which include `tool_use` or `tool_result` blocks must define tools.',
  },
  {
    id: 'A-14',
    why: 'no schema',
    body: schemaTool(undefined),
    says: 'tools.0.custom.input_schema: Field required',
  },
  {
    id: 'A-14',
    why: 'a union at the top',
    body: schemaTool({ type: 'object', oneOf: [{ type: 'object' }], anyOf: [{ type: 'object' }] }),
    says: 'tools.0.custom.input_schema: input_schema does not support oneOf, allOf, or anyOf at the top level',
  },
  {
    id: 'A-14',
    why: 'a draft-04 bound',
    body: schemaTool(object({ n: { type: 'number', minimum: 1, exclusiveMinimum: true } })),
    says: 'tools.0.custom.input_schema: JSON schema is invalid. It must match JSON Schema draft 2020-12',
  },
  {
    id: 'A-14',
    why: 'a key with a space',
    body: schemaTool(object({ 'a b': {} })),
    says: "tools.0.custom.input_schema.properties: Property keys should match pattern '^[a-zA-Z0-9_.-]{1,64}$'",
  },
  {
    id: 'A-15',
    why: 'a strict object left open',
    body: schemaTool(object({ a: object({}) }, closed), { strict: true }),
    says: "tools.0.custom: For 'object' type, 'additionalProperties' must be explicitly set to false",
  },
  {
    id: 'A-15',
    why: '22 strict tools',
    body: request([ask], {
      tools: many(22, at => ({ name: `t${at}`, strict: true, input_schema: object({}, closed) })),
    }),
    says: 'Too many strict tools (22). The maximum number of strict tools supported is 20.',
  },
  {
    id: 'A-15',
    why: '41 optional parameters over two strict schemas',
    body: request([ask], {
      tools: [20, 21].map(count => ({
        name: `t${count}`,
        strict: true,
        input_schema: object(
          Object.fromEntries(Array.from({ length: count }, (_, at) => [`p${at}`, { type: 'string' }])),
          closed,
        ),
      })),
    }),
    says: 'Schemas contains too many optional parameters (41), which would make grammar compilation inefficient.',
  },
  {
    id: 'A-15',
    why: '17 union parameters',
    body: schemaTool(
      object(
        Object.fromEntries(Array.from({ length: 17 }, (_, at) => [`p${at}`, { type: ['string', 'null'] }])),
        { ...closed, required: Array.from({ length: 17 }, (_, at) => `p${at}`) },
      ),
      { strict: true },
    ),
    says: 'Schemas contains too many parameters with union types (17 parameters with type arrays or anyOf).',
  },
  {
    id: 'A-15',
    why: 'a grammar too large',
    body: schemaTool(
      object(
        { a: { type: 'string', enum: Array.from({ length: 9000 }, (_, at) => `value-${at}`) } },
        { ...closed, required: ['a'] },
      ),
      { strict: true },
    ),
    says: 'The compiled grammar is too large, which would cause performance issues.',
  },
  {
    id: 'A-16',
    why: "another vendor's word",
    body: request([ask], { tool_choice: { type: 'required' } }),
    says: "tool_choice: Input tag 'required' found using 'type' does not match any of the expected tags: 'auto', 'any', 'tool', 'none'",
  },
  {
    id: 'A-16',
    why: 'a string',
    body: request([ask], { tool_choice: 'auto' }),
    says: 'tool_choice: Input should be an object',
  },
  {
    id: 'A-17',
    why: 'thinking with a forced tool',
    body: request([ask], { ...thinking, tool_choice: { type: 'any' } }),
    says: 'Thinking may not be enabled when tool_choice forces tool use.',
  },
  {
    id: 'A-18',
    why: 'prefill on a model that takes none',
    body: request([ask, assistant(text('I think'))], { model: 'claude-opus-4-6' }),
    says: 'This model does not support assistant message prefill. The conversation must end with a user message.',
  },
  {
    id: 'A-19',
    why: 'thinking that was changed',
    body: request(
      [ask, assistant({ ...thought('a'), thinking: 'b' }, use('toolu_a')), user(result('toolu_a'))],
      thinking,
    ),
    says: 'messages.1.content.0: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified.',
  },
  ...(['strict', 'lenient'] as const).flatMap(mode =>
    ['', 'Zm9yZWlnbg=='].map(signature => ({
      id: 'A-19',
      why: `signature "${signature}" (${mode})`,
      mode,
      body: request(
        [ask, assistant({ ...thought('a'), signature }, use('toolu_a')), user(result('toolu_a'))],
        thinking,
      ),
      says: 'messages.1.content.0: Invalid `signature` in `thinking` block',
    })),
  ),
  {
    id: 'A-19',
    why: 'redacted data of unknown origin',
    body: request([ask, assistant({ type: 'redacted_thinking', data: 'xx' }, text('hi')), ask]),
    says: 'messages.1.content.0: Invalid `data` in `redacted_thinking` block',
  },
  {
    id: 'A-19',
    why: 'thinking taken away in a tool loop',
    body: request([ask, assistant(use('toolu_a')), user(result('toolu_a'))], thinking),
    says: 'messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found `tool_use`. When `thinking` is enabled, a final `assistant` message must start with a thinking block',
  },
  {
    id: 'A-20',
    why: 'the system prompt as a message',
    body: request([{ role: 'system', content: 'be kind' }, ask]),
    says: "messages.0: use the top-level 'system' parameter for the initial system prompt",
  },
  {
    id: 'A-21',
    why: 'two user messages',
    body: request([ask, ask]),
    says: 'messages: roles must alternate between "user" and "assistant"',
  },
  {
    id: 'A-21',
    why: 'the assistant first',
    body: request([assistant(text('hi')), ask]),
    says: 'messages: first message must use the "user" role',
  },
  {
    id: 'A-22',
    why: 'a server tool without its result',
    body: request([ask, assistant(search, text('so')), user(text('and?'))], { tools: [webSearch] }),
    says: 'messages.1: `web_search` tool use with id `srvtoolu_1` was found without a corresponding `web_search_tool_result` block',
  },
  {
    id: 'A-22',
    why: "a server tool's result without its call",
    body: request([ask, assistant(found(seal('search', 'https://a.example'))), ask], { tools: [webSearch] }),
    says: 'unexpected `tool_use_id` found in `web_search_tool_result` blocks: srvtoolu_1. Each `web_search_tool_result` block must have a corresponding `server_tool_use` block before it.',
  },
  {
    id: 'A-23',
    rule: 'A-22',
    why: 'text after the results of a mixed response',
    body: request([ask, assistant(search, use('toolu_a')), user(result('toolu_a'), text('more'))], {
      tools: [webSearch, read],
    }),
    says: 'was found without a corresponding `web_search_tool_result` block',
  },
  {
    id: 'A-23',
    why: 'the server tool dropped in a mixed continuation',
    body: request([ask, assistant(search, use('toolu_a')), user(result('toolu_a'))]),
    says: 'block, but no `web_search` tool was provided',
  },
  {
    id: 'A-24',
    why: 'a paused turn sent back changed',
    memory: { ...newAnthropicMemory(), paused: new Map([['srvtoolu_1', [text('one'), search]]]) },
    body: request([ask, assistant(text('two'), search)], { tools: [webSearch], model: 'claude-opus-4-8' }),
    says: 'messages.1: a paused turn must be sent back as it was received.',
  },
  {
    id: 'A-25',
    why: 'a search result without its encrypted content',
    body: request([ask, assistant(search, found(), text('so')), ask], { tools: [webSearch] }),
    says: 'encrypted_content: Field required',
  },
  {
    id: 'A-25',
    why: 'encrypted content that was changed',
    body: request([ask, assistant(search, found('other'), text('so')), ask], { tools: [webSearch] }),
    says: 'Invalid `encrypted_content` in `web_search_result` block',
  },
  {
    id: 'A-26',
    why: 'half a surrogate pair',
    body: request([{ role: 'user', content: 'ab\ud83d' }]),
    says: 'The request body is not valid JSON: no low surrogate in string: line 1 column ',
  },
  {
    id: 'A-27',
    why: 'temperature on a model that has none',
    body: request([ask], { model: 'claude-opus-4-7', temperature: 0 }),
    says: 'temperature: `temperature` is not supported for this model.',
  },
  {
    id: 'A-27',
    why: 'a thinking budget on a model that has none',
    body: request([ask], { model: 'claude-sonnet-5', ...thinking }),
    says: 'is not supported for this model',
  },
  {
    id: 'A-27',
    why: 'a budget below 1024',
    body: request([ask], { thinking: { type: 'enabled', budget_tokens: 100 } }),
    says: 'greater than or equal to 1024',
  },
  {
    id: 'A-27',
    why: 'a budget that leaves no room',
    body: request([ask], { thinking: { type: 'enabled', budget_tokens: 4096 } }),
    says: '`max_tokens` must be greater than `thinking.budget_tokens`.',
  },
  {
    id: 'A-28',
    why: 'a key that no block has',
    body: request([user({ ...text('hi'), colour: 'red' })]),
    says: 'messages.0.content.0.text.colour: Extra inputs are not permitted',
  },
  {
    id: 'A-28',
    why: 'a field that no request has',
    body: request([ask], { n: 2 }),
    says: 'n: Extra inputs are not permitted',
  },
  {
    id: 'A-28',
    why: 'five cache breakpoints',
    body: request([user(...many(5, () => ({ ...text('x'), cache_control: { type: 'ephemeral' } })))]),
    says: 'A maximum of 4 blocks with cache_control may be provided. Found 5.',
  },
  {
    id: 'A-TS',
    why: 'every tool deferred',
    body: request([ask], { tools: [tool({ defer_loading: true })] }),
    says: 'All tools have defer_loading set. At least one tool must be non-deferred.',
  },
  {
    id: 'A-TS',
    why: 'the search tool deferred',
    body: request([ask], {
      tools: [
        read,
        { type: 'tool_search_tool_regex_20251119', name: 'tool_search_tool_regex', defer_loading: true },
      ],
    }),
    says: "Tool 'tool_search_tool_regex' cannot be deferred",
  },
  {
    id: 'A-TS',
    why: 'a reference to no tool',
    body: request([
      ask,
      assistant(use('toolu_a')),
      user(result('toolu_a', { content: [{ type: 'tool_reference', tool_name: 'gone' }] })),
    ]),
    says: "Tool reference 'gone' has no corresponding tool definition",
  },
  {
    id: 'A-PTC',
    why: 'code as caller without code execution',
    body: request([ask], { tools: [tool({ allowed_callers: ['code_execution_20260120'] })] }),
    says: 'no code execution tool was provided',
  },
  {
    id: 'A-PTC',
    why: 'a call from code answered outside its container',
    body: request(
      [
        ask,
        assistant(
          { ...search, name: 'code_execution' },
          use('toolu_a', { caller: { type: 'code_execution_20260120', tool_id: 'srvtoolu_1' } }),
        ),
        user(result('toolu_a')),
      ],
      {
        tools: [
          tool({ allowed_callers: ['code_execution_20260120'] }),
          { type: 'code_execution_20260120', name: 'code_execution' },
        ],
      },
    ),
    says: 'container_id is required when there are pending tool uses generated by code execution with tools.',
  },
  {
    id: 'A-MCP',
    why: 'a toolset for a server that is not given',
    body: request([ask], { mcp_servers: [], tools: [{ type: 'mcp_toolset', mcp_server_name: 's' }] }),
    says: "tools: mcp_toolset names MCP server 's', which is not in mcp_servers",
  },
]

for (const { id, why, body, rule = id, says, mode = 'strict', memory } of REFUSED) {
  test(`${id} refuses ${why}`, () => {
    const all = checkRequestAll('anthropic', body, { mode, memory })
    const match = all.find(rejection => rejection.rule === rule && rejection.message.includes(says))
    assert.ok(match, `expected ${rule} "${says}", found ${JSON.stringify(all, null, 1)}`)
    assert.equal(match.status, 400)
    assert.equal(match.type, 'invalid_request_error')
  })
}

test('every rule of the Messages API is broken by some case', () => {
  const cited = new Set(REFUSED.map(row => row.id))
  const rows = Object.keys(reasons).filter(id => /^A-(?!00)\d\d$/.test(id))
  assert.equal(rows.length, 28)
  assert.deepEqual(
    rows.filter(row => !cited.has(row)),
    [],
  )
})

const loop = (...blocks: object[]): Body =>
  request([ask, assistant(...blocks, use('toolu_a')), user(result('toolu_a'))], thinking)

const ACCEPTED: { id: string; why: string; body: Body; mode?: Mode }[] = [
  {
    id: 'A-01',
    why: 'a whole tool loop, text after the results',
    body: request([
      ask,
      assistant(text('I look'), use('toolu_a'), use('toolu_b')),
      user(result('toolu_b'), result('toolu_a'), text('go on')),
    ]),
  },
  {
    id: 'A-12',
    why: 'an empty result that is no error',
    body: request([ask, assistant(use('toolu_a')), user(result('toolu_a', { content: '' }))]),
  },
  {
    id: 'A-14',
    why: 'an older dialect by name, refs and nested unions',
    body: schemaTool({
      $schema: 'http://json-schema.org/draft-07/schema#',
      ...object({ a: { anyOf: [{ $ref: '#/$defs/b' }, { type: 'null' }] } }),
      $defs: { b: { type: 'string' } },
    }),
  },
  {
    id: 'A-16',
    why: 'no parallel calls with auto',
    body: request([ask], { tool_choice: { type: 'auto', disable_parallel_tool_use: true } }),
  },
  { id: 'A-18', why: 'prefill on an old model', body: request([ask, assistant(text('I'))]) },
  { id: 'A-19', why: 'thinking echoed whole', body: loop(thought('hm')) },
  { id: 'A-19', why: 'thinking whose text was omitted', body: loop(thought('')) },
  { id: 'A-19', why: 'thinking stripped (lenient)', body: loop(), mode: 'lenient' },
  {
    id: 'A-19',
    why: 'thinking altered under its own signature (lenient)',
    body: loop({ ...thought('a'), thinking: 'b' }),
    mode: 'lenient',
  },
  {
    id: 'A-20',
    why: 'a system message later on',
    body: request([ask, assistant(text('a')), { role: 'system', content: 'hurry' }, ask]),
  },
  { id: 'A-21', why: 'neighbours of one role (lenient)', body: request([ask, ask], {}), mode: 'lenient' },
  {
    id: 'A-22',
    why: 'a server tool with its result',
    body: request([ask, assistant(search, found(seal('search', 'https://a.example')), text('so')), ask], {
      tools: [webSearch],
    }),
  },
  {
    id: 'A-23',
    why: 'a mixed response continued by results alone',
    body: request([ask, assistant(search, use('toolu_a')), user(result('toolu_a'))], {
      tools: [webSearch, read],
    }),
  },
  {
    id: 'A-24',
    why: 'a paused turn as it was',
    body: request([ask, assistant(search)], { tools: [webSearch], model: 'claude-opus-4-8' }),
  },
  { id: 'A-26', why: 'a whole pair', body: request([{ role: 'user', content: '😀' }]) },
  {
    id: 'A-TS',
    why: 'deferred tools beside a search tool',
    body: request([ask], {
      tools: [
        tool({ defer_loading: true }),
        { type: 'tool_search_tool_bm25_20251119', name: 'tool_search_tool_bm25' },
      ],
    }),
  },
  {
    id: 'A-MCP',
    why: 'a server with its toolset',
    body: request([ask], {
      mcp_servers: [{ type: 'url', name: 's', url: 'https://mcp.example' }],
      tools: [{ type: 'mcp_toolset', mcp_server_name: 's' }],
    }),
  },
]

for (const { id, why, body, mode = 'strict' } of ACCEPTED) {
  test(`${id} accepts ${why}`, () => {
    assert.deepEqual(checkRequestAll('anthropic', body, { mode }), [])
  })
}

test('A-19 accepts foreign signatures with trustForeign, but not an empty one', () => {
  const foreign = loop({ ...thought('a'), signature: 'Zm9yZWlnbg==' })
  assert.equal(checkRequest('anthropic', foreign, { trustForeign: true }), null)
  const blank = loop({ ...thought('a'), signature: '' })
  assert.equal(checkRequest('anthropic', blank, { trustForeign: true })?.rule, 'A-19')
})
