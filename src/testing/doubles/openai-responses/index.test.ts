import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import OpenAI from 'openai'
import type { RunningDouble } from '../double.ts'
import type { ScriptedTurn } from '../script.ts'
import { startDouble } from '../vendors.ts'

type Create = OpenAI.Responses.ResponseCreateParamsNonStreaming
type StreamEvent = OpenAI.Responses.ResponseStreamEvent

async function open(
  t: TestContext,
  script: ScriptedTurn[],
): Promise<{ double: RunningDouble; client: OpenAI }> {
  const double = await startDouble({ vendor: 'openai-responses', script })
  t.after(() => double.close())
  const client = new OpenAI({ apiKey: 'sk-test-key', baseURL: `${double.url}/v1`, maxRetries: 0 })
  return { double, client }
}

const weather: OpenAI.Responses.FunctionTool = {
  type: 'function',
  name: 'weather',
  strict: true,
  parameters: {
    type: 'object',
    properties: { city: { type: 'string' } },
    required: ['city'],
    additionalProperties: false,
  },
}
const ask = { model: 'gpt-test', input: 'how warm is it?', tools: [weather] } satisfies Create
const wanted = { name: 'weather', input: { city: 'Zürich' } }

async function eventsOf(stream: AsyncIterable<StreamEvent>): Promise<StreamEvent[]> {
  const events: StreamEvent[] = []
  for await (const event of stream) events.push(event)
  return events
}

test('the SDK reads a response, and every field of it is there', async t => {
  const { client } = await open(t, [{ text: 'warm', usage: { input: 7, output: 3, reasoning: 1 } }])
  const response = await client.responses.create(ask)
  assert.equal(response.output_text, 'warm')
  assert.equal(response.status, 'completed')
  assert.equal(response.usage?.total_tokens, 10)
  const fields =
    'id object created_at completed_at status error incomplete_details instructions max_output_tokens ' +
    'max_tool_calls metadata model output parallel_tool_calls previous_response_id prompt prompt_cache_key ' +
    'prompt_cache_retention reasoning safety_identifier service_tier store temperature text tool_choice ' +
    'tools top_logprobs top_p truncation usage user background conversation moderation access_programs ' +
    'tool_usage prompt_cache_options'
  for (const field of fields.split(' ')) assert.ok(field in response, field)
})

for (const store of [false, true]) {
  test(`a tool loop that echoes every item, ${store ? 'stored' : 'sealed'}`, async t => {
    const { double, client } = await open(t, [
      { thinking: 'I should look', text: 'let me see', calls: [wanted, wanted] },
      { text: 'It is 21 °C.' },
    ])
    const settings: Create = { ...ask, store, ...(store ? {} : { include: ['reasoning.encrypted_content'] }) }
    const input: OpenAI.Responses.ResponseInput = [{ role: 'user', content: 'how warm is it?' }]
    const first = await client.responses.create({ ...settings, input })
    for (const item of first.output) {
      // The items of a response may be sent back as they are; the SDK's types for both directions differ in names.
      input.push(item as OpenAI.Responses.ResponseInputItem)
    }
    for (const item of first.output) {
      if (item.type !== 'function_call') continue
      assert.deepEqual(JSON.parse(item.arguments), { city: 'Zürich' })
      input.push({ type: 'function_call_output', call_id: item.call_id, output: '21 °C' })
    }
    const second = await client.responses.create({ ...settings, input })
    assert.equal(second.output_text, 'It is 21 °C.')
    assert.deepEqual(double.rejections(), [])
    assert.deepEqual(double.harnessErrors(), [])
  })
}

test('a tool loop over previous_response_id, streamed', async t => {
  const { client } = await open(t, [
    { calls: [wanted, { name: 'sql', custom: true, text: 'SELECT 1' }] },
    { text: 'done' },
  ])
  const stream = client.responses.stream({ ...ask, tools: [weather, { type: 'custom', name: 'sql' }] })
  const first = await stream.finalResponse()
  const outputs = first.output.flatMap((item): OpenAI.Responses.ResponseInputItem[] => {
    if (item.type === 'function_call') {
      return [
        { type: 'function_call_output', call_id: item.call_id, output: [{ type: 'input_text', text: 'x' }] },
      ]
    }
    return item.type === 'custom_tool_call'
      ? [{ type: 'custom_tool_call_output', call_id: item.call_id, output: '1' }]
      : []
  })
  assert.equal(outputs.length, 2)
  const second = await client.responses.create({ ...ask, input: outputs, previous_response_id: first.id })
  assert.equal(second.output_text, 'done')
  assert.equal(second.previous_response_id, first.id)
})

