// Anthropic Messages over HTTP: requests and how they are refused, answers, and streams.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { newKey } from '../../../src/callers/keys.ts'
import type { Model, ModelRequest } from '../../../src/engine/index.ts'
import { scripted } from '../../../src/models/scripted/index.ts'
import { obedient } from '../obedient.ts'
import { framesOf, serve, weather } from '../stateless/rig.ts'

const path = '/v1/messages'
const user = { role: 'user', content: 'hi' }
const tool = { name: 'weather', description: weather.description, input_schema: weather.schema }
const use = (id: string, more: object = {}) => ({
  type: 'tool_use',
  id,
  name: 'weather',
  input: { city: 'Oslo' },
  ...more,
})
const asking = (...blocks: unknown[]) => ({ role: 'assistant', content: blocks })
const answer = (id: string, more: object = {}) => ({
  type: 'tool_result',
  tool_use_id: id,
  content: 'rain',
  ...more,
})
const said = (...content: unknown[]) => ({ role: 'user', content })
const words = { type: 'text', text: 'and?' }

function recorder(): { model: Model; asked: ModelRequest[] } {
  const asked: ModelRequest[] = []
  return {
    asked,
    model: scripted(request => {
      asked.push({ ...request, history: [...request.history] })
      return obedient(request, {
        text: 'yes',
        usage: { input: 10, output: 3, cacheRead: 4, cacheWrite: 1 },
      })
    }),
  }
}

const base = { model: 'helper', max_tokens: 100, messages: [user] }

describe('a request is read', () => {
  test('blocks, results and documents become one history', async t => {
    const { model, asked } = recorder()
    const { post } = await serve(t, { helper: model }, { agent: { system: 'You are the helper.' } })
    const data = Buffer.from('%PDF').toString('base64')
    const response = await post(
      path,
      {
        ...base,
        system: [{ type: 'text', text: 'Be short.', cache_control: { type: 'ephemeral' } }],
        messages: [
          said(
            { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'iVBORw0KGgo=' } },
            {
              type: 'document',
              title: 'a.pdf',
              source: { type: 'base64', media_type: 'application/pdf', data },
            },
            { type: 'text', text: 'look' },
          ),
          asking({ type: 'thinking', thinking: 'hm', signature: 'abc' }, use('a'), use('b')),
          said(
            answer('b', { content: [{ type: 'text', text: 'sun' }] }),
            answer('a', { is_error: true, content: 'no such city' }),
            words,
          ),
        ],
        tools: [tool],
        tool_choice: { type: 'any', disable_parallel_tool_use: true },
        temperature: 0.5,
        thinking: { type: 'adaptive' },
      },
      { 'anthropic-beta': 'one-2026, two-2026', 'anthropic-version': '2023-06-01' },
    )
    assert.equal(response.status, 200)
    const [seen] = asked
    assert.equal(seen?.system, 'You are the helper.\n\nBe short.')
    assert.deepEqual(seen?.history[0], {
      role: 'user',
      parts: [
        { type: 'image', url: 'data:image/png;base64,iVBORw0KGgo=' },
        {
          type: 'file',
          url: `data:application/pdf;base64,${data}`,
          mediaType: 'application/pdf',
          name: 'a.pdf',
        },
        { type: 'text', text: 'look' },
      ],
    })
    const results = seen?.history.find(entry => entry.role === 'tool')
    assert.deepEqual(
      results?.results.map(each => [each.callId, each.outcome.kind, each.outcome.parts]),
      [
        ['a', 'error', [{ type: 'text', text: 'no such city' }]],
        ['b', 'ok', [{ type: 'text', text: 'sun' }]],
      ],
    )
    assert.deepEqual(seen?.history.at(-1), { role: 'user', parts: [{ type: 'text', text: 'and?' }] })
    assert.equal(seen?.choice, 'required')
    assert.equal(seen?.parallel, false)
    assert.equal(seen?.maxTokens, 100)
    assert.deepEqual(seen?.body, {
      anthropic: { temperature: 0.5, thinking: { type: 'adaptive' }, betas: ['one-2026', 'two-2026'] },
    })
  })

  test('neighbours of one role count as one message', async t => {
    const { model, asked } = recorder()
    const { post } = await serve(t, { helper: model })
    const messages = [user, asking(use('a')), asking(use('b')), said(answer('a')), said(answer('b'))]
    assert.equal((await post(path, { ...base, messages, tools: [tool] })).status, 200)
    assert.equal(asked[0]?.history.length, 3)
  })

  test('every form of the tool choice', async t => {
    const { model, asked } = recorder()
    const { post } = await serve(t, { helper: model })
    for (const [tool_choice, expected] of [
      [{ type: 'auto' }, 'auto'],
      [{ type: 'none' }, 'none'],
      [{ type: 'any' }, 'required'],
      [{ type: 'tool', name: 'weather' }, { tool: 'weather' }],
    ]) {
      assert.equal((await post(path, { ...base, tools: [tool], tool_choice })).status, 200)
      assert.deepEqual(asked.at(-1)?.choice, expected)
    }
  })
})

