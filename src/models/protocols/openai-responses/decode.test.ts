// Answers: every form and fault of the strict double's streams, compared with the vendor's SDK.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { accumulateResponse } from 'openai/lib/responses/ResponseAccumulator'
import type { Response, ResponseStreamEvent } from 'openai/resources/responses/responses'
import type { ModelAnswer, ModelDelta } from '../../../engine/ports/index.ts'
import { isJsonObject, type JsonObject } from '../../../lib/json/index.ts'
import { bendFrames, listFaults, reshapeTurn } from '../../../testing/doubles/faults.ts'
import { openaiResponsesDouble as double } from '../../../testing/doubles/openai-responses/index.ts'
import type { ScriptedTurn } from '../../../testing/doubles/script.ts'
import type { Frame } from '../../protocol.ts'
import { halt, initial, type State, step } from './decode.ts'

const origin = { protocol: 'openai-responses', family: 'gpt' }
const names = new Map([['fs_read_1a2b', 'fs.read']])
const sealed: JsonObject = { model: 'm', input: 'x', store: false, include: ['reasoning.encrypted_content'] }

function play(turn: ScriptedTurn, body: JsonObject = sealed): { frames: Frame[]; whole: JsonObject } {
  const rawText = JSON.stringify(body)
  const request = {
    route: { kind: 'create', params: {} },
    query: new URLSearchParams(),
    headers: {},
    body,
    rawText,
  }
  const { body: whole, frames } = double.respond(reshapeTurn(turn), request, double.memory())
  const bent = bendFrames(frames, listFaults(turn), double).filter(frame => frame.comment !== true)
  // The double answers with plain JSON, or with null where the script gave the frames itself.
  return { frames: bent, whole: (whole ?? {}) as JsonObject }
}

function read(frames: readonly Frame[], state: State = initial({ names, origin, bound: [] })) {
  const deltas = frames.flatMap(frame => step(state, frame))
  return { deltas, end: halt(state) }
}

function answerOf(frames: readonly Frame[]): { answer: ModelAnswer; deltas: ModelDelta[] } {
  const { deltas, end } = read(frames)
  if ('failure' in end) assert.fail(end.failure.message)
  agrees(deltas, end.answer)
  return { answer: end.answer, deltas }
}

/** The contract: the deltas add up to the answer, call by call. */
function agrees(deltas: readonly ModelDelta[], answer: ModelAnswer): void {
  const after = deltas.slice(deltas.findLastIndex(delta => delta.type === 'reset') + 1)
  const shown = (type: 'text' | 'thinking') =>
    after.map(delta => (delta.type === type ? delta.text : '')).join('')
  const said = (type: 'text' | 'thinking') =>
    answer.parts.map(part => (part.type === type ? part.text : '')).join('')
  assert.equal(shown('text'), said('text'))
  assert.equal(shown('thinking'), said('thinking'))
  const calls: { name: string; form: string; text: string }[] = []
  for (const delta of after) {
    if (delta.type === 'call') {
      assert.equal(delta.index, calls.length)
      calls.push({ name: delta.name, form: delta.form, text: '' })
    } else if (delta.type === 'arguments') calls[delta.index]!.text += delta.text
  }
  const asked = answer.parts.filter(part => part.type === 'call')
  assert.deepEqual(
    calls,
    asked.map(({ name, form, text }) => ({ name, form, text })),
  )
}

const bare = ({ native: _native, ...part }: ModelAnswer['parts'][number]) => part
const nativesOf = (answer: ModelAnswer) => answer.parts.map(part => part.native?.data)
const callsOf = (answer: ModelAnswer) => answer.parts.filter(part => part.type === 'call')
const frame = (type: string, fields: JsonObject = {}): Frame => ({
  event: type,
  data: JSON.stringify({ type, ...fields }),
})
const completed = (fields: JsonObject = {}): Frame =>
  frame('response.completed', {
    response: { id: 'resp_1', object: 'response', status: 'completed', ...fields },
  })

