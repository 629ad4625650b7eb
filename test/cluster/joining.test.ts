// What a node checks before it takes its first session, and how its lease is held.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, createServer } from 'node:net'
import { afterEach, type TestContext, test } from 'node:test'
import type { NodeStore } from '../../src/engine/index.ts'
import { type LeaseOptions, NodeLease } from '../../src/engines/cluster/node-lease.ts'
import { realTiming } from '../../src/engines/cluster/timing.ts'
import type { TurnwireError } from '../../src/language/errors.ts'
import { sharedMemory } from '../../src/stores/memory.ts'
import { freePort } from '../free-port.ts'
import { begin, type Cluster, makeCluster, secret, stopNodes, until } from './rig.ts'

afterEach(stopNodes)

const script = () => ({ text: 'x' })

test('a node with another secret, or a short one, does not start', async () => {
  const cluster = makeCluster()
  await cluster.start({ script })
  await assert.rejects(cluster.start({ settings: { secret: 'too short' } }), {
    code: 'config_invalid',
    message: /at least 32 characters/,
  })
  await assert.rejects(
    cluster.start({ settings: { secret: 'another secret of another cluster, for tests' } }),
    { code: 'config_invalid', message: /does not know the cluster secret of this one/ },
  )
})

/** A node at an address that nobody reaches until `heal`. */
async function startUnreachable(cluster: Cluster) {
  const [told, listen] = [await freePort(), await freePort()]
  const address = `127.0.0.1:${told}`
  const rig = await cluster.start({ script, settings: { secret, address, listen: `127.0.0.1:${listen}` } })
  return {
    ...rig,
    async heal(t: TestContext): Promise<void> {
      const link = createServer(socket => {
        const onward = connect(listen, '127.0.0.1')
        for (const each of [socket, onward]) each.on('error', () => {})
        socket.pipe(onward).pipe(socket)
      })
      link.listen(told, '127.0.0.1')
      await once(link, 'listening')
      t.after(() => link.close())
    },
  }
}

for (const { what, settings, setting } of [
  {
    what: 'secret',
    settings: { settings: { secret: 'another secret of another cluster, for tests' } },
    setting: /same TURNWIRE_CLUSTER_SECRET/,
  },
  { what: 'vault key', settings: { vaultProof: 'other' }, setting: /same TURNWIRE_VAULT_KEY/ },
])
  test(`of two nodes that find out later that each has another ${what} the second is not ready, and the first says so`, async t => {
    const cluster = makeCluster()
    const first = await startUnreachable(cluster)
    const second = await cluster.start({ script, ...settings })
    assert.equal(second.node.failure(), undefined, 'nothing is known yet')
    await first.heal(t)
    await until(async () => {
      await second.node.others(0)
      return second.node.failure() !== undefined
    })
    assert.equal(second.node.failure()?.code, 'config_invalid')
    assert.match(second.node.failure()?.message ?? '', setting)
    await until(async () => {
      await first.node.others(0)
      return first.node.warnings().length > 0
    })
    assert.match(first.node.warnings()[0] ?? '', setting)
    assert.equal(first.node.failure(), undefined)
    assert.deepEqual(second.node.warnings(), [])
    await second.node.stop(0)
    await first.node.others(0)
    assert.deepEqual(first.node.warnings(), [], 'it is gone')
  })

test('a second node without a secret is told how to join', async () => {
  const cluster = makeCluster(1_500)
  await cluster.start({ settings: { secret: '' } })
  await assert.rejects(cluster.start({ settings: { secret: '' } }), {
    code: 'config_invalid',
    message: /TURNWIRE_CLUSTER_SECRET/,
  })
  await assert.rejects(cluster.start(), {
    code: 'config_invalid',
    message: /it has no TURNWIRE_CLUSTER_SECRET/,
  })
})

test('a node without a secret waits for the lease of one that died', async () => {
  const cluster = makeCluster(1_000)
  const dead = cluster.store()
  await dead.join({ id: 'dead', version: '1' }, 700)
  const { node, logs } = await cluster.start({ settings: { secret: '' } })
  assert.equal(node.failure(), undefined)
  assert.equal(node.address, undefined)
  assert.ok(logs.some(line => line.includes('Waiting until its lease has ended')))
})