test('the events of a stream come in order, numbered without gaps', async t => {
  const { client } = await open(t, [{ thinking: 'hm', text: 'hi', calls: [wanted] }])
  const events = await eventsOf(await client.responses.create({ ...ask, stream: true }))
  assert.deepEqual(
    events.map(({ type }) => type.replace('response.', '')),
    [
      'created',
      'in_progress',
      'output_item.added',
      'reasoning_summary_part.added',
      'reasoning_summary_text.delta',
      'reasoning_summary_text.done',
      'reasoning_summary_part.done',
      'output_item.done',
      'output_item.added',
      'content_part.added',
      'output_text.delta',
      'output_text.done',
      'content_part.done',
      'output_item.done',
      'output_item.added',
      'function_call_arguments.delta',
      'function_call_arguments.done',
      'output_item.done',
      'completed',
    ],
  )
  assert.deepEqual(
    events.map(event => event.sequence_number),
    events.map((_, at) => at),
  )
  const done = events.find(event => event.type === 'response.function_call_arguments.done')
  assert.equal(done !== undefined && 'name' in done && done.name, 'weather')
  const deltas = events.filter(event => event.type.endsWith('.delta'))
  assert.ok(deltas.every(event => 'obfuscation' in event))
})

test('the same item has the same id in added, done and completed', async t => {
  const { client } = await open(t, [{ thinking: 'hm', text: 'hi', calls: [wanted] }])
  const events = await eventsOf(await client.responses.create({ ...ask, stream: true }))
  const ids = (type: string) =>
    events.flatMap(event => (event.type === type && 'item' in event ? [event.item.id] : []))
  const last = events.at(-1)
  const final = last?.type === 'response.completed' ? last.response.output.map(item => item.id) : []
  assert.equal(final.length, 3)
  assert.deepEqual(ids('response.output_item.added'), final)
  assert.deepEqual(ids('response.output_item.done'), final)
})

test('obfuscation can be switched off', async t => {
  const { client } = await open(t, [{ text: 'hi' }])
  const stream_options = { include_obfuscation: false }
  const events = await eventsOf(await client.responses.create({ ...ask, stream: true, stream_options }))
  assert.ok(events.every(event => !('obfuscation' in event)))
})

const hosted: [string, Record<string, unknown>, string[]][] = [
  [
    'web_search_call',
    { status: 'completed', action: { type: 'search', query: 'q' } },
    ['web_search_call.in_progress', 'web_search_call.searching', 'web_search_call.completed'],
  ],
  [
    'code_interpreter_call',
    { status: 'completed', code: '1+1', container_id: 'cntr_1', outputs: [] },
    [
      'code_interpreter_call.in_progress',
      'code_interpreter_call_code.delta',
      'code_interpreter_call_code.done',
      'code_interpreter_call.interpreting',
      'code_interpreter_call.completed',
    ],
  ],
  [
    'mcp_list_tools',
    { server_label: 'docs', tools: [{ name: 'read', input_schema: {} }] },
    ['mcp_list_tools.in_progress', 'mcp_list_tools.completed'],
  ],
  ['mcp_approval_request', { server_label: 'docs', name: 'read', arguments: '{}' }, []],
  [
    'mcp_call',
    { server_label: 'docs', name: 'read', arguments: '{}', output: null, error: { type: 'x' } },
    ['mcp_call.in_progress', 'mcp_call_arguments.delta', 'mcp_call_arguments.done', 'mcp_call.failed'],
  ],
  ['tool_search_call', { call_id: null, execution: 'server', arguments: {}, status: 'completed' }, []],
  ['program', { call_id: 'p1', code: 'await read()', fingerprint: 'fp' }, []],
]

for (const [type, fields, inside] of hosted) {
  test(`a scripted ${type} is streamed with its own events`, async t => {
    const { client } = await open(t, [{ raw: [{ type, ...fields }] }])
    const events = await eventsOf(await client.responses.create({ ...ask, stream: true }))
    assert.deepEqual(
      events.slice(2, -1).map(event => event.type.replace('response.', '')),
      ['output_item.added', ...inside, 'output_item.done'],
    )
    const last = events.at(-1)
    const item = last?.type === 'response.completed' ? last.response.output[0] : undefined
    const { id, ...rest } = item ?? { id: undefined }
    assert.match(String(id), /^[a-z]+_/)
    assert.deepEqual(rest, { type, ...fields })
  })
}

