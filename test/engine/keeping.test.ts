// Which sessions are kept in memory, and that a process never works with two copies of one.
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import type { OpenSessions } from '../../src/engine/index.ts'
import { memoryStore } from '../../src/stores/memory.ts'
import { tool } from '../../src/tools/index.ts'
import { begin, makeRig, owner, stopAll, until } from './rig.ts'

after(stopAll)

test('a session that is at work is never opened a second time, however many there are', async () => {
  const go = Promise.withResolvers<void>()
  const work = tool({
    name: 'work',
    description: 'Ends when the test lets it.',
    input: { type: 'object' },
    trust: 'trusted',
    run: async () => {
      await go.promise
      return 'done'
    },
  })
  const rig = makeRig({
    tools: [work],
    script: [{ calls: [{ name: 'work', input: {} }] }, { text: 'Done.' }],
  })
  // More than are kept, and none of them doing anything yet.
  const sessions = await Promise.all(Array.from({ length: 300 }, () => begin(rig)))
  const turns = sessions.map(session =>
    until(session, () => session.say({ parts: [{ type: 'text', text: 'go' }], wire: 'test' })),
  )
  while (sessions.some(session => session.driver.callsRunning === 0)) await new Promise(setImmediate)
  for (const session of sessions)
    assert.ok((await rig.engine.open(owner, session.id)) === session, 'there are two copies')
  go.resolve()
  await Promise.all(turns)
  assert.deepEqual([...new Set(sessions.map(session => session.state.lastStop?.stop))], ['end'])
})

test('T-14 a stranger is turned away by the same steps, whether the session is open, at rest or nowhere', async () => {
  const inner = memoryStore()
  const asked: string[] = []
  const store = new Proxy(inner, {
    get: (target, name: keyof typeof inner) => {
      asked.push(name)
      return target[name]
    },
  })
  const first = makeRig({ store })
  const open = await begin(first)
  const second = makeRig({ store })
  const steps = async (
    engine: OpenSessions,
    act: (engine: OpenSessions, id: string) => Promise<unknown>,
    id: string,
  ) => {
    asked.length = 0
    await assert.rejects(act(engine, id), /not found|nothing kept/)
    return [...asked]
  }
  for (const act of [
    (engine: OpenSessions, id: string) => engine.open('eve', id),
    (engine: OpenSessions, id: string) => engine.peek('eve', id),
    (engine: OpenSessions, id: string) => engine.events('eve', id),
    (engine: OpenSessions, id: string) => engine.watch('eve', id, 0, () => {}),
    (engine: OpenSessions, id: string) => engine.remove('eve', id),
    (engine: OpenSessions, id: string) => engine.blob('eve', id, 'x'),
  ]) {
    const inMemory = await steps(first.engine, act, open.id)
    assert.deepEqual(inMemory, ['row'])
    assert.deepEqual(await steps(second.engine, act, open.id), inMemory)
    assert.deepEqual(await steps(first.engine, act, 'sess_nowhere'), inMemory)
  }
})