test('thinking, text and parallel calls come in order, each with its own item', () => {
  const { frames, whole } = play({
    thinking: 'I should look',
    text: 'let me see',
    calls: [
      { id: 'call_1', name: 'fs_read_1a2b', input: { path: 'ä' } },
      { id: 'call_2', name: 'sql', custom: true, text: 'SELECT "ü"\n' },
    ],
    chunk: 3,
    usage: { input: 9, cached: 4, output: 7, reasoning: 2 },
  })
  const { answer, deltas } = answerOf(frames)
  assert.deepEqual(answer.parts.map(bare), [
    { type: 'thinking', text: 'I should look' },
    { type: 'text', text: 'let me see', phase: 'commentary' },
    { type: 'call', name: 'fs.read', form: 'json', text: '{"path":"ä"}', nativeId: 'call_1' },
    { type: 'call', name: 'sql', form: 'text', text: 'SELECT "ü"\n', nativeId: 'call_2' },
  ])
  assert.deepEqual(nativesOf(answer), whole['output'])
  assert.equal(answer.stop, 'calls')
  assert.deepEqual(answer.usage, { input: 9, output: 7, cacheRead: 4, thinking: 2 })
  assert.deepEqual(answer.origin, origin)
  assert.ok(deltas.filter(delta => delta.type === 'arguments').length > 5)
  assert.ok(!deltas.some(delta => delta.type === 'reset'))
})

test('a body that was not streamed gives the same answer, and deltas of its own', () => {
  const { frames, whole } = play({ thinking: 'hm', text: 'well', calls: [{ name: 'f', input: { a: 1 } }] })
  const streamed = answerOf(frames).answer
  const { answer, deltas } = answerOf([{ data: JSON.stringify(whole) }])
  assert.deepEqual(answer, streamed)
  assert.deepEqual(
    deltas.map(({ type }) => type),
    ['thinking', 'text', 'call', 'arguments'],
  )
})

test('encrypted content is taken from the finished item', () => {
  const { frames, whole } = play({ thinking: 'hm', text: 'y' })
  const [reasoning] = nativesOf(answerOf(frames).answer)
  const output = whole['output']
  assert.ok(Array.isArray(output))
  assert.deepEqual(reasoning, output[0])
  const early = frames.find(({ event }) => event === 'response.output_item.added')
  const unfinished = read([early!, completed({ output: [] })]).end
  assert.ok('answer' in unfinished)
  const kept = unfinished.answer.parts[0]?.native?.data
  assert.ok(isJsonObject(kept) && !('encrypted_content' in kept))
})

test('several summaries become one thinking part with breaks between them', () => {
  const raw = [
    {
      type: 'reasoning',
      summary: ['one', '', 'two'].map(text => ({ type: 'summary_text', text })),
      content: [{ type: 'reasoning_text', text: 'raw' }],
    },
  ]
  const { answer } = answerOf(play({ raw, text: 'x' }).frames)
  assert.equal(answer.parts[0]?.type === 'thinking' && answer.parts[0].text, 'one\n\ntwo\n\nraw')
})

test('a call in a filtered answer is cut, however whole it looks', () => {
  const { frames, whole } = play({ calls: [{ name: 'f', input: { a: 1 } }], stop: 'content_filter' })
  for (const { answer } of [answerOf(frames), answerOf([{ data: JSON.stringify(whole) }])]) {
    const calls = answer.parts.filter(part => part.type === 'call')
    assert.deepEqual([answer.stop, calls.map(({ cut }) => cut)], ['filter', [true]])
  }
})