test('a node that the others cannot reach at its address does not start', async () => {
  const cluster = makeCluster()
  await cluster.start({ script })
  await assert.rejects(
    cluster.start({ settings: { secret, address: '127.0.0.1:1', listen: '127.0.0.1:0' } }),
    {
      code: 'config_invalid',
      message: /cannot reach this one at 127\.0\.0\.1:1: .*TURNWIRE_NODE_ADDRESS/,
    },
  )
  assert.equal((await cluster.store().nodes()).length, 1)
})

test('a node with another vault key does not start', async () => {
  const cluster = makeCluster()
  await cluster.start({ script })
  await assert.rejects(cluster.start({ vaultProof: 'other' }), {
    code: 'config_invalid',
    message: /TURNWIRE_VAULT_KEY/,
  })
})

test('an address that is none is refused with what it should be', async () => {
  const cluster = makeCluster()
  await assert.rejects(cluster.start({ settings: { secret, address: 'here' } }), {
    code: 'config_invalid',
    message: /must be host:port/,
  })
})

test('a node that is alone goes on after its database was away for longer than its lease', async () => {
  const cluster = makeCluster(1_000)
  const a = await cluster.start({ script, settings: { secret: '' } })
  const ref = await begin(a)
  const { id } = a.node
  a.cutStore()
  await new Promise(resolve => setTimeout(resolve, 1_500))
  a.healStore()
  await a.engine.command(ref, { do: 'say', wire: 'test', parts: [{ type: 'text', text: 'Hello' }] })
  assert.equal(a.node.id, id)
  assert.equal(a.node.failure(), undefined)
})

/** A lease with nothing around it. `changed`: methods of the store that do something else. */
function bareLease(store: NodeStore, changed: Partial<NodeStore>, options: Partial<LeaseOptions>): NodeLease {
  let ids = 0
  return new NodeLease({
    store: { ...store, ...changed } as NodeStore, // The methods of the memory are its own fields.
    leaseMs: 60_000,
    newId: () => `node_${++ids}`,
    address: () => undefined,
    version: '1',
    canWork: async () => {},
    onLost() {},
    onJoined() {},
    onSeen() {},
    log() {},
    ...options,
  })
}

/** A lease over a clock of the test. */
async function leaseRig(leaseMs: number) {
  let now = 0
  const store = sharedMemory(() => now).open()
  const lost: TurnwireError[] = []
  let able = true
  const renewals: (() => void)[] = []
  const slow: Pick<NodeStore, 'renew'> = {
    renew: () => new Promise(resolve => renewals.push(() => resolve(store.renew()))),
  }
  const lease = bareLease(store, slow, {
    leaseMs,
    canWork: async () => {
      if (!able) throw new Error('deaf')
    },
    onLost: reason => void lost.push(reason),
    timing: { ...realTiming(), now: () => now },
  })
  await lease.begin()
  lease.meetOther()
  return {
    lease,
    lost,
    renewals,
    pass: (ms: number) => {
      now += ms
    },
    disable: () => {
      able = false
    },
  }
}

test('a lease is trusted for its length less a second from when its renewal was sent, not from when it came', async () => {
  const { lease, lost, renewals, pass } = await leaseRig(10_000)
  assert.equal(lease.held, true)
  pass(8_999)
  assert.equal(lease.held, true)
  pass(2)
  // No timer has fired: the check itself finds out, as after a blocked event loop or a stopped process.
  assert.equal(lease.held, false)
  assert.equal(lost.length, 0)
  assert.throws(() => lease.check(), { code: 'lease_lost' })
  assert.equal(lost.length, 1)
  assert.equal(renewals.length, 0)
  await lease.end()
})

