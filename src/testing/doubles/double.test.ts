import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import fc from 'fast-check'
import type { VendorName } from './double.ts'
import type { Fault } from './faults.ts'
import type { ScriptedTurn } from './script.ts'
import { checkRequest, startDouble, vendorDouble } from './vendors.ts'

type Client = {
  vendor: VendorName
  path: string
  headers: Record<string, string>
  body: (isStream: boolean) => object
}

const schema = { type: 'object', properties: { p: { type: 'string' } } }
const key = { authorization: 'Bearer key' }
const CLIENTS: Client[] = [
  {
    vendor: 'anthropic',
    path: '/v1/messages',
    headers: { 'x-api-key': 'key', 'anthropic-version': '2023-06-01' },
    body: stream => ({
      model: 'claude-opus-4-8',
      max_tokens: 9,
      stream,
      messages: [{ role: 'user', content: 'x' }],
      tools: [{ name: 'read', input_schema: schema }],
    }),
  },
  {
    vendor: 'gemini',
    path: '/v1beta/models/gemini-3-pro:streamGenerateContent?alt=sse',
    headers: { 'x-goog-api-key': 'key' },
    body: () => ({ contents: [{ role: 'user', parts: [{ text: 'x' }] }] }),
  },
  {
    vendor: 'gemini-interactions',
    path: '/v1beta/interactions',
    headers: { 'x-goog-api-key': 'key' },
    body: stream => ({ model: 'gemini-3-pro', input: 'x', stream }),
  },
  {
    vendor: 'openai-chat',
    path: '/v1/chat/completions',
    headers: key,
    body: stream => ({ model: 'm', stream, messages: [{ role: 'user', content: 'x' }] }),
  },
  {
    vendor: 'openai-responses',
    path: '/v1/responses',
    headers: key,
    body: stream => ({ model: 'm', stream, input: 'x' }),
  },
]

async function send(
  t: TestContext,
  client: Client,
  turn: ScriptedTurn,
  signal?: AbortSignal,
): Promise<Response> {
  const double = await startDouble({ vendor: client.vendor, script: [turn] })
  t.after(() => double.close())
  return fetch(double.url + client.path, {
    method: 'POST',
    headers: { ...client.headers, 'content-type': 'application/json' },
    body: JSON.stringify(client.body(true)),
    ...(signal && { signal }),
  })
}

const turn: ScriptedTurn = { text: 'žluť 😀', calls: [{ name: 'read', input: { p: 'čau' } }], chunk: 3 }
const events = (text: string): string[] => text.split(/\r?\n\r?\n/).filter(Boolean)

