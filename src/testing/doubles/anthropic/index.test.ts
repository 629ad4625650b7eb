import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import Anthropic from '@anthropic-ai/sdk'
import type { RunningDouble, ServeOptions } from '../double.ts'
import { startDouble } from '../vendors.ts'

const tools: Anthropic.Tool[] = [
  { name: 'read', input_schema: { type: 'object', properties: { p: { type: 'string' } }, required: ['p'] } },
]
const base = { model: 'claude-sonnet-4-6', max_tokens: 4096 }
const thinking = { type: 'enabled', budget_tokens: 2000 } as const
const ask: Anthropic.MessageParam = { role: 'user', content: 'show x' }

async function open(
  t: TestContext,
  options: ServeOptions,
): Promise<{ double: RunningDouble; client: Anthropic }> {
  const double = await startDouble({ vendor: 'anthropic', apiKey: 'key', ...options })
  t.after(() => double.close())
  return { double, client: new Anthropic({ apiKey: 'key', baseURL: double.url, maxRetries: 0 }) }
}

test('the SDK creates a message', async t => {
  const { client, double } = await open(t, { script: [{ text: 'hello', usage: { output_tokens: 7 } }] })
  const message = await client.messages.create({ ...base, messages: [ask] })
  assert.deepEqual(message.content, [{ type: 'text', text: 'hello', citations: null }])
  assert.equal(message.stop_reason, 'end_turn')
  assert.equal(message.usage.output_tokens, 7)
  assert.equal(double.exchanges[0]?.status, 200)
})

for (const isStream of [false, true]) {
  test(`the SDK completes a tool loop with thinking (${isStream ? 'streamed' : 'whole'})`, async t => {
    const { client, double } = await open(t, {
      script: [
        {
          thinking: 'they want x and y 😀',
          text: 'I look.',
          calls: [
            { name: 'read', input: { p: 'x' } },
            { name: 'read', input: { p: 'y' } },
          ],
          chunk: 3,
        },
        { text: 'done' },
      ],
    })
    const send = (messages: Anthropic.MessageParam[]): Promise<Anthropic.Message> => {
      const body = { ...base, tools, thinking, messages }
      return isStream ? client.messages.stream(body).finalMessage() : client.messages.create(body)
    }
    const first = await send([ask])
    assert.equal(first.stop_reason, 'tool_use')
    const calls = first.content.filter(block => block.type === 'tool_use')
    assert.deepEqual(
      calls.map(call => call.input),
      [{ p: 'x' }, { p: 'y' }],
    )
    const results = calls.map(call => ({ type: 'tool_result' as const, tool_use_id: call.id, content: 'ok' }))
    const second = await send([
      ask,
      { role: 'assistant', content: first.content },
      { role: 'user', content: results },
    ])
    assert.equal(second.content[0]?.type === 'text' && second.content[0].text, 'done')
    assert.deepEqual(double.rejections(), [])
  })
}

test('A-19 refuses an echo that left out a thinking block, in strict mode only', async t => {
  for (const mode of ['strict', 'lenient'] as const) {
    const { client } = await open(t, {
      mode,
      script: [{ thinking: 'hm', calls: [{ name: 'read', input: {} }] }, { text: 'ok' }],
    })
    const first = await client.messages.create({ ...base, tools, thinking, messages: [ask] })
    const call = first.content.find(block => block.type === 'tool_use')
    assert.ok(call)
    const again: Promise<Anthropic.Message> = client.messages.create({
      ...base,
      tools,
      thinking,
      messages: [
        ask,
        { role: 'assistant', content: [call] },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: call.id }] },
      ],
    })
    if (mode === 'lenient') assert.equal((await again).stop_reason, 'end_turn')
    else await assert.rejects(again, Anthropic.BadRequestError)
  }
})

