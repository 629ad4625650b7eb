import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { OnceAnswer } from '../../engine/index.ts'
import type { Delta } from '../../language/events.ts'
import type { AnswerPart } from '../../language/history.ts'
import { encodeGeminiResponse, GeminiStreamEncoder } from './encode.ts'

type Chunk = { candidates: { content: { parts: unknown[] }; finishReason?: string }[] }

const head = { responseId: 'resp_1', modelVersion: 'helper', includeThoughts: false }
const origin = { protocol: 'gemini', family: 'gemini' }
const signature = { thoughtSignature: 'c2ln' }
const answerOf = (parts: AnswerPart[]): OnceAnswer => ({ parts, stop: 'calls', model: 'm' })
const signedCall: AnswerPart = {
  type: 'call',
  id: 'call_1',
  name: 'look',
  form: 'json',
  text: '{"x":1}',
  native: { origin, data: { functionCall: { id: 'f1', name: 'look' }, ...signature } },
}

const partsIn = (frames: string): unknown[][] =>
  frames
    .split('\n\n')
    .filter(frame => frame !== '')
    .map(frame => JSON.parse(frame.slice('data: '.length)) as Chunk)
    .map(chunk => chunk.candidates[0]?.content.parts ?? [])

function play(deltas: Delta[], parts: AnswerPart[], includeThoughts = false): unknown[][] {
  const encoder = new GeminiStreamEncoder({ ...head, includeThoughts })
  const live = deltas.map(delta => encoder.take({ type: 'delta', delta })).join('')
  return partsIn(live + encoder.take({ type: 'answer', answer: answerOf(parts) }))
}

const call = { functionCall: { id: 'f1', name: 'look', args: { x: 1 } }, ...signature }

test('text is given as it comes, calls whole in the last chunk with their signatures', () => {
  const deltas: Delta[] = [
    { type: 'step.started', step: 1 },
    { type: 'thinking', text: 'hm' },
    { type: 'text', text: 'a' },
    { type: 'call.opened', callId: 'call_1', name: 'look', form: 'json' },
    { type: 'arguments', callId: 'call_1', text: '{"x":1}' },
  ]
  const parts: AnswerPart[] = [{ type: 'thinking', text: 'hm' }, { type: 'text', text: 'a' }, signedCall]
  assert.deepEqual(play(deltas, parts), [[{ text: 'a' }], [call]])
  assert.deepEqual(play(deltas, parts, true), [[{ text: 'hm', thought: true }], [{ text: 'a' }], [call]])
})

test('a signature on an empty part is in the last chunk; one on streamed text is left out', () => {
  const own = (text: string): AnswerPart => ({
    type: 'text',
    text,
    native: { origin, data: { text, ...signature } },
  })
  assert.deepEqual(play([{ type: 'text', text: 'a' }], [own('a'), own('')]), [
    [{ text: 'a' }],
    [{ text: '', ...signature }],
  ])
  assert.deepEqual(play([{ type: 'text', text: 'a' }], [own('a')]), [[{ text: 'a' }], [{ text: '' }]])
})

test('a whole answer has all parts in order, and signatures of other vendors are not shown', () => {
  const foreign: AnswerPart = {
    type: 'text',
    text: 'b',
    native: { origin: { protocol: 'anthropic', family: 'claude' }, data: { citations: [] } },
  }
  const { candidates } = encodeGeminiResponse(head, answerOf([foreign, signedCall])) as Chunk
  assert.deepEqual(candidates[0]?.content.parts, [{ text: 'b' }, call])
})

test('a failure is the error body', () => {
  assert.equal(
    new GeminiStreamEncoder(head).fail({ code: 'model_timeout', message: 'slow' }),
    'data: {"error":{"code":504,"message":"slow","status":"DEADLINE_EXCEEDED"}}\n\n',
  )
})