for (const client of CLIENTS) {
  test(`${client.vendor}: one-byte writes, CRLF and split UTF-8 send the same events as a plain stream`, async t => {
    const texts = await Promise.all(
      ([undefined, 'one-byte-writes', 'crlf', 'split-utf8'] as const).map(async kind => {
        const response = await send(t, client, kind ? { ...turn, fault: { kind } } : turn)
        assert.equal(response.status, 200)
        assert.match(response.headers.get('content-type') ?? '', /^text\/event-stream/)
        return response.text()
      }),
    )
    const [plain, bytes, crlf, split] = texts.map(text => events(text).length)
    assert.deepEqual([bytes, crlf, split], [plain, plain, plain])
    assert.ok(!texts[0]?.includes('\r') && texts[2]?.includes('\r\n'))
    assert.ok(!texts[3]?.includes('\ufffd'))
  })

  test(`${client.vendor}: a stream can end before its terminal event, or right after a tool's name`, async t => {
    const whole = events(await (await send(t, client, turn)).text()).length
    const early = events(await (await send(t, client, { ...turn, fault: { kind: 'eof-before-end' } })).text())
    assert.ok(early.length < whole && early.length > 0)
    const named = await (await send(t, client, { ...turn, fault: { kind: 'eof-after-tool-name' } })).text()
    assert.match(events(named).at(-1) ?? '', /read/)
  })

  test(`${client.vendor}: an error event ends a stream that began with 200`, async t => {
    const response = await send(t, client, { ...turn, fault: { kind: 'error-event', message: 'broke down' } })
    assert.equal(response.status, 200)
    assert.match(events(await response.text()).at(-1) ?? '', /broke down/)
  })

  test(`${client.vendor}: unknown events and pings are added to a stream, and nothing is lost`, async t => {
    const whole = events(await (await send(t, client, turn)).text()).length
    for (const kind of ['unknown-events', 'ping-flood'] as const) {
      const noisy = events(await (await send(t, client, { ...turn, fault: { kind } })).text())
      assert.ok(noisy.length > whole, kind)
    }
  })

  test(`${client.vendor}: 429 has retry-after in seconds or as a date; 5xx are the vendor's own`, async t => {
    const seconds = await send(t, client, { fault: { kind: 'rate-limit', retryAfter: 7 } })
    assert.deepEqual([seconds.status, seconds.headers.get('retry-after')], [429, '7'])
    const dated = await send(t, client, { fault: { kind: 'rate-limit', retryAfter: 60, as: 'http-date' } })
    assert.ok(Date.parse(dated.headers.get('retry-after') ?? '') > Date.now())
    assert.equal((await send(t, client, { fault: { kind: 'server-error' } })).status, 500)
    const overloaded = await send(t, client, { fault: { kind: 'overloaded' } })
    assert.ok([503, 529].includes(overloaded.status))
  })

  test(`${client.vendor}: a key can be refused with 401 or 403, in the vendor's words and not as a server error`, async t => {
    for (const [kind, status] of [
      ['unauthorized', 401],
      ['forbidden', 403],
    ] as const) {
      const refused = await send(t, client, { ...turn, fault: { kind } })
      assert.equal(refused.status, status)
      assert.doesNotMatch(await refused.text(), /internal|server error|sorry/i)
    }
  })

  test(`${client.vendor}: a fault that no double knows is refused where it is scripted`, async t => {
    // A program in JavaScript may write any word.
    const wrong = { ...turn, fault: { kind: 'overloded' } } as unknown as ScriptedTurn
    const words = /fault\.kind "overloded" is not known: use one of rate-limit/
    await assert.rejects(startDouble({ vendor: client.vendor, script: [turn, wrong] }), words)
    const double = await startDouble({ vendor: client.vendor, script: () => wrong })
    t.after(() => double.close())
    assert.throws(() => double.push(wrong), words)
    const response = await fetch(double.url + client.path, {
      method: 'POST',
      headers: { ...client.headers, 'content-type': 'application/json' },
      body: JSON.stringify(client.body(true)),
    })
    assert.equal(response.status, 422)
    assert.match(double.harnessErrors()[0] ?? '', words)
  })

  test(`${client.vendor}: it can hang before a byte, after the headers or between frames, and reset the connection`, async t => {
    const stop = new AbortController()
    const nothing = send(t, client, { fault: { kind: 'hang' } }, stop.signal)
    const headers = await send(t, client, { ...turn, fault: { kind: 'hang-after-headers' } })
    assert.equal(headers.status, 200)
    const some = await send(t, client, { ...turn, fault: { kind: 'hang-after-frames', frames: 1 } })
    const reader = some.body!.getReader()
    assert.ok((await reader.read()).value!.length > 0)
    stop.abort()
    await assert.rejects(nothing, { name: 'AbortError' })
    await assert.rejects(send(t, client, { fault: { kind: 'reset' } }), TypeError)
    const cut = await send(t, client, { ...turn, fault: { kind: 'reset-after-frames', frames: 1 } })
    await assert.rejects(cut.text())
  })

  test(`${client.vendor}: odd ids, tools that were not offered and doubled calls are sent as scripted`, async t => {
    const said = async (fault: Fault): Promise<string> => (await send(t, client, { ...turn, fault })).text()
    assert.match(await said({ kind: 'tool-not-offered' }), /tool_nobody_offered/)
    assert.match(await said({ kind: 'call-ids', ids: 'long' }), /call_0_x{400}/)
    assert.match(await said({ kind: 'call-ids', ids: 'duplicate' }), /call_same/)
    const twice = await said({ kind: 'same-function-twice' })
    assert.ok((twice.match(/"name":"read"/g) ?? []).length >= 2)
  })

  test(`${client.vendor}: a script that has run out is answered with 422`, async t => {
    const double = await startDouble({ vendor: client.vendor })
    t.after(() => double.close())
    const response = await fetch(double.url + client.path, {
      method: 'POST',
      headers: { ...client.headers, 'content-type': 'application/json' },
      body: JSON.stringify(client.body(true)),
    })
    assert.deepEqual([response.status, response.headers.get('x-double-rule')], [422, 'harness'])
    assert.deepEqual([double.rejections().length, double.harnessErrors().length], [0, 1])
  })
}

for (const client of CLIENTS.filter(({ vendor }) => vendor !== 'gemini')) {
  test(`${client.vendor}: raw frames cannot answer a request that does not stream`, async t => {
    const double = await startDouble({ vendor: client.vendor, script: [{ raw: [{ data: '{}' }] }] })
    t.after(() => double.close())
    const response = await fetch(double.url + client.path, {
      method: 'POST',
      headers: { ...client.headers, 'content-type': 'application/json' },
      body: JSON.stringify(client.body(false)),
    })
    assert.equal(response.status, 422)
    assert.match(double.harnessErrors()[0] ?? '', /^raw frames can only answer a request that streams/)
  })
}

