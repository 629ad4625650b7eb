// Stateless responses: the object, the stream, how they end, and that nothing runs on the server.
import assert from 'node:assert/strict'
import test from 'node:test'
import type { Model } from '../../../src/engine/index.ts'
import { TurnwireError } from '../../../src/language/errors.ts'
import { openaiResponses } from '../../../src/models/protocols/openai-responses/index.ts'
import { deploy } from '../../../src/models/providers/deployment.ts'
import { preparedFor } from '../../../src/models/run.ts'
import { cites } from '../../requirements/manifest.ts'
import {
  type Body,
  call,
  eventsOf,
  type Item,
  latch,
  nested,
  ok,
  output,
  parseEvents,
  type Rig,
  type RigOptions,
  refused,
  type StreamEvent,
  rig as storingRig,
  textOf,
  user,
  weather,
} from './rig.ts'

/** Requests that do not say otherwise are not stored. */
async function rig(...given: Parameters<typeof storingRig>): Promise<Rig> {
  const at = await storingRig(...given)
  return { ...at, post: (body, ...more) => at.post({ store: false, ...(body as object) }, ...more) }
}

const asks: NonNullable<RigOptions['script']> = [
  {
    thinking: 'Hm, two.',
    text: 'Looking.',
    calls: [
      { name: 'get_weather', input: { city: 'Paris' } },
      { name: 'get_weather', input: { city: 'Oslo' } },
    ],
    chunk: 3,
    usage: { input: 11, output: 7, thinking: 2, cacheRead: 4 },
  },
  { text: 'Sunny in both.', chunk: 4, expect: { results: [{ text: 'sunny' }, { text: 'sunny' }] } },
]

const calls = (body: Pick<Body, 'output'>): Item[] =>
  body.output.filter(item => item.type === 'function_call')

test(
  cites('RESP-TOOL-11', 'RESP-TOOL-12', 'RESP-STOR-01', 'a whole tool round trip stores nothing'),
  async t => {
    for (const tool of [weather, nested]) {
      const at = await rig(t, { script: asks })
      const input = [user('How is it?')]
      const first = await ok(at.post({ model: 'helper', input, tools: [tool] }))
      assert.equal(first.status, 'completed')
      assert.deepEqual(
        calls(first).map(item => JSON.parse(item.arguments)),
        [{ city: 'Paris' }, { city: 'Oslo' }],
      )
      const outputs = calls(first).map(item => output(item.call_id))
      const last = await ok(
        at.post({ model: 'helper', input: [...input, ...first.output, ...outputs], tools: [tool] }),
      )
      assert.equal(textOf(last), 'Sunny in both.')
      // The calls alone are enough, as Sixerr's clients send them.
      const bare = [
        ...input,
        ...calls(first).map(({ call_id, name, arguments: args }) => ({
          type: 'function_call',
          call_id,
          name,
          arguments: args,
        })),
      ]
      const same = await ok(at.post({ model: 'helper', input: [...bare, ...outputs], tools: [tool] }))
      assert.equal(textOf(same), 'Sunny in both.')
      assert.deepEqual((await at.engine.list(null, { limit: 1 })).rows, [])
      assert.equal((await refused(at.get(`/v1/responses/${first.id}`))).status, 404)
    }
  },
)

test(
  cites('RESP-RES-01', 'RESP-RES-02', 'RESP-RES-04', 'RESP-RES-10', 'the response object has every field'),
  async t => {
    const at = await rig(t, { script: asks })
    const body = await ok(at.post({ model: 'helper', input: 'x', tools: [weather] }))
    const required =
      'id object created_at completed_at status incomplete_details model previous_response_id instructions output error tools tool_choice truncation parallel_tool_calls text top_p presence_penalty frequency_penalty top_logprobs temperature reasoning usage max_output_tokens max_tool_calls store background service_tier metadata safety_identifier prompt_cache_key'
    for (const name of required.split(' ')) assert.ok(name in body, name)
    assert.equal(body['object'], 'response')
    assert.ok(Number.isInteger(body['created_at']))
    assert.deepEqual(body.usage, {
      input_tokens: 11,
      input_tokens_details: { cache_write_tokens: 0, cached_tokens: 4 },
      output_tokens: 7,
      output_tokens_details: { reasoning_tokens: 2 },
      total_tokens: 18,
    })
    assert.deepEqual(
      body.output.map(item => item.type),
      ['reasoning', 'message', 'function_call', 'function_call'],
    )
    assert.deepEqual(body.output[0]?.['summary'], [{ type: 'summary_text', text: 'Hm, two.' }])
  },
)