const stops: [turn: ScriptedTurn, stop: ModelAnswer['stop']][] = [
  [{ text: 'x' }, 'end'],
  [{ calls: [{ name: 'f' }] }, 'calls'],
  [{ text: 'x', stop: 'length' }, 'length'],
  [{ text: 'x', stop: 'content_filter' }, 'filter'],
  [{ refusal: 'I will not' }, 'refusal'],
  [{ calls: [{ name: 'f', text: '{"a', cut: true }] }, 'length'],
]
for (const [turn, stop] of stops) {
  test(`stop ${stop}: ${JSON.stringify(turn)}`, () => {
    const { frames, whole } = play(turn)
    assert.equal(answerOf(frames).answer.stop, stop)
    assert.equal(answerOf([{ data: JSON.stringify(whole) }]).answer.stop, stop)
  })
}

test('a refusal is streamed as text', () => {
  const { answer } = answerOf(play({ refusal: 'I will not', chunk: 2 }).frames)
  assert.equal(answer.parts[0]?.type === 'text' && answer.parts[0].text, 'I will not')
})

test('a call that was never marked as done is cut, even in a completed response', () => {
  const calls = [
    { name: 'f', input: { a: 1 } },
    { name: 'g', input: { path: '/tmp' } },
  ]
  const { answer } = answerOf(play({ calls, fault: { kind: 'omit-arguments-done' } }).frames)
  assert.deepEqual(
    callsOf(answer).map(({ cut, text }) => [cut, text]),
    [
      [undefined, '{"a":1}'],
      [true, '{"path"'],
    ],
  )
  assert.equal(answer.stop, 'calls')
})

test('a call is cut if the output limit was hit in its arguments, streamed or not', () => {
  const turn: ScriptedTurn = {
    calls: [{ name: 'f', input: { path: '/tmp' } }],
    fault: { kind: 'max-tokens-in-arguments' },
  }
  const { frames, whole } = play(turn)
  for (const given of [frames, [{ data: JSON.stringify(whole) }]]) {
    const { answer } = answerOf(given)
    assert.equal(callsOf(answer)[0]?.cut, true)
    assert.equal(answer.stop, 'length')
  }
})

test('arguments.done alone makes a call whole', () => {
  const item = {
    type: 'function_call',
    id: 'fc_1',
    call_id: 'call_1',
    name: 'f',
    arguments: '',
    status: 'in_progress',
  }
  const place = { output_index: 0, item_id: 'fc_1' }
  const { answer } = answerOf([
    frame('response.output_item.added', { output_index: 0, item }),
    frame('response.function_call_arguments.delta', { ...place, delta: '{"a"' }),
    frame('response.function_call_arguments.done', { ...place, arguments: '{"a":1}' }),
    completed(),
  ])
  assert.deepEqual(
    callsOf(answer).map(({ cut, text }) => [cut, text]),
    [[undefined, '{"a":1}']],
  )
})

test('whole but empty arguments become an empty object, also in the deltas', () => {
  const { answer } = answerOf(
    play({
      calls: [
        { name: 'f', text: '' },
        { name: 'g', custom: true, text: '' },
      ],
    }).frames,
  )
  assert.deepEqual(
    callsOf(answer).map(({ text }) => text),
    ['{}', ''],
  )
})

