// What the vendor's newest clients send, one test for each row of the table in docs/protocols/messages.md: with a model of
// Anthropic, and with models of other vendors.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, test } from 'node:test'
import Anthropic from '@anthropic-ai/sdk'
import type { ScriptedTurn, VendorName } from '../../../src/testing/index.ts'
import { double, serve, weather } from '../stateless/rig.ts'
import { type Body, models, rig, vendors } from './rig.ts'

type Test = Parameters<typeof double>[0]

const others = vendors.filter(vendor => vendor !== 'anthropic')
const user = (content: unknown) => ({ role: 'user', content })
const assistant = (content: unknown) => ({ role: 'assistant', content })
const base = { model: 'helper', max_tokens: 1000, messages: [user('Hi')] }
const client = (name: string) => ({ name, description: `Does ${name}.`, input_schema: weather.schema })
const beta = (...names: string[]) => ({ 'anthropic-beta': names.join(',') })

/** Sends the request to a model of the vendor, which must take it. Gives what the vendor got, and the answer. */
async function taken(
  t: Test,
  vendor: VendorName,
  body: object,
  headers: Record<string, string> = {},
  script?: ScriptedTurn[],
): Promise<{ sent: Body; answer: Body; header: string }> {
  const { post, sent, accepted, behind } = await rig(t, vendor, script)
  const response = await post(body, headers)
  const answer: Body = await response.json()
  assert.equal(response.status, 200, JSON.stringify(answer))
  accepted()
  return { sent: sent(), answer, header: behind.exchanges.at(-1)!.headers['anthropic-beta'] ?? '' }
}

/** The request is refused before the vendor sees it. */
async function refused(t: Test, vendor: VendorName, body: object, words: RegExp): Promise<void> {
  const { post, behind } = await rig(t, vendor)
  const response = await post(body)
  const { error }: Body = await response.json()
  assert.equal(response.status, 400)
  assert.equal(error.type, 'invalid_request_error')
  assert.match(error.message, words)
  assert.equal(behind.exchanges.length, 0)
}