describe('a request is refused in the vendor’s words', () => {
  const talk = (...messages: unknown[]) => ({ ...base, messages, tools: [tool] })
  const unanswered = (index: number, ids: string): string =>
    `messages.${index}: \`tool_use\` ids were found without \`tool_result\` blocks immediately after: ${ids}. Each \`tool_use\` block must have a corresponding \`tool_result\` block in the next message.`
  const cases: [name: string, body: unknown, message: string | RegExp][] = [
    [
      'a call without a result',
      talk(user, asking(use('a'), use('b')), said(answer('a'))),
      unanswered(1, 'b'),
    ],
    ['a call without a result at the end', talk(user, asking(use('a'))), unanswered(1, 'a')],
    [
      'a result without a call',
      talk(said(answer('x'))),
      'messages.0.content.0: unexpected `tool_use_id` found in `tool_result` blocks: x. Each `tool_result` block must have a corresponding `tool_use` block in the previous message.',
    ],
    ['text before the results', talk(user, asking(use('a')), said(words, answer('a'))), unanswered(1, 'a')],
    [
      'text between the results',
      talk(user, asking(use('a'), use('b')), said(answer('a'), words, answer('b'))),
      unanswered(1, 'b'),
    ],
    [
      'two results for one call',
      talk(user, asking(use('a')), said(answer('a'), answer('a'))),
      'messages.2.content.1: each tool_use must have a single result. Found multiple `tool_result` blocks with id: a',
    ],
    [
      'two calls with one id',
      talk(user, asking(use('a'), use('a')), said(answer('a'))),
      'messages.1.content.1: `tool_use` ids must be unique',
    ],
    [
      'a call id with a dot',
      talk(user, asking(use('a.b'))),
      "messages.1.content.0.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'",
    ],
    [
      'a declared tool name with a dot',
      { ...base, tools: [{ ...tool, name: 'a.b' }] },
      "tools.0.custom.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'",
    ],
    [
      'a called tool name with a dot',
      talk(user, asking(use('a', { name: 'a.b' }))),
      "messages.1.content.0.tool_use.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'",
    ],
    ['two tools with one name', { ...base, tools: [tool, tool] }, 'tools: Tool names must be unique.'],
    [
      'input that is a list',
      talk(user, asking(use('a', { input: [] }))),
      'messages.1.content.0.tool_use.input: Input should be a valid dictionary',
    ],
    [
      'a result in an assistant message',
      talk(user, asking(answer('a'))),
      'messages.1: `tool_result` blocks can only be in `user` messages',
    ],
    [
      'a call in a user message',
      talk(said(use('a'))),
      'messages.0: `tool_use` blocks can only be in `assistant` messages',
    ],
    [
      'a result without an id',
      talk(user, asking(use('a')), said({ type: 'tool_result' })),
      'messages.2.content.0.tool_result.tool_use_id: Field required',
    ],
    ['empty text', talk(said({ type: 'text', text: '' })), 'messages: text content blocks must be non-empty'],
    ['blank text', talk(said({ type: 'text', text: ' ' })), /non-whitespace/],
    [
      'a failed result without content',
      talk(user, asking(use('a')), said(answer('a', { is_error: true, content: '' }))),
      'messages.2.content.0.tool_result: content cannot be empty if `is_error` is true',
    ],
    [
      'an empty list of blocks',
      talk({ role: 'user', content: [] }),
      'messages.0.content: List should have at least 1 item',
    ],
    ['an empty message', talk({ role: 'user', content: '' }), /must have non-empty content/],
    [
      'a tool without a schema',
      { ...base, tools: [{ name: 'x' }] },
      'tools.0.custom.input_schema: Field required',
    ],
    [
      'an unknown tool choice',
      { ...base, tools: [tool], tool_choice: { type: 'required' } },
      "tool_choice: Input tag 'required' found using 'type' does not match any of the expected tags: 'auto', 'any', 'tool', 'none'",
    ],
    [
      'a tool choice that is text',
      { ...base, tools: [tool], tool_choice: 'auto' },
      'tool_choice: Input should be an object',
    ],
    [
      'an assistant message at the end',
      talk(user, asking(words)),
      /does not support assistant message prefill/,
    ],
    [
      'a system message at the beginning',
      talk({ role: 'system', content: 'x' }, user),
      "messages.0: use the top-level 'system' parameter for the initial system prompt",
    ],
    [
      'an assistant message at the beginning',
      talk(asking(words), user),
      'messages: first message must use the "user" role',
    ],
    [
      'servers of MCP',
      { ...base, mcp_servers: [{ type: 'url', name: 'm', url: 'https://m.example' }] },
      /^mcp_servers: only Anthropic's own servers have this, and the model behind "helper" is of another vendor\./,
    ],
    ['no limit of tokens', { model: 'helper', messages: [user] }, 'max_tokens: Field required'],
    ['no messages', { model: 'helper', max_tokens: 1 }, 'messages: Field required'],
    [
      'thinking without a signature',
      talk(user, asking({ type: 'thinking', thinking: 'x' }), user),
      'messages.1.content.0.thinking.signature: Field required',
    ],
    [
      'a tool of the vendor',
      { ...base, tools: [{ type: 'web_search_20250305', name: 'web_search' }] },
      /tools\.0: the model behind "helper" has no web search of its own/,
    ],
    [
      'a tool that only the vendor defines',
      { ...base, tools: [{ type: 'advisor_20260301', name: 'advisor', model: 'claude-opus-5-5' }] },
      /tools\.0: tools of type 'advisor_20260301' are not offered here/,
    ],
    [
      'edits of the context that would be left out',
      { ...base, context_management: { edits: [{ type: 'clear_tool_uses_20250919' }] } },
      'context_management: Extra inputs are not permitted',
    ],
    ['a block of an unknown type', talk(said({ type: 'poem' })), /Input tag 'poem'/],
  ]
  for (const [name, body, message] of cases)
    test(name, async t => {
      const { post } = await serve(t, { helper: recorder().model })
      const response = await post(path, body)
      const told = (await response.json()) as {
        type: string
        error: { type: string; message: string }
        request_id: string
      }
      if (typeof message === 'string') assert.equal(told.error.message, message)
      else assert.match(told.error.message, message)
      assert.equal(response.status, 400)
      assert.equal(told.type, 'error')
      assert.equal(told.error.type, 'invalid_request_error')
      assert.equal(told.request_id, response.headers.get('request-id'))
    })

  test('an unknown model is 404, a model that timed out is 504', async t => {
    const { post } = await serve(t, {
      helper: scripted([{ fail: { code: 'model_timeout', message: 'slow' } }]),
    })
    const unknown = await post(path, { ...base, model: 'claude-none' })
    assert.equal(unknown.status, 404)
    const told = (await unknown.json()) as { error: object }
    assert.deepEqual(told.error, {
      type: 'not_found_error',
      message:
        'model: claude-none. Known here: helper. With the setting server.anyModel: true its one agent answers to every name.',
    })
    const failed = await post(path, base)
    assert.equal(failed.status, 504)
    assert.deepEqual(((await failed.json()) as { error: object }).error, {
      type: 'timeout_error',
      message: 'slow',
    })
  })
})