test('hosted items are kept whole, in their order', () => {
  const raw = [
    { type: 'web_search_call', status: 'completed', action: { type: 'search', query: 'zürich' } },
    {
      type: 'code_interpreter_call',
      status: 'completed',
      code: 'print(1)',
      outputs: null,
      container_id: 'c',
    },
    { type: 'mcp_list_tools', server_label: 'docs', tools: [{ name: 'read', input_schema: {} }] },
    {
      type: 'mcp_call',
      server_label: 'docs',
      name: 'read',
      arguments: '{"a":1}',
      output: 'x',
      status: 'completed',
    },
    { type: 'mcp_approval_request', server_label: 'docs', name: 'write', arguments: '{}' },
    { type: 'image_generation_call', status: 'completed', result: 'aGk=' },
    { type: 'program', call_id: 'p', code: 'await f()', fingerprint: 'fp' },
    { type: 'tool_search_call', execution: 'server', arguments: {}, status: 'completed' },
    { type: 'some_new_thing', status: 'completed', data: [1] },
  ]
  const { frames, whole } = play({ raw, text: 'done' })
  const { answer } = answerOf(frames)
  assert.deepEqual(nativesOf(answer), whole['output'])
  assert.deepEqual(
    answer.parts.flatMap(part => (part.type === 'hosted' ? [[part.tool, part.summary]] : [])),
    [
      ['web_search', 'zürich'],
      ['code_interpreter', 'print(1)'],
      ['mcp_list_tools', 'docs: 1 tools'],
      ['docs.read', '{"a":1}'],
      ['image_generation', 'completed'],
      ['program', 'await f()'],
      ['tool_search', 'completed'],
      ['some_new_thing', 'completed'],
    ],
  )
  const asked = answer.parts.find(part => part.type === 'call')
  assert.deepEqual(
    [asked?.name, asked?.text, answer.stop],
    ['hosted_tool_approval', '{"server":"docs","tool":"write","arguments":"{}"}', 'calls'],
  )
})

for (const kind of ['eof-before-end', 'eof-after-tool-name'] as const) {
  test(`${kind} is a failure that may be tried again`, () => {
    const { end } = read(play({ text: 'x', calls: [{ name: 'f' }], fault: { kind } }).frames)
    assert.ok('failure' in end)
    assert.deepEqual([end.failure.code, end.failure.retry], ['model_failed', true])
  })
}

test('no frames at all is a failure', () => {
  assert.ok('failure' in read([]).end)
})

test('an error event ends the answer; later events are ignored', () => {
  const { frames } = play({ text: 'x', fault: { kind: 'error-event', message: 'boom' } })
  const { end } = read([...frames, completed()])
  assert.ok('failure' in end)
  assert.match(end.failure.message, /boom/)
  assert.equal(end.failure.retry, true)
  const refused = read([frame('error', { code: 'invalid_prompt', message: 'no' })]).end
  assert.ok('failure' in refused)
  assert.deepEqual([refused.failure.code, refused.failure.retry], ['model_rejected', false])
})

const failures: [fields: JsonObject, code: string, retry: boolean][] = [
  [{ status: 'failed', error: { code: 'server_error', message: 'sorry' } }, 'model_failed', true],
  [{ status: 'failed', error: { code: 'rate_limit_exceeded', message: 'slow' } }, 'model_limited', true],
  [{ status: 'failed', error: { code: 'invalid_prompt', message: 'no' } }, 'model_rejected', false],
  [{ status: 'cancelled' }, 'model_failed', true],
  [{ status: 'queued' }, 'model_rejected', false],
]
for (const [fields, code, retry] of failures) {
  test(`a response that ended as ${JSON.stringify(fields)} is a failure`, () => {
    for (const given of [
      completed(fields),
      { data: JSON.stringify({ object: 'response', output: [], ...fields }) },
    ]) {
      const { end } = read([given])
      assert.ok('failure' in end)
      assert.deepEqual([end.failure.code, end.failure.retry], [code, retry])
    }
  })
}

test('unknown events and a closing [DONE] change nothing', () => {
  const turn: ScriptedTurn = { text: 'hello', calls: [{ id: 'a', name: 'f' }] }
  const plain = answerOf(play(turn).frames).answer.parts.map(bare)
  const noisy = play({ ...turn, fault: [{ kind: 'unknown-events' }, { kind: 'ping-flood' }] }).frames
  const { answer } = answerOf([...noisy, { data: '[DONE]' }])
  assert.deepEqual(answer.parts.map(bare), plain)
})

test('a frame that is not JSON fails the answer', () => {
  const { end } = read([{ event: 'response.output_text.delta', data: '{"type":' }, completed()])
  assert.ok('failure' in end)
})

