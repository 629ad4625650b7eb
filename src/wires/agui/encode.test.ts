// A run as AG-UI shows it, item by item, without a server.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Delta, Event } from '../../language/events.ts'
import { AguiRunEncoder, type RunItem } from './encode.ts'
import type { AguiEvent } from './schema.ts'

const event = (body: Event): RunItem => ({ type: 'event', seq: 1, event: body })
const delta = (body: Delta): RunItem => ({ type: 'delta', delta: body })
const started = event({ v: 1, at: 1, type: 'turn.started', turn: 't1', parts: [], wire: 'agui' })

function eventsOf(items: readonly RunItem[]): AguiEvent[] {
  const encoder = new AguiRunEncoder({
    threadId: 'th',
    runId: 'r',
    version: '1.0',
    messages: [],
    own: new Set(),
    before: { calls: [] },
    seal: JSON.stringify,
  })
  return [...encoder.begin(), ...items.flatMap(item => encoder.take(item)), ...encoder.end()]
}

function types(items: readonly RunItem[]): string[] {
  return eventsOf(items).map(each => each.type)
}

test('a run that answers is started, speaks and is finished', () => {
  const answered: Event = {
    v: 1,
    at: 1,
    type: 'model.answered',
    parts: [{ type: 'text', text: 'Hello' }],
    stop: 'end',
    model: 'm',
  }
  assert.deepEqual(types([started, delta({ type: 'text', text: 'Hello' }), event(answered)]), [
    'RUN_STARTED',
    'TEXT_MESSAGE_START',
    'TEXT_MESSAGE_CONTENT',
    'TEXT_MESSAGE_END',
    'RUN_FINISHED',
  ])
})

test('an answer that starts over is taken back by a snapshot', () => {
  const opened = delta({ type: 'call.opened', callId: 'c1', name: 'mail', form: 'json' })
  assert.deepEqual(types([started, opened, delta({ type: 'step.reset', step: 1 })]), [
    'RUN_STARTED',
    'TOOL_CALL_START',
    'TOOL_CALL_END',
    'TOOL_CALL_RESULT',
    'MESSAGES_SNAPSHOT',
    'RUN_FINISHED',
  ])
})

test('a lost run ends with an error', () => {
  assert.deepEqual(types([started, { type: 'lost', error: { code: 'stopping', message: 'Gone.' } }]), [
    'RUN_STARTED',
    'RUN_ERROR',
  ])
})

test('calls that a new message abandoned belong to the turn before it', () => {
  const settled = event({
    v: 1,
    at: 1,
    type: 'call.settled',
    callId: 'c0',
    outcome: { kind: 'abandoned', parts: [], from: { source: 'runtime' } },
  })
  assert.deepEqual(types([{ type: 'message-sent' }, settled, started]), ['RUN_STARTED', 'RUN_FINISHED'])
})

test('a snapshot keeps the calls that a program made, with their results', () => {
  const call = { type: 'call', id: 'n1', name: 'mail', form: 'json', text: '{}' } as const
  const settled = event({
    v: 1,
    at: 1,
    type: 'call.settled',
    callId: 'n1',
    outcome: { kind: 'ok', parts: [{ type: 'text', text: 'sent' }], from: { source: 'tool', tool: 'mail' } },
  })
  const events = eventsOf([
    started,
    event({ v: 1, at: 1, type: 'call.nested', parent: 'c1', key: 'k', call }),
    settled,
    delta({ type: 'text', text: 'Hel' }),
    delta({ type: 'step.reset', step: 2 }),
  ])
  const snapshot = events.find(each => each.type === 'MESSAGES_SNAPSHOT')
  assert.deepEqual(snapshot?.messages, [
    {
      id: 'n1-message',
      role: 'assistant',
      toolCalls: [{ id: 'n1', type: 'function', function: { name: 'mail', arguments: '{}' } }],
    },
    { id: 'n1-result', role: 'tool', toolCallId: 'n1', content: 'sent' },
  ])
})

test('what a tool reports of its work follows its result', () => {
  const call = { type: 'call', id: 'c1', name: 'orders', form: 'json', text: '{}' } as const
  const report = { rows: { columns: ['order'], rows: [['17']] } }
  const settled = event({
    v: 1,
    at: 1,
    type: 'call.settled',
    callId: 'c1',
    outcome: { kind: 'ok', parts: [], from: { source: 'tool', tool: 'orders' }, report },
  })
  const answered = event({ v: 1, at: 1, type: 'model.answered', parts: [call], stop: 'calls', model: 'm' })
  const events = eventsOf([started, answered, settled])
  const at = events.findIndex(({ type }) => type === 'TOOL_CALL_RESULT')
  assert.deepEqual(events[at + 1], {
    type: 'CUSTOM',
    name: 'turnwire/report',
    value: { toolCallId: 'c1', report },
  })
})
