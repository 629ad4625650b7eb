// Chat Completions over HTTP: requests and how they are refused, answers, streams, and how they end.
import assert from 'node:assert/strict'
import { request } from 'node:http'
import { describe, test } from 'node:test'
import type { Model, ModelRequest } from '../../../src/engine/index.ts'
import { scripted } from '../../../src/models/scripted/index.ts'
import { obedient } from '../obedient.ts'
import { framesOf, serve, weather } from '../stateless/rig.ts'

const path = '/v1/chat/completions'
const user = { role: 'user', content: 'hi' }
const tool = { type: 'function', function: { name: 'weather', parameters: weather.schema } }
const call = (id: string) => ({
  id,
  type: 'function',
  function: { name: 'weather', arguments: '{"city":"Oslo"}' },
})
const asking = (...ids: string[]) => ({ role: 'assistant', content: null, tool_calls: ids.map(call) })
const told = (id: string, content: unknown = 'rain') => ({ role: 'tool', tool_call_id: id, content })

/** A model that keeps what it was asked. */
function recorder(): { model: Model; asked: ModelRequest[] } {
  const asked: ModelRequest[] = []
  const model = scripted(asking => {
    asked.push(asking)
    return obedient(asking, { text: 'yes', usage: { input: 7, output: 3, cacheRead: 2, thinking: 1 } })
  })
  return { model, asked }
}

const chunksOf = async (response: Response) =>
  (await framesOf(response)).map(({ data }) => (data === '[DONE]' ? data : JSON.parse(data)))

describe('a request is read', () => {
  test('roles, parts, calls and results become one history', async t => {
    const { model, asked } = recorder()
    const { post } = await serve(t, { helper: model })
    const image = 'data:image/png;base64,iVBORw0KGgo='
    const response = await post(path, {
      model: 'helper',
      messages: [
        { role: 'system', content: 'Be short.' },
        { role: 'developer', content: [{ type: 'text', text: 'Be kind.' }] },
        {
          role: 'user',
          content: [
            { type: 'text', text: 'look' },
            { type: 'image_url', image_url: { url: image } },
          ],
        },
        asking('a', 'b'),
        told('b', [{ type: 'text', text: 'sun' }]),
        told('a'),
      ],
      tools: [tool, { type: 'custom', custom: { name: 'patch', format: { type: 'text' } } }],
      tool_choice: { type: 'allowed_tools', allowed_tools: { mode: 'required', tools: [tool] } },
      parallel_tool_calls: false,
      max_completion_tokens: 99,
      temperature: 0.5,
      response_format: { type: 'json_object' },
    })
    assert.equal(response.status, 200)
    const [seen] = asked
    assert.deepEqual(seen?.history.slice(0, 3), [
      { role: 'system', text: 'Be short.' },
      { role: 'system', text: 'Be kind.' },
      {
        role: 'user',
        parts: [
          { type: 'text', text: 'look' },
          { type: 'image', url: image },
        ],
      },
    ])
    const results = seen?.history.find(entry => entry.role === 'tool')
    assert.deepEqual(
      results?.results.map(each => [each.callId, each.outcome.parts]),
      [
        ['a', [{ type: 'text', text: 'rain' }]],
        ['b', [{ type: 'text', text: 'sun' }]],
      ],
    )
    assert.deepEqual(
      seen?.tools.map(each => [each.name, each.input.form]),
      [
        ['weather', 'json'],
        ['patch', 'text'],
      ],
    )
    assert.deepEqual(seen?.choice, { allowed: ['weather'], mode: 'required' })
    assert.equal(seen?.parallel, false)
    assert.equal(seen?.maxTokens, 99)
    assert.deepEqual(seen?.format, { type: 'json' })
    assert.deepEqual(seen?.body, {
      'openai-chat': { temperature: 0.5 },
      'openai-responses': { temperature: 0.5 },
    })
  })

  test('every form of the tool choice', async t => {
    const { model, asked } = recorder()
    const { post } = await serve(t, { helper: model })
    const forms = [
      ['none', 'none'],
      ['auto', 'auto'],
      ['required', 'required'],
      [{ type: 'function', function: { name: 'weather' } }, { tool: 'weather' }],
      [{ type: 'custom', custom: { name: 'patch' } }, { tool: 'patch' }],
    ]
    for (const [tool_choice, expected] of forms) {
      const tools = [tool, { type: 'custom', custom: { name: 'patch' } }]
      assert.equal((await post(path, { model: 'helper', messages: [user], tools, tool_choice })).status, 200)
      assert.deepEqual(asked.at(-1)?.choice, expected)
    }
  })

  test('the agent’s own tools are not offered, and its instructions come first', async t => {
    const { model, asked } = recorder()
    const { post } = await serve(t, { helper: model }, { agent: { system: 'You are the helper.' } })
    await post(path, { model: 'helper', messages: [user] })
    assert.equal(asked[0]?.system, 'You are the helper.')
    assert.deepEqual(asked[0]?.tools, [])
  })

  test('a configured model answers as the first agent', async t => {
    const { model, asked } = recorder()
    const spare = recorder()
    const { post } = await serve(
      t,
      { helper: model },
      { agent: { system: 'First.' }, config: { models: { 'spare-1': spare.model } } },
    )
    const response = await post(path, { model: 'spare-1', messages: [user] })
    assert.equal(((await response.json()) as { model: string }).model, 'spare-1')
    assert.equal(asked.length, 0)
    assert.equal(spare.asked[0]?.system, 'First.')
  })
})