// ---- the stream ---------------------------------------------------------------------------------------------------------

/** Checks what holds for every stream. */
function checkStream(events: readonly StreamEvent[]): Body {
  assert.deepEqual(
    events.slice(0, 2).map(event => event.type),
    ['response.created', 'response.in_progress'],
  )
  let last = -1
  const items = new Map<number, { id: string; text: string; done?: Item }>()
  for (const event of events) {
    assert.ok(event.sequence_number > last, 'numbers increase')
    last = event.sequence_number
    const at = event['output_index'] as number
    if (event.type === 'response.output_item.added') {
      assert.ok(!items.has(at))
      items.set(at, { id: event.item.id, text: '' })
    } else if (typeof at === 'number') {
      const item = items.get(at)
      assert.ok(item, 'added before it grows')
      assert.equal(event['item_id'] ?? event.item.id, item.id, 'ids are stable')
      assert.equal(item.done, undefined, 'nothing comes after done')
      if (event.type.endsWith('.delta')) item.text += event['delta'] as string
      if (event.type.endsWith('_text.done')) assert.equal(event['text'], item.text)
      if (event.type.endsWith('arguments.done')) assert.equal(event['arguments'], item.text)
      if (event.type.endsWith('input.done')) assert.equal(event['input'], item.text)
      if (event.type === 'response.output_item.done') item.done = event.item
    }
  }
  const { response } = events.at(-1)!
  assert.deepEqual(
    [...items].sort(([a], [b]) => a - b).flatMap(([, { done }]) => done ?? []),
    response.output,
  )
  return response
}

test(
  cites(
    'RESP-STRM-01',
    'RESP-STRM-02',
    'RESP-STRM-03',
    'RESP-STRM-04',
    'RESP-STRM-05',
    'RESP-STRM-06',
    'RESP-STRM-09',
    'a stream has every event, and adds up to the response without a stream',
  ),
  async t => {
    const at = await rig(t, { script: asks })
    const asked = { model: 'helper', input: 'x', tools: [weather] }
    const answer = await at.post({ ...asked, stream: true })
    assert.equal(answer.headers.get('content-type'), 'text/event-stream')
    const events = await eventsOf(answer)
    const response = checkStream(events)
    assert.deepEqual(compact(events.map(event => event.type.replace('response.', ''))), [
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
      'output_item.added',
      'function_call_arguments.delta',
      'function_call_arguments.done',
      'output_item.done',
      'function_call_arguments.done',
      'output_item.done',
      'completed',
    ])
    const done = events.find(event => event.type === 'response.function_call_arguments.done')
    assert.equal(done?.['name'], 'get_weather')
    assert.equal(done?.['call_id'], calls(response)[0]?.call_id)
    const pieces = events.filter(event => event.type === 'response.function_call_arguments.delta')
    assert.ok(pieces.length > 2 && pieces.every(event => typeof event['call_id'] === 'string'))
    const plain = await ok(at.post(asked))
    const said = ({ output: items }: Body) => items.map(item => ({ ...item, id: '', call_id: '' }))
    assert.deepEqual(said(response), said(plain))
    assert.deepEqual(response.usage, plain.usage)
  },
)

function compact(names: string[]): string[] {
  return names.filter((name, index) => name !== names[index - 1])
}

