// `runTurn` with client tools and permissions, against a real server.
import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import {
  pendingCalls,
  type RunTurnOptions,
  type ToolCall,
  type TurnEvent,
  textOfContent,
} from '../../src/client/index.ts'
import { both, clipboard, serve } from './rig.ts'

const batch = {
  calls: [
    { name: 'look', input: { q: 1 } },
    { name: 'clipboard', input: {} },
    { name: 'send', input: { to: 'ana' } },
  ],
}
const script = [batch, { text: 'All done.' }]
const session = { agent: { name: 'helper', tools: both }, tools: [clipboard] }

test('client tools are run, permissions are asked for, and all answers go back in one request', async t => {
  const { client, turnwire } = await serve(t, script)
  const sessionId = await client.createSession(session)
  const asked: ToolCall[] = []
  const events: TurnEvent['event'][] = []
  const result = await client.runTurn({
    sessionId,
    text: 'Go',
    stream: 'message',
    tools: { clipboard: () => ({ text: 'copied' }) },
    onPermission: call => {
      asked.push(call)
      return true
    },
    onEvent: event => events.push(event.event),
  })
  assert.equal(result.stopReason, 'end_turn')
  assert.deepEqual(
    asked.map(({ name, input }) => [name, input]),
    [['send', { to: 'ana' }]],
  )
  assert.equal(events.filter(event => event === 'turn_start').length, 2)
  const history = await (await turnwire.resume(sessionId)).history()
  const results = history.flatMap(entry => (entry.role === 'tool' ? entry.results : []))
  assert.deepEqual(
    results.map(({ name, outcome }) => [name, outcome.parts]),
    [
      ['look', [{ type: 'text', text: 'seen {"q":1}' }]],
      ['clipboard', [{ type: 'text', text: '{"text":"copied"}' }]],
      ['send', [{ type: 'text', text: 'sent {"to":"ana"}' }]],
    ],
  )
})

test('onPermission gets the reason, and a failure has its code and message', async t => {
  const failing = [...script.slice(0, 1), { fail: { code: 'model_timeout' as const, message: 'Too slow.' } }]
  const rules = [{ tool: 'send', then: 'ask' as const, reason: 'It leaves the house.' }]
  const { client } = await serve(t, failing, { agent: { rules } })
  const sessionId = await client.createSession(session)
  const reasons: (string | undefined)[] = []
  const result = await client.runTurn({
    sessionId,
    text: 'Go',
    tools: { clipboard: () => 'copied' },
    onPermission: ({ reason }) => {
      reasons.push(reason)
      return true
    },
  })
  assert.deepEqual(reasons, ['It leaves the house.'])
  assert.deepEqual([result.stopReason, result.error, result.code], ['error', 'Too slow.', 'model_timeout'])
})

describe('answers', () => {
  const run = async (
    t: TestContext,
    permission: RunTurnOptions['onPermission'],
    own: () => unknown = () => 'copied',
  ): Promise<string[]> => {
    const { client } = await serve(t, script)
    const sessionId = await client.createSession(session)
    await client.runTurn({
      sessionId,
      text: 'Go',
      tools: { clipboard: own },
      ...(permission && { onPermission: permission }),
    })
    const history = await client.getHistory(sessionId)
    return history.flatMap(message => (message.role === 'tool' ? [textOfContent(message.content)] : []))
  }

  test('a denial with a reason reaches the model', async t => {
    const results = await run(t, () => ({ granted: false, reason: 'not now' }))
    assert.equal(results[2], 'Tool call denied: not now')
  })

  test('a grant may change the arguments', async t => {
    const results = await run(t, () => ({ granted: true, input: { to: 'bob' } }))
    assert.match(results[2] ?? '', /sent \{"to":"bob"\}/)
  })

  test('the model is told that a client tool failed', async t => {
    const results = await run(
      t,
      () => true,
      () => {
        throw new Error('no clipboard here')
      },
    )
    assert.equal(results[1], 'The tool failed: no clipboard here')
  })

  test('a client tool may return nothing or blocks', async t => {
    assert.equal(
      (
        await run(
          t,
          () => true,
          () => undefined,
        )
      )[1],
      '(no output)',
    )
    assert.equal(
      (
        await run(
          t,
          () => true,
          () => [{ type: 'text', text: 'block' }],
        )
      )[1],
      'block',
    )
  })
})

