// Defects that the simulator found, or that are too rare for it, each as the shortest sequence that shows it.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Store, World } from '../../src/engine/index.ts'
import { toolHash } from '../../src/language/tools.ts'
import { memoryStore } from '../../src/stores/memory.ts'
import { tool } from '../../src/tools/index.ts'
import { begin, eventsOf, makeRig, owner, say, until } from '../engine/rig.ts'

const words = (text: string) => [{ type: 'text' as const, text }]
const input = { type: 'object' }

type Timer = { ms: number; off: boolean; run(): void }

function timers(): { set: Timer[]; timer: World['timer'] } {
  const set: Timer[] = []
  return {
    set,
    timer: (ms, run) => {
      const timer: Timer = { ms, run, off: false }
      set.push(timer)
      return () => {
        timer.off = true
      }
    },
  }
}

test('a turn started right after a cancel has its whole time limit', async () => {
  const clock = timers()
  const rig = makeRig({ script: () => ({ hang: true }), world: { timer: (ms, run) => clock.timer(ms, run) } })
  const session = await begin(rig)
  await session.say({ parts: words('one'), wire: 'test' })
  const cancelled = session.cancel()
  await session.say({ parts: words('two'), wire: 'test' })
  await cancelled
  assert.deepEqual(
    clock.set.map(timer => timer.off),
    [true, false],
  )
  await until(session, async () => clock.set[1]?.run())
  assert.deepEqual(session.state.lastStop, { stop: 'limit', limit: 'time' })
})

test('a cancelled step records its own text, not the text of the step before it', async () => {
  const memory = memoryStore()
  const [asked, disk] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const store: Store = { ...memory, append: batch => disk.promise.then(() => memory.append(batch)) }
  const rig = makeRig({
    store,
    script: [
      { text: 'First.', calls: [{ name: 'none' }] },
      { text: 'Second.', hang: true, expect: () => asked.resolve() },
    ],
  })
  const session = await begin(rig)
  const spoken = session.say({ parts: words('go'), wire: 'test' })
  await asked.promise
  await new Promise(resolve => setImmediate(resolve))
  const cancelled = session.cancel()
  disk.resolve()
  await Promise.all([spoken, cancelled])
  const said = (await eventsOf(rig, session)).flatMap(event =>
    event.type === 'model.answered' && event.stop === 'cancelled' ? event.parts : [],
  )
  assert.deepEqual(said, words('Second.'))
})

test('an approval with edited arguments can be repeated under its idempotency key', async () => {
  const mail = tool({ name: 'mail', description: 'Mails.', input, trust: 'ask', run: () => 'sent' })
  const rig = makeRig({ tools: [mail], script: [{ calls: [{ name: 'mail' }] }, { text: 'Sent.' }] })
  const session = await begin(rig)
  await say(session, 'go')
  const callId = session.state.batch[0]?.part.id ?? ''
  const answers = {
    results: [],
    decisions: [{ callId, granted: true, by: owner, edit: '{"to":"ben"}' }],
    request: { key: 'k', hash: 'h' },
  }
  await until(session, () => session.respond(answers))
  const { replayed } = await session.respond(answers)
  assert.equal(replayed, true)
})

test('a stopped engine leaves no timer behind', async () => {
  const clock = timers()
  const rig = makeRig({ script: () => ({ hang: true }), world: { timer: (ms, run) => clock.timer(ms, run) } })
  const session = await begin(rig)
  await session.say({ parts: words('go'), wire: 'test' })
  await rig.engine.stop(10_000)
  assert.ok(clock.set.some(({ ms }) => ms === 10_000))
  assert.ok(clock.set.every(({ off }) => off))
})