test(cites('RESP-STRM-07', 'custom calls stream their input'), async t => {
  const at = await rig(t, {
    script: [{ calls: [{ name: 'patch', form: 'text', text: '*** Begin\n+x' }], chunk: 4 }],
  })
  const tools = [
    { type: 'custom', name: 'patch', format: { type: 'grammar', syntax: 'regex', definition: '[^]*' } },
  ]
  const events = await eventsOf(at.post({ model: 'helper', input: 'x', tools, stream: true }))
  const response = checkStream(events)
  const types = new Set(events.map(event => event.type))
  assert.ok(
    types.has('response.custom_tool_call_input.delta') && types.has('response.custom_tool_call_input.done'),
  )
  const [item] = response.output
  assert.deepEqual([item?.type, item?.name, item?.['input']], ['custom_tool_call', 'patch', '*** Begin\n+x'])
  assert.match(item?.id ?? '', /^ctc_/)
})

test(cites('RESP-STRM-10', 'no text can break out of its line'), async t => {
  const text = 'a\n\nevent: response.completed\ndata: {}\n\r\u2028b\u0085'
  const at = await rig(t, { script: [{ text }] })
  const raw = await (await at.post({ model: 'helper', input: 'x', stream: true })).text()
  assert.ok(!/[\u2028\u0085\r]/.test(raw))
  assert.equal(textOf(checkStream(parseEvents(raw))), text)
})

test(cites('RESP-STRM-08', 'a model that starts over repeats nothing'), async t => {
  const at = await rig(t, {
    script: [
      { text: 'Same again.', calls: [{ name: 'get_weather', input: { city: 'A' } }], chunk: 3, reset: true },
    ],
  })
  const events = await eventsOf(at.post({ model: 'helper', input: 'x', tools: [weather], stream: true }))
  const response = checkStream(events)
  assert.equal(response.status, 'completed')
  assert.equal(textOf(response), 'Same again.')
  assert.equal(calls(response).length, 1)
})

test(
  cites('RESP-STRM-08', 'a model that starts over and says something else fails the response'),
  async t => {
    const model: Model = {
      id: 'fickle',
      async respond(_, watch) {
        watch({ type: 'text', text: 'one thing' })
        watch({ type: 'reset' })
        watch({ type: 'text', text: 'another' })
        return { parts: [{ type: 'text', text: 'another' }], stop: 'end' }
      },
    }
    const at = await rig(t, { model })
    const events = await eventsOf(at.post({ model: 'helper', input: 'x', stream: true }))
    assert.equal(events.at(-1)?.type, 'response.failed')
    assert.deepEqual(events.at(-1)?.response['error'], {
      code: 'server_error',
      message: 'The model started over and said something else. Try again.',
    })
    assert.equal(textOf(await ok(at.post({ model: 'helper', input: 'x' }))), 'another')
  },
)

test(cites('RESP-STRM-11', 'a client that disconnects cancels the response'), async t => {
  const aborted = latch()
  const started = latch()
  const model: Model = {
    id: 'endless',
    respond: (_, watch, signal) =>
      new Promise((_resolve, reject) => {
        watch({ type: 'text', text: 'On and' })
        signal.addEventListener('abort', () => {
          aborted.open()
          reject(signal.reason)
        })
        started.open()
      }),
  }
  const at = await rig(t, { model })
  for (const stream of [true, false]) {
    const gone = new AbortController()
    const asked = fetch(`${at.url}/v1/responses`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'helper', input: 'x', stream, store: false }),
      signal: gone.signal,
    })
    await started.wait()
    if (stream) await asked
    gone.abort()
    await asked.catch(() => {})
    await aborted.wait()
  }
  assert.deepEqual((await at.engine.list(null, { limit: 1 })).rows, [])
})

// ---- how it ends ----------------------------------------------------------------------------------------------------------

async function both(at: Rig, more: object = {}): Promise<Body[]> {
  const asked = { model: 'helper', input: 'x', tools: [weather], ...more }
  return [await ok(at.post(asked)), checkStream(await eventsOf(at.post({ ...asked, stream: true })))]
}