describe('calls that runTurn cannot answer', () => {
  test('are returned as pending: no onPermission, or no function for the tool', async t => {
    const { client } = await serve(t, script)
    const first = await client.createSession(session)
    const unasked = await client.runTurn({ sessionId: first, text: 'Go', tools: { clipboard: () => '' } })
    assert.equal(unasked.stopReason, 'tool_use')
    assert.deepEqual(
      unasked.pending.map(call => call.name),
      ['clipboard', 'send'],
    )
    const second = await client.createSession(session)
    const unknown = await client.runTurn({
      sessionId: second,
      text: 'Go',
      onPermission: () => assert.fail('asked'),
    })
    assert.equal(unknown.stopReason, 'tool_use')
  })

  test('can be answered later from the history', async t => {
    const { client } = await serve(t, script)
    const sessionId = await client.createSession(session)
    await client.runTurn({ sessionId, text: 'Go' })
    const { client: own, server } = pendingCalls(await client.getHistory(sessionId), [clipboard])
    assert.deepEqual([own.map(call => call.name), server.map(call => call.name)], [['clipboard'], ['send']])
    const { stopReason, messages } = await client.runTurn({
      sessionId,
      pending: [...own, ...server],
      tools: { clipboard: () => 'late' },
      onPermission: () => true,
    })
    assert.equal(stopReason, 'end_turn')
    assert.equal(messages.at(-1)?.content, 'All done.')
    assert.deepEqual(pendingCalls(await client.getHistory(sessionId), [clipboard]), {
      client: [],
      server: [],
    })
  })
})

describe('cancelling', () => {
  test('during the model’s answer', async t => {
    const { client } = await serve(t, [{ text: 'For ever', hang: true }])
    const sessionId = await client.createSession({ agent: { name: 'helper' } })
    const controller = new AbortController()
    const { stopReason } = await client.runTurn({
      sessionId,
      text: 'Go',
      signal: controller.signal,
      onEvent: event => event.event === 'text_delta' && controller.abort(),
    })
    assert.equal(stopReason, 'cancelled')
  })

  test('during a question runs nothing, and the session can continue', async t => {
    const { client } = await serve(t, script)
    const sessionId = await client.createSession(session)
    const controller = new AbortController()
    const { stopReason } = await client.runTurn({
      sessionId,
      text: 'Go',
      tools: { clipboard: () => '' },
      signal: controller.signal,
      onPermission: () => {
        controller.abort()
        return true
      },
    })
    assert.equal(stopReason, 'cancelled')
    for await (const watched of client.watch(sessionId))
      if ('seq' in watched && watched.event.type === 'turn.ended') {
        assert.equal(watched.event.stop, 'cancelled')
        break
      }
    const again = await client.runTurn({ sessionId, text: 'Go on' })
    assert.equal(again.stopReason, 'end_turn')
  })
})

test('calls before a later user message are not pending', () => {
  const call = { type: 'tool_use' as const, toolCallId: 'c', name: 'x', input: {} }
  const history = [{ role: 'assistant' as const, content: [call] }]
  assert.equal(pendingCalls(history).server.length, 1)
  assert.equal(pendingCalls([...history, { role: 'user', content: 'Never mind' }]).server.length, 0)
  assert.equal(pendingCalls([...history, { role: 'tool', toolCallId: 'c', content: '' }]).server.length, 0)
  assert.equal(pendingCalls([]).server.length, 0)
})
