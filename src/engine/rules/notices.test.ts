// Given a session, which of its events is told outside.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Event } from '../../language/events.ts'
import { evolve } from './evolve.ts'
import { readNotice } from './notices.ts'
import { outcomes } from './outcomes.ts'
import { emptyState } from './state.ts'

const settings = { tools: null, options: {}, clientTools: [] }
const call = (id: string, name: string) => ({
  ...{ type: 'call' as const, id, name, form: 'json' as const, text: '{}' },
})
const before: Event[] = [
  { v: 1, at: 1, type: 'session.created', owner: 'ana', agent: 'desk', wire: 'test', settings, seed: [] },
  { v: 1, at: 2, type: 'turn.started', turn: 't1', parts: [{ type: 'text', text: 'Pay' }], wire: 'test' },
  { v: 1, at: 3, type: 'model.answered', parts: [call('c1', 'ask_clerk')], stop: 'calls', model: 'm' },
  {
    ...{ v: 1, at: 4, type: 'call.started', callId: 'c1', attempt: 1 },
    allowed: { toolHash: 'h', rule: 'r' },
  },
]
const nested = (mirrors?: { session: string; callId: string }): Event => ({
  ...{ v: 1, at: 5, type: 'call.nested', parent: 'c1', key: 'w1', call: call('c2', 'pay') },
  ...(mirrors && { mirrors }),
})
const unknown: Event = { v: 1, at: 6, type: 'call.settled', callId: 'c2', outcome: outcomes.unknown() }

function noticeAfter(...events: Event[]) {
  const state = emptyState('s')
  for (const event of [...before, ...events]) evolve(state, event)
  return readNotice(state, unknown)
}

test('a call that may have happened is told by the session in which it ran, and not by the one that shows it too', () => {
  assert.equal(noticeAfter(nested())?.type, 'call.unknown')
  assert.equal(noticeAfter(nested({ session: 'w', callId: 'w1' })), undefined)
})