test('names that every JavaScript object has are refused like any unknown name', () => {
  const anthropic = {
    model: 'm',
    max_tokens: 1,
    messages: [{ role: 'user', content: [{ type: 'constructor' }] }],
  }
  assert.match(checkRequest('anthropic', anthropic)?.message ?? '', /Input tag 'constructor' found/)
  const chat = { model: 'm', messages: [{ role: 'user', content: [{ type: 'toString' }] }] }
  assert.match(checkRequest('openai-chat', chat)?.message ?? '', /^Invalid value: 'toString'\. Supported/)
  const responses = { model: 'm', input: 'x', constructor: 1 }
  assert.equal(checkRequest('openai-responses', responses)?.message, "Unknown parameter: 'constructor'.")
})

test('a vendor without a double is an error that lists the others', () => {
  assert.throws(() => vendorDouble('nobody' as VendorName), /no double for "nobody": use one of anthropic/)
})

const turns = fc.record(
  {
    thinking: fc.string(),
    text: fc.string(),
    calls: fc.array(
      fc.record({
        name: fc.constant('read'),
        input: fc.dictionary(fc.string(), fc.jsonValue()),
        cut: fc.boolean(),
      }),
    ),
    stop: fc.constantFrom('end', 'tool', 'length', 'stop-sequence', 'pause', 'refusal', 'filter', 'context'),
    refusal: fc.string(),
    chunk: fc.integer({ min: 1, max: 9 }),
  },
  { requiredKeys: [] },
)

test('a random turn never makes a message that Anthropic could not send, whole or streamed', () => {
  const vendor = vendorDouble('anthropic')
  const request = {
    route: { kind: 'create', params: {} },
    query: new URLSearchParams(),
    headers: {},
    body: { model: 'm' },
    rawText: '',
  }
  fc.assert(
    fc.property(turns, made => {
      const { body, frames } = vendor.respond(made, request, vendor.memory())
      // The server does not know the answer's type; the vendor's own tests pin these shapes.
      const message = body as { content: { type: string }[]; stop_reason: string }
      const hasCall = message.content.some(block => block.type === 'tool_use')
      assert.ok(message.stop_reason !== 'tool_use' || hasCall)
      assert.ok(!(hasCall && ['end_turn', 'pause_turn', 'stop_sequence'].includes(message.stop_reason)))
      const opened = frames.filter(frame => frame.event === 'content_block_start').length
      assert.equal(opened, message.content.length)
      assert.equal(frames.filter(frame => frame.event === 'content_block_stop').length, opened)
      assert.equal(frames.at(-1)?.event, 'message_stop')
    }),
  )
})

test('a random turn of Gemini or Interactions has calls exactly when its stop says so', () => {
  const gemini = vendorDouble('gemini')
  const route = { kind: 'create', params: { model: 'gemini-3-pro' } }
  const request = {
    route,
    query: new URLSearchParams(),
    headers: {},
    body: { model: 'gemini-3-pro' },
    rawText: '',
  }
  const interactions = vendorDouble('gemini-interactions')
  fc.assert(
    fc.property(turns, made => {
      const { body } = gemini.respond(made, request, gemini.memory())
      // As above: shapes that the vendors' own tests pin.
      const response = body as { candidates?: { finishReason: string; content: { parts?: object[] } }[] }
      const one = response.candidates?.[0]
      const hasCall = one?.content.parts?.some(part => 'functionCall' in part) ?? false
      assert.ok(!hasCall || ['STOP', 'MAX_TOKENS'].includes(one?.finishReason ?? ''))
      const answered = interactions.respond(made, request, interactions.memory()).body
      const interaction = answered as { status: string; steps: { type: string }[] }
      const waits = interaction.steps.some(step => step.type === 'function_call')
      assert.ok(!(interaction.status === 'completed' && waits))
      assert.ok(!(interaction.status === 'requires_action' && !waits))
    }),
  )
})

for (const [vendor, path] of [
  ['anthropic', '/v1/messages'],
  ['gemini-interactions', '/v1beta/interactions'],
] as const) {
  test(`${vendor}: arguments that are not an object are sent as scripted`, async t => {
    const client = CLIENTS.find(one => one.vendor === vendor && one.path === path)!
    for (const text of ['[]', '"x"', 'null', '{"a":1}{"b":2}']) {
      const said = await (
        await send(t, client, { calls: [{ name: 'read' }], fault: { kind: 'arguments', text } })
      ).text()
      assert.ok(said.includes(JSON.stringify(text).slice(1, -1)), text)
    }
  })
}