test(cites('RESP-RES-05', 'the length limit gives incomplete, without calls that were cut off'), async t => {
  const cut = { name: 'get_weather', input: { city: 'Reykjavik' }, cut: true } as const
  const whole = { name: 'get_weather', input: { city: 'Oslo' } }
  const at = await rig(t, { script: [{ text: 'So', calls: [whole, cut], stop: 'length' }] })
  const plain = await ok(at.post({ model: 'helper', input: 'x', tools: [weather] }))
  assert.equal(plain.status, 'incomplete')
  assert.deepEqual(plain['incomplete_details'], { reason: 'max_output_tokens' })
  assert.equal(calls(plain).length, 1)
  const events = await eventsOf(at.post({ model: 'helper', input: 'x', tools: [weather], stream: true }))
  assert.equal(events.at(-1)?.type, 'response.incomplete')
  assert.equal(calls(events.at(-1)!.response).length, 1)
  assert.equal(events.filter(event => event.type === 'response.function_call_arguments.done').length, 1)
})

test(cites('RESP-RES-06', 'the content filter gives incomplete'), async t => {
  const at = await rig(t, { script: [{ text: 'Well', stop: 'filter' }] })
  for (const body of await both(at)) {
    assert.equal(body.status, 'incomplete')
    assert.deepEqual(body['incomplete_details'], { reason: 'content_filter' })
    assert.equal(body.output[0]?.['status'], 'incomplete')
  }
})

