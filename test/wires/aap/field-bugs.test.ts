// Bugs that users of similar systems reported, tried on this wire. Each test is named by its bug.
import assert from 'node:assert/strict'
import { connect } from 'node:net'
import test from 'node:test'
import type { Store } from '../../../src/engine/index.ts'
import { memoryStore } from '../../../src/stores/memory.ts'
import { tool } from '../../../src/tools/index.ts'
import {
  answerOf,
  callsIn,
  clipboard,
  deny,
  grant,
  history,
  newSession,
  result,
  rig,
  say,
  sseOf,
  turn,
} from './rig.ts'

const mail = (to: string) => ({ name: 'mail', input: { to } })
const asking = { agent: { tools: [{ name: 'mail' }, { name: 'search' }] }, tools: [clipboard] }

test('two calls of one tool each get their own answer', async t => {
  const at = await rig(t, {
    script: [{ calls: [mail('a'), mail('b'), { name: 'clipboard' }, { name: 'clipboard' }] }, { text: 'ok' }],
  })
  const id = await newSession(at, asking)
  const calls = callsIn((await answerOf(turn(at, id, say('go')))).messages)
  const [a, b, c, d] = calls.map(call => call.toolCallId)
  const messages = [result(d!, 'for d'), grant(b!), result(c!, 'for c'), grant(a!)]
  await answerOf(turn(at, id, { messages }))
  const kept = new Map((await history(at, id)).map(message => [message.toolCallId, message.content]))
  assert.deepEqual(
    [a, b, c, d].map(each => kept.get(each)),
    ['sent to a', 'sent to b', 'for c', 'for d'],
  )
})

test('all calls that wait are shown at once, each with its own id', async t => {
  const at = await rig(t, {
    script: [{ calls: [mail('a'), mail('b'), { name: 'search', input: { q: 'x' } }] }],
  })
  const items = await sseOf(await turn(at, await newSession(at, asking), say('go', 'message')))
  const ids = items
    .filter(item => item.event === 'tool_call')
    .map(item => (item.data as { toolCallId: string }).toolCallId)
  assert.equal(new Set(ids).size, 3)
  assert.deepEqual(items.at(-1), { event: 'turn_stop', data: { stopReason: 'tool_use' } })
})

test('a stop is sent only once the calls that wait are durable', async t => {
  const store = memoryStore()
  const slow: Store = {
    ...store,
    append: async batch => {
      await new Promise(resolve => setTimeout(resolve, 3))
      return store.append(batch)
    },
  }
  const at = await rig(t, {
    store: slow,
    script: [{ text: 'x'.repeat(1_000_000), calls: [mail('a')] }, { text: 'ok' }],
  })
  const id = await newSession(at, asking)
  const items = await sseOf(await turn(at, id, say('go', 'message')))
  const call = items.find(item => item.event === 'tool_call')?.data as { toolCallId: string }
  assert.ok((await store.read(id)).some(({ event }) => event.type === 'approval.requested'))
  const other = await rig(t, { store, script: [{ text: 'unused' }, { text: 'ok' }] })
  const granted = await answerOf(turn(other, id, { messages: [grant(call.toolCallId)] }))
  assert.equal(granted.stopReason, 'end_turn', 'a server that knows only the store can go on at once')
})

test('empty, false and zero are answers', async t => {
  const at = await rig(t, {
    script: [{ calls: [{ name: 'clipboard' }, { name: 'clipboard' }, mail('a')] }, { text: 'ok' }],
  })
  const id = await newSession(at, asking)
  const [a, b, c] = callsIn((await answerOf(turn(at, id, say('go')))).messages).map(call => call.toolCallId)
  const { stopReason } = await answerOf(
    turn(at, id, { messages: [result(a!, ''), result(b!, '0'), deny(c!, '')] }),
  )
  assert.equal(stopReason, 'end_turn')
  const kept = (await history(at, id))
    .filter(message => message.role === 'tool')
    .map(message => message.content)
  assert.deepEqual(kept, ['(no output)', '0', 'Tool call denied'])
})

test('a call read back from storage has the id that the stream gave it', async t => {
  const at = await rig(t, { script: [{ calls: [mail('a')] }] })
  const id = await newSession(at, asking)
  const items = await sseOf(await turn(at, id, say('go', 'delta')))
  const shown = items.find(item => item.event === 'tool_call')?.data as { toolCallId: string }
  const after = await at.restart()
  assert.deepEqual(
    callsIn(await history(after, id)).map(call => call.toolCallId),
    [shown.toolCallId],
  )
})

test('one denial does not affect the other calls', async t => {
  const at = await rig(t, { script: [{ calls: [mail('a'), mail('b'), mail('c')] }, { text: 'ok' }] })
  const id = await newSession(at, asking)
  const [a, b, c] = callsIn((await answerOf(turn(at, id, say('go')))).messages).map(call => call.toolCallId)
  const first = await answerOf(turn(at, id, { messages: [deny(b!)] }))
  assert.equal(first.stopReason, 'tool_use')
  await answerOf(turn(at, id, { messages: [grant(a!), grant(c!)] }))
  assert.deepEqual(
    at.runs.map(run => run.input),
    [{ to: 'a' }, { to: 'c' }],
  )
})

test('the answer of a turn is not doubled for a client that reads history while it runs', async t => {
  const at = await rig(t, { script: [{ text: 'one', calls: [{ name: 'slow' }] }, { text: 'two' }] })
  const id = await newSession(at, { agent: { tools: [{ name: 'slow', trust: true }] } })
  const first = turn(at, id, say('go', 'message'))
  while (at.runs.length === 0) await new Promise(resolve => setImmediate(resolve))
  const during = await history(at, id)
  assert.deepEqual(
    during.map(message => message.role),
    ['user', 'assistant', 'tool'],
  )
  assert.match(String(during[2]!.content), /^This call is running/)
  await at.request('POST', `/sessions/${id}/cancel`)
  await (await first).text()
  const after = await history(at, id)
  assert.deepEqual(after.slice(0, 2), during.slice(0, 2))
  assert.deepEqual(
    after.map(message => message.role),
    ['user', 'assistant', 'tool'],
  )
})

test('a client that never reads is dropped, and the turn goes on', async t => {
  const flood = tool({
    name: 'flood',
    description: 'Says a lot.',
    input: { type: 'object', properties: {} },
    trust: 'trusted',
    exposed: false,
    outputLimit: 2_000_000,
    run: () => 'x'.repeat(1_500_000),
  })
  const at = await rig(t, {
    limits: { stallMs: 50 },
    agent: { tools: [flood] },
    script: request =>
      request.history.length < 12
        ? { calls: [{ name: 'flood', input: { n: request.history.length } }] }
        : { text: 'survived' },
    store: memoryStore(),
  })
  const id = await newSession(at)
  const body = JSON.stringify(say('go', 'message'))
  const socket = connect(Number(new URL(at.url).port), '127.0.0.1')
  socket.pause()
  const closed = new Promise<void>(resolve => socket.once('close', () => resolve()))
  socket.on('error', () => {})
  socket.write(
    `POST /sessions/${id}/turns HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
  )
  const ended = async () => (await at.engine.peek('alice', id).catch(() => undefined))?.lastStop
  while ((await ended()) === undefined) await new Promise(resolve => setTimeout(resolve, 5))
  while (!at.logs.some(line => line.includes('did not read')))
    await new Promise(resolve => setTimeout(resolve, 5))
  socket.resume()
  await closed
  assert.deepEqual((await history(at, id, 'compacted')).at(-1), { role: 'assistant', content: 'survived' })
})