test('a timer that fires a moment early leaves no time in which a lease is over and not given up', async () => {
  let now = 0
  const timers: { ms: number; run: () => void }[] = []
  const lost: TurnwireError[] = []
  const lease = bareLease(
    sharedMemory(() => now).open(),
    {},
    {
      leaseMs: 4_000,
      onLost: reason => void lost.push(reason),
      timing: {
        now: () => now,
        after(ms, run) {
          timers.push({ ms, run })
          return () => {}
        },
        random: () => 1,
      },
    },
  )
  await lease.begin()
  lease.meetOther()
  const watch = timers.find(({ ms }) => ms === 3_000)!
  now = 2_999.5
  watch.run()
  const again = timers.at(-1)!
  assert.ok(again.ms <= 1, `It looks again after ${again.ms} ms.`)
  now += again.ms
  again.run()
  assert.equal(lost.length, 1)
  await lease.end()
})

test('a renewal that took long counts from when it was sent', async () => {
  const { lease, renewals, pass } = await leaseRig(3_000)
  await until(() => renewals.length === 1)
  pass(1_000)
  renewals[0]?.()
  await until(() => renewals.length === 2)
  // 2,250 from when it was sent, of which 1,000 have passed.
  pass(1_200)
  assert.equal(lease.held, true)
  pass(100)
  assert.equal(lease.held, false)
  await lease.end()
})

test('a node whose attempt to join got no answer tries again under the same id', async () => {
  const store = sharedMemory().open()
  let attempts = 0
  const lossy: Pick<NodeStore, 'join'> = {
    join: async (node, ms) => {
      await store.join(node, ms)
      if (++attempts < 3) throw new Error('The answer was lost.')
    },
  }
  const lease = bareLease(store, lossy, {})
  await assert.rejects(lease.begin())
  await assert.rejects(lease.begin())
  await lease.begin()
  assert.deepEqual(
    (await store.nodes()).map(({ id }) => id),
    [lease.id],
  )
  await lease.end()
})

test('an answer that came later than the lease is trusted is asked for again, under the same id', async () => {
  let now = 0
  const store = sharedMemory(() => now).open()
  const late = [5_000, 4_000, 10]
  const joined: string[] = []
  const lost: TurnwireError[] = []
  const slow: Pick<NodeStore, 'join'> = {
    join: async (node, ms) => {
      joined.push(node.id)
      await store.join(node, ms)
      now += late.shift() ?? 0
    },
  }
  const lease = bareLease(store, slow, {
    leaseMs: 4_000,
    onLost: reason => void lost.push(reason),
    timing: { ...realTiming(), now: () => now },
  })
  await lease.begin()
  lease.meetOther()
  assert.equal(lease.held, true)
  assert.deepEqual(joined, ['node_1', 'node_1', 'node_1'])
  assert.deepEqual(lost, [])
  await lease.end()
})

test('a node that cannot work does not renew', async () => {
  const { lease, lost, renewals, pass, disable } = await leaseRig(1_200)
  disable()
  await new Promise(resolve => setTimeout(resolve, 700))
  assert.equal(renewals.length, 0)
  pass(1_000)
  assert.throws(() => lease.check(), { code: 'lease_lost' })
  assert.equal(lost.length, 1)
  await lease.end()
})

test('a node whose event loop was blocked for its lease writes nothing when it goes on', async () => {
  const cluster = makeCluster(1_200)
  const a = await cluster.start({ script })
  await cluster.start({ script })
  const ref = await begin(a)
  await until(() => a.node.known().nodes.length === 2)
  const session = await a.local.sessions.open(ref.owner, ref.session)
  const { id } = a.node
  const before = (await a.store.row(ref.session))?.head
  const blockedUntil = performance.now() + 1_300
  while (performance.now() < blockedUntil);
  // No timer has fired yet, and no other node has noticed.
  const refused = session.say({ parts: [{ type: 'text', text: 'Hello' }], wire: 'test' })
  await assert.rejects(refused, { code: 'lease_lost' })
  assert.equal((await a.store.row(ref.session))?.head, before)
  // It joins again as another node, and works.
  await until(() => a.node.failure() === undefined)
  assert.notEqual(a.node.id, id)
  await a.engine.command(ref, { do: 'say', wire: 'test', parts: [{ type: 'text', text: 'Hello' }] })
})
