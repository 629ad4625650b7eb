import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import OpenAI from 'openai'
import type { RunningDouble, VendorName } from '../double.ts'
import type { ScriptedTurn } from '../script.ts'
import { startDouble } from '../vendors.ts'

async function open(
  t: TestContext,
  script: ScriptedTurn[],
  vendor: VendorName = 'openai-chat',
): Promise<{ double: RunningDouble; client: OpenAI }> {
  const double = await startDouble({ vendor, script })
  t.after(() => double.close())
  const client = new OpenAI({ apiKey: 'sk-test-key', baseURL: `${double.url}/v1`, maxRetries: 0 })
  return { double, client }
}

const messages = [{ role: 'user' as const, content: 'how warm is it?' }]
const weather = {
  type: 'function' as const,
  function: {
    name: 'weather',
    description: 'The temperature in a city',
    parameters: { type: 'object', properties: { city: { type: 'string' } } },
  },
}
const ask = { model: 'gpt-test', messages, tools: [weather] }
const wanted = { name: 'weather', input: { city: 'Zürich' } }

test('the SDK reads a completion, and every field of it is there', async t => {
  const { client } = await open(t, [{ text: 'warm', usage: { input: 7, output: 3, cached: 2 } }])
  const completion = await client.chat.completions.create(ask)
  assert.equal(completion.choices[0]?.message.content, 'warm')
  assert.equal(completion.choices[0]?.finish_reason, 'stop')
  assert.match(completion.id, /^chatcmpl-/)
  assert.equal(completion.usage?.total_tokens, 10)
  assert.equal(completion.usage?.prompt_tokens_details?.cached_tokens, 2)
  assert.deepEqual(Object.keys(completion).sort(), [
    'choices',
    'created',
    'id',
    'model',
    'object',
    'service_tier',
    'system_fingerprint',
    'usage',
  ])
})

test('the SDK assembles a stream with parallel and custom calls', async t => {
  const calls = [wanted, { name: 'sql', custom: true, text: 'SELECT 1' }]
  const { client } = await open(t, [{ text: 'let me look', calls, chunk: 5 }])
  const stream = client.chat.completions.stream({ ...ask, stream_options: { include_usage: true } })
  const completion = await stream.finalChatCompletion()
  const message = completion.choices[0]?.message
  assert.equal(message?.content, 'let me look')
  const [first] = message?.tool_calls ?? []
  assert.equal(first?.type === 'function' && first.function.arguments, '{"city":"Zürich"}')
  assert.equal(completion.choices[0]?.finish_reason, 'tool_calls')
  assert.ok((completion.usage?.total_tokens ?? 0) > 0)
})

test('a stream opens with the role, names a call once, and ends with usage and [DONE]', async t => {
  const { double, client } = await open(t, [{ calls: [wanted, wanted], chunk: 8 }])
  const stream = await client.chat.completions.create({
    ...ask,
    stream: true,
    stream_options: { include_usage: true, include_obfuscation: false },
  })
  const chunks = []
  for await (const chunk of stream) chunks.push(chunk)
  assert.equal(chunks[0]?.choices[0]?.delta.role, 'assistant')
  const deltas = chunks.flatMap(chunk => chunk.choices[0]?.delta.tool_calls ?? [])
  assert.deepEqual(
    deltas.filter(delta => delta.id !== undefined).map(delta => [delta.index, delta.function]),
    [0, 1].map(index => [index, { name: 'weather', arguments: '' }]),
  )
  assert.ok(deltas.every(delta => delta.id !== undefined || delta.function?.name === undefined))
  assert.deepEqual(chunks.at(-1)?.choices, [])
  assert.ok(chunks.slice(0, -1).every(chunk => chunk.usage === null && chunk.obfuscation === undefined))
  assert.equal(double.exchanges[0]?.frames.at(-1)?.data, '[DONE]')
})

test('without include_usage no chunk has usage', async t => {
  const { client } = await open(t, [{ text: 'warm' }])
  const stream = await client.chat.completions.create({ ...ask, stream: true })
  for await (const chunk of stream) assert.ok(!('usage' in chunk) && chunk.choices.length === 1)
})