describe('a request is refused in the vendor’s words', () => {
  const base = { model: 'helper', messages: [user] }
  type Case = [name: string, body: unknown, message: RegExp | string, param?: string | null]
  const cases: Case[] = [
    [
      'a call without a tool message before the next message',
      { ...base, messages: [user, asking('a', 'b'), told('a'), user] },
      "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: b",
      'messages.[1].role',
    ],
    [
      'a call without a tool message at the end',
      { ...base, messages: [user, asking('a')] },
      /did not have response messages: a$/,
      'messages.[1].role',
    ],
    [
      'a tool message without calls before it',
      { ...base, messages: [user, told('a')] },
      "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.",
      'messages.[1].role',
    ],
    [
      'a tool message for a call that was not made',
      { ...base, messages: [user, asking('a'), told('x')] },
      "Invalid parameter: 'tool_call_id' of 'x' not found in 'tool_calls' of previous message.",
      'messages.[2].tool_call_id',
    ],
    [
      'two tool messages for one call',
      { ...base, messages: [user, asking('a'), told('a'), told('a')] },
      /Duplicate value for 'tool_call_id' of 'a'/,
      'messages.[3].tool_call_id',
    ],
    [
      'a call id of more than 40 characters',
      { ...base, messages: [user, asking('x'.repeat(41))] },
      /string too long\. Expected a string with maximum length 40/,
    ],
    [
      'a tool name with a dot',
      { ...base, tools: [{ type: 'function', function: { name: 'a.b' } }] },
      "Invalid 'tools[0].function.name': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'.",
      'tools[0].function.name',
    ],
    ['an empty list of tools', { ...base, tools: [] }, /Invalid 'tools': empty array/, 'tools'],
    [
      'a tool choice without tools',
      { ...base, tool_choice: 'auto' },
      "Invalid value for 'tool_choice': 'tool_choice' is only allowed when 'tools' are specified.",
      'tool_choice',
    ],
    [
      'an image as a result',
      { ...base, messages: [user, asking('a'), told('a', [{ type: 'image_url' }])] },
      /Invalid value: 'image_url'\. Supported values are: 'text'/,
    ],
    [
      'the choice of a tool that was not declared',
      { ...base, tools: [tool], tool_choice: { type: 'function', function: { name: 'x' } } },
      /no function named 'x' was specified/,
    ],
    ['more than one choice', { ...base, n: 2 }, /Invalid 'n': only one choice/, 'n'],
    ['no messages', { model: 'helper' }, "Missing required parameter: 'messages'.", 'messages'],
    ['no model', { messages: [user] }, "Missing required parameter: 'model'.", 'model'],
    ['an unknown role', { ...base, messages: [{ role: 'robot', content: '' }] }, /Invalid value: 'robot'/],
    [
      'an empty answer',
      { ...base, messages: [user, { role: 'assistant', content: null }] },
      /expected a string, got null/,
    ],
    ['both limits of tokens', { ...base, max_tokens: 1, max_completion_tokens: 1 }, /at the same time/],
    [
      'usage without a stream',
      { ...base, stream_options: { include_usage: true } },
      /only allowed when 'stream'/,
    ],
    ['the older functions field', { ...base, functions: [] }, /Use 'tools'/],
    ...['models', 'plugins', 'chat_template', 'mcp_servers'].map(
      (field): Case => [
        `a field that only the operator may set: ${field}`,
        { ...base, [field]: ['x'] },
        `Unrecognized request argument supplied: ${field}`,
        field,
      ],
    ),
    [
      'audio',
      { ...base, messages: [{ role: 'user', content: [{ type: 'input_audio' }] }] },
      /audio is not taken/,
    ],
    [
      'a plain http image',
      {
        ...base,
        messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url: 'http://x/a.png' } }] }],
      },
      /https/,
    ],
    ['not an object', [1], /must be a JSON object/],
    ['not JSON', '{"model":', /Invalid JSON/],
    ['a member twice', '{"model":"helper","model":"helper"}', /model/],
  ]
  for (const [name, body, message, param] of cases)
    test(name, async t => {
      const { post } = await serve(t, { helper: recorder().model })
      const response = await post(path, body)
      assert.equal(response.status, 400)
      const { error } = (await response.json()) as {
        error: { message: string; type: string; param: string | null }
      }
      if (typeof message === 'string') assert.equal(error.message, message)
      else assert.match(error.message, message)
      assert.equal(error.type, 'invalid_request_error')
      if (param !== undefined) assert.equal(error.param, param)
    })

  test('an unknown model is 404', async t => {
    const { post } = await serve(t, { helper: recorder().model })
    const response = await post(path, { ...base, model: 'gpt-none' })
    assert.equal(response.status, 404)
    assert.deepEqual(await response.json(), {
      error: {
        message:
          'The model `gpt-none` does not exist or you do not have access to it. Known here: helper. With the setting server.anyModel: true its one agent answers to every name.',
        type: 'invalid_request_error',
        param: 'model',
        code: 'model_not_found',
      },
    })
  })

  test('a body that is too large is 413', async t => {
    const { post } = await serve(t, { helper: recorder().model }, { config: { server: { bodyBytes: 100 } } })
    assert.equal((await post(path, { ...base, user: 'x'.repeat(200) })).status, 413)
  })
})