test('a refusal reaches the SDK with its error class, text, request id and rule', async t => {
  const { client, double } = await open(t, { script: [{ text: 'never' }] })
  const wrong = client.messages.create({ ...base, messages: [{ role: 'user', content: '' }] })
  await assert.rejects(wrong, (error: unknown) => {
    assert.ok(error instanceof Anthropic.BadRequestError)
    assert.match(error.message, /all messages must have non-empty content/)
    assert.equal(error.headers.get('x-double-rule'), 'A-12')
    assert.match(error.requestID ?? '', /^req_/)
    return true
  })
  assert.equal(double.rejections()[0]?.rule, 'A-12')
  assert.equal(double.exchanges[0]?.turn, null)
})

test('a wrong key, a missing key and a missing version are refused', async t => {
  const { client, double } = await open(t, {})
  const stranger = new Anthropic({ apiKey: 'other', baseURL: double.url, maxRetries: 0 })
  await assert.rejects(stranger.messages.create({ ...base, messages: [ask] }), Anthropic.AuthenticationError)
  const send = (headers: Record<string, string>): Promise<Response> =>
    fetch(`${double.url}/v1/messages`, { method: 'POST', headers, body: '{"model":' })
  assert.equal((await send({})).status, 401)
  assert.equal((await send({ 'x-api-key': 'key', 'content-type': 'application/json' })).status, 400)
  const versioned = { 'x-api-key': 'key', 'anthropic-version': '2023-06-01' }
  assert.match(await (await send({ ...versioned, 'content-type': 'text/plain' })).text(), /content-type/)
  const broken = await send({ ...versioned, 'content-type': 'application/json' })
  assert.equal(broken.headers.get('x-double-rule'), 'A-26')
  await assert.rejects(client.get('/v1/nowhere'), Anthropic.NotFoundError)
})

test('a script that has run out is a harness error, counted apart', async t => {
  const { client, double } = await open(t, {})
  await assert.rejects(
    client.messages.create({ ...base, messages: [ask] }),
    Anthropic.UnprocessableEntityError,
  )
  assert.deepEqual(double.rejections(), [])
  assert.match(double.harnessErrors()[0] ?? '', /no more turns/)
})

test('an expectation that throws is a harness error', async t => {
  const { client, double } = await open(t, {
    script: [
      {
        expect: () => {
          throw new Error('wanted another body')
        },
      },
    ],
  })
  await assert.rejects(client.messages.create({ ...base, messages: [ask] }), /wanted another body/)
  assert.equal(double.exchanges[0]?.status, 422)
})

const FAILURES = [
  { fault: { kind: 'rate-limit', retryAfter: 3 }, error: Anthropic.RateLimitError },
  { fault: { kind: 'overloaded' }, error: Anthropic.InternalServerError },
  { fault: { kind: 'server-error' }, error: Anthropic.InternalServerError },
  { fault: { kind: 'reset' }, error: Anthropic.APIConnectionError },
] as const

for (const { fault, error } of FAILURES) {
  test(`fault ${fault.kind} surfaces as ${error.name}`, async t => {
    const { client } = await open(t, { script: [{ fault }] })
    await assert.rejects(client.messages.create({ ...base, messages: [ask] }), error)
  })
}

test('fault error-event surfaces after a 200', async t => {
  const { client } = await open(t, {
    script: [{ text: 'a long enough text', chunk: 2, fault: { kind: 'error-event' } }],
  })
  await assert.rejects(client.messages.stream({ ...base, messages: [ask] }).finalMessage(), /Overloaded/)
})

for (const kind of [
  'one-byte-writes',
  'crlf',
  'split-utf8',
  'unknown-events',
  'ping-flood',
  'usage-only-delta',
] as const) {
  test(`fault ${kind} leaves the message whole for the SDK`, async t => {
    const { client } = await open(t, {
      script: [{ text: 'žluť 😀', calls: [{ name: 'read', input: { p: 'č' } }], fault: { kind } }],
    })
    const message = await client.messages.stream({ ...base, tools, messages: [ask] }).finalMessage()
    assert.equal(message.stop_reason, 'tool_use')
    assert.equal(message.content[0]?.type === 'text' && message.content[0].text, 'žluť 😀')
    assert.deepEqual(message.content[1]?.type === 'tool_use' && message.content[1].input, { p: 'č' })
  })
}

