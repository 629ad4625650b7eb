// Answers of Chat Completions: every way in which servers stream calls, and every way in which a stream ends.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { ModelAnswer } from '../../../engine/ports/index.ts'
import type { Fault, ScriptedTurn } from '../../../testing/doubles/index.ts'
import type { ChatQuirks } from '../../../testing/doubles/openai-chat/answer.ts'
import { answered, callsIn, quirky, read, request, target, textIn, tool, user } from './harness.test.ts'
import { openaiChat } from './index.ts'

const twice: ScriptedTurn = {
  text: 'Let me see.',
  calls: [
    { name: 'f', input: { a: 'Zürich 😀' } },
    { name: 'g', input: { a: 'two', n: [1, 2] } },
    { name: 'f', input: { a: 'three' } },
  ],
  chunk: 3,
}
const said = (answer: ModelAnswer) => callsIn(answer).map(({ name, text }) => [name, text])
const wanted = twice.calls!.map(({ name, input }) => [name, JSON.stringify(input)])

describe('calls, however a server streams them', () => {
  const ways: [string, Partial<ChatQuirks>][] = [
    ['as OpenAI does', {}],
    ['with every index 0', { index: 'all-zero' }],
    ['without an index', { index: 'missing' }],
    ['with id and name in every fragment', { repeatIds: true }],
    ['with id and name in every fragment and every index 0', { repeatIds: true, index: 'all-zero' }],
    ['with id and name in every fragment and no index', { repeatIds: true, index: 'missing' }],
    ['whole', { wholeCalls: true }],
    ['whole, with every index 0', { wholeCalls: true, index: 'all-zero' }],
    ['whole, without an index', { wholeCalls: true, index: 'missing' }],
  ]
  for (const [name, quirks] of ways)
    test(name, () => {
      const answer = answered(twice, { quirks })
      assert.deepEqual(said(answer), wanted)
      assert.equal(answer.stop, 'calls')
      assert.equal(textIn(answer), 'Let me see.')
      for (const each of callsIn(answer)) {
        assert.match(each.nativeId ?? '', /^call_/)
        assert.equal(each.cut, undefined)
      }
    })

  for (const ids of ['empty', 'duplicate', 'long'] as const)
    for (const index of ['right', 'all-zero', 'missing'] as const)
      for (const wholeCalls of [false, true])
        test(`ids ${ids}, index ${index}, ${wholeCalls ? 'whole' : 'in pieces'}`, () => {
          const turn: ScriptedTurn = { ...twice, fault: { kind: 'call-ids', ids } }
          assert.deepEqual(said(answered(turn, { quirks: { index, wholeCalls } })), wanted)
        })

  test('the same function twice with the same arguments is two calls', () => {
    const turn: ScriptedTurn = {
      calls: [{ name: 'f', input: { a: 1 } }],
      fault: { kind: 'same-function-twice' },
    }
    for (const [, quirks] of ways) assert.equal(callsIn(answered(turn, { quirks })).length, 2)
  })

  test('a whole body gives the same calls', () => {
    assert.deepEqual(said(answered(twice, { whole: true })), wanted)
  })

  test('arguments given as an object instead of text', () => {
    const state = openaiChat.initial(openaiChat.prepare(request([user('x')]), target).reading)
    const data = JSON.stringify({
      choices: [
        { delta: { tool_calls: [{ function: { name: 'f', arguments: { a: 1 } } }] }, finish_reason: 'stop' },
      ],
    })
    openaiChat.step(state, { data })
    const end = openaiChat.halt(state)
    assert.ok('answer' in end)
    assert.deepEqual(said(end.answer), [['f', '{"a":1}']])
    assert.equal(end.answer.stop, 'calls')
  })

  test('interleaved fragments of two calls', () => {
    const state = openaiChat.initial(openaiChat.prepare(request([user('x')]), target).reading)
    const give = (...fragments: object[]) =>
      openaiChat.step(state, {
        data: JSON.stringify({ choices: [{ index: 0, delta: { tool_calls: fragments } }] }),
      })
    give(
      { index: 0, id: 'a', function: { name: 'f', arguments: '{"x"' } },
      { index: 1, id: 'b', function: { name: 'g', arguments: '{"y"' } },
    )
    give({ index: 1, function: { arguments: ':2}' } }, { index: 0, function: { arguments: ':1}' } })
    openaiChat.step(state, { data: '{"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}' })
    const end = openaiChat.halt(state)
    assert.ok('answer' in end)
    assert.deepEqual(said(end.answer), [
      ['f', '{"x":1}'],
      ['g', '{"y":2}'],
    ])
  })

  test('arguments that are no object are kept as they are, for the gate', () => {
    for (const text of ['[]', '"x"', 'null', '{"a":1}{"b":2}', '{"a":1,"a":2}']) {
      const turn: ScriptedTurn = { calls: [{ name: 'f' }], fault: { kind: 'arguments', text } }
      assert.deepEqual(said(answered(turn)), [['f', text]])
    }
  })

  test('no arguments at all are an empty object', () => {
    assert.deepEqual(said(answered({ calls: [{ name: 'f', text: '' }] })), [['f', '{}']])
  })

  test('a tool that was not offered keeps its name', () => {
    const turn: ScriptedTurn = {
      calls: [{ name: 'f', input: {} }],
      fault: { kind: 'tool-not-offered', name: 'rm.rf' },
    }
    assert.deepEqual(said(answered(turn)), [['rm.rf', '{}']])
  })

  test('wire names come back as ours', () => {
    const asked = request([user('x')], { tools: [tool('fs.read')] })
    const wire = [...openaiChat.prepare(asked, target).reading.names.keys()][0]!
    assert.deepEqual(said(answered({ calls: [{ name: wire, input: {} }] }, { asked })), [['fs.read', '{}']])
  })

  test('one call at most, when one is asked for', () => {
    const answer = answered(twice, {
      asked: request([user('x')], { tools: [tool('f'), tool('g')], parallel: false }),
    })
    assert.deepEqual(said(answer), wanted.slice(0, 1))
    assert.equal(answer.warnings?.length, 1)
  })
})

