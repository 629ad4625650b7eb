// The contract of every NodeStore: at least one test for each sentence of the port's contract. The
// suite runs under `node --test`, with leases that are short by the clock of the store.
import assert from 'node:assert/strict'
import { afterEach, beforeEach, describe, test } from 'node:test'
import type { NodeStore } from '../../engine/ports/index.ts'
import { batch, eventNumbers, events, newSession, rejects } from './store-samples.ts'

export type NodesUnderTest = {
  /** Opens the same data once more, as another process would. */
  open(): Promise<NodeStore>
  /** Lets so many milliseconds pass on the clock of the store. */
  pass(ms: number): Promise<void>
  cleanup(): Promise<void>
}

/** A lease that lasts through a few writes on a busy machine, and that a test can wait for. */
const leaseMs = 2_000
/** A lease that does not end during a test. */
const longMs = 600_000

/** Makes empty data. Called once for each test. */
export function nodeStoreContract(name: string, make: () => Promise<NodesUnderTest>): void {
  describe(`the contract of stores that nodes share: ${name}`, () => {
    const subject = {} as NodesSubject // filled before each test
    beforeEach(async () => {
      const under = await make()
      Object.assign(subject, under)
      subject.node = async (id, ms = longMs) => {
        const store = await under.open()
        await store.join({ id, address: `${id}.example:1`, version: '1' }, ms)
        return store
      }
    })
    afterEach(() => subject.cleanup())
    leaseTests(subject)
    claimTests(subject)
    takerTests(subject)
    adoptionTests(subject)
    fenceTests(subject)
    searchTests(subject)
  })
}

type NodesSubject = NodesUnderTest & {
  /** A store that has joined. */
  node(id: string, leaseMs?: number): Promise<NodeStore>
}

const atWork = { events: events(1, 1), status: 'running' } as const

function leaseTests(subject: NodesSubject): void {
  test('a node is seen by the others with what is left of its lease', async () => {
    const a = await subject.node('a', leaseMs)
    const b = await subject.node('b')
    const seen = new Map((await b.nodes()).map(node => [node.id, node]))
    assert.deepEqual([...seen.keys()].sort(), ['a', 'b'])
    const { leftMs, ...info } = seen.get('a')!
    assert.deepEqual(info, { id: 'a', address: 'a.example:1', version: '1' })
    assert.ok(leftMs <= leaseMs, `${leftMs} of ${leaseMs} ms are left`)
    await subject.pass(leaseMs + 1)
    assert.ok(((await a.nodes()).find(({ id }) => id === 'a')?.leftMs ?? 1) <= 0)
  })

  test('a node without an address is seen without one', async () => {
    const a = await subject.open()
    await a.join({ id: 'a', version: '2' }, longMs)
    const [node] = await a.nodes()
    assert.deepEqual(node, { id: 'a', version: '2', leftMs: node?.leftMs })
  })

  test('a renewed lease lasts its length from the renewal', async () => {
    const a = await subject.node('a', leaseMs)
    await subject.node('b')
    await subject.pass(leaseMs / 2)
    assert.equal(await a.renew(), true)
    await subject.pass(leaseMs / 2 + 50)
    assert.equal(await a.renew(), true)
  })

  test('a lease that ended while another node lives cannot be renewed', async () => {
    const a = await subject.node('a', leaseMs)
    await subject.node('b')
    await subject.pass(leaseMs + 1)
    assert.equal(await a.renew(), false)
  })

  test('a node that is alone can renew late', async () => {
    const a = await subject.node('a', leaseMs)
    await a.create(newSession('s'))
    await subject.pass(leaseMs + 1)
    assert.equal(await a.renew(), true)
    await a.append(batch('s', 1, 1))
  })

  test('a node that left can renew nothing, and its sessions can be claimed at once', async () => {
    const a = await subject.node('a')
    const b = await subject.node('b')
    await a.create(newSession('s', atWork))
    await a.leave()
    assert.equal(await a.renew(), false)
    assert.equal((await b.claim('s'))?.epoch, 2)
  })
}

