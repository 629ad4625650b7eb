// Bugs of unpaired calls, crashes and aborts that users of similar systems reported, and the right behaviour of each.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { settledCalls } from '../../src/engine/index.ts'
import { memoryStore } from '../../src/stores/memory.ts'
import { begin, eventsOf, owner, say, typesOf, until } from '../engine/rig.ts'
import { asking, counted, resultOf, severable, strictRig } from './strict.ts'

const words = (text: string) => [{ type: 'text' as const, text }]

/** A session whose process died while `pay` ran and before its result was recorded. */
async function diedInTool(over: { idempotent?: boolean } = {}) {
  const memory = memoryStore()
  const { store, sever } = severable(memory)
  const running = Promise.withResolvers<void>()
  const pay = counted('pay', {
    trust: 'trusted',
    // The dead process times out soon, but can no longer record it.
    timeoutMs: 10,
    ...over,
    run: () => {
      running.resolve()
      return new Promise(() => {})
    },
  })
  const steps = [{ calls: [{ name: 'pay' }] }, { text: 'Seen.' }]
  const before = await begin(strictRig(steps, { store, tools: [pay.tool] }))
  await before.say({ parts: words('go'), wire: 'test' })
  await running.promise
  sever()
  const again = counted('pay', { trust: 'trusted', ...over })
  const after = () => strictRig(steps, { store: memory, tools: [again.tool] })
  return { id: before.id, after, again, memory }
}

test('an aborted call has a result in the next request', async () => {
  const running = Promise.withResolvers<void>()
  const slow = counted('slow', {
    trust: 'trusted',
    run: (_input, { signal }) => {
      running.resolve()
      return new Promise((_resolve, reject) =>
        signal.addEventListener('abort', () => reject(new Error('aborted'))),
      )
    },
  })
  const rig = strictRig([{ calls: [{ name: 'slow' }] }, { text: 'Go on.' }], { tools: [slow.tool] })
  const session = await begin(rig)
  const first = until(session, () => session.say({ parts: words('go'), wire: 'test' }))
  await running.promise
  const callId = session.state.batch[0]!.part.id
  await session.cancel()
  await first
  await say(session, 'and now?')
  const result = resultOf(rig.requests.at(-1), callId)
  assert.equal(result?.kind, 'cancelled')
  assert.match(result.text, /may have taken effect/)
})

test('after a kill the outcome of an interrupted call is written to the log, not only shown', async () => {
  const { id, after, again, memory } = await diedInTool()
  await after().engine.open(owner, id)
  const settled = (await memory.read(id)).flatMap(({ event }) =>
    event.type === 'call.settled' ? [event] : [],
  )
  assert.deepEqual(
    settled.map(event => event.outcome.kind),
    ['unknown'],
  )
  assert.equal(again.runs.length, 0, 'a call that may have happened does not run again')
})

test('a second and a third resume find nothing to repair', async () => {
  const { id, after, memory } = await diedInTool()
  const first = after()
  const session = await first.engine.open(owner, id)
  await session.driver.settle()
  await session.flushed()
  const log = await memory.read(id)
  assert.equal(log.at(-1)?.event.type, 'turn.ended')
  for (let time = 2; time <= 3; time += 1) {
    const next = after()
    assert.equal(await next.engine.recover(), 0)
    await next.engine.open(owner, id)
    assert.deepEqual(await memory.read(id), log)
  }
})

test('calls of an interrupted turn are settled before the model is asked', async () => {
  const { id, after } = await diedInTool()
  const rig = after()
  assert.equal(await rig.engine.recover(), 1)
  const session = await rig.engine.open(owner, id)
  await session.driver.settle()
  const callId = settledCalls(session.state)[0]!
  assert.equal(rig.requests.length, 1)
  assert.equal(resultOf(rig.requests[0], callId)?.kind, 'unknown')
  const types = await typesOf(rig, session)
  assert.ok(types.indexOf('call.settled') < types.lastIndexOf('model.answered'))
})

test('an idempotent call runs again under the same key', async () => {
  const { id, after, again } = await diedInTool({ idempotent: true })
  const rig = after()
  const session = await rig.engine.open(owner, id)
  await session.driver.settle()
  const started = (await eventsOf(rig, session)).flatMap(event =>
    event.type === 'call.started' ? [event] : [],
  )
  assert.deepEqual(
    again.runs.map(({ key, attempt }) => ({ key, attempt })),
    [{ key: started[0]!.callId, attempt: 2 }],
  )
  assert.deepEqual(
    started.map(({ attempt }) => attempt),
    [1, 2],
  )
})

test('a cancel in a new process settles the stored calls and ends the turn', async () => {
  const store = memoryStore()
  const gated = counted('gated', { trust: 'ask' })
  const steps = [{ calls: [{ name: 'gated' }, { name: 'gated' }] }, { text: 'Go on.' }]
  const before = await begin(strictRig(steps, { store, tools: [gated.tool] }))
  await say(before, 'go')
  assert.equal(asking(before).length, 2)
  const rig = strictRig(steps, { store, tools: [gated.tool] })
  const session = await rig.engine.open(owner, before.id)
  assert.equal(await session.cancel(), true)
  const log = (await store.read(before.id)).slice(-3).map(({ event }) => event)
  assert.deepEqual(
    log.map(event => (event.type === 'call.settled' ? event.outcome.kind : event.type)),
    ['cancelled', 'cancelled', 'turn.ended'],
  )
  await say(session, 'and now?')
  assert.equal(session.status, 'idle')
  assert.equal(rig.requests.length, 1)
})
