import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import fc from 'fast-check'
import { parseBody, surrogateProblem } from './body.ts'
import type { VendorName } from './double.ts'
import { bendFrames, cutBytes, FAULT_KINDS, type Fault, frameText, reshapeTurn } from './faults.ts'
import { createPlayer, type Frame, type ScriptedTurn, scriptedStop, splitText } from './script.ts'
import { readScript } from './script-data.ts'
import { startDouble, vendorDouble } from './vendors.ts'

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
  test(`${client.vendor}: a plain stream, one-byte writes, CRLF and split UTF-8 say the same`, async t => {
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

  test(`${client.vendor}: a clean end comes before the terminal event, or right after a tool's name`, async t => {
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

  test(`${client.vendor}: noise adds to a stream and takes nothing from it`, async t => {
    const whole = events(await (await send(t, client, turn)).text()).length
    for (const kind of ['unknown-events', 'ping-flood'] as const) {
      const noisy = events(await (await send(t, client, { ...turn, fault: { kind } })).text())
      assert.ok(noisy.length > whole, kind)
    }
  })

  test(`${client.vendor}: 429 says when to come back, in seconds or as a date; 5xx are the vendor's own`, async t => {
    const seconds = await send(t, client, { fault: { kind: 'rate-limit', retryAfter: 7 } })
    assert.deepEqual([seconds.status, seconds.headers.get('retry-after')], [429, '7'])
    const dated = await send(t, client, { fault: { kind: 'rate-limit', retryAfter: 60, as: 'http-date' } })
    assert.ok(Date.parse(dated.headers.get('retry-after') ?? '') > Date.now())
    assert.equal((await send(t, client, { fault: { kind: 'server-error' } })).status, 500)
    const overloaded = await send(t, client, { fault: { kind: 'overloaded' } })
    assert.ok([503, 529].includes(overloaded.status))
  })

  test(`${client.vendor}: it hangs before a byte, after the headers, amid frames, and resets`, async t => {
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

  test(`${client.vendor}: odd ids, odd tools and odd arguments are said as told`, async t => {
    const said = async (fault: Fault): Promise<string> => (await send(t, client, { ...turn, fault })).text()
    assert.match(await said({ kind: 'tool-not-offered' }), /tool_nobody_offered/)
    assert.match(await said({ kind: 'call-ids', ids: 'long' }), /call_0_x{400}/)
    assert.match(await said({ kind: 'call-ids', ids: 'duplicate' }), /call_same/)
    const twice = await said({ kind: 'same-function-twice' })
    assert.ok((twice.match(/"name":"read"/g) ?? []).length >= 2)
  })

  test(`${client.vendor}: a script that has run out answers 422`, async t => {
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

test('a random turn never yields an impossible pair', () => {
  fc.assert(
    fc.property(turns, made => {
      const stop = scriptedStop(made, {})
      const calls = made.calls?.length ?? 0
      assert.ok(!(stop === 'tool' && calls === 0))
      assert.ok(!(calls > 0 && ['end', 'pause', 'stop-sequence'].includes(stop)))
      assert.ok(!(stop === 'tool' && made.calls?.some(call => call.cut)))
    }),
  )
})

test('a random turn never yields an impossible message of Anthropic, whole or streamed', () => {
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
      // The vendor's answer is unknown to the frame; its own tests pin these shapes.
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

test('a random turn of Gemini and of Interactions has calls exactly when it says so', () => {
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

test('an unknown stop is said to be one, with what can be used', () => {
  assert.throws(
    () => scriptedStop({ stop: 'finished' }, { end_turn: 'end' }),
    /unknown stop "finished".*end_turn/,
  )
})

test('a player gives pushed turns after a list and before a function', () => {
  const list = createPlayer([{ text: 'a' }])
  list.push([{ text: 'b' }])
  assert.deepEqual(
    [list.next(null)?.turn.text, list.next(null)?.turn.text, list.next(null)],
    ['a', 'b', null],
  )
  const made = createPlayer((_, turn) => ({ text: String(turn) }))
  made.push([{ text: 'first' }])
  assert.deepEqual([made.next(null)?.turn.text, made.next(null)?.turn.text], ['first', '1'])
})

test('pieces join to the text and never split a pair', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), fc.integer({ min: 1, max: 5 }), (text, size) => {
      const parts = splitText(text, size)
      assert.equal(parts.join(''), text)
      assert.ok(parts.every(part => part.isWellFormed()))
    }),
  )
})

test('bytes cut inside characters join to the same bytes', () => {
  const bytes = Buffer.from('a č 😀 b', 'utf8')
  const cuts = cutBytes(bytes, 'inside-utf8')
  assert.ok(cuts.length > 1)
  assert.deepEqual(Buffer.concat(cuts), bytes)
  assert.ok(cuts.slice(1).every(part => ((part[0] ?? 0) & 0xc0) === 0x80))
})

test('a frame has one data line per line', () => {
  assert.equal(frameText({ event: 'e', data: 'a\nb' }), 'event: e\ndata: a\ndata: b\n\n')
  assert.equal(frameText({ data: 'hi', comment: true }, '\r\n'), ': hi\r\n\r\n')
})

test('max tokens in arguments cuts the last call and stops for length', () => {
  const cut = reshapeTurn({
    calls: [{ name: 'a' }, { name: 'b', input: { long: 'text' } }],
    fault: { kind: 'max-tokens-in-arguments' },
  })
  assert.deepEqual(cut.calls?.[1]?.text, '{"long"')
  assert.equal(scriptedStop(cut, {}), 'length')
})

test('a frame fault on frames without marks still ends early', () => {
  const frames: Frame[] = [{ data: '1' }, { data: '2' }]
  const maker = { errorFrame: () => ({ data: 'e' }), noiseFrame: () => null }
  assert.deepEqual(bendFrames(frames, [{ kind: 'eof-before-end' }], maker), [{ data: '1' }])
  assert.deepEqual(bendFrames(frames, [{ kind: 'eof-after-tool-name' }], maker), frames)
})

test('every kind of fault is listed once', () => {
  assert.equal(new Set(FAULT_KINDS).size, FAULT_KINDS.length)
})

test('a body is read strictly: type, UTF-8, JSON, surrogates; duplicate keys pass', () => {
  const read = (text: string | Buffer, type = 'application/json'): string | undefined =>
    parseBody(Buffer.from(text), type).problem?.kind
  assert.equal(read('{}', 'text/plain'), 'content-type')
  assert.equal(read(Buffer.from([0x22, 0xff, 0x22])), 'utf8')
  assert.equal(read('{"a":'), 'json')
  assert.equal(read(String.raw`{"a":"\ud83d"}`), 'surrogate')
  assert.equal(read(String.raw`{"a":"\ud83d\ude00"}`), undefined)
  assert.equal(read(String.raw`{"a":"\\ud83d"}`), undefined)
  assert.equal(read('{"a":1,"a":2}'), undefined)
  assert.deepEqual(surrogateProblem(String.raw`"x\ude00"`), {
    kind: 'surrogate',
    at: 2,
    detail: 'no high surrogate in string',
  })
})

test('a script read from data says where a word is wrong', () => {
  const good = [{ text: 'hi', calls: [{ name: 'read', input: null }], fault: [{ kind: 'crlf' }] }]
  assert.deepEqual(readScript(good), good)
  assert.throws(() => readScript({}), /script must be a list of turns, not object/)
  assert.throws(() => readScript([{ txt: 'x' }]), /script\[0\]\.txt is not known: use one of thinking/)
  assert.throws(() => readScript([{ calls: [{ input: {} }] }]), /script\[0\]\.calls\[0\]\.name is missing/)
  assert.throws(() => readScript([{ chunk: '3' }]), /script\[0\]\.chunk must be number, not string/)
  assert.throws(() => readScript([{ fault: { kind: 'flood' } }]), /fault\.kind "flood" is not known/)
})

for (const [vendor, path] of [
  ['anthropic', '/v1/messages'],
  ['gemini-interactions', '/v1beta/interactions'],
] as const) {
  test(`${vendor}: arguments that are no object come as they were written`, async t => {
    const client = CLIENTS.find(one => one.vendor === vendor && one.path === path)!
    for (const text of ['[]', '"x"', 'null', '{"a":1}{"b":2}']) {
      const said = await (
        await send(t, client, { calls: [{ name: 'read' }], fault: { kind: 'arguments', text } })
      ).text()
      assert.ok(said.includes(JSON.stringify(text).slice(1, -1)), text)
    }
  })
}