function claimTests(subject: NodesSubject): void {
  test('a session that a living node has is claimed by nobody else, and the attempt changes nothing', async () => {
    const a = await subject.node('a')
    const b = await subject.node('b')
    await a.create(newSession('s', atWork))
    await rejects(b.claim('s', true), 'moved')
    assert.equal((await b.row('s'))?.recoveries, 0)
    assert.deepEqual((await b.holder('s'))?.epoch, 1)
    await a.append(batch('s', 2, 1))
    assert.equal((await a.claim('s'))?.epoch, 2)
    assert.equal((await b.holder('s'))?.node?.id, 'a')
  })

  test('a session can be claimed once the lease of its node has ended', async () => {
    const a = await subject.node('a', leaseMs)
    const b = await subject.node('b')
    await a.create(newSession('s', atWork))
    await rejects(b.claim('s'), 'moved')
    await subject.pass(leaseMs + 1)
    assert.equal((await b.claim('s'))?.epoch, 2)
    assert.equal((await b.holder('s'))?.node?.id, 'b')
    await rejects(a.append(batch('s', 2, 1)), 'lease_lost')
    await b.append(batch('s', 2, 1, { epoch: 2 }))
    assert.deepEqual(await eventNumbers(b, 's'), [1, 2])
  })

  test('of several nodes that claim the same session one succeeds', async () => {
    const a = await subject.node('a')
    const others = await Promise.all(['b', 'c', 'd', 'e'].map(id => subject.node(id)))
    await a.create(newSession('s', atWork))
    await a.leave()
    const tried = await Promise.allSettled(others.map(store => store.claim('s')))
    const won = tried.flatMap(result => (result.status === 'fulfilled' ? [result.value?.epoch] : []))
    assert.deepEqual(won, [2])
    for (const result of tried)
      if (result.status === 'rejected') assert.equal((result.reason as { code?: string }).code, 'moved')
  })
}

function takerTests(subject: NodesSubject): void {
  test('a node whose lease has ended claims, adopts and creates nothing', async () => {
    const a = await subject.node('a', leaseMs)
    const b = await subject.node('b')
    await b.create(newSession('s'))
    await b.release('s', 1)
    await subject.pass(leaseMs + 1)
    await rejects(a.claim('s'), 'lease_lost')
    assert.equal(await a.adopt('s', 1), false)
    await rejects(a.create(newSession('t')), 'lease_lost')
    assert.equal(await b.row('t'), undefined)
    assert.deepEqual(await b.holder('s'), { epoch: 1 })
  })

  test('a node that started again is another node', async () => {
    const a = await subject.node('a', leaseMs)
    await a.create(newSession('s', atWork))
    await subject.node('b')
    await a.join({ id: 'a2', version: '1' }, longMs)
    await rejects(a.claim('s'), 'moved')
    await subject.pass(leaseMs + 1)
    assert.equal((await a.claim('s'))?.epoch, 2)
    assert.equal((await a.holder('s'))?.node?.id, 'a2')
  })

  test('a store that has not joined claims what nobody has, and has nothing itself', async () => {
    const plain = await subject.open()
    const a = await subject.node('a')
    await a.create(newSession('s'))
    await rejects(plain.claim('s'), 'moved')
    await a.release('s', 1)
    assert.equal((await plain.claim('s'))?.epoch, 2)
    assert.deepEqual(await a.holder('s'), { epoch: 2 })
    await plain.create(newSession('t'))
    assert.deepEqual(await a.holder('t'), { epoch: 1 })
  })

  test('a session that does not exist is claimed, held and adopted by nobody', async () => {
    const a = await subject.node('a')
    assert.equal(await a.claim('none'), undefined)
    assert.equal(await a.holder('none'), undefined)
    assert.equal(await a.adopt('none', 1), false)
  })
}

function adoptionTests(subject: NodesSubject): void {
  test('a session that nobody has is adopted under the epoch that was seen, and only then', async () => {
    const a = await subject.node('a')
    const b = await subject.node('b')
    await a.create(newSession('s'))
    assert.equal(await b.adopt('s', 1), false)
    await a.release('s', 1)
    assert.equal(await b.adopt('s', 7), false)
    assert.deepEqual(await b.holder('s'), { epoch: 1 })
    assert.equal(await b.adopt('s', 1), true)
    const holder = await a.holder('s')
    assert.deepEqual([holder?.epoch, holder?.node?.id], [2, 'b'])
    assert.equal(await a.adopt('s', 1), false)
    await rejects(a.append(batch('s', 1, 1)), 'lease_lost')
  })

  test('a release under an older epoch does nothing', async () => {
    const a = await subject.node('a')
    await a.create(newSession('s'))
    await a.claim('s')
    await a.release('s', 1)
    assert.equal((await a.holder('s'))?.node?.id, 'a')
    await a.release('s', 2)
    assert.deepEqual(await a.holder('s'), { epoch: 2 })
  })
}

