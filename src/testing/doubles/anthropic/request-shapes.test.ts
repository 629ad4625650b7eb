// Every refusal of the Anthropic double that concerns a single field, block, tool or header: by rule and in the
// vendor's words. `request.test.ts` has the rules about how messages follow one another. Remove a check from the
// double, and one of these fails.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { refusesEach, type ShapeCase } from '../../../../test/doubles/rig.ts'
import { checkRequestAll, startDouble } from '../index.ts'
import type { JsonRecord } from '../shape.ts'

const SCHEMA = { type: 'object', properties: { p: { type: 'string' } } }
const READ = { name: 'read', input_schema: SCHEMA }
const CODE = { type: 'code_execution_20260120', name: 'code_execution' }
const FROM_CODE = { ...READ, allowed_callers: ['code_execution_20260120'] }
const SEARCH = { type: 'tool_search_tool_regex_20251119', name: 'tool_search_tool_regex' }
const USE = { type: 'tool_use', id: 'toolu_1', name: 'read', input: {} }
const RESULT = { type: 'tool_result', tool_use_id: 'toolu_1', content: 'x' }
const SERVER = { type: 'url', name: 'crm', url: 'https://crm.example' }

const base = {
  model: 'claude-sonnet-4-6',
  max_tokens: 10,
  messages: [{ role: 'user', content: 'hi' }],
}
const say = (...messages: unknown[]): JsonRecord => ({ messages })
const user = (content: unknown, more: JsonRecord = {}) => ({ role: 'user', content, ...more })
const answer = (...content: unknown[]) => ({ role: 'assistant', content })
const asked = (use: JsonRecord, result: JsonRecord = RESULT): JsonRecord => ({
  tools: [READ],
  ...say(user('a'), answer(use), user([result])),
})
const picture = (media_type: string, data: string) => ({
  type: 'image',
  source: { type: 'base64', media_type, data },
})
const bare = (key: string): JsonRecord => ({ [key]: undefined })