test(cites('RESP-RES-07', 'RESP-STRM-12', 'a refusal is a part of its own'), async t => {
  const at = await rig(t, { script: [{ text: 'I will not.', stop: 'refusal' }] })
  const [plain, streamed] = await both(at)
  assert.equal(plain?.status, 'completed')
  assert.deepEqual(plain?.output[0]?.['content'], [{ type: 'refusal', refusal: 'I will not.' }])
  const parts = streamed?.output[0]?.['content'] as { type: string }[]
  assert.deepEqual(parts.at(-1), { type: 'refusal', refusal: 'I will not.' })
  const silent = await rig(t, { script: [{ stop: 'refusal' }] })
  const [none] = await both(silent)
  assert.match(JSON.stringify(none?.output[0]?.['content']), /^\[\{"type":"refusal"/)
})

test(
  cites(
    'RESP-RES-08',
    'RESP-ERR-04',
    'a model that fails is an HTTP error, and a failed response once a stream has begun',
  ),
  async t => {
    const failing = (
      code: 'model_failed' | 'model_limited' | 'model_rejected' | 'model_timeout',
      after = 0,
    ): RigOptions => ({
      script: [{ text: 'some words', chunk: 2, fail: { code, message: 'sk-secret went wrong', after } }],
    })
    for (const [code, status, type, given, inStream] of [
      ['model_failed', 502, 'server_error', code => code, 'server_error'],
      ['model_limited', 429, 'rate_limit_error', () => 'rate_limit_exceeded', 'rate_limit_exceeded'],
      ['model_rejected', 400, 'invalid_request_error', code => code, 'invalid_prompt'],
      ['model_timeout', 504, 'server_error', code => code, 'server_error'],
    ] as const satisfies [string, number, string, (code: string) => string, string][]) {
      const at = await rig(t, failing(code))
      for (const stream of [false, true]) {
        const answer = await at.post({ model: 'helper', input: 'x', stream, store: false })
        assert.equal(answer.headers.get('x-should-retry'), String(code !== 'model_rejected'))
        const error = await refused(answer)
        assert.deepEqual([error.status, error.type, error.code], [status, type, given(code)])
      }
      const later = await rig(t, failing(code, 2))
      const body = { model: 'helper', input: 'x', stream: true, store: false }
      const last = (await eventsOf(later.post(body))).at(-1)
      assert.equal((last?.response['error'] as { code: string } | undefined)?.code, inStream)
    }
    const at = await rig(t, failing('model_rejected', 2))
    assert.ok(!(await refused(at.post({ model: 'helper', input: 'x' }))).message.includes('sk-secret'))
    const events = await eventsOf(at.post({ model: 'helper', input: 'x', stream: true }))
    const last = events.at(-1)
    assert.equal(last?.type, 'response.failed')
    assert.equal(last?.response.status, 'failed')
    assert.ok(!JSON.stringify(last).includes('sk-secret'))
  },
)

test(cites('RESP-RES-08', 'a model that hangs is 504, and a failed response in a stream'), async t => {
  const at = await rig(t, {
    script: [{ text: 'half', hang: true }],
    agent: {
      limits: {
        steps: 9,
        calls: 9,
        identicalCalls: 9,
        time: 30,
        bytes: 9999,
        tokens: 9999,
        money: 1e9,
        sessionBytes: 1e12,
      },
    },
  })
  const error = await refused(at.post({ model: 'helper', input: 'x' }))
  assert.deepEqual([error.status, error.type, error.code], [504, 'server_error', 'model_timeout'])
  const last = (await eventsOf(at.post({ model: 'helper', input: 'x', stream: true }))).at(-1)
  assert.deepEqual([last?.type, last?.response.status], ['response.failed', 'failed'])
  assert.deepEqual(last?.response['error'], { code: 'server_error', message: error.message })
})

test(cites('RESP-RES-09', 'a limit of the runtime gives incomplete'), async t => {
  const at = await rig(t, {
    script: [{ text: 'half', hang: true }],
    agent: {
      limits: {
        steps: 9,
        calls: 9,
        identicalCalls: 9,
        time: 30,
        bytes: 9999,
        tokens: 9999,
        money: 1e9,
        sessionBytes: 1e12,
      },
    },
  })
  const body = await ok(at.post({ model: 'helper', input: 'x', store: true }))
  assert.equal(body.status, 'incomplete')
  assert.deepEqual(body['incomplete_details'], { reason: 'max_time' })
})

// ---- nothing runs on the server -----------------------------------------------------------------------------------------------------

test(cites('RESP-TOOL-09', 'a tool with the name of a server tool is run by the client only'), async t => {
  const names = ['search', 'mail', 'hidden', 'slow']
  for (const more of [{}, { store: true }]) {
    const at = await rig(t, {
      script: [{ calls: names.map(name => ({ name, input: { q: 'x', to: 'y' } })) }],
    })
    const tools = names.map(name => ({ type: 'function', name, parameters: { type: 'object' } }))
    const body = await ok(at.post({ model: 'helper', input: 'x', tools, ...more }))
    assert.deepEqual(
      calls(body).map(item => item.name),
      names,
    )
    assert.deepEqual(at.runs, [])
  }
})

test(
  cites(
    'RESP-TOOL-09',
    'no parameter makes a server tool run, and one that is not declared does not run either',
  ),
  async t => {
    const at = await rig(t, {
      serverTools: true,
      script: { steps: [{ calls: [{ name: 'hidden', input: { q: 'x' } }] }], whenOver: 'repeat-last' },
    })
    const body = await ok(
      at.post({ model: 'helper', input: 'x', tool_choice: 'auto', metadata: { serverTools: 'true' } }),
    )
    assert.equal(calls(body).length, 1, 'what the model asked for is the client’s to judge')
    assert.deepEqual(at.runs, [])
    const error = await refused(at.post({ model: 'helper', input: 'x', serverTools: true }))
    assert.equal(error.code, 'unknown_parameter')
  },
)

// ---- artifacts of a vendor -------------------------------------------------------------------------------------

const origin = { protocol: 'anthropic-messages', family: 'claude' }
const signed: Model = {
  id: 'signed',
  origin,
  async respond({ history }) {
    const last = history.findLast(entry => entry.role === 'assistant')
    if (last) return { parts: [{ type: 'text', text: JSON.stringify(last) }], stop: 'end', origin }
    return {
      parts: [
        { type: 'thinking', text: 'deep', native: { origin, data: { signature: 'Eq1=' } } },
        { type: 'text', text: 'So.' },
        { type: 'thinking', text: '', native: { origin, data: { redacted: 'zz' } } },
        {
          type: 'call',
          name: 'get_weather',
          form: 'json',
          text: '{"city":"A"}',
          nativeId: 'toolu_1',
          native: { origin, data: { sig: 1 } },
        },
      ],
      stop: 'calls',
      origin,
      continuity: { origin, data: { container: 'c1' } },
    }
  },
}

test(cites('RESP-ITEM-09', 'artifacts of any vendor go back to it whole, in their order'), async t => {
  const at = await rig(t, { model: signed })
  const asked = { model: 'helper', tools: [weather], include: ['reasoning.encrypted_content'] }
  for (const stream of [false, true]) {
    const body = { ...asked, input: [user('x')], stream }
    const first = stream ? checkStream(await eventsOf(at.post(body))) : await ok(at.post(body))
    const outputs = calls(first).map(item => output(item.call_id))
    const last = await ok(at.post({ ...asked, input: [user('x'), ...first.output, ...outputs] }))
    const entry = JSON.parse(textOf(last)) as {
      parts: Record<string, unknown>[]
      origin: unknown
      continuity: unknown
    }
    assert.deepEqual(
      entry.parts.map(part => Object.fromEntries(Object.entries(part).filter(([name]) => name !== 'id'))),
      [
        { type: 'thinking', text: 'deep', native: { origin, data: { signature: 'Eq1=' } } },
        { type: 'text', text: 'So.' },
        { type: 'thinking', text: '', native: { origin, data: { redacted: 'zz' } } },
        {
          type: 'call',
          name: 'get_weather',
          form: 'json',
          text: '{"city":"A"}',
          nativeId: 'toolu_1',
          native: { origin, data: { sig: 1 } },
        },
      ],
    )
    assert.deepEqual([entry.origin, entry.continuity], [origin, { origin, data: { container: 'c1' } }])
  }
})

test(
  cites(
    'RESP-ITEM-09',
    'RESP-ITEM-10',
    'artifacts are carried only when requested, and are valid for their owner only',
  ),
  async t => {
    const at = await rig(t, { model: signed })
    const plain = await ok(at.post({ model: 'helper', tools: [weather], input: 'x' }))
    assert.ok(plain.output.every(item => item['encrypted_content'] === undefined))
    const asked = { model: 'helper', tools: [weather], include: ['reasoning.encrypted_content'] }
    const first = await ok(at.post({ ...asked, input: 'x' }))
    const input = [user('x'), ...first.output, ...calls(first).map(item => output(item.call_id))]
    const stranger = await ok(at.post({ ...asked, input }, { 'x-owner': 'mallory' }))
    assert.ok(!textOf(stranger).includes('Eq1='))
    const forged = input.map(item =>
      'encrypted_content' in item ? { ...item, encrypted_content: 'tw1.AAAA' } : item,
    )
    assert.ok(!textOf(await ok(at.post({ ...asked, input: forged }))).includes('Eq1='))
  },
)

test(
  cites('RESP-ITEM-08', 'reasoning of a vendor of this protocol goes back to it byte for byte'),
  async t => {
    const vendor = deploy(
      { name: 'openai', protocol: openaiResponses, baseUrl: 'http://127.0.0.1:9' },
      { model: 'gpt-5', limits: { retries: 0 } },
    )
    let sent = ''
    const model: Model = {
      id: vendor.id,
      ...(vendor.origin && { origin: vendor.origin }),
      async respond(request) {
        sent = preparedFor(vendor, request)?.body ?? ''
        return { parts: [{ type: 'text', text: 'ok' }], stop: 'end' }
      },
    }
    const at = await rig(t, { model })
    const reasoning = { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'gAAAA=' }
    const item = { id: 'fc_1', status: 'completed', ...call('call_1') }
    await ok(
      at.post({ model: 'helper', tools: [weather], input: [user('x'), reasoning, item, output('call_1')] }),
    )
    const { input } = JSON.parse(sent) as { input: object[] }
    assert.deepEqual(input.slice(1, 3), [reasoning, item])
  },
)

test(cites('RESP-ERR-04', 'the details of a defect are not shown'), async t => {
  const at = await rig(t)
  const failing = (error: Error): void => {
    at.engine.answerOnce = () => ({ [Symbol.asyncIterator]: () => ({ next: () => Promise.reject(error) }) })
  }
  for (const stream of [false, true]) {
    failing(new Error('at /home/secret.ts'))
    const error = await refused(at.post({ model: 'helper', input: 'x', stream }))
    assert.deepEqual([error.status, error.type], [500, 'server_error'])
    assert.ok(!error.message.includes('secret'))
    failing(new TurnwireError('stopping', 'The server is stopping.'))
    assert.equal((await refused(at.post({ model: 'helper', input: 'x', stream }))).status, 503)
  }
})
