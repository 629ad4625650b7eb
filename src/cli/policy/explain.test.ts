// The explanation of a verdict names the rule of a denial and the version of the rules.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Event } from '../../language/events.ts'
import { explainCall } from './explain.ts'

const at = { v: 1 as const, at: 1 }
const settings = { tools: null, options: {}, clientTools: [] }
const text = 'Denied by policy: Not to the press.'
const events: Event[] = [
  { ...at, type: 'session.created', owner: 'local', agent: 'a', wire: 'test', settings, seed: [] },
  { ...at, type: 'turn.started', turn: 't', parts: [{ type: 'text', text: 'Go' }], wire: 'test' },
  {
    ...at,
    type: 'model.answered',
    parts: [{ type: 'call', id: 'c1', name: 'send', form: 'json', text: '{}' }],
    stop: 'calls',
    model: 'm',
  },
  { ...at, type: 'policy.applied', version: '0123456789abcdef' },
  { ...at, type: 'call.forbidden', callId: 'c1', rule: 'press' },
  {
    ...at,
    type: 'call.settled',
    callId: 'c1',
    outcome: { kind: 'denied', parts: [{ type: 'text', text }], from: { source: 'runtime' } },
  },
]

test('a denial is explained with its rule and the version of the rules', () => {
  assert.deepEqual(explainCall(events, '1'), [
    'send, call 1, c1',
    '  Judged by version 0123456789abcdef of the rules.',
    '  Refused: by the rule press.',
    `  denied: ${text}`,
  ])
})