const cases: ShapeCase[] = [
  ['A-00', 'model: Field required', bare('model')],
  ['A-00', 'model: Input should be a valid string', { model: 5 }],
  ['A-00', 'max_tokens: Field required', bare('max_tokens')],
  ['A-00', 'max_tokens: Input should be greater than or equal to 0', { max_tokens: -1 }],
  ['A-00', 'stream: Input should be a valid boolean', { stream: 'yes' }],
  ['A-00', 'system: Input should be a valid list', { system: 5 }],
  ['A-00', "system.0.type: Input should be 'text'", { system: [{ type: 'image' }] }],
  ['A-12', 'system: text content blocks must be non-empty', { system: [{ type: 'text', text: '' }] }],
  ['A-00', 'messages: Field required', bare('messages')],
  ['A-00', 'messages: Input should be a valid list', { messages: 'hi' }],
  ['A-00', 'messages: at least one message is required', { messages: [] }],
  ['A-00', 'messages.0: Input should be an object', say('hi')],
  ['A-00', 'messages.0.role: Field required', say({ content: 'hi' })],
  ['A-20', "messages.0.role: Input should be 'user' or 'assistant'", say({ role: 'tool', content: 'hi' })],
  [
    'A-20',
    'messages.1.content.0: `system` messages may only contain text blocks',
    say(user('a'), { role: 'system', content: [{ type: 'image', source: {} }] }),
  ],
  ['A-28', 'messages.0.name: Extra inputs are not permitted', say(user('hi', { name: 'x' }))],
  ['A-12', 'messages.0.content: Field required', say({ role: 'user' })],
  ['A-12', 'messages.0.content: Input should be a valid list', say(user(5))],
  ['A-12', 'messages: text content blocks must contain non-whitespace text', say(user(' \n'))],
  [
    'A-12',
    'messages: text content blocks must contain non-whitespace text',
    say(user([{ type: 'text', text: ' ' }])),
  ],
  ['A-12', 'messages: text content blocks must be strings', say(user([{ type: 'text', text: 5 }]))],
  ['A-28', 'messages.0.content.0: Input should be an object', say(user(['hi']))],
  [
    'A-28',
    "messages.0.content.0: Input tag 'input_text' found using 'type'",
    say(user([{ type: 'input_text' }])),
  ],
  ['A-28', 'messages.0.content.0.text.size: Extra inputs', say(user([{ type: 'text', text: 'a', size: 1 }]))],
  ['A-28', 'messages.0.content.0.image.source: Field required', say(user([{ type: 'image' }]))],
  [
    'A-10',
    'messages.0: `tool_use` blocks can only be in `assistant` messages',
    { tools: [READ], ...say(user([USE])) },
  ],
  [
    'A-06',
    "messages.2.content.0.tool_result.tool_use_id: String should match pattern '^[a-zA-Z0-9_-]+$'",
    asked({ ...USE, id: 'a.b' }, { ...RESULT, tool_use_id: 'a.b' }),
  ],
  [
    'A-12',
    'messages.2.content.0.tool_result.content: Input should be a valid list',
    asked(USE, { ...RESULT, content: 5 }),
  ],
  [
    'A-28',
    "messages.2.content.0.tool_result.content.0: Input tag 'tool_use' found using 'type'",
    asked(USE, { ...RESULT, content: [{ type: 'tool_use' }] }),
  ],
  [
    'A-IMG',
    "messages.0.content.0.image.source.base64.media_type: Input should be 'image/jpeg', 'image/png'",
    say(user([picture('image/svg+xml', 'PHN2Zy8+')])),
  ],
  ['A-IMG', 'Could not process image', say(user([picture('image/png', 'aGVsbG8=')]))],
  [
    'A-IMG',
    'messages.2.content.0.tool_result.content.0.image.source.base64.data: The image was specified using the image/jpeg',
    asked(USE, { ...RESULT, content: [picture('image/jpeg', 'iVBORw0KGgoAAAANSUhEUg==')] }),
  ],
  ['A-00', 'tools: Input should be a valid list', { tools: {} }],
  ['A-00', 'tools.0: Input should be an object', { tools: ['read'] }],
  [
    'A-07',
    "tools.0: Input tag 'bash_1999' found using 'type'",
    { tools: [{ type: 'bash_1999', name: 'bash' }] },
  ],
  [
    'A-28',
    'tools.0.bash_20250124.cwd: Extra inputs',
    { tools: [{ type: 'bash_20250124', name: 'bash', cwd: '/' }] },
  ],
  [
    'A-07',
    "tools.0.bash_20250124.name: Input should be 'bash'",
    { tools: [{ type: 'bash_20250124', name: 'sh' }] },
  ],
  ['A-07', 'tools.0.custom.name: Field required', { tools: [{ input_schema: SCHEMA }] }],
  [
    'A-00',
    'tools.0.custom.description: Input should be a valid string',
    { tools: [{ ...READ, description: 5 }] },
  ],
  ['A-28', 'tools.0.custom.parameters: Extra inputs', { tools: [{ ...READ, parameters: SCHEMA }] }],
  ['A-14', 'tools.0.custom.input_schema: Field required', { tools: [{ name: 'read' }] }],
  [
    'A-14',
    'tools.0.custom.input_schema: Input should be an object',
    { tools: [{ name: 'a', input_schema: 'x' }] },
  ],
  ['A-14', 'tools.0.custom.input_schema.type: Field required', { tools: [{ name: 'a', input_schema: {} }] }],
  [
    'A-14',
    "tools.0.custom.input_schema.type: Input should be 'object'",
    { tools: [{ name: 'a', input_schema: { type: 'array' } }] },
  ],
  [
    'A-TS',
    "Tool 'read' cannot have both defer_loading=true and cache_control set",
    { tools: [SEARCH, { ...READ, defer_loading: true, cache_control: { type: 'ephemeral' } }] },
  ],
  [
    'A-PTC',
    "tools: `strict` is not supported with programmatic tool calling (tool 'read')",
    { tools: [CODE, { ...FROM_CODE, strict: true }] },
  ],
  [
    'A-PTC',
    "tool_choice: tool 'read' is called from code",
    { tools: [CODE, FROM_CODE], tool_choice: { type: 'tool', name: 'read' } },
  ],
  [
    'A-PTC',
    'tool_choice: `disable_parallel_tool_use` is not supported',
    { tools: [CODE, FROM_CODE], tool_choice: { type: 'auto', disable_parallel_tool_use: true } },
  ],
  [
    'A-PTC',
    'messages.2: only `tool_result` blocks may answer tool calls that were made from code execution.',
    {
      tools: [CODE, FROM_CODE],
      container: 'container_1',
      ...say(
        user('a'),
        answer(
          { type: 'server_tool_use', id: 'srvtoolu_1', name: 'code_execution', input: {} },
          { ...USE, caller: { type: 'code_execution_20260120', tool_id: 'srvtoolu_1' } },
        ),
        user([RESULT, { type: 'text', text: 'and?' }]),
      ),
    },
  ],
  ['A-16', 'tool_choice may only be specified while providing tools.', { tool_choice: { type: 'auto' } }],
  ['A-16', 'tool_choice.tool.name: Field required', { tools: [READ], tool_choice: { type: 'tool' } }],
  [
    'A-16',
    "Tool 'write' not found in provided tools",
    { tools: [READ], tool_choice: { type: 'tool', name: 'write' } },
  ],
  [
    'A-28',
    'tool_choice.none.name: Extra inputs',
    { tools: [READ], tool_choice: { type: 'none', name: 'read' } },
  ],
  ['A-27', 'thinking: Input should be an object', { thinking: true }],
  ['A-27', "thinking: Input tag 'on' found using 'type'", { thinking: { type: 'on' } }],
  [
    'A-28',
    'thinking.adaptive.budget_tokens: Extra inputs',
    { thinking: { type: 'adaptive', budget_tokens: 5 } },
  ],
  ['A-27', 'thinking.enabled.budget_tokens: Field required', { thinking: { type: 'enabled' } }],
  ['A-MCP', 'mcp_servers: Input should be a valid list', { mcp_servers: {} }],
  [
    'A-MCP',
    'mcp_servers: MCP server names must be unique',
    { mcp_servers: [SERVER, SERVER], tools: [{ type: 'mcp_toolset', mcp_server_name: 'crm' }] },
  ],
  ['A-MCP', 'mcp_servers.0.url: Field required', { mcp_servers: [{ type: 'url', name: 'crm' }] }],
  [
    'A-MCP',
    "mcp_servers: MCP server 'crm' must be referenced by exactly one mcp_toolset, found 0",
    { mcp_servers: [SERVER] },
  ],
]

