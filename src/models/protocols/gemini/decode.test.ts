// Answers of generateContent, from the strict double and as raw chunks: every form, end and fault.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ModelAnswer } from '../../../engine/ports/index.ts'
import type { ScriptedTurn } from '../../../testing/doubles/index.ts'
import {
  answerOf,
  callsIn,
  entryOf,
  failureOf,
  fold,
  outcome,
  request,
  results,
  startTalk,
  target,
  user,
} from '../google/harness.test.ts'
import { geminiGenerate } from './index.ts'

const talk = () => startTalk(geminiGenerate)
const two = [
  { name: 'read', input: { p: 'x' } },
  { name: 'read', input: { p: 'y' } },
]

// ---- answers -----------------------------------------------------------------------------------------------

const chunk = (parts: object[], over: object = {}): { data: string } => ({
  data: JSON.stringify({ candidates: [{ content: { role: 'model', parts }, ...over }] }),
})
const read = (...frames: { data: string }[]) =>
  fold(geminiGenerate, geminiGenerate.prepare(request(), target()), frames)
const stop = chunk([], { finishReason: 'STOP' })

test('a stream, a whole body and a list of chunks give the same thoughts, text and usage', () => {
  const turn: ScriptedTurn = {
    thinking: 'žluťoučký',
    text: 'kůň 😀 pěl',
    calls: two,
    chunk: 2,
    usage: {
      cachedContentTokenCount: 3,
      toolUsePromptTokenCount: 2,
      promptTokenCount: 10,
      candidatesTokenCount: 5,
      thoughtsTokenCount: 4,
    },
  }
  const heard = talk().ask(turn)
  const { origin, usage, parts } = answerOf(heard)
  assert.deepEqual(origin, { protocol: 'gemini', family: 'gemini-3' })
  assert.deepEqual(usage, { input: 12, output: 9, cacheRead: 3, thinking: 4 })
  assert.deepEqual(
    parts.map(part => part.type),
    ['thinking', 'text', 'call', 'call'],
  )
  const list = read({ data: `[${heard.frames.map(frame => frame.data).join(',')}]` })
  assert.deepEqual(answerOf(list), answerOf(heard))
  const whole = answerOf(read({ data: JSON.stringify(heard.whole) }))
  const types = (answer: ModelAnswer) => answer.parts.map(part => part.type)
  assert.deepEqual(types(whole), types(answerOf(heard)))
})

test('a signed text is not joined with its neighbours', () => {
  const answer = answerOf(
    read(
      chunk([{ text: 'a' }, { text: 'b', thoughtSignature: 'QQ==' }, { text: 'c' }]),
      chunk([{ text: 'd' }]),
      stop,
    ),
  )
  assert.deepEqual(
    answer.parts.map(part => [part.type === 'text' && part.text, part.native?.data]),
    [
      ['a', undefined],
      ['b', { text: 'b', thoughtSignature: 'QQ==' }],
      ['cd', undefined],
    ],
  )
})

test('a signature without any data is kept on an empty text', () => {
  const answer = answerOf(read(chunk([{ thoughtSignature: 'QQ==' }]), stop))
  assert.deepEqual(answer.parts[0]?.native?.data, { text: '', thoughtSignature: 'QQ==' })
})

test('only the first candidate is read, and unknown chunks are ignored', () => {
  const answer = answerOf(
    read(
      { data: '{"someFutureField":{}}' },
      { data: '' },
      {
        data: JSON.stringify({
          candidates: [
            { index: 1, content: { parts: [{ text: 'no' }] } },
            { content: { parts: [{ text: 'yes' }] } },
          ],
        }),
      },
      stop,
    ),
  )
  assert.deepEqual(answer.parts, [{ type: 'text', text: 'yes' }])
})

const streamed = (functionCall: object, over: object = {}) => chunk([{ functionCall, ...over }])

test('arguments are kept as they were written, to the last digit', () => {
  const args = '{ "id": 12345678901234567890, "at": "\\u00e9" }'
  const parts = `[{"text":"Go."},{"functionCall":{"name":"read","args":${args}}},{"functionCall":{"name":"read"}}]`
  const answer = answerOf(read({ data: `{"candidates":[{"content":{"parts":${parts}}}]}` }, stop))
  assert.deepEqual(
    callsIn(answer).map(call => call.text),
    [args, '{}'],
  )
})

