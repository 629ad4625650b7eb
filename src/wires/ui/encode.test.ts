// A message as the AI SDK's stream shows it, item by item, without a server.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { FollowItem } from '../../engine/index.ts'
import type { Outcome } from '../../language/calls.ts'
import type { Delta, Event } from '../../language/events.ts'
import { MessageEncoder } from './encode.ts'

const event = (body: Event): FollowItem => ({ type: 'event', seq: 1, event: body })
const delta = (body: Delta): FollowItem => ({ type: 'delta', delta: body })
const started = event({ v: 1, at: 1, type: 'turn.started', turn: 't1', parts: [], wire: 'ui' })
const ended = event({ v: 1, at: 1, type: 'turn.ended', turn: 't1', stop: 'end' })

function chunks(items: readonly FollowItem[], encoder = new MessageEncoder({ own: new Set() })): string[] {
  const all = [...encoder.begin(), ...items.flatMap(item => encoder.take(item)), ...encoder.end()]
  return all.map(chunk => ('delta' in chunk ? `${chunk.type} ${chunk.delta}` : chunk.type))
}

test('an answer is one step with one block of text', () => {
  const answered = event({
    v: 1,
    at: 1,
    type: 'model.answered',
    parts: [{ type: 'text', text: 'Hello' }],
    stop: 'end',
    model: 'm',
  })
  const text = delta({ type: 'text', text: 'Hello' })
  const begin = delta({ type: 'step.started', step: 1 })
  assert.deepEqual(chunks([started, begin, text, answered, ended]), [
    'start',
    'start-step',
    'text-start',
    'text-delta Hello',
    'text-end',
    'finish-step',
    'finish',
  ])
})

test('a step that starts over is reset', () => {
  const items = [
    started,
    delta({ type: 'text', text: 'Hel' }),
    delta({ type: 'step.reset', step: 1 }),
    delta({ type: 'text', text: 'Bye' }),
  ]
  assert.deepEqual(chunks(items), [
    'start',
    'start-step',
    'text-start',
    'text-delta Hel',
    'reset-step',
    'text-start',
    'text-delta Bye',
    'text-end',
    'finish-step',
    'finish',
  ])
})

test('a call is shown whole once the gate has let it pass, and a denied one as denied', () => {
  const calls = (name: string): Event => ({
    v: 1,
    at: 1,
    type: 'model.answered',
    parts: [{ type: 'call', id: 'c1', name, form: 'json', text: '{"a":1}' }],
    stop: 'calls',
    model: 'm',
  })
  const asked: Event = {
    v: 1,
    at: 1,
    type: 'approval.requested',
    callId: 'c1',
    argsHash: 'a',
    toolHash: 't',
    rule: 'r',
  }
  const denied: Event = {
    v: 1,
    at: 1,
    type: 'call.settled',
    callId: 'c1',
    outcome: { kind: 'denied', parts: [], from: { source: 'person', by: 'ana' } },
  }
  assert.deepEqual(chunks([started, event(calls('mail')), event(asked), event(denied)]).slice(2), [
    'tool-input-available',
    'tool-approval-request',
    'tool-output-denied',
    'finish-step',
    'finish',
  ])
})

test('a message that is continued starts with its id, and a lost one ends with an error', () => {
  const encoder = new MessageEncoder({ message: 'm1', own: new Set() })
  const lost: FollowItem = { type: 'lost', error: { code: 'stopping', message: 'Gone.' } }
  assert.deepEqual(chunks([lost], encoder), ['start', 'error', 'finish'])
})

test('what a tool reports of its work comes before its result', () => {
  const call = { type: 'call', id: 'c1', name: 'orders', form: 'json', text: '{}' } as const
  const report = { rows: { columns: ['order'], rows: [['17']] } }
  const outcome: Outcome = { kind: 'ok', parts: [], from: { source: 'tool', tool: 'orders' }, report }
  const items = [
    started,
    event({ v: 1, at: 1, type: 'model.answered', parts: [call], stop: 'calls', model: 'm' }),
    event({ v: 1, at: 1, type: 'call.started', callId: 'c1', attempt: 1 }),
    event({ v: 1, at: 1, type: 'call.settled', callId: 'c1', outcome }),
  ]
  const encoder = new MessageEncoder({ own: new Set() })
  const all = items.flatMap(item => encoder.take(item))
  const at = all.findIndex(({ type }) => type === 'tool-output-available')
  assert.ok(at > 0)
  assert.deepEqual(all[at - 1], { type: 'data-report', id: 'report-c1', data: { toolCallId: 'c1', report } })
})
