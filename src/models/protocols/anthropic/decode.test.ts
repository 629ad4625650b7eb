// Answers: the double's frames with every fault, compared with the vendor's own SDK, and frames that no script of the
// double can make.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import Anthropic from '@anthropic-ai/sdk'
import type { ModelAnswer, ModelCall, ModelDelta } from '../../../engine/ports/index.ts'
import type { Json, JsonObject } from '../../../lib/json/index.ts'
import type { Fault, ScriptedTurn } from '../../../testing/doubles/index.ts'
import type { Frame } from '../../protocol.ts'
import { answerOf, failureOf, fold, type Heard, request, startTalk, target, tool } from './harness.test.ts'
import { anthropicMessages } from './index.ts'

const tools = [tool('read'), tool('fs.read'), tool('patch', { input: { form: 'text' } })]
const prepared = anthropicMessages.prepare(request({ tools }), target())
const wire = (name: string): string =>
  [...prepared.reading.names].find(([, ours]) => ours === name)?.[0] ?? name
const own = { protocol: 'anthropic', family: 'claude' }

const hear = (turn: ScriptedTurn): Heard => startTalk().ask(request({ tools }), target(), turn)
const faulty = (
  fault: Fault,
  turn: ScriptedTurn = { text: 'héllo 😀', calls: [{ name: 'read', input: { p: 'x' } }] },
) => hear({ ...turn, fault })

const callsIn = (answer: ModelAnswer): ModelCall[] => answer.parts.filter(part => part.type === 'call')
const textIn = (answer: ModelAnswer): string =>
  answer.parts.map(part => (part.type === 'text' ? part.text : '')).join('')

/** The port's own contract: texts equal the sum of their deltas, and calls stand in the order of opening. */
function agrees(deltas: readonly ModelDelta[], answer: ModelAnswer): void {
  const sum = (type: 'text' | 'thinking'): string =>
    deltas.map(delta => (delta.type === type ? delta.text : '')).join('')
  const said = (type: 'text' | 'thinking'): string =>
    answer.parts.map(part => (part.type === type ? part.text : '')).join('')
  assert.equal(sum('text'), said('text'))
  assert.equal(sum('thinking'), said('thinking'))
  const opened = deltas.filter(delta => delta.type === 'call')
  const calls = callsIn(answer)
  assert.deepEqual(
    opened.map(({ name, form, index }) => ({ name, form, index })),
    calls.map(({ name, form }, index) => ({ name, form, index })),
  )
  for (const [index, { text }] of calls.entries()) {
    const shown = deltas.map(delta => (delta.type === 'arguments' && delta.index === index ? delta.text : ''))
    assert.equal(shown.join(''), text)
  }
}

const event = (type: string, fields: JsonObject = {}): Frame => ({
  event: type,
  data: JSON.stringify({ type, ...fields }),
})
const block = (index: number, content_block: JsonObject, ...deltas: JsonObject[]): Frame[] => [
  event('content_block_start', { index, content_block }),
  ...deltas.map(delta => event('content_block_delta', { index, delta })),
  event('content_block_stop', { index }),
]
const stream = (stop_reason: string, ...frames: Frame[]): Frame[] => [
  event('message_start', { message: { usage: { input_tokens: 3, output_tokens: 1 } } }),
  ...frames,
  event('message_delta', { delta: { stop_reason }, usage: { output_tokens: 9 } }),
  event('message_stop'),
]

