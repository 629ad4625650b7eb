import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { SessionClient } from './session-page.ts'
import { sessionActions } from './session-page.ts'

test('a decision and an answer are sent as the messages that the protocol has for them', async () => {
  const sent: unknown[] = []
  const none = (): Promise<never> => Promise.reject(new Error('not used'))
  const client: SessionClient = {
    async *watch() {},
    sendTurn: async (id, { messages }) => void sent.push([id, ...messages]),
    say: none,
    withdraw: none,
    cancelCall: none,
    reconcile: none,
    undo: none,
    cancel: none,
  }
  const { decide, answer } = sessionActions(client, () => 'one')
  await decide('call_1', { granted: false, reason: 'Not today.' })
  await answer('ques_1', { action: 'accept', content: { amount: 5 } })
  await answer('ques_2', { action: 'decline' })
  assert.deepEqual(sent, [
    ['one', { role: 'tool_permission', toolCallId: 'call_1', granted: false, reason: 'Not today.' }],
    ['one', { role: 'tool_answer', questionId: 'ques_1', action: 'accept', content: { amount: 5 } }],
    ['one', { role: 'tool_answer', questionId: 'ques_2', action: 'decline' }],
  ])
  await assert.rejects(sessionActions(client, () => undefined).answer('ques_1', { action: 'decline' }))
})