test('odd call ids and arguments are read as they are', () => {
  const calls = [
    { name: 'f', input: {} },
    { name: 'f', input: {} },
  ]
  for (const ids of ['empty', 'duplicate', 'long'] as const) {
    const { answer } = answerOf(play({ calls, fault: { kind: 'call-ids', ids } }).frames)
    assert.deepEqual(
      callsOf(answer).map(({ nativeId }) => nativeId?.length),
      ids === 'empty' ? [undefined, undefined] : ids === 'long' ? [500, 500] : [9, 9],
    )
  }
  for (const text of ['[]', '"x"', 'null', '{"a":1}{"b":2}']) {
    const { answer } = answerOf(play({ calls, fault: { kind: 'arguments', text } }).frames)
    assert.deepEqual(
      callsOf(answer).map(call => [call.text, call.cut]),
      [
        [text, undefined],
        [text, undefined],
      ],
    )
  }
  const { answer } = answerOf(play({ calls, fault: { kind: 'tool-not-offered', name: 'nobody' } }).frames)
  assert.equal(callsOf(answer)[0]?.name, 'nobody')
})

test('items that finish out of order reset the deltas', () => {
  const call = (n: number) => ({
    type: 'function_call',
    id: `fc_${n}`,
    call_id: `c${n}`,
    name: `f${n}`,
    arguments: '{}',
  })
  const { deltas, answer } = answerOf([
    frame('response.output_item.added', { output_index: 1, item: call(1) }),
    frame('response.output_item.added', { output_index: 0, item: call(0) }),
    frame('response.output_item.done', { output_index: 1, item: call(1) }),
    frame('response.output_item.done', { output_index: 0, item: call(0) }),
    completed({ output: [] }),
  ])
  assert.ok(deltas.some(({ type }) => type === 'reset'))
  assert.deepEqual(
    callsOf(answer).map(({ name }) => name),
    ['f0', 'f1'],
  )
})

test('a server that sends no index and no deltas is read', () => {
  const item = {
    type: 'message',
    id: 'msg_1',
    role: 'assistant',
    content: [{ type: 'output_text', text: 'hi' }],
  }
  const { answer } = answerOf([frame('response.output_item.done', { item }), completed()])
  assert.equal(answer.parts[0]?.type === 'text' && answer.parts[0].text, 'hi')
})

const text = fc.string({ unit: 'binary', maxLength: 20 }).map(each => each.toWellFormed())
const turns = fc.record(
  {
    thinking: text,
    text,
    refusal: text,
    calls: fc.array(fc.record({ name: fc.constantFrom('f', 'fs_read_1a2b'), text, custom: fc.boolean() }), {
      maxLength: 4,
    }),
    chunk: fc.integer({ min: 1, max: 5 }),
  },
  { requiredKeys: ['chunk'] },
)

test('the answer agrees with the official SDK and with the unstreamed body', () => {
  fc.assert(
    fc.property(turns, turn => {
      const { frames, whole } = play(turn)
      const snapshot = frames.reduce<Response | undefined>((response, { data }) => {
        const event: ResponseStreamEvent = JSON.parse(data)
        return event.type === 'response.completed' ? response : accumulateResponse(event, response)
      }, undefined)
      const { answer } = answerOf(frames)
      const accumulated: unknown = JSON.parse(JSON.stringify(snapshot?.output))
      assert.deepEqual(nativesOf(answer), accumulated)
      assert.deepEqual(answerOf([{ data: JSON.stringify(whole) }]).answer, answer)
    }),
    { numRuns: 60 },
  )
})

test('every prefix of a stream fails or answers, and never throws', () => {
  const { frames } = play({ thinking: 'hm', text: 'x', calls: [{ name: 'f', input: { a: 1 } }], chunk: 2 })
  for (let end = 0; end < frames.length; end++) assert.ok('failure' in read(frames.slice(0, end)).end)
})
