// Beyond the protocol: messages while a turn is under way, and calls that are stopped alone.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  answerOf,
  callsIn,
  clipboard,
  history,
  latch,
  newSession,
  type Rig,
  refusal,
  rig,
  say,
  turn,
} from './rig.ts'

const slow = { agent: { tools: [{ name: 'slow', trust: true }] } }

async function begun(at: Rig): Promise<void> {
  while (at.runs.length === 0) await new Promise(resolve => setImmediate(resolve))
}

type Sent = { messageId: string; state: string }
const sentOf = async (asked: Response | Promise<Response>): Promise<Sent> => {
  const answer = await asked
  assert.equal(answer.status, 202)
  return (await answer.json()) as Sent
}
const users = async (at: Rig, id: string): Promise<string[]> =>
  (await history(at, id)).map(({ role, content }) => (role === 'user' ? String(content) : role))

test('a message that steers is acknowledged with 202, joins the turn, and the stream of the turn ends with it', async t => {
  const gate = latch()
  const at = await rig(
    t,
    { script: [{ calls: [{ name: 'slow' }] }, { text: 'In blue.' }, { text: 'Next.' }] },
    gate,
  )
  const id = await newSession(at, slow)
  const first = turn(at, id, say('go', 'message'))
  await begun(at)
  const steered = await sentOf(turn(at, id, { ...say('in blue'), during: 'steer' }))
  assert.equal(steered.state, 'queued')
  const queued = await sentOf(turn(at, id, { ...say('and then'), during: 'queue', stream: 'delta' }))
  const listed = (await (await at.request('GET', `/aap/v3/sessions/${id}/messages`)).json()) as {
    messages: { messageId: string; during: string; content: string; at: number }[]
  }
  assert.deepEqual(
    listed.messages.map(({ messageId, during, content }) => [messageId, during, content]),
    [
      [steered.messageId, 'steer', 'in blue'],
      [queued.messageId, 'queue', 'and then'],
    ],
  )
  const state = (await (await at.request('GET', `/aap/v3/sessions/${id}/state`)).json()) as typeof listed
  assert.equal(state.messages.length, 2)
  gate.open()
  const text = await (await first).text()
  assert.equal(text.match(/event: turn_stop/g)?.length, 1)
  assert.match(text, /In blue\./)
  assert.doesNotMatch(text, /Next\./)
  const session = await at.engine.open('alice', id)
  await session.driver.settle()
  assert.deepEqual(await users(at, id), [
    ...['go', 'assistant', 'tool', 'in blue', 'assistant', 'and then', 'assistant'],
  ])
})

test('the same key says what has become of the message, and says it once', async t => {
  const gate = latch()
  const at = await rig(t, { script: [{ calls: [{ name: 'slow' }] }, { text: 'Done.' }] }, gate)
  const id = await newSession(at, slow)
  const first = turn(at, id, say('go'))
  await begun(at)
  const body = { ...say('more'), during: 'steer' }
  const send = () => at.request('POST', `/aap/v3/sessions/${id}/turns`, body, { 'idempotency-key': 'k' })
  const [one, two] = [await sentOf(send()), await sentOf(send())]
  assert.deepEqual(one, two)
  gate.open()
  await answerOf(first)
  assert.deepEqual(await sentOf(send()), { messageId: one.messageId, state: 'delivered' })
  assert.equal((await users(at, id)).filter(line => line === 'more').length, 1)
})