describe('answers of the double', () => {
  test('thinking, text and calls in one answer', () => {
    const heard = hear({
      thinking: 'hm 😀',
      text: 'I look.',
      calls: [
        { name: 'read', input: { p: 'ä' } },
        { name: wire('fs.read'), input: {} },
      ],
      chunk: 1,
    })
    const answer = answerOf(heard)
    agrees(heard.deltas, answer)
    assert.equal(answer.stop, 'calls')
    assert.deepEqual(answer.origin, own)
    assert.deepEqual(
      callsIn(answer).map(({ name, text }) => [name, text]),
      [
        ['read', '{"p":"ä"}'],
        ['fs.read', '{}'],
      ],
    )
    assert.ok(callsIn(answer).every(({ nativeId }) => nativeId?.startsWith('toolu_')))
  })

  test('arguments keep the spaces and the order that the model wrote', () => {
    const text = '{ "b" : 1.0, "a": 12345678901234567890 }'
    const [call] = callsIn(answerOf(hear({ calls: [{ name: 'read', text }] })))
    assert.equal(call?.text, text)
  })

  test('the text of a text tool is unwrapped while it streams', () => {
    const heard = hear({ calls: [{ name: 'patch', input: { input: 'a "b"\n\\c 😀' } }], chunk: 2 })
    const answer = answerOf(heard)
    agrees(heard.deltas, answer)
    assert.deepEqual(callsIn(answer)[0]?.form, 'text')
    assert.deepEqual(callsIn(answer)[0]?.text, 'a "b"\n\\c 😀')
    assert.ok(heard.deltas.filter(delta => delta.type === 'arguments').length > 3)
  })

  test('every reason to stop', () => {
    const stops: [string, string][] = [
      ['end_turn', 'end'],
      ['stop_sequence', 'end'],
      ['max_tokens', 'length'],
      ['model_context_window_exceeded', 'length'],
      ['pause_turn', 'pause'],
      ['refusal', 'refusal'],
    ]
    for (const [theirs, ours] of stops) assert.equal(answerOf(hear({ text: 'x', stop: theirs })).stop, ours)
    const odd = answerOf(fold(prepared, stream('something_new', ...block(0, { type: 'text', text: 'x' }))))
    assert.equal(odd.stop, 'end')
    assert.match(odd.warnings?.[0] ?? '', /something_new/)
  })

  test('usage counts cached input as input, and reports thinking', () => {
    const usage = {
      input_tokens: 10,
      output_tokens: 7,
      cache_read_input_tokens: 100,
      cache_creation_input_tokens: 5,
    }
    const heard = startTalk().ask(request(), target(), {
      text: 'x',
      usage,
      extra: { usage: { ...usage, output_tokens_details: { thinking_tokens: 4 } } },
    })
    assert.deepEqual(answerOf(heard).usage, {
      input: 115,
      output: 7,
      cacheRead: 100,
      cacheWrite: 5,
      thinking: 4,
    })
  })

  test('signatures are kept byte for byte, also with empty thinking, and so is redacted thinking', () => {
    const signed = answerOf(hear({ thinking: { text: '', signature: 'Eq+/==' }, text: 'x' }))
    assert.deepEqual(signed.parts[0], {
      type: 'thinking',
      text: '',
      native: { origin: own, data: { type: 'thinking', thinking: '', signature: 'Eq+/==' } },
    })
    const redacted = answerOf(hear({ thinking: { text: '', redacted: 'EmwK' }, text: 'x' }))
    assert.deepEqual(redacted.parts[0]?.native?.data, { type: 'redacted_thinking', data: 'EmwK' })
  })

  test('a refusal drops the calls that were made before it', () => {
    const answer = answerOf(
      hear({ text: 'Well', calls: [{ name: 'read', input: {} }], stop: 'refusal', refusal: 'no' }),
    )
    assert.equal(answer.stop, 'refusal')
    assert.deepEqual(callsIn(answer), [])
    assert.match(answer.warnings?.join() ?? '', /read.*refused|refused.*no/)
  })
})

