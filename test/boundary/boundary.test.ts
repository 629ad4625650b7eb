// The engine's boundary: how many calls it has, and that each of them works when nothing but structured clones crosses.
import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import type { Engine, SessionRef } from '../../src/engine/index.ts'
import { callNames, streamNames } from '../../src/engine/ports/forward.ts'
import { tool } from '../../src/tools/index.ts'
import { makeRig, owner, stopAll } from '../engine/rig.ts'
import { begin, collect, say } from '../engines/rig.ts'
import { throughClones } from './structured-clones.ts'

const mostCalls = 16

after(stopAll)

const script = [{ text: 'Hello.' }, { text: 'Good night.' }]
const reads = tool({ name: 'read', description: 'Reads.', input: { type: 'object' }, run: () => '' })
const declared = { ...reads, run: undefined }

function opened(): Engine {
  return throughClones(makeRig({ script }).local)
}

async function spoken(engine: Engine): Promise<SessionRef> {
  const ref = await begin(engine)
  const { first } = await say(engine, ref, 'Hi')
  await collect(engine.follow(ref, { from: first, until: 'turn', deltas: 'none' }))
  return ref
}

/** One use of each call. */
const uses: { [Name in keyof Engine]: (engine: Engine, ref: SessionRef) => Promise<void> } = {
  describe: async engine => assert.equal((await engine.describe()).agents[0]?.name, 'helper'),
  fromServers: async engine => assert.deepEqual(await engine.fromServers('helper', { get: 'resources' }), []),
  create: async engine => assert.ok((await begin(engine)).session),
  command: async (engine, ref) => {
    const kept = await engine.command(ref, { do: 'keep', name: 'mark', text: 'x' })
    assert.deepEqual([kept.count, kept.replayed, kept.waited], [0, false, []])
    assert.equal(kept.first, (await engine.summary(ref)).seq + 1)
  },
  remove: async (engine, ref) => {
    await engine.remove(ref)
    await assert.rejects(engine.summary(ref), { code: 'session_not_found' })
  },
  follow: async (engine, ref) => {
    const items = await collect(engine.follow(ref, { from: 1, until: 'turn', deltas: 'raw' }))
    assert.equal(items.at(-1)?.type, 'ended')
  },
  answerOnce: async engine => {
    const once = { owner, agent: 'helper', clientTools: [], history: [], deltas: 'none' } as const
    const history = [{ role: 'user' as const, parts: [{ type: 'text' as const, text: 'Bye' }] }]
    const items = await collect(engine.answerOnce({ ...once, clientTools: [], history }))
    assert.equal(items.at(-1)?.type, 'answer')
  },
  attach: async (engine, ref) => {
    const [first] = await firstBatch(engine.attach(ref, [declared]))
    assert.deepEqual(first, { type: 'attached' })
  },
  report: (engine, ref) => engine.report(ref, { run: 'over', error: 'It is too late.' }),
  summary: async (engine, ref) => assert.deepEqual((await engine.summary(ref, ['k'])).known, []),
  history: async (engine, ref) => {
    const { entries } = await engine.history(ref, { get: 'entries' })
    const { entries: view } = await engine.history(ref, { get: 'view', upTo: 10 })
    const { tools } = await engine.history(ref, { get: 'request', text: 'And now?' })
    assert.deepEqual([entries.length, view.length, tools], [2, 2, []])
  },
  events: async (engine, ref) => assert.equal((await engine.events(ref, 1))[0]?.seq, 2),
  blob: async (engine, ref) => {
    await engine.command(ref, { do: 'keep', name: 'mark', text: 'x' })
    assert.equal(await engine.blob(ref, { get: 'text', name: 'mark' }), 'x')
    const bytes = { get: 'bytes', name: 'none', from: 0, length: 1 } as const
    await assert.rejects(engine.blob(ref, bytes), { code: 'not_found' })
  },
  list: async (engine, ref) =>
    assert.equal((await engine.list(owner, { limit: 1 })).rows[0]?.id, ref.session),
  changes: async engine => {
    const changed = firstBatch(engine.changes())
    // Calls cross in order, so the watcher is there.
    await engine.describe()
    await begin(engine)
    assert.equal((await changed)[0]?.type, 'changed')
  },
  lookUp: async (engine, { session }) => {
    assert.equal(await engine.lookUp({ get: 'owner', session }), owner)
    assert.equal(await engine.lookUp({ get: 'session', owner, key: 'none' }), undefined)
    assert.equal((await engine.lookUp({ get: 'usage', owner })).sessions, 1)
  },
}

async function firstBatch<Item>(batches: AsyncIterable<readonly Item[]>): Promise<readonly Item[]> {
  for await (const batch of batches) return batch
  return []
}

test(`the boundary has at most ${mostCalls} calls, and all of them cross a channel`, () => {
  const names = Object.keys(uses)
  assert.ok(names.length <= mostCalls, `${names.length} calls: ${names.join(', ')}`)
  assert.deepEqual([...callNames, ...streamNames].sort(), names.sort())
})

describe('behind structured clones', () => {
  for (const [name, use] of Object.entries(uses))
    test(`${name} works`, async () => {
      const engine = opened()
      await use(engine, await spoken(engine))
    })
})