test('a grant for one use is used once, even if several calls are checked at the same time', async () => {
  let runs = 0
  const mail = tool({ name: 'mail', description: 'Mails.', input, trust: 'ask', run: () => ++runs })
  const later = async (): Promise<boolean> => {
    await new Promise(resolve => setImmediate(resolve))
    return true
  }
  const rig = makeRig({
    tools: [mail],
    gate: { rules: [{ tool: 'mail', when: later, then: 'ask' }] },
    script: () => ({ calls: [{ name: 'mail' }, { name: 'mail' }] }),
  })
  const session = await begin(rig)
  await session.grant({ tool: 'mail', toolHash: toolHash(mail), by: owner, usesLeft: 1 })
  await say(session, 'go')
  assert.equal(runs, 1)
  assert.deepEqual(session.state.batch.map(call => call.stage).sort(), ['asking', 'settled'])
})

test('a call that a recovery repeats is started once, also when an answer comes during the recovery', async () => {
  const memory = memoryStore()
  const looked: number[] = []
  const seen = Promise.withResolvers<void>()
  const declared = { description: 'x', input, trust: 'trusted' } as const
  const hang = () => new Promise<string>(() => {})
  const pay = tool({ ...declared, name: 'pay', run: hang })
  const mail = tool({ ...declared, name: 'mail', trust: 'ask', run: () => 'sent' })
  const look = (run: () => Promise<string> | string) =>
    tool({ ...declared, name: 'look', readOnly: true, run })
  const script = [{ calls: [{ name: 'look' }, { name: 'pay' }, { name: 'mail' }] }, { text: 'Done.' }]
  const before = makeRig({ store: memory, tools: [look(hang), pay, mail], script })
  const first = await begin(before)
  await first.say({ parts: words('go'), wire: 'test' })
  while (first.state.batch.map(call => call.stage).join() !== 'started,started,asking')
    await new Promise(resolve => setImmediate(resolve))
  // The recovery reads the row again after it has settled the payment.
  const reading = Promise.withResolvers<void>()
  const slow = { is: false }
  const store: Store = {
    ...memory,
    row: async id => {
      if (slow.is) await reading.promise
      return memory.row(id)
    },
    append: async batch => {
      await memory.append(batch)
      slow.is ||= batch.events.some(event => event.type === 'call.settled')
    },
  }
  const after = makeRig({
    store,
    tools: [look(() => seen.promise.then(() => `seen ${looked.push(1)}`)), pay, mail],
    script: [{ text: 'Done.' }],
  })
  const recovering = after.engine.recover()
  while (!slow.is) await new Promise(resolve => setImmediate(resolve))
  const session = after.engine.inMemory({ owner, session: first.id })
  assert.ok(session)
  const callId = session.state.batch.find(({ stage }) => stage === 'asking')?.part.id ?? ''
  await session.respond({ results: [], decisions: [{ callId, granted: true, by: owner }] })
  // The loop goes on with the mail, and then with what the process before has left.
  while (session.state.batch.find(({ part }) => part.name === 'look')?.attempt !== 2)
    await new Promise(resolve => setImmediate(resolve))
  reading.resolve()
  await recovering
  seen.resolve()
  await session.driver.settle()
  assert.equal(looked.length, 1)
  const starts = (await eventsOf(after, session)).flatMap(event =>
    event.type === 'call.started' && event.callId !== callId ? [event.attempt] : [],
  )
  assert.deepEqual(starts, [1, 1, 2])
  await Promise.all([before.engine.stop(0), after.engine.stop(0)])
})

test('an engine that is stopped while it takes a session up gives it back, and counts no attempt', async t => {
  const memory = memoryStore()
  const before = makeRig({ store: memory, script: [{ hang: true }] })
  t.after(() => before.engine.stop(0))
  const session = await begin(before)
  await session.say({ parts: words('go'), wire: 'test' })
  const [claimed, reading] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const store: Store = {
    ...memory,
    claim: async (id, recovering) => {
      const claim = await memory.claim(id, recovering)
      claimed.resolve()
      return claim
    },
    read: async (...asked) => {
      await reading.promise
      return memory.read(...asked)
    },
  }
  const after = makeRig({ store, script: [{ hang: true }] })
  const recovering = after.engine.recover()
  await claimed.promise
  const attempts = async () => (await memory.row(session.id))?.recoveries
  assert.equal(await attempts(), 1)
  const stopped = after.engine.stop(0).then(attempts)
  reading.resolve()
  assert.equal(await stopped, 0)
  await recovering
})
