// Snapshots: a long session is opened from one and the events since, and from its log if the snapshot does not fit.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fold, type Store } from '../../src/engine/index.ts'
import { packJson, unpackJson } from '../../src/lib/json/packed.ts'
import { memoryStore } from '../../src/stores/memory.ts'
import { begin, makeRig, owner, say } from './rig.ts'

const snapshotGrowth = { events: 10, bytes: 1e9 }
const script = () => ({ text: 'Yes.' })

/** Ten turns of three events each, opened anew after every third. The store counts the events that are read. */
async function longSession(): Promise<{ store: Store; id: string; reads: number[] }> {
  const inner = memoryStore()
  const reads: number[] = []
  const read: Store['read'] = async (session, after, options) => {
    const page = await inner.read(session, after, options)
    if (options?.maxBytes !== 1) reads.push(page.length)
    return page
  }
  const store = { ...inner, read }
  let session = await begin(makeRig({ store, script, snapshotGrowth }))
  for (let turn = 1; turn <= 10; turn += 1) {
    await say(session, `Question ${turn}`)
    if (turn % 3 === 0)
      session = await makeRig({ store, script, snapshotGrowth }).engine.open(owner, session.id)
  }
  // The snapshot is written behind the turn.
  await new Promise(resolve => setImmediate(resolve))
  reads.length = 0
  return { store, id: session.id, reads }
}

async function change(store: Store, id: string, name: string, bytes: Uint8Array): Promise<void> {
  const { epoch } = (await store.claim(id))!
  await store.addPiece(id, name, { epoch, at: 0, bytes, last: true })
}

const headOf = async (store: Store, id: string): Promise<Record<string, unknown>> => {
  const found = await store.blobRange(id, 'state:head', 0, 1e6)
  assert.ok(found, 'there is a snapshot')
  return unpackJson(found.bytes).value as Record<string, unknown>
}

test('a session is opened from its snapshot and the events since', async () => {
  const { store, id, reads } = await longSession()
  const { state } = await makeRig({ store, script, snapshotGrowth }).engine.open(owner, id)
  const read = reads.reduce((sum, count) => sum + count, 0)
  assert.ok(read < snapshotGrowth.events, `${read} events were read`)
  assert.equal(state.seq, 31)
  assert.equal(state.entries.length, 20)
  assert.deepStrictEqual(state, fold(id, await store.read(id)))
})

test('it goes on from there, and the next snapshot adds to the one before', async () => {
  const { store, id } = await longSession()
  const before = await headOf(store, id)
  const session = await makeRig({ store, script, snapshotGrowth }).engine.open(owner, id)
  for (let turn = 11; turn <= 14; turn += 1) await say(session, `Question ${turn}`)
  await new Promise(resolve => setImmediate(resolve))
  const after = await headOf(store, id)
  assert.equal(after['series'], before['series'])
  assert.ok(Number(after['parts']) > Number(before['parts']))
  const { state } = await makeRig({ store, script, snapshotGrowth }).engine.open(owner, id)
  assert.deepStrictEqual(state, fold(id, await store.read(id)))
})

const misfits: Record<string, (store: Store, id: string) => Promise<void>> = {
  'has another version': async (store, id) =>
    change(store, id, 'state:head', packJson({ ...(await headOf(store, id)), version: 0 })),
  'is ahead of the log': async (store, id) =>
    change(store, id, 'state:head', packJson({ ...(await headOf(store, id)), seq: 1000 })),
  'is of another log': async (store, id) =>
    change(store, id, 'state:head', packJson({ ...(await headOf(store, id)), at: 1 })),
  'is damaged': (store, id) => change(store, id, 'state:head', Buffer.from('no snapshot')),
  'lacks a part': async (store, id) => {
    const { epoch } = (await store.claim(id))!
    await store.addPiece(id, 'state:0', { epoch, at: 0, bytes: new Uint8Array() })
  },
  'has a part of another series': (store, id) =>
    change(store, id, 'state:0', packJson({ series: 'other', entries: [] })),
}

