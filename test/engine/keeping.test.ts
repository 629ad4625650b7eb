// Which sessions are kept in memory, and that a process never works with two copies of one.
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import type { OpenSessions } from '../../src/engine/index.ts'
import { memoryStore } from '../../src/stores/memory.ts'
import { tool } from '../../src/tools/index.ts'
import { begin, makeRig, owner, stopAll } from './rig.ts'

after(stopAll)

test('a session that is at work is never opened a second time, however many there are', async () => {
  const go = Promise.withResolvers<void>()
  let runs = 0
  const work = tool({
    name: 'work',
    description: 'Ends when the test lets it.',
    input: { type: 'object' },
    trust: 'trusted',
    run: async () => {
      runs += 1
      await go.promise
      return 'done'
    },
  })
  const rig = makeRig({
    tools: [work],
    script: [{ calls: [{ name: 'work', input: {} }] }, { text: 'Done.' }],
  })
  // More than stay in memory while they are idle.
  const refs = await Promise.all(
    Array.from({ length: 300 }, async () => ({ owner, session: (await begin(rig)).id })),
  )
  const accepted = await Promise.all(
    refs.map(ref =>
      rig.local.command(ref, { do: 'say', wire: 'test', parts: [{ type: 'text', text: 'go' }] }),
    ),
  )
  while (runs < refs.length) await new Promise(setImmediate)
  // Every one is opened again while its call runs.
  for (const ref of refs) assert.equal((await rig.local.summary(ref)).status, 'running')
  go.resolve()
  const stops = await Promise.all(
    refs.map(async (ref, index) => {
      const options = { from: accepted[index]!.first, until: 'turn', deltas: 'none' } as const
      for await (const _ of rig.local.follow(ref, options));
      return (await rig.local.summary(ref)).lastStop?.stop
    }),
  )
  assert.deepEqual([...new Set(stops)], ['end'])
  assert.equal(runs, refs.length)
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
    (engine: OpenSessions, id: string) => engine.hold({ owner: 'eve', session: id }),
    (engine: OpenSessions, id: string) => engine.remove('eve', id),
    (engine: OpenSessions, id: string) => engine.blob('eve', id, 'x'),
  ]) {
    const inMemory = await steps(first.engine, act, open.id)
    assert.deepEqual(inMemory, ['row'])
    assert.deepEqual(await steps(second.engine, act, open.id), inMemory)
    assert.deepEqual(await steps(first.engine, act, 'sess_nowhere'), inMemory)
  }
})

test('text that is kept beside a log while its session is being opened does not end that copy', async () => {
  const store = memoryStore()
  const session = (await begin(makeRig({ store }))).id
  const ref = { owner, session }
  let isFirst = true
  const claim: typeof store.claim = async (...args) => {
    const waits = isFirst
    isFirst = false
    // The claim that was made first is carried out last.
    if (waits) await new Promise(resolve => setTimeout(resolve, 20))
    return store.claim(...args)
  }
  const { local } = makeRig({ store: { ...store, claim }, script: [{ text: 'Done.' }] })
  const kept = local.command(ref, { do: 'keep', name: 'mark', text: 'text' })
  await new Promise(setImmediate)
  // Opens the session, and records nothing.
  await local.command(ref, { do: 'cancel' })
  await kept
  await local.command(ref, { do: 'say', wire: 'test', parts: [{ type: 'text', text: 'go' }] })
  assert.equal(await local.blob(ref, { get: 'text', name: 'mark' }), 'text')
})