describe('an answer', () => {
  test('has text, thinking, calls, a reason and usage', async t => {
    const { post } = await serve(t, {
      helper: scripted([
        {
          thinking: 'hm',
          text: 'look',
          calls: [
            { name: 'weather', input: { city: 'Oslo' } },
            { name: 'patch', text: 'free text' },
          ],
          usage: { input: 7, output: 3, cacheRead: 2, thinking: 1 },
        },
      ]),
    })
    const tools = [tool, { type: 'custom', custom: { name: 'patch' } }]
    const answer = (await (await post(path, { model: 'helper', messages: [user], tools })).json()) as {
      object: string
      choices: { message: Record<string, unknown>; finish_reason: string }[]
      usage: object
    }
    const [choice] = answer.choices
    const calls = choice?.message['tool_calls'] as { id: string }[]
    assert.equal(answer.object, 'chat.completion')
    assert.deepEqual(choice, {
      index: 0,
      message: {
        role: 'assistant',
        content: 'look',
        refusal: null,
        annotations: [],
        reasoning_content: 'hm',
        tool_calls: [
          { id: calls[0]?.id, type: 'function', function: { name: 'weather', arguments: '{"city":"Oslo"}' } },
          { id: calls[1]?.id, type: 'custom', custom: { name: 'patch', input: 'free text' } },
        ],
      },
      logprobs: null,
      finish_reason: 'tool_calls',
    })
    assert.ok(calls.every(each => each.id.length <= 40))
    assert.deepEqual(answer.usage, {
      prompt_tokens: 7,
      completion_tokens: 3,
      total_tokens: 10,
      prompt_tokens_details: { cached_tokens: 2, audio_tokens: 0 },
      completion_tokens_details: {
        reasoning_tokens: 1,
        audio_tokens: 0,
        accepted_prediction_tokens: 0,
        rejected_prediction_tokens: 0,
      },
    })
  })

  test('gives every reason to stop', async t => {
    const reasons = [
      ['end', 'stop'],
      ['length', 'length'],
      ['filter', 'content_filter'],
      ['refusal', 'stop'],
    ] as const
    for (const [stop, reason] of reasons) {
      const { post } = await serve(t, { helper: scripted([{ text: 'no', stop }]) })
      const answer = (await (await post(path, { model: 'helper', messages: [user] })).json()) as {
        choices: { message: { content: string | null; refusal: string | null }; finish_reason: string }[]
      }
      const [choice] = answer.choices
      assert.equal(choice?.finish_reason, reason)
      const said = { content: choice?.message.content, refusal: choice?.message.refusal }
      assert.deepEqual(
        said,
        stop === 'refusal' ? { content: null, refusal: 'no' } : { content: 'no', refusal: null },
      )
    }
  })

  test('is asked for once, and its calls are given as the model made them', async t => {
    let asked = 0
    const model = scripted(() => {
      asked += 1
      return {
        calls: [
          { name: 'weather', text: '{"city":' },
          { name: 'nobody', input: {} },
        ],
      }
    })
    const { post, sessions } = await serve(t, { helper: model })
    const answer = (await (
      await post(path, { model: 'helper', messages: [user], tools: [tool] })
    ).json()) as {
      choices: { message: { tool_calls: { function: { name: string; arguments: string } }[] } }[]
    }
    assert.deepEqual(
      answer.choices[0]?.message.tool_calls.map(each => each.function),
      [
        { name: 'weather', arguments: '{"city":' },
        { name: 'nobody', arguments: '{}' },
      ],
    )
    assert.equal(asked, 1)
    const left = await sessions.list('local', { limit: 10 })
    assert.deepEqual(left.rows, [])
  })

  test('that the vendor pauses is continued, and given as one', async t => {
    const { post } = await serve(t, {
      helper: scripted([
        { text: 'one ', stop: 'pause', usage: { input: 1, output: 1 } },
        { text: 'two', usage: { input: 2, output: 2 } },
      ]),
    })
    const chunks = await chunksOf(
      await post(path, {
        model: 'helper',
        messages: [user],
        stream: true,
        stream_options: { include_usage: true },
      }),
    )
    const text = chunks.map(each => each.choices?.[0]?.delta?.content ?? '').join('')
    assert.equal(text, 'one two')
    assert.equal(chunks.at(-2).usage.total_tokens, 6)
  })
})

