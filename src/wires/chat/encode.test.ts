import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { OnceAnswer } from '../../engine/index.ts'
import type { Delta } from '../../language/events.ts'
import { ChatStreamEncoder } from './encode.ts'

const head = { id: 'chatcmpl-1', created: 1, model: 'helper' }

type Chunk = {
  choices: { delta: Record<string, unknown>; finish_reason: string | null }[]
  usage?: { total_tokens: number } | null
}

const chunksIn = (frames: string): (Chunk | '[DONE]')[] =>
  frames
    .split('\n\n')
    .filter(frame => frame !== '')
    .map(frame => frame.slice('data: '.length))
    .map(data => (data === '[DONE]' ? data : (JSON.parse(data) as Chunk)))

function play(deltas: Delta[], answer: Partial<OnceAnswer>, includeUsage = false): (Chunk | '[DONE]')[] {
  const encoder = new ChatStreamEncoder(head, includeUsage)
  const live = deltas.map(delta => encoder.take({ type: 'delta', delta })).join('')
  const whole: OnceAnswer = { parts: [], stop: 'end', model: 'm', ...answer }
  return chunksIn(encoder.begin() + live + encoder.take({ type: 'answer', answer: whole }))
}

const deltasOf = (chunks: (Chunk | '[DONE]')[]): unknown[] =>
  chunks.flatMap(chunk => (chunk === '[DONE]' ? [] : chunk.choices.map(({ delta }) => delta)))

test('calls are numbered in the order in which they open, and arguments follow their call', () => {
  const chunks = play(
    [
      { type: 'step.started', step: 1 },
      { type: 'thinking', text: 'hm' },
      { type: 'call.opened', callId: 'a', name: 'look', form: 'json' },
      { type: 'call.opened', callId: 'b', name: 'patch', form: 'text' },
      { type: 'arguments', callId: 'b', text: 'x' },
      { type: 'arguments', callId: 'a', text: '{}' },
      { type: 'arguments', callId: 'none', text: '{}' },
    ],
    { stop: 'calls' },
  )
  assert.deepEqual(deltasOf(chunks), [
    { role: 'assistant', content: '', refusal: null },
    { reasoning_content: 'hm' },
    { tool_calls: [{ index: 0, id: 'a', type: 'function', function: { name: 'look', arguments: '' } }] },
    { tool_calls: [{ index: 1, id: 'b', type: 'custom', custom: { name: 'patch', input: '' } }] },
    { tool_calls: [{ index: 1, custom: { input: 'x' } }] },
    { tool_calls: [{ index: 0, function: { arguments: '{}' } }] },
    {},
  ])
})

test('the end is the reason, the usage if it was asked for, and [DONE]', () => {
  const [reason, counted, done] = play([], { stop: 'length', usage: { input: 2, output: 3 } }, true).slice(-3)
  assert.ok(reason && reason !== '[DONE]' && counted && counted !== '[DONE]')
  assert.equal(reason.choices[0]?.finish_reason, 'length')
  assert.equal(reason.usage, null)
  assert.deepEqual([counted.choices, counted.usage?.total_tokens], [[], 5])
  assert.equal(done, '[DONE]')
})

test('a refusal without text is said in words', () => {
  assert.deepEqual(deltasOf(play([], { stop: 'refusal' })).at(-2), {
    refusal: 'The model refused to answer.',
  })
})

test('a failure is the error body', () => {
  const encoder = new ChatStreamEncoder(head, false)
  assert.equal(
    encoder.fail({ code: 'model_timeout', message: 'slow' }),
    'data: {"error":{"message":"slow","type":"server_error","param":null,"code":"model_timeout"}}\n\n',
  )
})