describe('text tools', () => {
  const sh = tool('sh', { form: 'text', grammar: { syntax: 'regex', definition: 'a+' } })
  const asked = request([user('x')], { tools: [sh] })

  test('native text tools', () => {
    const [only] = callsIn(
      answered({ calls: [{ name: 'sh', custom: true, text: 'aaa\n"' }], chunk: 2 }, { asked }),
    )
    assert.deepEqual([only?.form, only?.text], ['text', 'aaa\n"'])
  })

  test('text tools that were declared as functions are unwrapped', () => {
    for (const wholeCalls of [false, true]) {
      const turn: ScriptedTurn = { calls: [{ name: 'sh', input: { input: 'a\n"ä😀' } }], chunk: 2 }
      const [only] = callsIn(answered(turn, { asked, to: quirky('no-custom-tools'), quirks: { wholeCalls } }))
      assert.deepEqual([only?.form, only?.text, only?.cut], ['text', 'a\n"ä😀', undefined])
    }
  })

  test('a wrapped text call is cut when the answer was', () => {
    const turn: ScriptedTurn = {
      calls: [{ name: 'sh', input: { input: 'aaaaaaaa' } }],
      fault: { kind: 'max-tokens-in-arguments' },
    }
    const [only] = callsIn(answered(turn, { asked, to: quirky('no-custom-tools') }))
    assert.equal(only?.cut, true)
  })
})