describe('faults', () => {
  test('max_tokens inside arguments cuts the call', () => {
    for (const keep of [0, 1, 5, 8]) {
      const heard = faulty({ kind: 'max-tokens-in-arguments', keep })
      const answer = answerOf(heard)
      agrees(heard.deltas, answer)
      assert.equal(answer.stop, 'length')
      assert.equal(callsIn(answer)[0]?.cut, true)
    }
    const text = faulty(
      { kind: 'max-tokens-in-arguments', keep: 14 },
      { calls: [{ name: 'patch', input: { input: 'abcdef' } }] },
    )
    assert.equal(callsIn(answerOf(text))[0]?.cut, true)
  })

  test('max_tokens after whole arguments, and in a later text, cuts no call', () => {
    const whole = block(
      0,
      { type: 'tool_use', id: 'toolu_1', name: 'read', input: {} },
      {
        type: 'input_json_delta',
        partial_json: '{"p":"x"}',
      },
    )
    const last = answerOf(fold(prepared, stream('max_tokens', ...whole)))
    assert.equal(callsIn(last)[0]?.cut, undefined)
    const none = block(0, { type: 'tool_use', id: 'toolu_1', name: 'read', input: {} })
    const before = answerOf(
      fold(prepared, stream('max_tokens', ...none, ...block(1, { type: 'text', text: 'and' }))),
    )
    assert.equal(callsIn(before)[0]?.cut, undefined)
    assert.equal(callsIn(before)[0]?.text, '{}')
  })

  test('an error event after a good status', () => {
    const overloaded = failureOf(faulty({ kind: 'error-event', after: 1 }))
    assert.deepEqual([overloaded.code, overloaded.retry], ['model_failed', true])
    assert.match(overloaded.message, /overloaded_error: Overloaded/)
    const wrong = failureOf(faulty({ kind: 'error-event', type: 'invalid_request_error', message: 'no' }))
    assert.deepEqual([wrong.code, wrong.retry], ['model_rejected', false])
    const late = failureOf(faulty({ kind: 'error-event', type: 'timeout_error' }))
    assert.deepEqual([late.code, late.retry], ['model_timeout', true])
  })

  test('a stream that ends early is a failure, not a short answer', () => {
    for (const kind of ['eof-before-end', 'eof-after-tool-name'] as const) {
      const failure = failureOf(faulty({ kind }))
      assert.equal(failure.code, 'model_failed')
      assert.equal(failure.retry, true)
    }
    assert.equal(failureOf(fold(prepared, [])).code, 'model_failed')
    assert.equal(failureOf(fold(prepared, [{ data: '{"type":"message_st' }])).code, 'model_failed')
  })

  test('unknown events, many pings and a delta with only usage change nothing', () => {
    const plain = answerOf(hear({ text: 'x', stop: 'max_tokens' }))
    for (const kind of ['unknown-events', 'ping-flood', 'usage-only-delta'] as const) {
      const answer = answerOf(faulty({ kind }, { text: 'x', stop: 'max_tokens' }))
      assert.deepEqual([answer.parts, answer.stop], [plain.parts, plain.stop])
    }
    const noise: Frame[] = [{ data: '[DONE]' }, { data: '' }, { data: 'null' }, { event: 'x', data: '{}' }]
    const frames = stream(
      'end_turn',
      ...noise,
      ...block(0, { type: 'text', text: '' }, { type: 'text_delta', text: 'a' }, { type: 'new_delta' }),
    )
    assert.equal(textIn(answerOf(fold(prepared, frames))), 'a')
  })

  test('blank ids are left out and repeated ids are kept; none is invented', () => {
    const blank = callsIn(answerOf(faulty({ kind: 'call-ids', ids: 'empty' })))
    assert.equal(blank[0]?.nativeId, undefined)
    const twice = faulty({ kind: 'same-function-twice' })
    agrees(twice.deltas, answerOf(twice))
    assert.equal(callsIn(answerOf(twice)).length, 2)
  })

  test('malformed arguments are kept for the gate, and an unknown tool keeps its name', () => {
    for (const text of ['[]', '"x"', 'null', '{"a":1}{"b":2}', '{"a":'])
      assert.equal(callsIn(answerOf(faulty({ kind: 'arguments', text })))[0]?.text, text)
    assert.equal(callsIn(answerOf(faulty({ kind: 'tool-not-offered', name: 'ghost' })))[0]?.name, 'ghost')
  })

  test('indexes that are missing or all the same never mix two calls', () => {
    const one = (partial_json: string): JsonObject => ({ type: 'input_json_delta', partial_json })
    const same = stream(
      'tool_use',
      ...block(0, { type: 'tool_use', id: 'a', name: 'read', input: {} }, one('{"a":1}')),
      ...block(0, { type: 'tool_use', id: 'b', name: 'read', input: {} }, one('{"b":2}')),
    )
    const missing = same.map(frame => {
      const { index: _, ...rest } = JSON.parse(frame.data) as JsonObject // frames of this test are objects
      return { ...frame, data: JSON.stringify(rest) }
    })
    for (const frames of [same, missing]) {
      const heard = fold(prepared, frames)
      agrees(heard.deltas, answerOf(heard))
      assert.deepEqual(
        callsIn(answerOf(heard)).map(call => call.text),
        ['{"a":1}', '{"b":2}'],
      )
    }
  })

  test('a block that was never closed: its call is cut', () => {
    const frames = stream(
      'tool_use',
      ...block(0, { type: 'tool_use', id: 'a', name: 'read', input: {} }).slice(0, 1),
    )
    assert.equal(callsIn(answerOf(fold(prepared, frames)))[0]?.cut, true)
  })

  test('a second start resets the deltas so far', () => {
    const first = stream('end_turn', ...block(0, { type: 'text', text: 'old' })).slice(0, -2)
    const heard = fold(prepared, [
      ...first,
      ...stream('end_turn', ...block(0, { type: 'text', text: 'new' })),
    ])
    assert.ok(heard.deltas.some(delta => delta.type === 'reset'))
    assert.equal(textIn(answerOf(heard)), 'new')
  })

  test('which statuses may be retried', () => {
    const cases: [number, string, boolean][] = [
      [400, 'model_rejected', false],
      [401, 'model_rejected', false],
      [404, 'model_rejected', false],
      [413, 'model_rejected', false],
      [408, 'model_timeout', true],
      [429, 'model_limited', true],
      [500, 'model_failed', true],
      [504, 'model_timeout', true],
      [529, 'model_failed', true],
    ]
    for (const [status, code, retry] of cases) {
      const body = { type: 'error', error: { type: 'some_error', message: 'because' }, request_id: 'req_1' }
      const failure = anthropicMessages.failure(status, new Headers({ 'request-id': 'req_1' }), body)
      assert.deepEqual([failure.code, failure.retry], [code, retry], `${status}`)
      assert.match(failure.message, /because/)
      assert.match(failure.message, /req_1/)
    }
    assert.match(anthropicMessages.failure(502, new Headers(), '<html>').message, /<html>/)
    assert.match(anthropicMessages.failure(502, new Headers(), '').message, /502/)
  })
})