test('a call of a tool in a namespace has that namespace', async t => {
  const { client } = await open(t, [{ calls: [wanted] }])
  const { output } = await client.responses.create({
    ...ask,
    tools: [{ type: 'namespace', name: 'sky', description: 'the sky', tools: [weather] }],
  })
  assert.equal(output[0]?.type === 'function_call' && output[0].namespace, 'sky')
})

test('stored responses can be read, listed and deleted', async t => {
  const { client } = await open(t, [{ text: 'one' }, { text: 'two' }])
  const first = await client.responses.create(ask)
  const second = await client.responses.create({ ...ask, input: 'and now?', previous_response_id: first.id })
  assert.deepEqual((await client.responses.retrieve(second.id)).output, second.output)
  const items = await client.responses.inputItems.list(second.id, { order: 'asc' })
  assert.deepEqual(
    items.data.map(item => (item.type === 'message' ? item.role : item.type)),
    ['user', 'assistant', 'user'],
  )
  const page = await client.responses.inputItems.list(second.id, { limit: 1 })
  assert.equal(page.data.length, 1)
  assert.equal(page.has_more, true)
  await client.responses.delete(second.id)
  await assert.rejects(client.responses.retrieve(second.id), OpenAI.NotFoundError)
  await assert.rejects(client.responses.cancel(first.id), /Cannot cancel a synchronous response/)
})

test('a background response is queued, then runs, then is done', async t => {
  const { client } = await open(t, [{ text: 'one' }])
  const queued = await client.responses.create({ ...ask, background: true })
  assert.deepEqual([queued.status, queued.output], ['queued', []])
  assert.equal((await client.responses.retrieve(queued.id)).status, 'in_progress')
  const done = await client.responses.retrieve(queued.id)
  assert.deepEqual([done.status, done.output_text], ['completed', 'one'])
})

test('a background response can be cancelled, and stays so', async t => {
  const { client } = await open(t, [{ text: 'one' }])
  const queued = await client.responses.create({ ...ask, background: true })
  assert.equal((await client.responses.cancel(queued.id)).status, 'cancelled')
  assert.equal((await client.responses.retrieve(queued.id)).status, 'cancelled')
})

test('a background stream resumes after the last event that was seen', async t => {
  const { client } = await open(t, [{ text: 'one two three', chunk: 4 }])
  const stream = await client.responses.create({ ...ask, background: true, stream: true })
  const whole = await eventsOf(stream)
  assert.equal(whole[1]?.type, 'response.queued')
  const first = whole[0]
  const id = first?.type === 'response.created' ? first.response.id : ''
  const rest = await eventsOf(await client.responses.retrieve(id, { stream: true, starting_after: 4 }))
  assert.deepEqual(rest, whole.slice(5))
})

test('background needs a store', async t => {
  const { client } = await open(t, [])
  await assert.rejects(client.responses.create({ ...ask, background: true, store: false }), {
    status: 400,
    param: 'background',
  })
})

test("errors arrive as the SDK's own error classes", async t => {
  const { double, client } = await open(t, [
    { fault: { kind: 'rate-limit', retryAfter: 1, as: 'http-date' } },
    { fault: { kind: 'server-error' } },
  ])
  const limited = await client.responses.create(ask).catch((error: unknown) => error)
  assert.ok(limited instanceof OpenAI.RateLimitError)
  assert.ok(Date.parse(limited.headers.get('retry-after') ?? '') > 0)
  await assert.rejects(client.responses.create(ask), OpenAI.InternalServerError)
  const orphan = { type: 'function_call_output' as const, call_id: 'call_x', output: 'x' }
  const refused = await client.responses.create({ ...ask, input: [orphan] }).catch((error: unknown) => error)
  assert.ok(refused instanceof OpenAI.BadRequestError)
  assert.equal(refused.message, '400 No tool call found for function call output with call_id call_x.')
  await assert.rejects(client.responses.retrieve('resp_none'), OpenAI.NotFoundError)
  assert.deepEqual(
    double.rejections().map(({ rule }) => rule),
    ['R-02', 'R-07'],
  )
})