describe('a stream', () => {
  test('has the role first, then deltas, the reason, the usage and [DONE]', async t => {
    const { post } = await serve(t, {
      helper: scripted([
        {
          text: 'abcd',
          chunk: 2,
          calls: [
            { name: 'weather', input: {} },
            { name: 'patch', text: 'xy' },
          ],
          usage: { input: 1, output: 2 },
        },
      ]),
    })
    const tools = [tool, { type: 'custom', custom: { name: 'patch' } }]
    const response = await post(path, {
      model: 'helper',
      messages: [user],
      tools,
      stream: true,
      stream_options: { include_usage: true },
    })
    assert.equal(response.headers.get('content-type'), 'text/event-stream')
    const chunks = await chunksOf(response)
    const choices = chunks.slice(0, -2).map(each => each.choices[0])
    const ids = choices.flatMap(each => each.delta.tool_calls?.[0].id ?? [])
    assert.deepEqual(
      choices.map(each => each.delta),
      [
        { role: 'assistant', content: '', refusal: null },
        { content: 'ab' },
        { content: 'cd' },
        {
          tool_calls: [
            { index: 0, id: ids[0], type: 'function', function: { name: 'weather', arguments: '' } },
          ],
        },
        { tool_calls: [{ index: 0, function: { arguments: '{}' } }] },
        { tool_calls: [{ index: 1, id: ids[1], type: 'custom', custom: { name: 'patch', input: '' } }] },
        { tool_calls: [{ index: 1, custom: { input: 'xy' } }] },
        {},
      ],
    )
    assert.deepEqual(
      choices.map(each => each.finish_reason),
      [null, null, null, null, null, null, null, 'tool_calls'],
    )
    assert.ok(chunks.slice(0, -2).every(each => each.usage === null))
    assert.deepEqual(chunks.at(-2).choices, [])
    assert.equal(chunks.at(-2).usage.total_tokens, 3)
    assert.equal(chunks.at(-1), '[DONE]')
    assert.equal(new Set(chunks.slice(0, -1).map(each => each.id)).size, 1)
  })

  test('a model that starts over is shown once', async t => {
    const { post } = await serve(t, {
      helper: scripted([
        { text: 'abcdef', chunk: 2, calls: [{ name: 'weather', input: { city: 'x' } }], reset: true },
      ]),
    })
    const chunks = await chunksOf(
      await post(path, { model: 'helper', messages: [user], tools: [tool], stream: true }),
    )
    const deltas = chunks.slice(0, -1).map(each => each.choices[0].delta)
    assert.equal(deltas.map(each => each.content ?? '').join(''), 'abcdef')
    assert.equal(deltas.map(each => each.tool_calls?.[0].function.arguments ?? '').join(''), '{"city":"x"}')
    assert.equal(deltas.filter(each => each.tool_calls?.[0].id !== undefined).length, 1)
  })

  test('a refusal is marked as one after its text was sent as content', async t => {
    const { post } = await serve(t, { helper: scripted([{ text: 'I will not', stop: 'refusal' }]) })
    const chunks = await chunksOf(await post(path, { model: 'helper', messages: [user], stream: true }))
    assert.equal(chunks.map(each => each.choices?.[0]?.delta?.refusal ?? '').join(''), 'I will not')
  })

  test('a model that fails at once is an HTTP error', async t => {
    for (const [code, status, retry] of [
      ['model_failed', 502, 'true'],
      ['model_limited', 429, 'true'],
      ['model_rejected', 400, 'false'],
      ['model_timeout', 504, 'true'],
    ] as const) {
      const { post } = await serve(t, { helper: scripted([{ fail: { code, message: 'secret words' } }]) })
      const response = await post(path, { model: 'helper', messages: [user], stream: true })
      assert.equal(response.status, status)
      assert.equal(response.headers.get('x-should-retry'), retry)
      const { error } = (await response.json()) as { error: { type: string; message: string } }
      const types: Record<number, string> = { 400: 'invalid_request_error', 429: 'requests' }
      assert.equal(error.type, types[status] ?? 'server_error')
      if (code === 'model_rejected') assert.doesNotMatch(error.message, /secret/)
    }
  })

  test('a model that fails later ends the stream with an error and no [DONE]', async t => {
    const { post } = await serve(t, {
      helper: scripted([
        { text: 'abcd', chunk: 1, fail: { code: 'model_failed', message: 'gone', after: 2 } },
      ]),
    })
    const chunks = await chunksOf(await post(path, { model: 'helper', messages: [user], stream: true }))
    assert.deepEqual(chunks.at(-1), {
      error: { message: 'gone', type: 'server_error', param: null, code: 'model_failed' },
    })
    assert.equal(chunks.includes('[DONE]'), false)
  })

  test('a silent model is waited for with comments', async t => {
    const { post } = await serve(
      t,
      { helper: scripted([{ text: 'late', stepDelayMs: 1500 }]) },
      { config: { server: { heartbeatMs: 5 } } },
    )
    const text = await (await post(path, { model: 'helper', messages: [user], stream: true })).text()
    assert.match(text, /^data: .*"role":"assistant"/)
    assert.match(text, /\n:\n\n/)
    assert.match(text, /"late"/)
  })
})

