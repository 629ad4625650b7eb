// Of many calls only so many run at the same time, of one turn and of all sessions. The others wait in order: allowed, but
// not started, so that a crash finds nothing of them that may have happened.
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { setImmediate as tick } from 'node:timers/promises'
import { CallSlots } from '../../src/engine/calls/running-calls.ts'
import { tool } from '../../src/tools/index.ts'
import { begin, eventsOf, makeRig, say, stopAll } from './rig.ts'

after(stopAll)

const asking = (count: number) => ({
  calls: Array.from({ length: count }, (_, index) => ({ name: 'work', input: { index } })),
})

/** Notes what runs; each call takes a few turns of the event loop, a random number of them. */
function worker() {
  const seen = { running: 0, most: 0, started: [] as number[] }
  const work = tool({
    name: 'work',
    description: 'Works.',
    input: { type: 'object', properties: { index: { type: 'number' } } },
    trust: 'trusted',
    exposed: false,
    async run({ index }) {
      seen.running += 1
      seen.most = Math.max(seen.most, seen.running)
      seen.started.push(Number(index))
      for (let left = Math.ceil(Math.random() * 4); left > 0; left--) await tick()
      seen.running -= 1
      return 'done'
    },
  })
  return { seen, work }
}

test('of one turn: the first ones run, the others follow in order as places become free', async () => {
  const { seen, work } = worker()
  const rig = makeRig({
    script: [asking(40), { text: 'All done.' }],
    tools: [work],
    agent: { callsAtOnce: 4 },
  })
  const session = await begin(rig)
  await say(session, 'go')
  assert.equal(seen.most, 4)
  assert.deepEqual(seen.started, [...Array(40).keys()])
  const events = await eventsOf(rig, session)
  const typed = (type: string) => events.filter(event => event.type === type)
  assert.equal(typed('call.started').length, 40)
  assert.equal(typed('call.allowed').length, 36)
  assert.ok(
    typed('call.settled').every(event => event.type === 'call.settled' && event.outcome.kind === 'ok'),
  )
  assert.equal(session.state.lastStop?.stop, 'end')
})

test('of all sessions of a process', async () => {
  const { seen, work } = worker()
  const rig = makeRig({
    script: request => (request.history.at(-1)?.role === 'user' ? asking(12) : { text: 'Done.' }),
    tools: [work],
    agent: { callsAtOnce: 8 },
    callSlots: new CallSlots(5),
  })
  const sessions = await Promise.all([begin(rig), begin(rig), begin(rig)])
  await Promise.all(sessions.map(session => say(session, 'go')))
  assert.equal(seen.most, 5)
  assert.equal(seen.started.length, 36)
  for (const { state } of sessions) assert.equal(state.lastStop?.stop, 'end')
})

test('a cancelled turn gives its places back, and what waited never runs', async () => {
  const { promise: never } = Promise.withResolvers<string>()
  let started = 0
  const hang = tool({
    name: 'work',
    description: 'Hangs.',
    input: { type: 'object' },
    trust: 'trusted',
    exposed: false,
    run: () => {
      started += 1
      return never
    },
  })
  const slots = new CallSlots(2)
  const rig = makeRig({
    script: request => (request.history.at(-1)?.role === 'user' ? asking(6) : { text: 'Done.' }),
    tools: [hang],
    callSlots: slots,
  })
  const [one, other] = [await begin(rig), await begin(rig)]
  const first = say(one, 'go')
  while (started < 2) await tick()
  const second = say(other, 'go')
  while (other.state.batch.filter(({ stage }) => stage === 'approved').length < 6) await tick()
  await one.cancel()
  await first
  // The other session takes the two places.
  while (started < 4) await tick()
  await other.cancel()
  await second
  assert.equal(started, 4)
  assert.equal(slots.take(9), 2)
})

test('an engine that stops does not wait for calls that were never started', async () => {
  const slots = new CallSlots(1)
  assert.equal(slots.take(1), 1)
  const { work, seen } = worker()
  const rig = makeRig({ script: [asking(3), { text: 'x' }], tools: [work], callSlots: slots })
  const session = await begin(rig)
  void say(session, 'go').catch(() => {})
  while (session.state.batch.filter(({ stage }) => stage === 'approved').length < 3) await tick()
  await rig.engine.stop(60_000)
  assert.deepEqual(seen.started, [])
})