describe('server tools', () => {
  const use = { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: {} }
  const result = {
    type: 'web_search_tool_result',
    tool_use_id: 'srvtoolu_1',
    content: [{ type: 'web_search_result', url: 'https://e.com', title: 'E', encrypted_content: 'xx' }],
  }
  const query = { type: 'input_json_delta', partial_json: '{"query":"q"}' }

  test('server tool blocks are kept whole, with a summary line', () => {
    const citation: Json = { type: 'web_search_result_location', url: 'https://e.com', encrypted_index: 'yy' }
    const frames = stream(
      'end_turn',
      ...block(0, use, query),
      ...block(1, result),
      ...block(
        2,
        { type: 'text', text: '', citations: [] },
        { type: 'citations_delta', citation },
        { type: 'text_delta', text: 'E.' },
      ),
    )
    const answer = answerOf(fold(prepared, frames))
    assert.deepEqual(answer.parts, [
      {
        type: 'hosted',
        tool: 'web_search',
        summary: '{"query":"q"}',
        native: { origin: own, data: { ...use, input: { query: 'q' } } },
      },
      { type: 'hosted', tool: 'web_search', summary: 'E', native: { origin: own, data: result } },
      { type: 'text', text: 'E.', native: { origin: own, data: { citations: [citation] } } },
    ])
  })

  test('a server tool block that was cut or has unknown deltas is left out with a warning', () => {
    const half = { type: 'input_json_delta', partial_json: '{"query":' }
    const cut = answerOf(fold(prepared, stream('max_tokens', ...block(0, use, half))))
    assert.deepEqual(cut.parts, [])
    assert.equal(cut.warnings?.length, 1)
    const odd = answerOf(
      fold(prepared, stream('end_turn', ...block(0, { type: 'new_thing' }, { type: 'new_delta' }))),
    )
    assert.deepEqual(odd.parts, [])
    const whole = answerOf(fold(prepared, stream('end_turn', ...block(0, { type: 'new_thing', x: 1 }))))
    assert.deepEqual(whole.parts[0]?.native?.data, { type: 'new_thing', x: 1 })
  })

  test('the container becomes continuity, and a call keeps its caller', () => {
    const container = { id: 'container_1', expires_at: '2026-11-20T00:00:00Z', skills: null }
    const caller = { type: 'code_execution_20260120', tool_id: 'srvtoolu_2' }
    const frames = [
      event('message_start', { message: { usage: { input_tokens: 1, output_tokens: 1 } } }),
      ...block(0, { type: 'tool_use', id: 'toolu_1', name: 'read', input: {}, caller }),
      event('message_delta', { delta: { stop_reason: 'tool_use', container } }),
      event('message_stop'),
    ]
    const answer = answerOf(fold(prepared, frames))
    assert.deepEqual(answer.continuity, { origin: own, data: { container } })
    assert.deepEqual(callsIn(answer)[0]?.native, { origin: own, data: { caller } })
  })
})

