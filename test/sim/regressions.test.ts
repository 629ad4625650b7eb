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