for (const stream of [false, true]) {
  test(`runTools completes a whole loop, ${stream ? 'streaming' : 'whole'}`, async t => {
    const { double, client } = await open(t, [{ calls: [wanted, wanted] }, { text: 'It is 21 °C.' }])
    const cities: string[] = []
    const tool = {
      type: 'function' as const,
      function: {
        ...weather.function,
        function: (args: { city: string }) => {
          cities.push(args.city)
          return '21 °C'
        },
        parse: (text: string): { city: string } => JSON.parse(text),
      },
    }
    const runner = stream
      ? client.chat.completions.runTools({ model: 'gpt-test', messages, tools: [tool], stream: true })
      : client.chat.completions.runTools({ model: 'gpt-test', messages, tools: [tool] })
    assert.equal(await runner.finalContent(), 'It is 21 °C.')
    assert.deepEqual(cities, ['Zürich', 'Zürich'])
    assert.deepEqual(double.rejections(), [])
  })
}

test("errors arrive as the SDK's own error classes", async t => {
  const { double, client } = await open(t, [
    { fault: { kind: 'rate-limit', retryAfter: 2 } },
    { fault: { kind: 'rate-limit', retryAfter: 2, as: 'http-date' } },
    { fault: { kind: 'server-error' } },
    { fault: { kind: 'overloaded' } },
  ])
  const limited = await client.chat.completions.create(ask).catch((error: unknown) => error)
  assert.ok(limited instanceof OpenAI.RateLimitError)
  assert.equal(limited.headers.get('retry-after'), '2')
  assert.equal(limited.code, 'rate_limit_exceeded')
  const dated = await client.chat.completions.create(ask).catch((error: unknown) => error)
  assert.ok(dated instanceof OpenAI.RateLimitError)
  assert.ok(Date.parse(dated.headers.get('retry-after') ?? '') > 0)
  await assert.rejects(client.chat.completions.create(ask), OpenAI.InternalServerError)
  await assert.rejects(client.chat.completions.create(ask), { status: 503 })
  const anonymous = await fetch(`${double.url}/v1/chat/completions`, { method: 'POST', body: '{}' })
  assert.equal(anonymous.status, 401)
  const orphan = { role: 'tool' as const, tool_call_id: 'call_x', content: 'x' }
  const refused = await client.chat.completions
    .create({ ...ask, messages: [...messages, orphan] })
    .catch((error: unknown) => error)
  assert.ok(refused instanceof OpenAI.BadRequestError)
  assert.equal(refused.param, 'messages.[1].role')
  assert.equal(refused.type, 'invalid_request_error')
  assert.equal(double.rejections().at(-1)?.rule, 'C-02')
})

test('the wrong key is refused, and shown only in part', async t => {
  const double = await startDouble({ vendor: 'openai-chat', apiKey: 'sk-right' })
  t.after(() => double.close())
  const client = new OpenAI({ apiKey: 'sk-wrong-key-1234', baseURL: `${double.url}/v1`, maxRetries: 0 })
  const error = await client.chat.completions.create(ask).catch((caught: unknown) => caught)
  assert.ok(error instanceof OpenAI.AuthenticationError)
  assert.match(error.message, /Incorrect API key provided: sk-w\*\*\*\*1234/)
})

type Delta = OpenAI.ChatCompletionChunk.Choice.Delta.ToolCall

async function callDeltas(t: TestContext, turn: ScriptedTurn, vendor: VendorName): Promise<Delta[]> {
  const { client } = await open(t, [turn], vendor)
  const stream = await client.chat.completions.create({ ...ask, stream: true })
  const deltas: Delta[] = []
  for await (const chunk of stream) deltas.push(...(chunk.choices[0]?.delta.tool_calls ?? []))
  return deltas
}

test('a compatible server sends each call whole, and shows its reasoning', async t => {
  const deltas = await callDeltas(t, { calls: [wanted, wanted] }, 'openai-compatible')
  assert.deepEqual(
    deltas.map(delta => [delta.index, delta.function]),
    [0, 1].map(index => [index, { name: 'weather', arguments: '{"city":"Zürich"}' }]),
  )
  const { client } = await open(t, [{ thinking: 'hm', text: 'x' }], 'openai-compatible')
  const { choices } = await client.chat.completions.create(ask)
  assert.deepEqual(Object.entries(choices[0]?.message ?? {}).at(-1), ['reasoning_content', 'hm'])
})

test('the index of calls can be missing, or zero for all', async t => {
  const missing = await callDeltas(
    t,
    { calls: [wanted, wanted], fault: { kind: 'index', quirk: 'missing' } },
    'openai-compatible',
  )
  assert.ok(missing.length === 2 && missing.every(delta => !('index' in delta)))
  const zero = await callDeltas(
    t,
    { calls: [wanted, wanted], chunk: 4, fault: { kind: 'index', quirk: 'all-zero' } },
    'openai-chat',
  )
  assert.ok(zero.length > 4 && zero.every(delta => delta.index === 0))
})