describe('an answer', () => {
  test('has blocks, a reason and usage', async t => {
    const { post } = await serve(t, {
      helper: scripted([
        {
          thinking: 'hm',
          text: 'look',
          calls: [{ name: 'weather', input: { city: 'Oslo' } }],
          usage: { input: 10, output: 3, cacheRead: 4, cacheWrite: 1, thinking: 2 },
        },
      ]),
    })
    const made = (await (await post(path, { ...base, tools: [tool] })).json()) as {
      content: { id?: string }[]
      usage: Record<string, unknown>
    } & Record<string, unknown>
    assert.deepEqual(made.content, [
      { type: 'thinking', thinking: 'hm', signature: '' },
      { type: 'text', text: 'look', citations: null },
      {
        type: 'tool_use',
        id: made.content[2]?.id,
        name: 'weather',
        input: { city: 'Oslo' },
        caller: { type: 'direct' },
      },
    ])
    assert.equal(made['stop_reason'], 'tool_use')
    assert.deepEqual(
      [made.usage['input_tokens'], made.usage['cache_read_input_tokens'], made.usage['output_tokens']],
      [5, 4, 3],
    )
  })

  test('gives every reason to stop', async t => {
    for (const [stop, reason] of [
      ['end', 'end_turn'],
      ['length', 'max_tokens'],
      ['refusal', 'refusal'],
      ['filter', 'refusal'],
    ] as const) {
      const { post } = await serve(t, { helper: scripted([{ text: 'no', stop }]) })
      const made = (await (await post(path, base)).json()) as Record<string, unknown>
      assert.equal(made['stop_reason'], reason)
      assert.equal(made['stop_details'] === null, reason !== 'refusal')
    }
  })

  test('arguments that are no object are given as invalid_arguments, not as an empty object', async t => {
    const { post } = await serve(t, {
      helper: scripted([{ calls: [{ name: 'weather', text: '{"city":' }] }]),
    })
    const made = (await (await post(path, { ...base, tools: [tool] })).json()) as {
      content: { input: object }[]
    }
    assert.deepEqual(made.content[0]?.input, { invalid_arguments: '{"city":' })
  })

  test('tokens are estimated from the same request', async t => {
    const { post } = await serve(t, { helper: recorder().model })
    const count = async (body: object): Promise<number> =>
      ((await (await post(`${path}/count_tokens`, body)).json()) as { input_tokens: number }).input_tokens
    const { max_tokens: _, ...asked } = base
    const short = await count(asked)
    assert.ok(short > 0)
    assert.ok(
      (await count({ ...asked, messages: [{ role: 'user', content: 'x'.repeat(400) }] })) >= short + 99,
    )
    assert.ok((await count({ ...asked, tools: [tool] })) > short)
    assert.equal((await post(`${path}/count_tokens`, { model: 'helper', messages: [] })).status, 400)
  })
})