describe('the end of an answer', () => {
  test('the limit in the middle of arguments: that call is cut, those before are whole', () => {
    for (const keep of [0, 1, 5]) {
      const turn: ScriptedTurn = { ...twice, fault: { kind: 'max-tokens-in-arguments', keep } }
      const answer = answered(turn)
      assert.equal(answer.stop, 'length')
      assert.deepEqual(
        callsIn(answer).map(each => each.cut),
        [undefined, undefined, true],
      )
    }
  })

  test('words, a refusal, a filter, a limit', () => {
    assert.equal(answered({ text: 'x' }).stop, 'end')
    assert.equal(answered({ text: 'x', stop: 'length' }).stop, 'length')
    assert.equal(answered({ text: 'x', stop: 'content_filter' }).stop, 'filter')
    const refused = answered({ refusal: 'I cannot.' })
    assert.deepEqual([refused.stop, textIn(refused)], ['refusal', 'I cannot.'])
    assert.equal(answered({ text: '' }).stop, 'end')
  })

  test('a call in a filtered answer is cut, however whole it looks', () => {
    const filtered = answered({ calls: [{ name: 'f', input: { a: 1 } }], stop: 'content_filter' })
    assert.deepEqual([filtered.stop, callsIn(filtered).map(({ cut }) => cut)], ['filter', [true]])
  })

  test('a stream that ends early is a failure that may be retried', () => {
    for (const kind of ['eof-before-end', 'eof-after-tool-name'] as const) {
      const { end } = read({ ...twice, fault: { kind } })
      assert.ok('failure' in end)
      assert.deepEqual([end.failure.code, end.failure.retry], ['model_failed', true])
    }
  })

  test('an error in the stream', () => {
    const error = (type: string) =>
      read({ ...twice, fault: { kind: 'error-event', type, message: 'no' } }).end
    const server = error('server_error')
    const ours = error('invalid_request_error')
    assert.ok('failure' in server && 'failure' in ours)
    assert.deepEqual([server.failure.code, server.failure.retry], ['model_failed', true])
    assert.deepEqual([ours.failure.code, ours.failure.retry], ['model_rejected', false])
  })

  test('unknown chunks are ignored', () => {
    for (const fault of [{ kind: 'unknown-events' }, { kind: 'ping-flood' }] satisfies Fault[])
      assert.deepEqual(said(answered({ ...twice, fault })), wanted)
    const state = openaiChat.initial(openaiChat.prepare(request([user('x')]), target).reading)
    for (const data of [
      '',
      'null',
      '[]',
      'ping',
      '{"choices":null}',
      '{"choices":[null,{"index":1,"delta":{"content":"other"}}]}',
    ])
      assert.deepEqual(openaiChat.step(state, { data }), [])
  })

  test('a chunk that is broken JSON is a failure, since it may hold arguments', () => {
    const state = openaiChat.initial(
      openaiChat.prepare(request([user('x')], { tools: [tool('f')] }), target).reading,
    )
    const piece = (text: string) => ({
      choices: [{ index: 0, delta: { tool_calls: [{ index: 0, function: { arguments: text } }] } }],
    })
    const open = { index: 0, id: 'call_1', function: { name: 'f', arguments: '{"path":"/tmp/' } }
    const frames = [
      JSON.stringify({ choices: [{ index: 0, delta: { tool_calls: [open] } }] }),
      JSON.stringify(piece('keep/')).slice(0, -9),
      JSON.stringify(piece('all"}')),
      JSON.stringify({ choices: [{ index: 0, delta: {}, finish_reason: 'tool_calls' }] }),
    ]
    for (const data of frames) openaiChat.step(state, { data })
    const end = openaiChat.halt(state)
    assert.ok('failure' in end)
    assert.deepEqual([end.failure.code, end.failure.retry], ['model_failed', true])
  })

  test('usage', () => {
    const turn: ScriptedTurn = { text: 'x', usage: { input: 9, cached: 4, output: 7, reasoning: 2 } }
    assert.deepEqual(answered(turn).usage, { input: 9, output: 7, cacheRead: 4, thinking: 2 })
  })
})

describe('thinking', () => {
  test('reasoning_content is shown, and kept for its maker', () => {
    const { end, deltas } = read(
      { thinking: 'hm, hm', text: 'x', chunk: 3 },
      { quirks: { showReasoning: true } },
    )
    assert.ok('answer' in end)
    assert.deepEqual(end.answer.parts[0], {
      type: 'thinking',
      text: 'hm, hm',
      native: { origin: { protocol: 'openai-chat', family: 'gpt' }, data: { reasoning_content: 'hm, hm' } },
    })
    assert.equal(deltas[0]?.type, 'thinking')
  })

  test('fragments of reasoning_details are joined; content may be a list of parts', () => {
    const state = openaiChat.initial(openaiChat.prepare(request([user('x')]), target).reading)
    const give = (delta: object) => openaiChat.step(state, { data: JSON.stringify({ choices: [{ delta }] }) })
    give({ reasoning: 'a', reasoning_details: [{ type: 'reasoning.text', index: 0, text: 'a' }] })
    give({
      reasoning: 'b',
      reasoning_details: [{ type: 'reasoning.text', index: 0, text: 'b', signature: 'S' }],
    })
    give({ reasoning_details: [{ type: 'reasoning.encrypted', index: 1, data: 'E' }] })
    give({
      content: [
        { type: 'thinking', thinking: [{ type: 'text', text: 'c' }] },
        { type: 'text', text: 'x' },
      ],
    })
    openaiChat.step(state, { data: '{"choices":[{"delta":{},"finish_reason":"stop"}]}' })
    const end = openaiChat.halt(state)
    assert.ok('answer' in end)
    assert.deepEqual(end.answer.parts, [
      {
        type: 'thinking',
        text: 'abc',
        native: {
          origin: { protocol: 'openai-chat', family: 'gpt' },
          data: {
            reasoning_details: [
              { type: 'reasoning.text', index: 0, text: 'ab', signature: 'S' },
              { type: 'reasoning.encrypted', index: 1, data: 'E' },
            ],
          },
        },
      },
      { type: 'text', text: 'x' },
    ])
  })
})
