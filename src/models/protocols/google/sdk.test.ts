// Both of Google's protocols beside the vendor's own SDK: they read the same streams of the strict doubles and must agree;
// and through the runner, over a socket, however the bytes are split.
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { GoogleGenAI, type Part } from '@google/genai'
import type { ModelAnswer } from '../../../engine/ports/index.ts'
import type { Entry } from '../../../language/history.ts'
import { type RunningDouble, type ScriptedTurn, startDouble } from '../../../testing/doubles/index.ts'
import type { Protocol } from '../../protocol.ts'
import { createModel } from '../../run.ts'
import { geminiGenerate } from '../gemini/index.ts'
import { geminiInteractions } from '../interactions/index.ts'
import { answerOf, callsIn, entryOf, fold, request, results, target, user } from './harness.test.ts'

const model = 'gemini-3-pro'
const two = [
  { name: 'read', input: { p: 'x' } },
  { name: 'read', input: { p: 'y' } },
]
const TURNS: ScriptedTurn[] = [
  { text: 'hello' },
  { thinking: 'žluť', text: 'so 😀', calls: two, chunk: 2 },
  { thinking: 'hm', calls: two.slice(1) },
  { text: 'x'.repeat(100), chunk: 7, stop: 'length' },
  { thinking: 'only' },
]

async function open(t: TestContext, vendor: 'gemini' | 'gemini-interactions', script: ScriptedTurn[]) {
  const double = await startDouble({ vendor, script, apiKey: 'key' })
  t.after(() => double.close())
  const client = new GoogleGenAI({ apiKey: 'key', vertexai: false, httpOptions: { baseUrl: double.url } })
  return { double, client }
}

const spoken = (answer: ModelAnswer, type: 'text' | 'thinking') =>
  answer.parts.map(part => (part.type === type ? part.text : '')).join('')

for (const [index, turn] of TURNS.entries())
  test(`turn ${index}: the SDK reads the same from generateContent`, async t => {
    const { double, client } = await open(t, 'gemini', [turn])
    const parts: Part[] = []
    let finish: string | undefined
    for await (const chunk of await client.models.generateContentStream({ model, contents: 'hello' })) {
      parts.push(...(chunk.candidates?.[0]?.content?.parts ?? []))
      finish = chunk.candidates?.[0]?.finishReason ?? finish
    }
    const frames = double.exchanges[0]?.frames ?? []
    const answer = answerOf(fold(geminiGenerate, geminiGenerate.prepare(request(), target()), frames))
    const said = (thought: boolean) =>
      parts.map(part => ((part.thought ?? false) === thought ? (part.text ?? '') : '')).join('')
    assert.equal(spoken(answer, 'text'), said(false))
    assert.equal(spoken(answer, 'thinking'), said(true))
    const calls = parts.flatMap(part => part.functionCall ?? [])
    assert.deepEqual(
      callsIn(answer).map(call => [call.name, JSON.parse(call.text), call.nativeId]),
      calls.map(call => [call.name, call.args, call.id]),
    )
    assert.equal(answer.stop, finish === 'MAX_TOKENS' ? 'length' : calls.length > 0 ? 'calls' : 'end')
  })

for (const [index, turn] of TURNS.entries())
  test(`turn ${index}: the SDK reads the same from Interactions`, async t => {
    const { double, client } = await open(t, 'gemini-interactions', [turn, turn])
    const whole = await client.interactions.create({ model, input: 'hello', store: false })
    const frames = []
    for await (const event of await client.interactions.create({ model, input: 'hello', stream: true }))
      frames.push({ event: event.event_type, data: JSON.stringify(event) })
    const prepared = geminiInteractions.prepare(request(), target())
    const read = answerOf(fold(geminiInteractions, prepared, double.exchanges[1]?.frames ?? []))
    assert.deepEqual(answerOf(fold(geminiInteractions, prepared, frames)), read)
    const steps = whole.steps ?? []
    assert.equal(spoken(read, 'text'), whole.output_text ?? '')
    assert.deepEqual(
      callsIn(read).map(call => [call.name, JSON.parse(call.text)]),
      steps.flatMap(step => (step.type === 'function_call' ? [[step.name, step.arguments]] : [])),
    )
    assert.deepEqual(
      read.parts.map(part => part.type),
      steps.map(
        step => ({ thought: 'thinking', model_output: 'text', function_call: 'call' })[String(step.type)],
      ),
    )
  })

// ---- through the runner ------------------------------------------------------------------------------------

const modelAt = <State>(protocol: Protocol<State>, double: RunningDouble, stateful = false) =>
  createModel({
    protocol,
    provider: {
      name: 'google',
      url: () => `${double.url}/v1beta`,
      headers: () => ({ 'x-goog-api-key': 'key' }),
    },
    target: target({ stateful }),
    limits: { backoffMs: 1 },
  })

// Each protocol's own state type stays inside the runner.
const SEATS = [
  ['gemini', geminiGenerate as Protocol<unknown>, false],
  ['gemini-interactions', geminiInteractions as Protocol<unknown>, false],
  ['gemini-interactions', geminiInteractions as Protocol<unknown>, true],
] as const

for (const [vendor, protocol, stateful] of SEATS)
  test(`${vendor}${stateful ? ' with memory' : ''}: a loop through the runner, with bytes split anywhere`, async t => {
    const { double } = await open(t, vendor, [
      { fault: { kind: 'overloaded' } },
      {
        thinking: 'žluť',
        text: 'so 😀',
        calls: two,
        chunk: 2,
        fault: [{ kind: 'split-utf8' }, { kind: 'crlf' }],
      },
      { text: 'done 😀', fault: { kind: 'one-byte-writes' } },
    ])
    const runner = modelAt(protocol, double, stateful)
    const history: Entry[] = [user('hello')]
    const signal = new AbortController().signal
    const first = await runner.respond(request({ history: [...history] }), () => {}, signal)
    assert.equal(first.stop, 'calls')
    const entry = entryOf(first)
    history.push(entry, results(entry))
    const second = await runner.respond(request({ history }), () => {}, signal)
    assert.equal(spoken(second, 'text'), 'done 😀')
    assert.deepEqual(double.rejections(), [])
    assert.deepEqual(double.harnessErrors(), [])
    assert.equal(double.exchanges.length, 3)
  })