describe('a client that leaves cancels the model', () => {
  /** A model that answers only when it is stopped. */
  function hanging(): { model: Model; asked: Promise<void>; stopped: Promise<void> } {
    const asked = Promise.withResolvers<void>()
    const stopped = Promise.withResolvers<void>()
    const model: Model = {
      id: 'hanging',
      respond(_request, watch, signal) {
        watch({ type: 'text', text: 'so far' })
        asked.resolve()
        return new Promise((_, reject) => {
          signal.addEventListener('abort', () => {
            stopped.resolve()
            reject(signal.reason)
          })
        })
      },
    }
    return { model, asked: asked.promise, stopped: stopped.promise }
  }

  const leave = async (url: string, body: object, asked: Promise<void>, stopped: Promise<void>) => {
    const outgoing = request(url + path, { method: 'POST', headers: { 'content-type': 'application/json' } })
    outgoing.on('error', () => {})
    outgoing.end(JSON.stringify({ model: 'helper', messages: [user], ...body }))
    await asked
    outgoing.destroy()
    await stopped
  }

  test('in a stream', async t => {
    const { model, asked, stopped } = hanging()
    const { url } = await serve(t, { helper: model })
    await leave(url, { stream: true }, asked, stopped)
  })

  test('without a stream', async t => {
    const { model, asked, stopped } = hanging()
    const { url } = await serve(t, { helper: model })
    await leave(url, {}, asked, stopped)
  })
})