test("the events of a stream come in the vendor's order", async t => {
  const { client, double } = await open(t, {
    script: [
      {
        thinking: 'hm',
        text: 'hi',
        calls: [{ name: 'read', input: { p: 'x' } }],
        fault: { kind: 'usage-only-delta' },
      },
    ],
  })
  await client.messages.stream({ ...base, tools, messages: [ask] }).finalMessage()
  const frames = double.exchanges[0]?.frames ?? []
  const seen = frames.map(frame => {
    const data = JSON.parse(frame.data)
    assert.equal(frame.event, data.type)
    return data.delta?.type ?? (data.delta ? `${data.type}:${data.delta.stop_reason ?? ''}` : data.type)
  })
  assert.deepEqual(seen, [
    'message_start',
    'ping',
    'content_block_start',
    'thinking_delta',
    'signature_delta',
    'content_block_stop',
    'content_block_start',
    'text_delta',
    'content_block_stop',
    'content_block_start',
    'input_json_delta',
    'input_json_delta',
    'content_block_stop',
    'message_delta:',
    'message_delta:tool_use',
    'message_stop',
  ])
})

test('a paused turn is sent back and continues (A-24), and its search results verify (A-25)', async t => {
  const native = [
    {
      type: 'server_tool_use',
      id: 'srvtoolu_1',
      name: 'web_search',
      input: { query: 'q' },
      caller: { type: 'direct' },
    },
    {
      type: 'web_search_tool_result',
      tool_use_id: 'srvtoolu_1',
      content: [{ type: 'web_search_result', url: 'https://a.example', title: 'A', page_age: null }],
      caller: { type: 'direct' },
    },
  ]
  const { client, double } = await open(t, { script: [{ native, stop: 'pause' }, { text: 'so' }] })
  const body = {
    model: 'claude-opus-4-8',
    max_tokens: 100,
    tools: [{ type: 'web_search_20260318', name: 'web_search' }] as const,
  }
  const paused = await client.messages
    .stream({ ...body, tools: [...body.tools], messages: [ask] })
    .finalMessage()
  assert.equal(paused.stop_reason, 'pause_turn')
  const done = await client.messages.create({
    ...body,
    tools: [...body.tools],
    messages: [ask, { role: 'assistant', content: paused.content as Anthropic.ContentBlockParam[] }],
  })
  assert.equal(done.stop_reason, 'end_turn')
  assert.deepEqual(double.rejections(), [])
})

test('a call from code names its container, and its result must go there', async t => {
  const native = [
    {
      type: 'server_tool_use',
      id: 'srvtoolu_1',
      name: 'code_execution',
      input: { code: 'read("x")' },
      caller: { type: 'direct' },
    },
    {
      type: 'tool_use',
      id: 'toolu_1',
      name: 'read',
      input: { p: 'x' },
      caller: { type: 'code_execution_20260120', tool_id: 'srvtoolu_1' },
    },
  ]
  const { client, double } = await open(t, { script: [{ native }, { text: 'so' }] })
  const code: Anthropic.ToolUnion[] = [
    { ...tools[0]!, allowed_callers: ['code_execution_20260120'] },
    { type: 'code_execution_20260120', name: 'code_execution' },
  ]
  const first = await client.messages.create({ ...base, tools: code, messages: [ask] })
  assert.equal(first.stop_reason, 'tool_use')
  assert.ok(first.container?.id)
  const messages: Anthropic.MessageParam[] = [
    ask,
    { role: 'assistant', content: first.content as Anthropic.ContentBlockParam[] },
    { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'toolu_1', content: 'ok' }] },
  ]
  await assert.rejects(
    client.messages.create({ ...base, tools: code, messages, container: 'container_other' }),
    /another container/,
  )
  await client.messages.create({ ...base, tools: code, messages, container: first.container.id })
  assert.deepEqual(
    double.rejections().map(rejection => rejection.rule),
    ['A-PTC'],
  )
})

test('counting tokens uses no turn of the script', async t => {
  const { client } = await open(t, {})
  const count = await client.messages.countTokens({ model: base.model, messages: [ask] })
  assert.ok(count.input_tokens > 0)
})