test('arguments that Vertex streams in pieces are one call, with its signature', () => {
  const frames = [
    streamed({ id: 'f1', name: 'read', willContinue: true }, { thoughtSignature: 'QQ==' }),
    streamed({
      partialArgs: [{ jsonPath: '$.p', stringValue: 'New ', willContinue: true }],
      willContinue: true,
    }),
    streamed({ partialArgs: [{ jsonPath: '$.p', stringValue: 'York' }], willContinue: true }),
    streamed({
      partialArgs: [
        { jsonPath: "$.list[0]['a b']", numberValue: 1.5 },
        { jsonPath: '$.list[1]', boolValue: true },
        { jsonPath: '$.n', nullValue: 'NULL_VALUE' },
        { jsonPath: '$.__proto__.x', stringValue: 'own' },
      ],
      willContinue: true,
    }),
    streamed({}),
    stop,
  ]
  const [found] = callsIn(answerOf(read(...frames)))
  assert.equal(found?.text, '{"p":"New York","list":[{"a b":1.5},true],"n":null,"__proto__":{"x":"own"}}')
  assert.equal(found?.cut, undefined)
  assert.deepEqual(found?.native?.data, {
    functionCall: { id: 'f1', name: 'read' },
    thoughtSignature: 'QQ==',
  })
  assert.equal(Object.hasOwn(Object.prototype, 'x'), false)
})

test('a streamed call that never ends, or has unusable pieces, is cut', () => {
  const open = [
    streamed({ name: 'read', willContinue: true }),
    streamed({
      partialArgs: [{ jsonPath: '$.p', stringValue: 'x', willContinue: true }],
      willContinue: true,
    }),
  ]
  const answer = answerOf(read(...open, chunk([], { finishReason: 'MAX_TOKENS' })))
  assert.equal(answer.stop, 'length')
  assert.deepEqual(
    callsIn(answer).map(one => [one.text, one.cut]),
    [['{"p":"x"}', true]],
  )
  for (const jsonPath of ['$.a[7]', 'a', '$.a..b', '$', '$.a[*]']) {
    const odd = answerOf(
      read(streamed({ name: 'read', partialArgs: [{ jsonPath, stringValue: 'x' }] }), stop),
    )
    assert.equal(callsIn(odd)[0]?.cut, true, jsonPath)
  }
  const next = answerOf(read(...open, streamed({ name: 'read', args: { p: 'y' } }), stop))
  assert.deepEqual(
    callsIn(next).map(one => [one.text, one.cut]),
    [
      ['{"p":"x"}', true],
      ['{"p":"y"}', undefined],
    ],
  )
})

for (const text of ['[]', '"x"', 'null', '7'])
  test(`arguments ${text} are shown as they are, and can be said in a history`, () => {
    const double = talk()
    const answer = answerOf(double.ask({ calls: [{ name: 'read', text }] }))
    assert.equal(callsIn(answer)[0]?.text, text === 'null' ? '{}' : text)
    const entry = entryOf(answer)
    double.ask(
      { text: 'x' },
      request({ history: [user('a'), entry, results(entry, outcome('no', 'invalid'))] }),
    )
  })

test('a stream without a finish reason is a failure that may be retried', () => {
  const double = talk()
  for (const kind of ['eof-before-end', 'eof-after-tool-name'] as const) {
    const failure = failureOf(double.ask({ text: 'x', calls: two, fault: { kind } }))
    assert.deepEqual([failure.code, failure.retry], ['model_failed', true])
  }
  assert.equal(failureOf(read({ data: '{"cand' })).retry, true)
})

test('errors in a stream, alone or in a list', () => {
  const heard = talk().ask({ text: 'x', fault: { kind: 'error-event' } })
  assert.deepEqual([failureOf(heard).code, failureOf(heard).retry], ['model_failed', true])
  const listed = read({ data: '[{"error":{"code":400,"message":"no","status":"INVALID_ARGUMENT"}}]' })
  assert.deepEqual(failureOf(listed), {
    code: 'model_rejected',
    message: '400 INVALID_ARGUMENT: no',
    retry: false,
  })
})

test('unknown events and pings change nothing', () => {
  const turn = { text: 'hello', calls: two }
  const quiet = answerOf(talk().ask(turn))
  const loud = answerOf(talk().ask({ ...turn, fault: [{ kind: 'unknown-events' }, { kind: 'ping-flood' }] }))
  assert.deepEqual(
    loud.parts.map(part => part.type),
    quiet.parts.map(part => part.type),
  )
})

test('an answer that hit the token limit stops with length and has no partial call', () => {
  const answer = answerOf(talk().ask({ calls: two, fault: { kind: 'max-tokens-in-arguments' } }))
  assert.equal(answer.stop, 'length')
  assert.equal(callsIn(answer).length, 1)
})

const FINISH = [
  ['STOP', 'end'],
  ['MAX_TOKENS', 'length'],
  ['SAFETY', 'filter'],
  ['RECITATION', 'filter'],
  ['LANGUAGE', 'filter'],
  ['BLOCKLIST', 'filter'],
  ['PROHIBITED_CONTENT', 'filter'],
  ['SPII', 'filter'],
  ['OTHER', 'filter'],
  ['IMAGE_SAFETY', 'filter'],
  ['SOMETHING_NEW', 'end'],
] as const
for (const [reason, expected] of FINISH)
  test(`finish reason ${reason} is ${expected}`, () => {
    const answer = answerOf(
      read(chunk([{ text: 'a' }]), chunk([], { finishReason: reason, finishMessage: 'why' })),
    )
    assert.equal(answer.stop, expected)
    const isPlain = reason === 'STOP' || reason === 'MAX_TOKENS'
    assert.equal(answer.warnings?.length ?? 0, isPlain ? 0 : 1)
  })

