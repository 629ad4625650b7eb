// The client SDK says something while a turn is under way, takes it back, and stops single calls; and what a page shows of it.
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { AapClient, type AapError } from '../../src/client/index.ts'
import { scripted, startServer, Turnwire, tool } from '../../src/index.ts'
import { ViewFold } from '../../src/react/view-fold.ts'

const limited = { timeout: 60_000 }

async function rig(t: TestContext) {
  const [go, begun] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const slow = tool({
    name: 'slow',
    description: 'Takes its time.',
    input: { type: 'object' },
    trust: 'trusted',
    run: async () => {
      begun.resolve()
      await go.promise
      return 'done'
    },
  })
  const model = scripted([{ calls: [{ name: 'slow' }] }, { text: 'One.' }, { text: 'Two.' }])
  const turnwire = await Turnwire.open({ agents: [{ name: 'helper', model, tools: [slow] }], data: 'memory' })
  const server = await startServer(turnwire, { port: 0 })
  t.after(() => server.stop())
  const client = new AapClient({ baseUrl: server.url })
  const id = await client.createSession({ agent: { name: 'helper', tools: [{ name: 'slow', trust: true }] } })
  return { client, session: client.session(id), id, go: go.resolve, begun: begun.promise }
}

test('messages wait, are listed, withdrawn and delivered; a page shows them', limited, async t => {
  const { client, session, id, go, begun } = await rig(t)
  assert.deepEqual(await session.say('go', { during: 'steer' }), { state: 'delivered' })
  await begun
  await assert.rejects(session.say('no'), (error: AapError) => error.code === 'busy')
  const steered = await session.say('in blue', { during: 'steer' })
  const queued = await session.say('and then', { during: 'queue' })
  const dropped = await session.say('never mind', { during: 'queue' })
  assert.deepEqual(
    (await session.messages()).map(({ messageId, during, content }) => [messageId, during, content]),
    [
      [steered.messageId, 'steer', 'in blue'],
      [queued.messageId, 'queue', 'and then'],
      [dropped.messageId, 'queue', 'never mind'],
    ],
  )
  await session.withdraw(dropped.messageId ?? '')
  const fold = new ViewFold()
  const seen: string[][] = []
  const reading = (async () => {
    for await (const item of client.watch(id)) {
      fold.take(item)
      seen.push(fold.snapshot().messages.map(({ message }) => message))
      if (!('delta' in item) && item.event.type === 'turn.ended' && fold.snapshot().turns.length === 2) return
    }
  })()
  go()
  await reading
  const view = fold.snapshot()
  assert.ok(
    seen.some(waiting => waiting.length === 3),
    'the page shows what waits',
  )
  assert.deepEqual(view.messages, [])
  assert.deepEqual(
    view.items.map(item => {
      if (item.type === 'user') return item.parts[0]?.type === 'text' ? item.parts[0].text : ''
      return item.type === 'answer' ? item.text : item.type
    }),
    ['go', 'call', 'note', 'in blue', 'One.', 'and then', 'Two.'],
  )
  assert.equal(view.steps.length, 3)
})

test('one call is stopped, and a cancellation withdraws what waits', limited, async t => {
  const { client, session, id, begun } = await rig(t)
  await session.say('go')
  await begun
  const [running] = (await client.getState(id)).running
  await session.say('later', { during: 'queue' })
  await session.cancelCall(running ?? '', 'too slow')
  await assert.rejects(
    client.cancelCall(id, running ?? ''),
    (error: AapError) => error.code === 'call_settled',
  )
  await session.cancel({ withdraw: true })
  const history = JSON.stringify(await client.getHistory(id))
  assert.match(history, /too slow/)
})

test('an interrupted answer is shown as it was, with a step of its own', limited, async t => {
  const spoken = Promise.withResolvers<void>()
  const model = scripted(({ history }) =>
    history.length === 1 ? { text: 'Once upon', hang: true } : { text: 'Short.' },
  )
  const turnwire = await Turnwire.open({ agents: [{ name: 'helper', model }], data: 'memory' })
  const server = await startServer(turnwire, { port: 0 })
  t.after(() => server.stop())
  const client = new AapClient({ baseUrl: server.url })
  const id = await client.createSession({ agent: { name: 'helper' } })
  const fold = new ViewFold()
  const reading = (async () => {
    for await (const item of client.watch(id)) {
      fold.take(item)
      if ('delta' in item && item.delta.type === 'text') spoken.resolve()
      if (!('delta' in item) && item.event.type === 'turn.ended') return
    }
  })()
  await client.say(id, 'tell')
  await spoken.promise
  assert.equal((await client.say(id, 'shorter', { during: 'interrupt' })).state, 'delivered')
  await reading
  const { items, steps } = fold.snapshot()
  assert.deepEqual(
    items.map(item => (item.type === 'answer' ? item.text : item.type)),
    ['user', 'Once upon', 'user', 'Short.'],
  )
  assert.equal(steps.length, 2)
})