describe('streamed and whole answers agree with each other and with the vendor’s SDK', () => {
  const turns: ScriptedTurn[] = [
    { text: 'plain' },
    {
      thinking: 'hm',
      text: 'x 😀',
      calls: [
        { name: 'read', input: { p: 'y' } },
        { name: 'read', input: {} },
      ],
      chunk: 3,
    },
    { thinking: { text: '', signature: 'Eq' }, calls: [{ name: 'read', input: { p: [1, { a: null }] } }] },
    { text: 'cut', stop: 'max_tokens' },
    { thinking: { text: 'a', redacted: 'Em' }, text: 'b', stop: 'refusal' },
  ]

  for (const [index, turn] of turns.entries()) {
    test(`turn ${index}`, async () => {
      const heard = hear(turn)
      const answer = answerOf(heard)
      const message = await sdkMessage(heard.frames)
      const whole = fold(heard.prepared, [{ data: JSON.stringify(message) }])
      agrees(whole.deltas, answerOf(whole))
      assert.deepEqual(
        answerOf(whole).parts.map(part => ({ ...part, native: null })),
        answer.parts.map(part => ({ ...part, native: null })),
      )
      const text = message.content.map(each => (each.type === 'text' ? each.text : '')).join('')
      assert.equal(textIn(answer), text)
      const calls = message.content.filter(each => each.type === 'tool_use')
      assert.deepEqual(
        callsIn(answer).map(({ nativeId, name, text: written }) => [nativeId, name, JSON.parse(written)]),
        calls.map(({ id, name, input }) => [id, name, input]),
      )
      const thoughts = message.content.filter(each => each.type.endsWith('thinking'))
      const kept = answer.parts.flatMap(part => (part.type === 'thinking' ? (part.native?.data ?? []) : []))
      assert.deepEqual(kept, thoughts)
      const stops: Record<string, string> = {
        tool_use: 'calls',
        max_tokens: 'length',
        end_turn: 'end',
        refusal: 'refusal',
      }
      assert.equal(answer.stop, stops[message.stop_reason ?? ''])
      assert.equal(answer.usage?.output, message.usage.output_tokens)
    })
  }

  /** The SDK's own accumulation of the same frames. */
  async function sdkMessage(frames: readonly Frame[]): Promise<Anthropic.Message> {
    const body = frames.map(({ event: name, data }) => `event: ${name}\ndata: ${data}\n\n`).join('')
    const client = new Anthropic({
      apiKey: 'k',
      maxRetries: 0,
      fetch: () => Promise.resolve(new Response(body, { headers: { 'content-type': 'text/event-stream' } })),
    })
    const asked = { model: 'm', max_tokens: 9, messages: [{ role: 'user' as const, content: 'x' }] }
    return client.messages.stream(asked).finalMessage()
  }
})