test('a filtered answer’s calls never run', () => {
  const answer = answerOf(read(streamed({ name: 'read', args: {} }), chunk([], { finishReason: 'SAFETY' })))
  assert.deepEqual(
    callsIn(answer).map(one => one.cut),
    [true],
  )
})

for (const [reason, code, retry] of [
  ['MALFORMED_FUNCTION_CALL', 'model_failed', true],
  ['UNEXPECTED_TOOL_CALL', 'model_failed', true],
  ['MALFORMED_RESPONSE', 'model_failed', true],
  ['TOO_MANY_TOOL_CALLS', 'model_rejected', false],
  ['MISSING_THOUGHT_SIGNATURE', 'model_rejected', false],
] as const)
  test(`finish reason ${reason} fails`, () => {
    const failure = failureOf(read(chunk([], { finishReason: reason })))
    assert.deepEqual([failure.code, failure.retry], [code, retry])
  })

test('a call that the service could not read becomes a cut call if it names its tool', () => {
  const double = talk()
  for (const finishMessage of [
    'Malformed function call: print(default_api.read(p="x)',
    'Malformed function call: read(p="x)',
  ]) {
    const answer = answerOf(
      read(chunk([{ text: 'so' }]), chunk([], { finishReason: 'MALFORMED_FUNCTION_CALL', finishMessage })),
    )
    assert.equal(answer.stop, 'calls')
    assert.deepEqual(
      callsIn(answer).map(({ name, text, cut }) => [name, text, cut]),
      [['read', 'p="x)', true]],
    )
    const entry = entryOf(answer)
    double.ask(
      { text: 'x' },
      request({ history: [user('a'), entry, results(entry, outcome('cut', 'invalid'))] }),
    )
  }
  assert.equal(failureOf(double.ask({ calls: two, fault: { kind: 'malformed-function-call' } })).retry, true)
})

test('a tool name with the model’s namespace before it is recognised', () => {
  const answer = answerOf(
    read(
      streamed({ name: 'default_api:read', args: {} }),
      streamed({ name: 'default_api.patch', args: { input: 'x' } }),
      streamed({ name: 'nobody', args: {} }),
      stop,
    ),
  )
  assert.deepEqual(
    callsIn(answer).map(({ name, form }) => [name, form]),
    [
      ['read', 'json'],
      ['patch', 'text'],
      ['nobody', 'json'],
    ],
  )
})

test('a blocked prompt is an empty answer that stops with filter', () => {
  const answer = answerOf(talk().ask({ stop: 'filter' }))
  assert.deepEqual([answer.parts, answer.stop], [[], 'filter'])
  assert.match(answer.warnings?.join() ?? '', /PROHIBITED_CONTENT/)
})

// ---- failures ----------------------------------------------------------------------------------------------

test('error statuses are failures, with the vendor’s retry delay', () => {
  const error = (status: number, over: object = {}) => ({
    error: { code: status, message: 'no', status: 'X', ...over },
  })
  const headers = (init: Record<string, string> = {}) => new Headers(init)
  const fail = (...given: Parameters<typeof geminiGenerate.failure>) => geminiGenerate.failure(...given)
  assert.deepEqual(fail(429, headers({ 'retry-after': '7' }), error(429)), {
    code: 'model_limited',
    message: '429 X: no',
    retry: true,
    retryAfterMs: 7000,
  })
  const date = { 'retry-after': 'Thu, 01 Jan 2026 00:00:09 GMT', date: 'Thu, 01 Jan 2026 00:00:00 GMT' }
  assert.equal(fail(503, headers(date), error(503)).retryAfterMs, 9000)
  const details = [{ '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '1.5s' }]
  assert.equal(fail(429, headers(), error(429, { details })).retryAfterMs, 1500)
  const spent = [{ violations: [{ quotaId: 'GenerateRequestsPerDayPerProject' }] }]
  assert.equal(fail(429, headers(), error(429, { details: spent })).retry, false)
  assert.equal(fail(504, headers(), error(504)).code, 'model_timeout')
  assert.deepEqual(
    [400, 401, 403, 404].map(status => fail(status, headers(), [error(status)] as never).retry),
    [false, false, false, false],
  )
  assert.match(fail(500, headers(), 'a page').message, /^500: a page$/)
  assert.match(fail(500, headers(), null).message, /no reason/)
})