test('the id of a call can be in every delta', async t => {
  const turn: ScriptedTurn = { calls: [wanted], chunk: 4, fault: { kind: 'index', quirk: 'repeat-id' } }
  const deltas = await callDeltas(t, turn, 'openai-chat')
  assert.ok(deltas.length > 2)
  assert.equal(new Set(deltas.map(delta => delta.id)).size, 1)
})

test('call ids can be empty, equal or 500 characters long', async t => {
  for (const [ids, expected] of [
    ['empty', ['', '']],
    ['duplicate', ['call_same', 'call_same']],
  ] as const) {
    const { client } = await open(t, [{ calls: [wanted, wanted], fault: { kind: 'call-ids', ids } }])
    const { choices } = await client.chat.completions.create(ask)
    assert.deepEqual(
      choices[0]?.message.tool_calls?.map(call => call.id),
      expected,
    )
  }
  const { client } = await open(t, [{ calls: [wanted], fault: { kind: 'call-ids', ids: 'long' } }])
  const { choices } = await client.chat.completions.create(ask)
  assert.equal(choices[0]?.message.tool_calls?.[0]?.id.length, 500)
})

for (const text of ['[]', '"x"', 'null', '{"a":1}{"b":2}']) {
  test(`arguments that are not an object are sent as scripted: ${text}`, async t => {
    const { client } = await open(t, [{ calls: [wanted], fault: { kind: 'arguments', text } }])
    const { choices } = await client.chat.completions.create(ask)
    const call = choices[0]?.message.tool_calls?.[0]
    assert.equal(call?.type === 'function' && call.function.arguments, text)
  })
}

test('a turn can stop for length within arguments, and call a tool that was not offered', async t => {
  const { client } = await open(t, [
    { calls: [wanted], fault: { kind: 'max-tokens-in-arguments', keep: 6 } },
    { calls: [wanted], fault: { kind: 'tool-not-offered' } },
  ])
  const cut = await client.chat.completions.create(ask)
  assert.equal(cut.choices[0]?.finish_reason, 'length')
  const call = cut.choices[0]?.message.tool_calls?.[0]
  assert.equal(call?.type === 'function' && call.function.arguments, '{"city')
  const odd = await client.chat.completions.create(ask)
  const other = odd.choices[0]?.message.tool_calls?.[0]
  assert.equal(other?.type === 'function' && other.function.name, 'tool_nobody_offered')
})

test('an error after 200 is thrown by the SDK', async t => {
  const { client } = await open(t, [{ text: 'a long enough text', fault: { kind: 'error-event', after: 2 } }])
  const stream = await client.chat.completions.create({ ...ask, stream: true })
  await assert.rejects(async () => {
    for await (const _ of stream);
  }, OpenAI.APIError)
})

test('a stream that ends early has no finish reason', async t => {
  for (const kind of ['eof-before-end', 'eof-after-tool-name'] as const) {
    const { double, client } = await open(t, [{ calls: [wanted], fault: { kind } }])
    const stream = await client.chat.completions.create({ ...ask, stream: true })
    for await (const chunk of stream) assert.equal(chunk.choices[0]?.finish_reason, null)
    assert.notEqual(double.exchanges[0]?.frames.at(-1)?.data, '[DONE]')
  }
})

for (const kind of ['one-byte-writes', 'crlf', 'split-utf8'] as const) {
  test(`${kind} change nothing for a correct client`, async t => {
    const { client } = await open(t, [{ text: 'Grüße 🌍', fault: { kind } }])
    const stream = client.chat.completions.stream(ask)
    assert.equal(await stream.finalContent(), 'Grüße 🌍')
  })
}

test('a refusal, a filter and raw frames are played as they are', async t => {
  const { client } = await open(t, [
    { refusal: 'I will not.' },
    { text: 'x', stop: 'content_filter' },
    { raw: [{ data: { id: 'c', object: 'chat.completion.chunk', choices: [] } }, { data: '[DONE]' }] },
  ])
  const refused = await client.chat.completions.create(ask)
  assert.deepEqual(
    [refused.choices[0]?.message.refusal, refused.choices[0]?.message.content],
    ['I will not.', null],
  )
  const filtered = await client.chat.completions.create(ask)
  assert.equal(filtered.choices[0]?.finish_reason, 'content_filter')
  const stream = await client.chat.completions.create({ ...ask, stream: true })
  const ids = []
  for await (const chunk of stream) ids.push(chunk.id)
  assert.deepEqual(ids, ['c'])
})