for (const [what, spoil] of Object.entries(misfits))
  test(`a snapshot that ${what} is not used, and replaced`, async () => {
    const { store, id, reads } = await longSession()
    await spoil(store, id)
    const session = await makeRig({ store, script, snapshotGrowth }).engine.open(owner, id)
    assert.deepStrictEqual(session.state, fold(id, await store.read(id)))
    assert.ok(
      reads.some(count => count === 31),
      'the log was read',
    )
    await new Promise(resolve => setImmediate(resolve))
    reads.length = 0
    const { state } = await makeRig({ store, script, snapshotGrowth }).engine.open(owner, id)
    assert.ok(
      reads.every(count => count < snapshotGrowth.events),
      'the new one is used',
    )
    assert.deepStrictEqual(state, session.state)
  })

test('who lost the session writes no snapshot', async () => {
  const { store, id } = await longSession()
  const later = { events: 1e9, bytes: 1e9 }
  const refused: unknown[] = []
  const addPiece: Store['addPiece'] = (...piece) =>
    store.addPiece(...piece).catch(error => {
      refused.push(error)
      throw error
    })
  const rig = makeRig({ store: { ...store, addPiece }, script, snapshotGrowth: later })
  const session = await rig.engine.open(owner, id)
  const before = await headOf(store, id)
  await store.claim(id)
  session.snapshots!.dueSeq = 0
  session.snapshots!.consider()
  await new Promise(resolve => setImmediate(resolve))
  assert.equal(refused.length, 1)
  assert.deepEqual(await headOf(store, id), before)
})

test('sessions that rest at the same time write theirs one after the other', async () => {
  const store = memoryStore()
  const rig = makeRig({ store, script, snapshotGrowth: { events: 1e9, bytes: 1e9 } })
  const sessions = [await begin(rig), await begin(rig), await begin(rig)]
  const written = async (): Promise<number> => {
    const heads = await Promise.all(sessions.map(({ id }) => store.blobRange(id, 'state:head', 0, 1)))
    return heads.filter(head => head !== undefined).length
  }
  for (const session of sessions) await say(session, 'Question')
  for (const { snapshots } of sessions) snapshots!.dueSeq = 0
  for (const count of [1, 2, 3]) {
    for (const { snapshots } of sessions) snapshots!.consider()
    // Timers that are due at the same time run in the order in which they were set.
    await new Promise(resolve => setTimeout(resolve, 1))
    assert.equal(await written(), count)
  }
})

test('no client can read a snapshot', async () => {
  const { store, id } = await longSession()
  const { local } = makeRig({ store, script })
  await headOf(store, id)
  await assert.rejects(
    local.blob({ owner, session: id }, { get: 'bytes', name: 'state:head', from: 0, length: 10 }),
    { code: 'not_found' },
  )
})

test('a store whose logs are in memory gets no snapshot: its log is as quick to read', async () => {
  const store = memoryStore()
  const session = await begin(makeRig({ store, script }))
  for (let turn = 0; turn < 340; turn += 1) await say(session, 'Question')
  await new Promise(resolve => setImmediate(resolve))
  assert.ok(session.state.seq > 1_000)
  assert.deepEqual(await store.blobs(session.id), [])
  const { state } = await makeRig({ store, script }).engine.open(owner, session.id)
  assert.equal(state.entries.length, 680)
})

test('a session of 100,000 events is opened by reading a few of them', async () => {
  const { inMemory: _, ...inner } = memoryStore()
  let read = 0
  const store: Store = {
    ...inner,
    read: async (...asked) => {
      const page = await inner.read(...asked)
      read += page.length
      return page
    },
  }
  const session = await begin(makeRig({ store, script }))
  const at = session.state.createdAt
  const parts = [{ type: 'text' as const, text: 'Question' }]
  for (let seq = 2; seq < 100_000; seq += 3) {
    const turn = `turn_${seq}`
    await inner.append({
      session: session.id,
      epoch: 1,
      seq,
      status: 'idle',
      events: [
        { v: 1, at, type: 'turn.started', turn, wire: 'test', parts },
        { v: 1, at, type: 'model.answered', parts, stop: 'end', model: 'm' },
        { v: 1, at, type: 'turn.ended', turn, stop: 'end' },
      ],
    })
  }
  const opened = await makeRig({ store, script }).engine.open(owner, session.id)
  assert.ok(read >= 100_000, 'the first time all are read')
  await new Promise(resolve => setTimeout(resolve, 50))
  await say(opened, 'One more.')
  read = 0
  const { state } = await makeRig({ store, script }).engine.open(owner, session.id)
  assert.ok(read < 10, `${read} events were read`)
  assert.equal(state.seq, opened.state.seq)
  assert.equal(state.entries.length, opened.state.entries.length)
})