test('a message is withdrawn until it is delivered', async t => {
  const gate = latch()
  const at = await rig(t, { script: [{ calls: [{ name: 'slow' }] }, { text: 'Done.' }] }, gate)
  const id = await newSession(at, slow)
  const first = turn(at, id, say('go'))
  await begun(at)
  const { messageId } = await sentOf(turn(at, id, { ...say('more'), during: 'queue' }))
  const withdraw = (message: string, owner?: string) =>
    at.request(
      'DELETE',
      `/aap/v3/sessions/${id}/messages/${message}`,
      undefined,
      owner ? { 'x-owner': owner } : {},
    )
  assert.deepEqual(await refusal(withdraw(messageId, 'bob')), [404, 'session_not_found'])
  assert.equal((await withdraw(messageId)).status, 204)
  assert.deepEqual(await refusal(withdraw(messageId)), [409, 'message_delivered'])
  assert.deepEqual(await refusal(withdraw('msg_none')), [404, 'not_found'])
  gate.open()
  await answerOf(first)
  assert.deepEqual(await users(at, id), ['go', 'assistant', 'tool', 'assistant'])
})

test('a queued message leaves what waits for the application; without one in the way it is an ordinary turn', async t => {
  const at = await rig(t, {
    script: [{ calls: [{ name: 'clipboard' }] }, { text: 'One.' }, { text: 'Two.' }],
  })
  const id = await newSession(at, { tools: [clipboard] })
  const stopped = await answerOf(turn(at, id, { ...say('go'), during: 'queue' }))
  assert.equal(stopped.stopReason, 'tool_use')
  await sentOf(turn(at, id, { ...say('later'), during: 'queue' }))
  const open = callsIn(stopped.messages)[0]!.toolCallId
  const answer = await answerOf(
    turn(at, id, { messages: [{ role: 'tool', toolCallId: open, content: 'milk' }] }),
  )
  assert.deepEqual(answer.messages.at(-1)?.content, 'One.')
})

test('one call is stopped, with a reason for the model', async t => {
  const gate = latch()
  const at = await rig(t, { script: [{ calls: [{ name: 'slow' }] }, { text: 'Without it.' }] }, gate)
  const id = await newSession(at, slow)
  const first = turn(at, id, say('go'))
  await begun(at)
  const callId = callsIn(await history(at, id))[0]!.toolCallId
  const stop = (call: string, body?: object) =>
    at.request('POST', `/aap/v3/sessions/${id}/calls/${call}/cancel`, body)
  assert.deepEqual(await refusal(stop('call_none')), [400, 'unknown_call'])
  assert.equal((await stop(callId, { reason: 'too slow' })).status, 204)
  const answer = await answerOf(first)
  assert.match(JSON.stringify(answer.messages), /cancelled while it was running.*too slow/)
  assert.equal(answer.messages.at(-1)?.content, 'Without it.')
  assert.deepEqual(await refusal(stop(callId)), [409, 'call_settled'])
  gate.open()
})

test('a cancellation with withdraw leaves nothing to say', async t => {
  const gate = latch()
  const at = await rig(t, { script: [{ calls: [{ name: 'slow' }] }, { text: 'Next.' }] }, gate)
  const id = await newSession(at, slow)
  const first = turn(at, id, say('go'))
  await begun(at)
  await sentOf(turn(at, id, { ...say('more'), during: 'queue' }))
  const cancel = (withdraw: string) =>
    at.request('POST', `/aap/v3/sessions/${id}/cancel?withdraw=${withdraw}`)
  assert.deepEqual(await refusal(cancel('yes')), [400, 'bad_request'])
  assert.equal((await cancel('true')).status, 204)
  await answerOf(first)
  assert.deepEqual(await users(at, id), ['go', 'assistant', 'tool'])
  gate.open()
})

test('a wrong `during`, or one beside answers, is refused', async t => {
  const at = await rig(t, { script: [{ text: 'Done.' }] })
  const id = await newSession(at)
  const [status, code] = await refusal(turn(at, id, { ...say('x'), during: 'later' }))
  assert.deepEqual([status, code], [400, 'bad_request'])
  const answers = { messages: [{ role: 'tool', toolCallId: 'c', content: 'x' }], during: 'queue' }
  assert.deepEqual(await refusal(turn(at, id, answers)), [400, 'bad_request'])
})