test('a length stop leaves the call open and the response incomplete', async t => {
  const { client } = await open(t, [{ calls: [wanted], fault: { kind: 'max-tokens-in-arguments', keep: 6 } }])
  const events = await eventsOf(await client.responses.create({ ...ask, stream: true }))
  assert.ok(!events.some(event => event.type === 'response.function_call_arguments.done'))
  const last = events.at(-1)
  assert.ok(last?.type === 'response.incomplete')
  assert.deepEqual(last.response.incomplete_details, { reason: 'max_output_tokens' })
  const call = last.response.output[0]
  assert.deepEqual(call?.type === 'function_call' && [call.arguments, call.status], ['{"city', 'incomplete'])
})

test('response.completed can arrive although the arguments were never done', async t => {
  const { client } = await open(t, [{ calls: [wanted], fault: { kind: 'omit-arguments-done' } }])
  const events = await eventsOf(await client.responses.create({ ...ask, stream: true }))
  const types = events.map(({ type }) => type)
  assert.ok(types.includes('response.function_call_arguments.delta'))
  assert.ok(!types.includes('response.function_call_arguments.done'))
  assert.ok(!types.includes('response.output_item.done'))
  const last = events.at(-1)
  const call = last?.type === 'response.completed' ? last.response.output[0] : undefined
  assert.ok(call?.type === 'function_call')
  assert.throws(() => JSON.parse(call.arguments))
})

test('an error event after 200 keeps the numbering', async t => {
  const { double, client } = await open(t, [{ text: 'hi', fault: { kind: 'error-event', after: 4 } }])
  const stream = await client.responses.create({ ...ask, stream: true })
  await assert.rejects(eventsOf(stream), OpenAI.APIError)
  const last = JSON.parse(double.exchanges[0]?.frames.at(-1)?.data ?? '')
  assert.deepEqual([last.type, last.sequence_number, last.code], ['error', 4, 'server_error'])
})

test('a stream can end before its last event, or right after a tool name', async t => {
  for (const kind of ['eof-before-end', 'eof-after-tool-name'] as const) {
    const { client } = await open(t, [{ calls: [wanted], fault: { kind } }])
    const events = await eventsOf(await client.responses.create({ ...ask, stream: true }))
    const last = kind === 'eof-before-end' ? 'response.output_item.done' : 'response.output_item.added'
    assert.equal(events.at(-1)?.type, last)
  }
})

test('unknown events, CRLF and cut bytes change nothing for a correct client', async t => {
  for (const kind of ['unknown-events', 'ping-flood', 'crlf', 'one-byte-writes', 'split-utf8'] as const) {
    const { client } = await open(t, [{ text: 'Grüße 🌍', fault: { kind } }])
    const events = await eventsOf(await client.responses.create({ ...ask, stream: true }))
    const last = events.at(-1)
    const message = last?.type === 'response.completed' ? last.response.output[0] : undefined
    const part = message?.type === 'message' ? message.content[0] : undefined
    assert.equal(part?.type === 'output_text' && part.text, 'Grüße 🌍', kind)
  }
})

test('a hang sends no byte until the caller gives up', async t => {
  const { client } = await open(t, [{ fault: { kind: 'hang' } }])
  const signal = AbortSignal.timeout(50)
  await assert.rejects(client.responses.create(ask, { signal }), OpenAI.APIUserAbortError)
})

test('a failed response and a refusal are scripted as such', async t => {
  const error = { code: 'server_error', message: 'no' }
  const { client } = await open(t, [{ raw: { status: 'failed', error } }, { refusal: 'I will not.' }])
  const events = await eventsOf(await client.responses.create({ ...ask, stream: true }))
  const last = events.at(-1)
  assert.ok(last?.type === 'response.failed')
  assert.deepEqual(last.response.error, error)
  const refused = await client.responses.create(ask)
  const message = refused.output[0]
  assert.deepEqual(message?.type === 'message' && message.content, [
    { type: 'refusal', refusal: 'I will not.' },
  ])
})

test('a body that cannot be read is refused before any rule', async t => {
  const { double } = await open(t, [])
  const send = async (type: string, body: string) => {
    const headers = { authorization: 'Bearer sk-x', 'content-type': type }
    const response = await fetch(`${double.url}/v1/responses`, { method: 'POST', headers, body })
    return [response.status, await response.text()] as const
  }
  const [brokenStatus, broken] = await send('application/json', '{"model":')
  assert.equal(brokenStatus, 400)
  assert.match(broken, /We could not parse the JSON body of your request/)
  const [plainStatus, plain] = await send('text/plain', '{}')
  assert.equal(plainStatus, 400)
  assert.match(plain, /unsupported_content_type/)
  const [halfStatus] = await send('application/json', '{"model":"m","input":"\\ud83d"}')
  assert.equal(halfStatus, 400)
})
