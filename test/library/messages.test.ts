// Programs send messages while a turn is under way, take them back, and stop single calls.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { scripted, Turnwire, tool } from '../../src/index.ts'

async function open() {
  const [go, begun] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  let stopped = false
  const paint = tool({
    name: 'paint',
    description: 'Paints.',
    input: { type: 'object' },
    trust: 'trusted',
    run: async (_input, { signal, app }) => {
      signal.addEventListener('abort', () => {
        stopped = true
      })
      begun.resolve()
      await go.promise
      return `painted ${JSON.stringify(app)}`
    },
  })
  const model = scripted([
    { calls: [{ name: 'paint' }] },
    { text: 'Painted.' },
    { calls: [{ name: 'paint' }] },
    { text: 'Tidy.' },
  ])
  const agents = [{ name: 'painter', model, tools: [paint] }]
  const turnwire = await Turnwire.open({ agents, data: 'memory' })
  const session = await turnwire.session('painter')
  return { turnwire, session, go: go.resolve, begun: begun.promise, isStopped: () => stopped }
}

test('the reply to a message that waits is that of the turn that it is delivered to', async () => {
  const { turnwire, session, go, begun } = await open()
  const first = session.send('Paint')
  await begun
  const steered = session.send('in blue', { during: 'steer' })
  const queued = session.send('Then again', { during: 'queue', context: { who: 'ana' } as object })
  const waiting = [await steered.message, await queued.message]
  assert.deepEqual(
    waiting.map(message => message?.state),
    ['queued', 'queued'],
  )
  assert.deepEqual(
    (await session.messages()).map(({ id }) => id),
    waiting.map(message => message?.id),
  )
  go()
  assert.deepEqual([(await first).text, (await steered).text], ['Painted.', 'Painted.'])
  const results: string[] = []
  for await (const item of queued)
    if (item.type === 'result') results.push(JSON.stringify(item.outcome.parts))
  assert.match(results.join(), /painted.*who.*ana/, 'the context of the message is that of its turn')
  assert.equal(results.length, 1, 'nothing of the turn before')
  assert.equal((await queued).text, 'Tidy.')
  assert.deepEqual(await session.messages(), [])
  await turnwire.close()
})

test('a message that was taken back says so, and cannot be taken back again', async () => {
  const { turnwire, session, go, begun } = await open()
  const first = session.send('Paint')
  await begun
  const queued = session.send('Then again', { during: 'queue' })
  const { id = '' } = (await queued.message) ?? {}
  await session.withdraw(id, { reason: 'a slip' })
  assert.equal((await queued).status, 'withdrawn')
  await assert.rejects(session.withdraw(id), { code: 'message_delivered' })
  go()
  assert.equal((await first).text, 'Painted.')
  await turnwire.close()
})

test('one call is stopped, and the turn goes on', async () => {
  const { turnwire, session, begun, isStopped } = await open()
  const first = session.send('Paint')
  const items: string[] = []
  const read = (async () => {
    for await (const item of first) {
      if (item.type === 'call') {
        await begun
        await session.cancelCall(item.callId, { by: 'olga', reason: 'wrong fence' })
      }
      if (item.type === 'result') items.push(`${item.outcome.kind} ${JSON.stringify(item.outcome.parts)}`)
    }
  })()
  assert.equal((await first).text, 'Painted.')
  await read
  assert.match(items.join(), /^cancelled .*wrong fence/)
  assert.equal(isStopped(), true)
  await turnwire.close()
})

test('a cancellation can take back what waits', async () => {
  const { turnwire, session, begun } = await open()
  const first = session.send('Paint')
  await begun
  const queued = session.send('Then again', { during: 'queue' })
  await queued.accepted
  await session.cancel({ withdraw: true })
  assert.equal((await queued).status, 'withdrawn')
  const reply = await first
  assert.equal(reply.status === 'done' && reply.stop, 'cancelled')
  await turnwire.close()
})

test('an unknown word for `during` is refused before anything is recorded', async () => {
  const { turnwire, session } = await open()
  assert.throws(() => session.send('x', { during: 'later' as 'queue' }), {
    code: 'bad_request',
    message: /refuse, queue, steer, interrupt/,
  })
  await turnwire.close()
})
