// What a session keeps back for a store that is glad of it, and what it does not.
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import type { Store, World } from '../../src/engine/index.ts'
import { memoryStore } from '../../src/stores/memory.ts'
import { tool } from '../../src/tools/index.ts'
import { begin, makeRig, say, stopAll } from './rig.ts'

after(stopAll)

/** Remembers which events came in which append, and lets the test say when a moment is over. */
function lingering(): { store: Store; world: Partial<World>; appends: string[][]; pass: () => void } {
  const inner = memoryStore()
  const appends: string[][] = []
  const waits = new Map<symbol, () => void>()
  const lingerMs = 3
  return {
    appends,
    store: {
      ...inner,
      lingerMs,
      append(batch) {
        appends.push(batch.events.map(({ type }) => type))
        return inner.append(batch)
      },
    },
    world: {
      timer(ms, run) {
        const wait = Symbol('wait')
        if (ms === lingerMs) waits.set(wait, run)
        return () => void waits.delete(wait)
      },
    },
    pass: () => {
      for (const run of waits.values()) run()
      waits.clear()
    },
  }
}

function gated(name: string) {
  const end = Promise.withResolvers<string>()
  const waiting = tool({
    name,
    description: 'Ends when the test lets it.',
    input: { type: 'object' },
    trust: 'trusted',
    run: () => end.promise,
  })
  return { tool: waiting, end: () => end.resolve('done') }
}

const turns = () => new Promise(setImmediate)

test('a turn with one call is two appends: up to its intent, and from its outcome on', async () => {
  const { store, world, appends } = lingering()
  const ping = tool({
    name: 'ping',
    description: 'Pings.',
    input: { type: 'object' },
    trust: 'trusted',
    run: () => 'pong',
  })
  const rig = makeRig({
    store,
    world,
    tools: [ping],
    script: [{ calls: [{ name: 'ping', input: {} }] }, { text: 'Done.' }],
  })
  await say(await begin(rig), 'go')
  assert.deepEqual(
    appends.map(types => types.filter(type => type !== 'model.answered')),
    [
      ['turn.started', 'call.started'],
      ['call.settled', 'turn.ended'],
    ],
  )
})

test('calls that end one after the other share an append; what lingers is written when its moment is over', async () => {
  const { store, world, appends, pass } = lingering()
  const [first, second, third] = [gated('first'), gated('second'), gated('third')]
  const rig = makeRig({
    store,
    world,
    tools: [first.tool, second.tool, third.tool],
    script: [{ calls: ['first', 'second', 'third'].map(name => ({ name, input: {} })) }, { text: 'Done.' }],
  })
  const session = await begin(rig)
  const turn = say(session, 'go')
  await turns()
  assert.equal(session.driver.callsRunning, 3)
  appends.length = 0
  first.end()
  await turns()
  second.end()
  await turns()
  assert.deepEqual(appends, [], 'nobody waits for them yet')
  assert.equal(session.clean, false)
  pass()
  await turns()
  assert.deepEqual(appends, [['call.settled', 'call.settled']])
  assert.equal(session.clean, true)
  third.end()
  await turn
  assert.deepEqual(appends.flat().slice(2), ['call.settled', 'model.answered', 'turn.ended'])
})

test('a message is accepted once it is durable: in its moment, or at once when someone asks for that', async () => {
  const { store, world, appends, pass } = lingering()
  const rig = makeRig({ store, world, script: [{ hang: true }] })
  for (const hurry of [false, true]) {
    const session = await begin(rig)
    appends.length = 0
    let accepted = false
    const said = session.say({ parts: [{ type: 'text', text: 'go' }], wire: 'test' }).then(() => {
      accepted = true
    })
    await turns()
    assert.deepEqual([accepted, appends], [false, []])
    if (hurry) await session.flushed()
    else pass()
    await said
    assert.deepEqual(appends, [['turn.started']])
    await session.cancel()
  }
})

test('a question to a person does not linger', async () => {
  const { store, world, appends } = lingering()
  const rig = makeRig({
    store,
    world,
    tools: [tool({ name: 'ask', description: 'Asks.', input: { type: 'object' }, run: () => 'done' })],
    script: [{ calls: [{ name: 'ask', input: {} }] }],
  })
  await say(await begin(rig), 'go')
  assert.equal(appends.flat().at(-1), 'approval.requested')
})
