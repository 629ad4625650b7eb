// Answers of Interactions, from the strict double and as raw events: every form, end and fault.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Entry } from '../../../language/history.ts'
import { isJsonObject, type JsonObject } from '../../../lib/json/index.ts'
import { asString } from '../../common/json-read.ts'
import {
  answerOf,
  bodyOf,
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
import { geminiInteractions } from './index.ts'

const talk = () => startTalk(geminiInteractions)
const prepare = (history: Entry[], over: Parameters<typeof request>[0] = {}, to = target()) =>
  geminiInteractions.prepare(request({ history, ...over }), to)
const stepsFor = (
  history: Entry[],
  over: Parameters<typeof request>[0] = {},
  to = target(),
): JsonObject[] => {
  const input = bodyOf(prepare(history, over, to))['input']
  return Array.isArray(input) ? input.filter(isJsonObject) : []
}
const typesOf = (steps: readonly JsonObject[]) => steps.map(step => step['type'])
const two = [
  { name: 'read', input: { p: 'x' } },
  { name: 'read', input: { p: 'y' } },
]

// ---- answers -----------------------------------------------------------------------------------------------

const read = (...events: JsonObject[]) =>
  fold(
    geminiInteractions,
    prepare([user('a')]),
    events.map(event => ({ event: asString(event['event_type']), data: JSON.stringify(event) })),
  )
const start = (index: number, step: JsonObject): JsonObject => ({ event_type: 'step.start', index, step })
const delta = (index: number, fields: JsonObject): JsonObject => ({
  event_type: 'step.delta',
  index,
  delta: fields,
})
const stopStep = (index: number): JsonObject => ({ event_type: 'step.stop', index })
const completed = (status: string, over: JsonObject = {}): JsonObject => ({
  event_type: 'interaction.completed',
  interaction: { id: 'v1', status, ...over },
})

test('a stream and the whole interaction are the same answer', () => {
  const heard = talk().ask({
    thinking: 'žluť',
    text: 'kůň 😀',
    calls: two,
    chunk: 2,
    usage: { total_thought_tokens: 4, total_cached_tokens: 2 },
  })
  const whole = fold(geminiInteractions, heard.prepared, [{ data: JSON.stringify(heard.whole) }])
  assert.deepEqual(answerOf(whole), answerOf(heard))
  assert.equal(answerOf(heard).usage?.thinking, 4)
  assert.deepEqual(answerOf(heard).origin, { protocol: 'gemini-interactions', family: 'gemini-3' })
})

test('faults of the stream', () => {
  const double = talk()
  for (const kind of ['eof-before-end', 'eof-after-tool-name', 'error-event'] as const) {
    const failure = failureOf(double.ask({ text: 'x', calls: two, fault: { kind } }))
    assert.deepEqual([failure.code, failure.retry], ['model_failed', true], kind)
  }
  const loud = double.ask({
    text: 'x',
    calls: two,
    fault: [{ kind: 'unknown-events' }, { kind: 'ping-flood' }],
  })
  assert.equal(callsIn(answerOf(loud)).length, 2)
  const torn = fold(geminiInteractions, prepare([user('a')]), [{ data: '{"event_' }])
  assert.equal(failureOf(torn).retry, true)
})

test('steps of unknown kinds are kept, with their deltas merged in', () => {
  const answer = answerOf(
    read(
      start(0, { type: 'google_search_call', id: 's1', arguments: {} }),
      delta(0, { type: 'google_search_call', arguments: { queries: ['x'] }, signature: 'QQ==' }),
      stopStep(0),
      start(1, { type: 'future_step', id: 'f1', result: 'ab', list: [1] }),
      delta(1, { type: 'future_step', result: 'cd', list: [2] }),
      stopStep(1),
      start(2, { type: 'model_output', content: [] }),
      delta(2, { type: 'text', text: 'so' }),
      delta(2, { type: 'image', data: 'QQ==', mime_type: 'image/png' }),
      delta(2, { type: 'text_annotation_delta', annotations: [] }),
      completed('completed'),
    ),
  )
  assert.deepEqual(
    answer.parts.map(part => (part.type === 'hosted' ? part.native.data : part)),
    [
      { type: 'google_search_call', id: 's1', arguments: { queries: ['x'] }, signature: 'QQ==' },
      { type: 'future_step', id: 'f1', result: 'abcd', list: [1, 2] },
      { type: 'text', text: 'so' },
      { type: 'model_output', content: [{ type: 'image', data: 'QQ==', mime_type: 'image/png' }] },
    ],
  )
  const steps = stepsFor([user('a'), entryOf(answer), user('b')])
  assert.deepEqual(typesOf(steps), [
    'user_input',
    'google_search_call',
    'future_step',
    'model_output',
    'model_output',
    'user_input',
  ])
})

test('statuses', () => {
  const said = [start(0, { type: 'model_output', content: [{ type: 'text', text: 'a' }] }), stopStep(0)]
  const asked = [
    start(0, { type: 'function_call', id: 'c', name: 'read', arguments: { p: 'x' } }),
    stopStep(0),
  ]
  assert.equal(answerOf(read(...said, completed('completed'))).stop, 'end')
  assert.equal(answerOf(read(...asked, completed('requires_action'))).stop, 'calls')
  assert.equal(answerOf(read(...said, completed('incomplete'))).stop, 'length')
  assert.equal(answerOf(read(...said, completed('budget_exceeded'))).stop, 'length')
  assert.equal(failureOf(read(...said, completed('cancelled'))).retry, false)
  assert.equal(failureOf(read(...said, completed('in_progress'))).retry, true)
  assert.deepEqual(callsIn(answerOf(read(...asked, completed('requires_action'))))[0]?.text, '{"p":"x"}')
})

test('a call that was never closed is cut, unless the vendor waits for its result and it is whole', () => {
  const open = (text: string) => [
    start(0, { type: 'function_call', id: 'c', name: 'read', arguments: {} }),
    delta(0, { type: 'arguments_delta', arguments: text }),
  ]
  const cut = (text: string, status: string) =>
    callsIn(answerOf(read(...open(text), completed(status))))[0]?.cut
  assert.equal(cut('{"p":"x"}', 'incomplete'), true)
  assert.equal(cut('{"p":', 'requires_action'), true)
  assert.equal(cut('{"p":"x"}', 'requires_action'), undefined)
})

test('blocked answers and unreadable calls are answers; all other errors are failures', () => {
  const failed = (code: string) => completed('failed', { errors: [{ code, message: 'why' }] })
  const asked = [
    start(0, { type: 'function_call', id: 'c', name: 'read', arguments: {} }),
    delta(0, { type: 'arguments_delta', arguments: '{"p"' }),
    stopStep(0),
  ]
  for (const code of ['safety', 'recitation', 'content_blocked', 'image_safety']) {
    const answer = answerOf(read(...asked, failed(code)))
    assert.deepEqual([answer.stop, callsIn(answer)[0]?.cut], ['filter', true])
  }
  for (const code of ['malformed_function_call', 'malformed_tool_call', 'unexpected_tool_call']) {
    const answer = answerOf(read(...asked, failed(code)))
    assert.deepEqual([answer.stop, callsIn(answer)[0]?.cut], ['calls', true])
    assert.equal(failureOf(read(failed(code))).retry, true)
  }
  for (const code of ['missing_thought_signature', 'too_many_tool_calls', 'invalid_request'])
    assert.deepEqual(
      [failureOf(read(failed(code))).code, failureOf(read(failed(code))).retry],
      ['model_rejected', false],
    )
  assert.equal(
    failureOf(read({ event_type: 'error', error: { code: 'internal_error', message: 'x' } })).retry,
    true,
  )
})

test('a malformed call becomes a cut call that goes back to the model', () => {
  for (const text of ['{"a":1}{"b":2}', '{"p":']) {
    const double = talk()
    const answer = answerOf(double.ask({ thinking: 'hm', calls: [{ name: 'read', text }] }))
    assert.deepEqual(
      callsIn(answer).map(one => [one.text, one.cut]),
      [[text, true]],
    )
    const entry = entryOf(answer)
    double.ask(
      { text: 'x' },
      request({ history: [user('a'), entry, results(entry, outcome('no', 'invalid'))] }),
    )
  }
})

test('error statuses, with codes as text and in the old format', () => {
  const fail = (...given: Parameters<typeof geminiInteractions.failure>) =>
    geminiInteractions.failure(...given)
  const old = [{ error: { code: 400, message: 'API key not valid.', status: 'INVALID_ARGUMENT' } }]
  assert.deepEqual(fail(400, new Headers(), old), {
    code: 'model_rejected',
    message: '400 INVALID_ARGUMENT: API key not valid.',
    retry: false,
  })
  const gone = fail(404, new Headers(), {
    error: { code: 'not_found', message: "Interaction 'v1' not found." },
  })
  assert.equal(gone.forgotten, true)
  assert.equal(
    fail(429, new Headers({ 'retry-after': '2' }), { error: { code: 'rate_limit_exceeded', message: 'x' } })
      .retryAfterMs,
    2000,
  )
})