function fenceTests(subject: NodesSubject): void {
  test('no write of a node whose session was taken over changes anything', async () => {
    const a = await subject.node('a')
    const b = await subject.node('b')
    await a.create(newSession('s', { ...atWork, summary: { settings, opening: 'before' } }))
    await a.addPiece('s', 'big', { epoch: 1, at: 0, bytes: new Uint8Array([1]) })
    await a.putBlob('s', 'whole', 'before', 1)
    await a.leave()
    await b.claim('s')
    const before = await readState(b, 's')
    const facts = { tokens: 9, dueAt: 1 }
    await rejects(a.append(batch('s', 2, 1)), 'lease_lost')
    await rejects(a.append(batch('s', 2, 0, { status: 'idle' })), 'lease_lost')
    await rejects(a.append(batch('s', 2, 0, { facts })), 'lease_lost')
    await rejects(a.append(batch('s', 2, 0, { summary: { settings, opening: 'after' } })), 'lease_lost')
    await rejects(a.putBlob('s', 'whole', 'after', 1), 'lease_lost')
    await rejects(a.putBlob('s', 'other', 'after', 1), 'lease_lost')
    await rejects(
      a.addPiece('s', 'big', { epoch: 1, at: 1, bytes: new Uint8Array([2]), last: true }),
      'lease_lost',
    )
    await rejects(a.remove('s', 1), 'lease_lost')
    assert.deepEqual(await readState(b, 's'), before)
  })

  test('an epoch stays good after its lease has ended, until someone claims the session', async () => {
    const a = await subject.node('a', leaseMs)
    const b = await subject.node('b')
    await a.create(newSession('s'))
    await subject.pass(leaseMs + 1)
    await a.append(batch('s', 1, 1))
    await b.claim('s')
    await rejects(a.append(batch('s', 2, 1)), 'lease_lost')
    assert.deepEqual(await eventNumbers(b, 's'), [1])
  })
}

const settings = { tools: null, options: {}, clientTools: [] }

async function readState(store: NodeStore, session: string): Promise<unknown> {
  const { rows } = await store.list('ada', { limit: 10 })
  const holder = await store.holder(session)
  return [
    rows,
    await store.read(session),
    await store.blob(session, 'whole'),
    await store.blob(session, 'other'),
    await store.blobRange(session, 'big', 0, 10),
    holder?.epoch,
    holder?.node?.id,
  ]
}

function searchTests(subject: NodesSubject): void {
  test('unfinished sessions are given to a node unless another living node has them', async () => {
    const a = await subject.node('a')
    const b = await subject.node('b')
    const c = await subject.node('c')
    await a.create(newSession('of-a', atWork))
    await b.create(newSession('of-b', atWork))
    await c.create(newSession('of-c', atWork))
    await b.create(newSession('resting'))
    assert.deepEqual(await b.unfinished(), ['of-b'])
    await c.leave()
    assert.deepEqual((await b.unfinished()).sort(), ['of-b', 'of-c'])
    assert.deepEqual((await a.unfinished()).sort(), ['of-a', 'of-c'])
  })

  test('abandoned sessions are found in pages, with the session that they work for', async () => {
    const a = await subject.node('a')
    const b = await subject.node('b')
    await a.create(newSession('s1', atWork))
    await a.create(newSession('s2', { ...atWork, summary: { settings, parent: 's1' } }))
    await a.create(newSession('s3'))
    await a.create(newSession('s4', { status: 'waiting' }))
    await a.append(batch('s4', 1, 1, { status: 'waiting', facts: { tokens: 0, dueAt: 5 } }))
    await b.create(newSession('s5', atWork))
    assert.deepEqual(await b.abandoned('', 10), [])
    await a.leave()
    assert.deepEqual(await b.abandoned('', 2), [
      { id: 's1', epoch: 1 },
      { id: 's2', epoch: 1, parent: 's1' },
    ])
    assert.deepEqual(await b.abandoned('s2', 2), [{ id: 's4', epoch: 1, rests: true }])
    await b.claim('s1')
    assert.deepEqual(
      (await b.abandoned('', 10)).map(({ id }) => id),
      ['s2', 's4'],
    )
  })
}