refusesEach('anthropic', base, cases, { status: 400, type: 'invalid_request_error' })

test('A-00 refuses a body that is not an object', () => {
  assert.equal(checkRequestAll('anthropic', [])[0]?.message, 'Input should be a valid dictionary')
})

test('refuses a missing or wrong version header (A-00), and MCP without its beta header (A-MCP)', async () => {
  const double = await startDouble({ vendor: 'anthropic' })
  const post = async (headers: Record<string, string>, patch: JsonRecord = {}): Promise<string> => {
    const response = await fetch(`${double.url}/v1/messages`, {
      method: 'POST',
      headers: { 'x-api-key': 'k', 'content-type': 'application/json', ...headers },
      body: JSON.stringify({ ...base, ...patch }),
    })
    const { error } = (await response.json()) as { error: { message: string } }
    return `${response.status} ${error.message}`
  }
  const version = { 'anthropic-version': '2023-06-01' }
  const mcp = [
    { type: 'mcp_tool_use', id: 'mcptoolu_1', name: 'find', server_name: 'crm', input: {} },
    { type: 'mcp_tool_result', tool_use_id: 'mcptoolu_1', content: [] },
  ]
  try {
    assert.equal(await post({}), '400 anthropic-version: header is required')
    assert.equal(
      await post({ 'anthropic-version': '1999' }),
      '400 anthropic-version: "1999" is not a valid version',
    )
    assert.equal(
      await post(version, { mcp_servers: [SERVER] }),
      '400 mcp_servers: Extra inputs are not permitted',
    )
    const tools = [{ type: 'mcp_toolset', mcp_server_name: 'crm' }]
    assert.equal(await post(version, { tools }), '400 tools.0.mcp_toolset: Extra inputs are not permitted')
    const told = say(user('a'), answer(...mcp), user('b'))
    assert.match(await post(version, told), /^400 messages\.1\.content\.0: Input tag 'mcp_tool_use'/)
    assert.match(
      await post({ ...version, 'anthropic-beta': 'mcp-client-2025-11-20' }, told),
      /^422 the script has no more/,
    )
  } finally {
    await double.close()
  }
})

test('A-19 refuses an echo of the latest answer that has only part of its thinking', async () => {
  const thinking = [
    { type: 'thinking', thinking: 'one', signature: 's1' },
    { type: 'redacted_thinking', data: 'r1' },
  ]
  const raw = {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model: base.model,
    content: [...thinking, USE],
    stop_reason: 'tool_use',
    usage: { input_tokens: 1, output_tokens: 1 },
  }
  const double = await startDouble({ vendor: 'anthropic', script: [{ raw }, { text: 'ok' }, { text: 'ok' }] })
  const post = async (patch: JsonRecord): Promise<string> => {
    const response = await fetch(`${double.url}/v1/messages`, {
      method: 'POST',
      headers: { 'x-api-key': 'k', 'content-type': 'application/json', 'anthropic-version': '2023-06-01' },
      body: JSON.stringify({ ...base, tools: [READ], ...patch }),
    })
    return response.status === 200
      ? '200'
      : ((await response.json()) as { error: { message: string } }).error.message
  }
  const echo = (...blocks: unknown[]): JsonRecord => say(user('a'), answer(...blocks, USE), user([RESULT]))
  try {
    assert.equal(await post({}), '200')
    assert.match(
      await post(echo(thinking[0])),
      /^messages\.1\.content\.0: `thinking` or `redacted_thinking` blocks in the latest/,
    )
    assert.match(await post(echo(thinking[1], thinking[0])), /cannot be modified/)
    assert.equal(await post(echo(...thinking)), '200')
    assert.equal(await post(echo()), '200', 'all of it may be left out')
  } finally {
    await double.close()
  }
})
