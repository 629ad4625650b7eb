// What Anthropic's own clients send beside the conversation reaches a model of Anthropic as it came, and is given its
// meaning with a model of any other vendor: cache marks, deferred tools and references to them, hosted tools.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { VendorName } from '../../../src/testing/index.ts'
import { double, serve, weather } from '../stateless/rig.ts'
import { type Body, models, rig, vendors } from './rig.ts'

const mark = { type: 'ephemeral', ttl: '1h' }
const tools = [
  {
    name: 'ToolSearch',
    description: 'Finds tools.',
    input_schema: { $schema: 'https://json-schema.org/draft/2020-12/schema', type: 'object', properties: {} },
  },
  { name: 'weather', description: weather.description, input_schema: weather.schema, defer_loading: true },
]

/** As a coding agent of the vendor sends it: three marks, a found tool, replayed blocks with empty fields. */
const session = {
  model: 'helper',
  max_tokens: 32_000,
  system: [
    { type: 'text', text: 'You write code.' },
    { type: 'text', text: 'Be careful.', cache_control: mark },
    { type: 'text', text: 'The folder is /tmp.', cache_control: mark },
  ],
  tools,
  messages: [
    { role: 'user', content: 'What is the weather?' },
    { role: 'system', content: 'It is Monday.' },
    {
      role: 'assistant',
      content: [
        { type: 'text', text: 'I look for a tool.', citations: null },
        { type: 'tool_use', id: 'toolu_1', name: 'ToolSearch', input: {}, caller: { type: 'direct' } },
      ],
    },
    {
      role: 'user',
      content: [
        {
          type: 'tool_result',
          tool_use_id: 'toolu_1',
          content: [{ type: 'tool_reference', tool_name: 'weather' }],
        },
        { type: 'text', text: 'Go on.', cache_control: mark },
      ],
    },
  ],
  context_management: { edits: [{ type: 'clear_thinking_20251015', keep: 'all' }] },
  metadata: { user_id: '{"device":"d"}' },
}

describe('cache marks, deferred tools and references', () => {
  test('reach Anthropic in their places', async t => {
    const { post, sent, accepted } = await rig(t, 'anthropic')
    const response = await post(session, { 'anthropic-beta': 'context-management-2025-06-27' })
    assert.equal(response.status, 200, await response.clone().text())
    accepted()
    const body = sent()
    assert.deepEqual(body.system, session.system)
    assert.deepEqual(body.context_management, session.context_management)
    assert.deepEqual(
      body.tools.map((tool: Body) => tool.defer_loading),
      [undefined, true],
    )
    const [result, text] = body.messages.at(-1).content
    assert.deepEqual(result.content, [{ type: 'tool_reference', tool_name: 'weather' }])
    assert.deepEqual(text, { type: 'text', text: 'Go on.', cache_control: mark })
    assert.equal(JSON.stringify(body).match(/cache_control/g)?.length, 3)
  })

  for (const vendor of vendors.filter(name => name !== 'anthropic'))
    test(`have their meaning with ${vendor}: all tools are there`, async t => {
      const { post, sent, accepted } = await rig(t, vendor)
      const response = await post(session)
      assert.equal(response.status, 200, await response.clone().text())
      accepted()
      const body = JSON.stringify(sent())
      assert.match(body, /The weather of a city/)
      assert.match(body, /The tool \\"weather\\" can be used now/)
      assert.doesNotMatch(body, /cache_control|defer_loading|tool_reference/)
    })

  test('marks on every kind of block, and on tools', async t => {
    const { post, sent, accepted } = await rig(t, 'anthropic')
    const picture = { type: 'base64', media_type: 'image/png', data: 'iVBORw0KGgo=' }
    const response = await post({
      model: 'helper',
      max_tokens: 100,
      tools: [{ ...tools[0], cache_control: mark }],
      messages: [
        { role: 'user', content: [{ type: 'image', source: picture, cache_control: mark }] },
        {
          role: 'assistant',
          content: [{ type: 'tool_use', id: 't1', name: 'ToolSearch', input: {}, cache_control: mark }],
        },
        {
          role: 'user',
          content: [{ type: 'tool_result', tool_use_id: 't1', content: 'none', cache_control: mark }],
        },
      ],
    })
    assert.equal(response.status, 200, await response.clone().text())
    accepted()
    const { tools: declared, messages } = sent()
    assert.deepEqual(declared[0].cache_control, mark)
    for (const { content } of messages) assert.deepEqual(content[0].cache_control, mark)
  })
})

describe('marks that a caller has not set', () => {
  const plain = {
    model: 'helper',
    max_tokens: 100,
    system: 'Be short.',
    messages: [{ role: 'user', content: 'Hi' }],
  }

  test('are not set on a single question', async t => {
    const { post, sent } = await rig(t, 'anthropic')
    await post(plain)
    assert.doesNotMatch(JSON.stringify(sent()), /cache_control/)
  })

  test('are set on a conversation: after the instructions, and at its end', async t => {
    const { post, sent, accepted } = await rig(t, 'anthropic')
    const messages = [
      ...plain.messages,
      { role: 'assistant', content: 'Hello.' },
      { role: 'user', content: 'Go on.' },
    ]
    await post({ ...plain, messages })
    accepted()
    const body = sent()
    const ephemeral = { type: 'ephemeral' }
    assert.deepEqual(body.system, [{ type: 'text', text: 'Be short.', cache_control: ephemeral }])
    assert.deepEqual(body.messages.at(-1).content.at(-1), {
      type: 'text',
      text: 'Go on.',
      cache_control: ephemeral,
    })
    assert.equal(JSON.stringify(body).match(/cache_control/g)?.length, 2)
  })
})

describe('a web search that the client declares', () => {
  const search = { type: 'web_search_20250305', name: 'web_search', max_uses: 8 }
  const asked = {
    model: 'helper',
    max_tokens: 2000,
    messages: [{ role: 'user', content: 'Search for it.' }],
    tools: [search],
    tool_choice: { type: 'tool', name: 'web_search' },
  }
  const declared: Partial<Record<VendorName, object>> = {
    anthropic: search,
    gemini: { googleSearch: {} },
    'gemini-interactions': { type: 'google_search' },
    'openai-responses': { type: 'web_search' },
  }
  for (const vendor of vendors)
    test(vendor, async t => {
      const { post, sent, accepted, behind } = await rig(t, vendor)
      const response = await post(asked)
      const tool = declared[vendor]
      if (!tool) {
        assert.equal(response.status, 400)
        assert.match(
          await response.text(),
          /tools\.0: the model behind \\"helper\\" has no web search of its own/,
        )
        assert.equal(behind.exchanges.length, 0)
        return
      }
      assert.equal(response.status, 200, await response.clone().text())
      accepted()
      assert.deepEqual(sent().tools, [tool])
      if (vendor === 'anthropic') assert.deepEqual(sent().tool_choice, { type: 'tool', name: 'web_search' })
    })

  test('is refused where clients may bring no tools', async t => {
    const behind = await double(t, 'anthropic', [{ text: 'x' }])
    const { post } = await serve(
      t,
      { helper: models['anthropic']!(behind.url) },
      { agent: { clientTools: false } },
    )
    const response = await post('/v1/messages', asked)
    assert.equal(response.status, 400)
    assert.match(await response.text(), /takes no tools from its clients/)
  })
})