describe('a stream', () => {
  const eventsOf = async (response: Response) =>
    (await framesOf(response)).map(({ event, data }) => {
      const parsed = JSON.parse(data) as {
        type: string
        index?: number
        delta?: { type: string; partial_json?: string }
      }
      assert.equal(parsed.type, event)
      return parsed
    })

  test('opens, fills and closes one block after the other', async t => {
    const { post } = await serve(t, {
      helper: scripted([
        {
          thinking: 'hm',
          text: 'abcd',
          chunk: 2,
          calls: [
            { name: 'weather', input: {} },
            { name: 'weather', input: {} },
          ],
        },
      ]),
    })
    const events = await eventsOf(await post(path, { ...base, tools: [tool], stream: true }))
    assert.deepEqual(
      events.map(({ type, index, delta }) =>
        [type, index, delta?.type].filter(each => each !== undefined).join(' '),
      ),
      [
        'message_start',
        'content_block_start 0',
        'ping',
        'content_block_delta 0 thinking_delta',
        'content_block_stop 0',
        'content_block_start 1',
        'content_block_delta 1 text_delta',
        'content_block_delta 1 text_delta',
        'content_block_stop 1',
        'content_block_start 2',
        'content_block_delta 2 input_json_delta',
        'content_block_delta 2 input_json_delta',
        'content_block_stop 2',
        'content_block_start 3',
        'content_block_delta 3 input_json_delta',
        'content_block_delta 3 input_json_delta',
        'content_block_stop 3',
        'message_delta',
        'message_stop',
      ],
    )
  })

  test('calls whose arguments come interleaved are given one by one', async t => {
    const model: Model = {
      id: 'mixed',
      async respond(_request, watch) {
        watch({ type: 'call', index: 0, name: 'weather', form: 'json' })
        watch({ type: 'arguments', index: 0, text: '{"city":' })
        watch({ type: 'call', index: 1, name: 'weather', form: 'json' })
        watch({ type: 'arguments', index: 1, text: '{"city":"Ro' })
        watch({ type: 'arguments', index: 0, text: '"Oslo"}' })
        watch({ type: 'arguments', index: 1, text: 'me"}' })
        const call = (text: string) => ({
          type: 'call' as const,
          name: 'weather',
          form: 'json' as const,
          text,
        })
        return { parts: [call('{"city":"Oslo"}'), call('{"city":"Rome"}')], stop: 'calls' }
      },
    }
    const { post } = await serve(t, { helper: model })
    const events = await eventsOf(await post(path, { ...base, tools: [tool], stream: true }))
    const texts = new Map<number, string>()
    let open: number | undefined
    for (const { type, index = -1, delta } of events) {
      if (type === 'content_block_start') {
        assert.equal(open, undefined)
        open = index
      } else if (type === 'content_block_stop') open = undefined
      else if (type === 'content_block_delta') {
        assert.equal(index, open)
        texts.set(index, (texts.get(index) ?? '') + (delta?.partial_json ?? ''))
      }
    }
    assert.deepEqual([...texts.values()], ['{"city":"Oslo"}', '{"city":"Rome"}'])
  })

  test('a model without deltas gives its whole answer at the end', async t => {
    const model: Model = {
      id: 'silent',
      respond: async () => ({
        parts: [
          { type: 'text', text: 'all at once' },
          { type: 'call', name: 'weather', form: 'json', text: '{}' },
        ],
        stop: 'calls',
      }),
    }
    const { post } = await serve(t, { helper: model })
    const events = await eventsOf(await post(path, { ...base, tools: [tool], stream: true }))
    assert.equal(events.filter(each => each.type === 'content_block_stop').length, 2)
    assert.match(JSON.stringify(events), /all at once/)
  })

  test('a failure in mid-stream is an event', async t => {
    const { post } = await serve(t, {
      helper: scripted([
        { text: 'abcd', chunk: 1, fail: { code: 'model_failed', message: 'gone', after: 2 } },
      ]),
    })
    const events = await eventsOf(await post(path, { ...base, stream: true }))
    assert.deepEqual(events.at(-1), { type: 'error', error: { type: 'api_error', message: 'gone' } })
  })

  test('a silent model is waited for with pings', async t => {
    const { post } = await serve(
      t,
      { helper: scripted([{ text: 'late', stepDelayMs: 1500 }]) },
      { config: { server: { heartbeatMs: 5 } } },
    )
    const events = await eventsOf(await post(path, { ...base, stream: true }))
    assert.equal(events[0]?.type, 'message_start')
    assert.equal(events[1]?.type, 'ping')
    assert.equal(events.at(-1)?.type, 'message_stop')
  })
})

test('the key may come under the vendor’s header', async t => {
  const { key, entry } = newKey('ana')
  const { post } = await serve(t, { helper: recorder().model }, { config: { server: { keys: [entry] } } })
  assert.equal((await post(path, base)).status, 401)
  assert.equal((await post(path, base, { 'x-api-key': key })).status, 200)
  assert.equal((await post(path, base, { authorization: `Bearer ${key}` })).status, 200)
})