const rows: Record<string, (t: Test) => Promise<void>> = {
  '`tool_addition`, `tool_removal`': async t => {
    const change = (type: string, tool: object) => ({ type, tool })
    const reference = (name: string) => ({ type: 'tool_reference', name })
    const body = {
      ...base,
      tools: [client('first'), client('second'), { ...client('late'), defer_loading: true }],
      messages: [
        user('Hi'),
        { role: 'system', content: [change('tool_removal', reference('first'))] },
        user('Go on.'),
        {
          role: 'system',
          content: [
            { type: 'text', text: 'Use what there is.' },
            change('tool_addition', reference('late')),
            change('tool_removal', reference('second')),
            change('tool_addition', { type: 'tool_definition', definition: client('inline') }),
            change('tool_addition', reference('second')),
          ],
        },
        user('Now.'),
      ],
    }
    for (const vendor of vendors) {
      const { sent } = await taken(t, vendor, body, beta('mid-conversation-tool-changes-2026-07-01'))
      const text = JSON.stringify(sent)
      assert.deepEqual(
        ['first', 'second', 'late', 'inline'].filter(name => text.includes(`Does ${name}.`)),
        ['second', 'late', 'inline'],
        vendor,
      )
      assert.match(text, /Use what there is/)
      assert.doesNotMatch(text, /tool_addition|tool_removal|defer_loading/)
    }
    const unknown = [user('Hi'), { role: 'system', content: [change('tool_removal', reference('none'))] }]
    await refused(
      t,
      'anthropic',
      { ...base, messages: unknown },
      /^messages\.1\.content\.0\.tool_removal\.tool: 'none' not found in provided tools$/,
    )
  },

  '`output_config` of a system message': async t => {
    const messages = [
      user('Hi'),
      { role: 'system', content: 'Think less.', output_config: { effort: 'high' } },
      user('Now.'),
      { role: 'system', output_config: { effort: 'low' } },
      user('Go.'),
    ]
    const body = { ...base, messages, output_config: { effort: 'max' } }
    assert.deepEqual((await taken(t, 'anthropic', body)).sent.output_config, { effort: 'low' })
    for (const vendor of others) await taken(t, vendor, body)
  },

  '`clear_at` of a system message': async t => {
    const note = (content: string, clear_at: string) => ({ role: 'system', content, clear_at })
    const messages = [
      user('Hi'),
      note('It is old.', 'next_user_message'),
      note('It stays.', 'never'),
      user('Now.'),
      note('It is new.', 'next_user_message'),
    ]
    for (const vendor of vendors) {
      const text = JSON.stringify((await taken(t, vendor, { ...base, messages })).sent)
      assert.deepEqual(
        [/It is old/, /It stays/, /It is new/].map(each => each.test(text)),
        [false, true, true],
      )
    }
  },

  '`fallback` blocks': async t => {
    const hop = {
      type: 'fallback',
      from: { model: 'claude-fable-5-1' },
      to: { model: 'claude-opus-5-5' },
      trigger: { type: 'refusal', category: null },
    }
    const messages = [user('Hi'), assistant([hop, { type: 'text', text: 'Hello.' }]), user('Go on.')]
    const { sent } = await taken(t, 'anthropic', { ...base, messages })
    assert.deepEqual(sent.messages[1].content[0], hop)
    for (const vendor of others) {
      const text = JSON.stringify((await taken(t, vendor, { ...base, messages })).sent)
      assert.match(text, /Hello\./)
      assert.doesNotMatch(text, /fallback|claude/)
    }
  },

  '`fallbacks`': async t => {
    const body = { ...base, fallbacks: 'default' }
    const headers = beta('server-side-fallback-2026-07-01')
    assert.equal((await taken(t, 'anthropic', body, headers)).sent.fallbacks, 'default')
    for (const vendor of others)
      assert.equal('fallbacks' in (await taken(t, vendor, body, headers)).sent, false)
    const list = { ...base, fallbacks: [{ model: 'claude-opus-5-5' }] }
    for (const vendor of vendors)
      await refused(t, vendor, list, /^fallbacks: the models of this server are chosen by its operator/)
  },

  '`fallback_credit_token`': t =>
    refused(
      t,
      'anthropic',
      { ...base, fallback_credit_token: 'fct_1' },
      /^fallback_credit_token: refusals carry no such token/,
    ),

  '`compaction`': async t => {
    const block = { type: 'compaction', content: 'We met.', encrypted_content: null, signature: 'c2ln' }
    const raw = {
      id: 'msg_1',
      type: 'message',
      role: 'assistant',
      model: 'claude-opus-4-6',
      content: [block],
      stop_reason: 'compaction',
      stop_sequence: null,
      usage: { input_tokens: 9, output_tokens: 3 },
    }
    const body = {
      ...base,
      messages: [user('Hi'), assistant('Hello.'), user('Go on.')],
      compaction: { type: 'summarize', instructions: 'Keep the names.' },
    }
    const headers = beta('compact-2026-09-04')
    const own = await taken(t, 'anthropic', body, headers, [{ raw }])
    assert.deepEqual(own.sent.compaction, body.compaction)
    assert.deepEqual([own.answer.content, own.answer.stop_reason], [[block], 'compaction'])
    for (const vendor of others) {
      const { sent, answer } = await taken(t, vendor, body, headers, [{ text: 'We met.' }])
      assert.match(JSON.stringify(sent), /Keep the names\./)
      assert.deepEqual(
        [answer.content, answer.stop_reason],
        [[{ ...block, signature: 'turnwire' }], 'compaction'],
      )
      const { post, accepted } = await rig(t, vendor, [{ text: 'We met.' }])
      const frames = await (await post({ ...body, stream: true })).text()
      accepted()
      assert.equal(frames.match(/content_block_start/g)?.length, 2)
      assert.match(frames, /"content_block":\{"type":"compaction","content":"We met\."/)
      assert.match(frames, /"stop_reason":"compaction"/)
    }
    const both = { ...body, context_management: { edits: [] } }
    await refused(t, 'anthropic', both, /^compaction: cannot be combined with context_management/)
  },

  '`compaction` blocks': async t => {
    const block = { type: 'compaction', content: 'We met.', encrypted_content: null, signature: 'c2ln' }
    const first = [assistant([block]), user('Who?')]
    const later = [user('OLD'), assistant([{ type: 'text', text: 'OLD' }, block]), user('Who?')]
    const headers = beta('compact-2026-09-04')
    const own = await taken(t, 'anthropic', { ...base, messages: first }, headers)
    assert.deepEqual(own.sent.messages[0], { role: 'assistant', content: [block] })
    const whole = await taken(t, 'anthropic', { ...base, messages: later }, headers)
    assert.deepEqual(whole.sent.messages[1].content[1], block)
    const here = { ...block, signature: 'turnwire' }
    const changes = [{ type: 'tool_removal', tool: { type: 'tool_reference', name: 'gone' } }]
    for (const vendor of vendors)
      for (const messages of [first, later]) {
        const text = JSON.stringify(messages).replaceAll(JSON.stringify(block), JSON.stringify(here))
        const given = vendor === 'anthropic' ? (JSON.parse(text) as object[]) : messages
        const sent = JSON.stringify((await taken(t, vendor, { ...base, messages: given }, headers)).sent)
        assert.match(sent, /We met\./)
        assert.doesNotMatch(sent, /OLD|compaction/)
      }
    const changed = {
      ...base,
      tools: [client('kept'), client('gone')],
      messages: [assistant([{ ...block, tool_changes: changes }]), user('Who?')],
    }
    const sent = JSON.stringify((await taken(t, 'openai-chat', changed)).sent)
    assert.match(sent, /Does kept/)
    assert.doesNotMatch(sent, /Does gone/)
    const failed = [
      user('Hi'),
      assistant([
        { ...block, content: null },
        { type: 'text', text: 'Yes.' },
      ]),
      user('?'),
    ]
    assert.match(JSON.stringify((await taken(t, 'gemini', { ...base, messages: failed })).sent), /Hi.*Yes\./)
  },

  '`diagnostics`': async t => {
    for (const vendor of vendors) {
      const opened = await taken(t, vendor, { ...base, diagnostics: { previous_message_id: null } })
      assert.deepEqual(opened.answer.diagnostics, { cache_miss_reason: null })
      const given = { ...base, diagnostics: { previous_message_id: opened.answer.id } }
      const { answer, sent } = await taken(t, vendor, given)
      assert.deepEqual(answer.diagnostics, { cache_miss_reason: { type: 'unavailable' } })
      assert.equal('diagnostics' in sent, false)
    }
  },

  '`container`, `container_upload`': async t => {
    const code = { type: 'code_execution_20260120', name: 'code_execution' }
    const skills = [{ type: 'anthropic', skill_id: 'xlsx', version: 'latest' }]
    const upload = { type: 'container_upload', file_id: 'file_1' }
    const content = [{ type: 'text', text: 'Add them up.' }, upload]
    const body = { ...base, tools: [code], container: { skills }, messages: [user(content)] }
    const { sent } = await taken(t, 'anthropic', body)
    assert.deepEqual([sent.container, sent.messages[0].content[1]], [{ skills }, upload])
    for (const vendor of others) {
      await refused(
        t,
        vendor,
        { ...base, container: 'c_1' },
        /^container: only Anthropic's own servers have this/,
      )
      await refused(
        t,
        vendor,
        { ...base, messages: [user(content)] },
        /^messages\.0\.content\.1\.container_upload: a file by its id is known to Anthropic/,
      )
    }
  },

  '`mcp_servers`, `mcp_toolset`': async t => {
    const mcp_servers = [{ type: 'url', name: 'm', url: 'https://m.example', authorization_token: 's' }]
    const toolset = { type: 'mcp_toolset', mcp_server_name: 'm', configs: { drop: { enabled: false } } }
    const body = { ...base, mcp_servers, tools: [toolset] }
    const { sent, header } = await taken(t, 'anthropic', body)
    assert.deepEqual([sent.mcp_servers, sent.tools], [mcp_servers, [toolset]])
    assert.match(header, /mcp-client-/)
    const tool = { type: 'mcp_tool_reference', server_name: 'm', name: 'find' }
    const removal = [user('Hi'), { role: 'system', content: [{ type: 'tool_removal', tool }] }, user('Go.')]
    const narrowed = await taken(t, 'anthropic', { ...body, messages: removal })
    assert.deepEqual(narrowed.sent.tools[0].configs, { drop: { enabled: false }, find: { enabled: false } })
    for (const vendor of others) {
      await refused(t, vendor, body, /^mcp_servers: only Anthropic's own servers have this/)
      await refused(t, vendor, { ...base, tools: [toolset] }, /no connection of its own to MCP servers/)
    }
  },

  '`bash_…`, `text_editor_…`, `memory_…`': async t => {
    const tools = [
      { type: 'bash_20250124', name: 'bash' },
      { type: 'text_editor_20250728', name: 'str_replace_based_edit_tool', max_characters: 900 },
      { type: 'memory_20250818', name: 'memory' },
    ]
    const calls = [{ name: 'bash', input: { command: 'ls' } }]
    const used = assistant([{ type: 'tool_use', id: 'toolu_1', name: 'bash', input: { command: 'ls' } }])
    const result = user([{ type: 'tool_result', tool_use_id: 'toolu_1', content: 'a.txt' }])
    // The mark for the cache stands on the instructions.
    const body = { ...base, system: 'Be short.', tools, messages: [user('Hi'), used, result] }
    for (const vendor of vendors) {
      const { sent, answer } = await taken(t, vendor, body, {}, [{ calls }])
      const [call] = answer.content.filter((block: Body) => block.type === 'tool_use')
      assert.deepEqual([call.name, call.input, answer.stop_reason], ['bash', { command: 'ls' }, 'tool_use'])
      const text = JSON.stringify(sent)
      if (vendor === 'anthropic') {
        assert.deepEqual(sent.tools, tools)
        assert.equal(sent.messages[1].content[0].name, 'bash')
      } else
        for (const word of ['restart', 'str_replace_based_edit_tool', 'insert_line', 'old_path'])
          assert.ok(text.includes(word), `${vendor}: ${word}`)
    }
  },

  '`computer_…`, `computer_toolset_…`, `browser_toolset_…`': async t => {
    const tools = [
      { type: 'computer_toolset_20260801', configs: { zoom: { enabled: false } } },
      { type: 'browser_toolset_20260801' },
      { type: 'computer_20251124', name: 'computer', display_width_px: 800, display_height_px: 600 },
    ]
    const state = { type: 'browser_state', tabs: [{ id: 't1', url: 'https://a.example', active: true }] }
    const used = { type: 'tool_use', id: 'toolu_1', name: 'navigate', input: {}, toolset_name: 'browser' }
    const result = { type: 'tool_result', tool_use_id: 'toolu_1', toolset_name: 'browser', content: [state] }
    const messages = [user('Hi'), assistant([used]), user([result])]
    const body = { ...base, system: 'Be short.', tools, messages }
    const { sent } = await taken(t, 'anthropic', body)
    assert.deepEqual(sent.tools, tools)
    assert.deepEqual(sent.messages[1].content[0], used)
    assert.equal(sent.messages[2].content[0].toolset_name, 'browser')
    assert.match(sent.messages[2].content[0].content, /^Open tabs:\n\{"id":"t1"/)
    for (const vendor of others)
      for (const tool of tools)
        await refused(t, vendor, { ...base, tools: [tool] }, /has no such tool for a screen or a browser/)
  },

  '`code_execution_…`': async t => {
    const tool = { type: 'code_execution_20260521', name: 'code_execution' }
    const declared: Partial<Record<VendorName, object>> = {
      anthropic: tool,
      gemini: { codeExecution: {} },
      'gemini-interactions': { type: 'code_execution' },
      'openai-responses': { type: 'code_interpreter', container: { type: 'auto' } },
    }
    const body = { ...base, tools: [tool] }
    for (const vendor of vendors)
      if (declared[vendor]) assert.deepEqual((await taken(t, vendor, body)).sent.tools, [declared[vendor]])
      else await refused(t, vendor, body, /has no place of its own to run code/)
  },

  '`advisor_…`': async t => {
    const tools = [{ type: 'advisor_20260301', name: 'advisor', model: 'claude-opus-5-5' }]
    await refused(t, 'anthropic', { ...base, tools }, /tools of type 'advisor_20260301' are not offered here/)
  },

  'files by id': async t => {
    const source = { type: 'file', file_id: 'file_1' }
    const content = [
      { type: 'image', source },
      { type: 'document', source, title: 'a.pdf' },
    ]
    const { sent } = await taken(t, 'anthropic', { ...base, messages: [user(content)] })
    assert.deepEqual(sent.messages[0].content, content)
    for (const vendor of others)
      await refused(
        t,
        vendor,
        { ...base, messages: [user(content)] },
        /^messages\.0\.content\.0\.image\.source: a file by its id .* Send its content as base64/,
      )
    const used = { type: 'tool_use', id: 'toolu_1', name: 'look', input: {} }
    const result = { type: 'tool_result', tool_use_id: 'toolu_1', content: [content[0]] }
    const messages = [user('Hi'), assistant([used]), user([result])]
    await refused(t, 'anthropic', { ...base, messages }, /a result cannot name a file by its id here/)
  },

  '`output_format`': async t => {
    const schema = {
      type: 'object',
      properties: { city: { type: 'string' } },
      required: ['city'],
      additionalProperties: false,
    }
    const body = { ...base, output_format: { type: 'json_schema', schema } }
    const said = [{ text: '{"city":"Oslo"}' }]
    const { sent } = await taken(t, 'anthropic', body, {}, said)
    assert.deepEqual(sent.output_config, { format: body.output_format })
    for (const vendor of others)
      assert.match(JSON.stringify((await taken(t, vendor, body, {}, said)).sent), /"city"/)
  },

  '`citations`, `context`, `transformations`, `search_result`': async t => {
    const text = { type: 'text', media_type: 'text/plain', data: 'Rain.' }
    const picture = { type: 'url', url: 'https://a.example/a.png' }
    const content = [
      { type: 'document', source: text, title: 'Notes', citations: { enabled: true }, context: 'Of May.' },
      { type: 'image', source: picture, transformations: { oversized_image: 'error' } },
      {
        type: 'search_result',
        source: 'https://a.example',
        title: 'A',
        content: [{ type: 'text', text: 'Found.' }],
        citations: { enabled: true },
      },
    ]
    const { sent } = await taken(t, 'anthropic', { ...base, messages: [user(content)] })
    assert.deepEqual(sent.messages[0].content, content)
    for (const vendor of others.filter(each => each !== 'gemini' && each !== 'gemini-interactions')) {
      const given = JSON.stringify((await taken(t, vendor, { ...base, messages: [user(content)] })).sent)
      assert.match(given, /Found\./)
      assert.doesNotMatch(given, /citations|oversized_image/)
    }
  },
}

describe('what the newest clients send', () => {
  for (const [name, run] of Object.entries(rows)) test(name, run)

  test('the page has the same rows', () => {
    const page = readFileSync('docs/protocols/messages.md', 'utf8')
    const [, table = ''] = /^## What newer clients send\n([\s\S]*?)^## /m.exec(page) ?? []
    const named = [...table.matchAll(/^\| (?!-|request)(.+?) \|/gm)].map(([, name]) => name)
    assert.deepEqual(named, Object.keys(rows))
  })
})

test('code of the vendor that calls a tool waits in its container, which the client names again', async t => {
  const code = { type: 'code_execution_20260120', name: 'code_execution' }
  const tool = { ...client('weather'), allowed_callers: ['code_execution_20260120'] }
  const use = {
    type: 'server_tool_use',
    id: 'srvtoolu_1',
    name: 'code_execution',
    input: { code: 'weather()' },
  }
  const caller = { type: 'code_execution_20260120', tool_id: 'srvtoolu_1' }
  const container = { id: 'container_1', expires_at: '2999-01-01T00:00:00Z', skills: null }
  const calling = {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model: 'claude-opus-4-6',
    content: [use, { type: 'tool_use', id: 'toolu_1', name: 'weather', input: { city: 'Oslo' }, caller }],
    stop_reason: 'tool_use',
    stop_sequence: null,
    container,
    usage: { input_tokens: 9, output_tokens: 3 },
  }
  const ran = {
    type: 'code_execution_tool_result',
    tool_use_id: 'srvtoolu_1',
    content: { type: 'code_execution_result', stdout: 'fine', stderr: '', return_code: 0, content: [] },
  }
  const behind = await double(t, 'anthropic', [{ raw: calling }, { native: [ran], text: 'Fine.' }])
  const { url } = await serve(t, { helper: models['anthropic']!(behind.url) })
  const sdk = new Anthropic({ baseURL: url, apiKey: 'any' })
  const asked: Body = { ...base, tools: [code, tool] }
  const first: Body = await sdk.messages.create(asked)
  assert.deepEqual(first.container, container)
  const call = first.content.at(-1)
  assert.deepEqual([call.name, call.caller], ['weather', caller])
  const answered = await sdk.messages
    .stream({
      ...asked,
      container: first.container.id,
      messages: [
        ...base.messages,
        assistant(first.content),
        user([{ type: 'tool_result', tool_use_id: call.id, content: 'Oslo: fine' }]),
      ],
    })
    .finalMessage()
  assert.deepEqual(behind.rejections(), [])
  assert.equal((behind.exchanges.at(-1)!.body as Body).container, 'container_1')
  assert.deepEqual(
    (answered as Body).content.map((block: Body) => block.type),
    ['code_execution_tool_result', 'text'],
  )
})

test('where clients may bring no tools, none of the vendor’s is declared either', async t => {
  const behind = await double(t, 'anthropic', [{ text: 'x' }])
  const { post } = await serve(
    t,
    { helper: models['anthropic']!(behind.url) },
    { agent: { clientTools: false } },
  )
  for (const tool of [
    { type: 'bash_20250124', name: 'bash' },
    { type: 'code_execution_20260521', name: 'code_execution' },
    { type: 'mcp_toolset', mcp_server_name: 'm' },
  ]) {
    const response = await post('/v1/messages', { ...base, tools: [tool] })
    assert.equal(response.status, 400)
    assert.match(await response.text(), /takes no tools from its clients/)
  }
})
