// A turn as the protocol shows it, item by item, without a server.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { FollowItem } from '../../engine/index.ts'
import type { Event } from '../../language/events.ts'
import { TurnEncoder, TurnFold, turnFrames } from './encode-turn.ts'

const event = (seq: number, body: Event): FollowItem => ({ type: 'event', seq, event: body })
const delta = (text: string): FollowItem => ({ type: 'delta', delta: { type: 'text', text } })

const answered = event(2, {
  v: 1,
  at: 1,
  type: 'model.answered',
  parts: [
    { type: 'thinking', text: 'hm' },
    { type: 'text', text: 'Hello' },
    { type: 'call', id: 'c1', name: 'mail', form: 'json', text: '{"to":"ana"}' },
  ],
  stop: 'calls',
  model: 'm',
})
const asked = event(3, {
  v: 1,
  at: 1,
  type: 'approval.requested',
  callId: 'c1',
  argsHash: 'a',
  toolHash: 't',
  rule: 'r',
  reason: 'It sends mail.',
})
const ended = event(4, { v: 1, at: 1, type: 'turn.ended', turn: 't1', stop: 'limit', limit: 'calls' })

test('whole answers are shown in order, and a stop says what a call waits for', () => {
  const encoder = new TurnEncoder('message')
  assert.deepEqual(
    [answered, asked, { type: 'waiting' as const }].flatMap(item => encoder.take(item)),
    [
      ['thinking', { thinking: 'hm' }],
      ['text', { text: 'Hello' }],
      ['tool_call', { toolCallId: 'c1', name: 'mail', input: { to: 'ana' } }],
      ['turn_stop', { stopReason: 'tool_use', asks: [{ toolCallId: 'c1', reason: 'It sends mail.' }] }],
    ],
  )
})

test('deltas are shown as they come, and the answer adds only its calls', () => {
  const encoder = new TurnEncoder('delta')
  assert.deepEqual(
    [delta('Hel'), delta('lo'), answered].flatMap(item => encoder.take(item)),
    [
      ['text_delta', { delta: 'Hel' }],
      ['text_delta', { delta: 'lo' }],
      ['tool_call', { toolCallId: 'c1', name: 'mail', input: { to: 'ana' } }],
    ],
  )
})

test('frames begin with the session and the turn, and end with the stop', () => {
  const frames = turnFrames('message', 's1')
  assert.equal(
    frames.begin?.(),
    'event: session_start\ndata: {"sessionId":"s1"}\n\nevent: turn_start\ndata: {}\n\n',
  )
  frames.take(ended)
  assert.equal(
    frames.take({ type: 'ended' }),
    'event: turn_stop\ndata: {"stopReason":"max_tokens","limit":"calls"}\n\n',
  )
})

test('a lost stream ends with an error', () => {
  const error = { code: 'stopping', message: 'Gone.' } as const
  assert.deepEqual(new TurnEncoder('message').take({ type: 'lost', error }), [
    ['turn_stop', { stopReason: 'error', error: 'Gone.', code: 'stopping' }],
  ])
})

test('one answer is the fold of the events', () => {
  const fold = new TurnFold()
  for (const item of [answered, ended, { type: 'ended' as const }]) fold.take(item)
  assert.deepEqual(fold.answer, {
    stopReason: 'max_tokens',
    limit: 'calls',
    messages: [
      {
        role: 'assistant',
        content: [
          { type: 'thinking', thinking: 'hm' },
          { type: 'text', text: 'Hello' },
          { type: 'tool_use', toolCallId: 'c1', name: 'mail', input: { to: 'ana' } },
        ],
      },
    ],
  })
})
