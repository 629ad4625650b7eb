// The nodes that share a store, as the operator API of each of them tells them: two real servers over one memory.
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { OperatorClient } from '../../../src/client/index.ts'
import { scripted, startServer, Turnwire } from '../../../src/index.ts'
import { sharedMemory } from '../../../src/stores/memory.ts'
import { secret, until } from '../../cluster/rig.ts'

const limited = { timeout: 60_000 }

async function nodeOf(t: TestContext, data: ReturnType<ReturnType<typeof sharedMemory>['open']>) {
  const model = scripted({ steps: [{ text: 'Hello.' }], whenOver: 'repeat-last' })
  const turnwire = await Turnwire.open({
    data,
    agents: [{ name: 'helper', model }],
    server: { graceMs: 100, cluster: { secret, leaseMs: 3_000 } },
  })
  const server = await startServer(turnwire, { port: 0 })
  t.after(() => server.stop())
  return { server, client: new OperatorClient({ baseUrl: server.url, retries: 0 }) }
}

test('each node lists all of them, says which one it is, and sees one leave', limited, async t => {
  const memory = sharedMemory()
  const a = await nodeOf(t, memory.open())
  const alone = await a.client.system()
  assert.deepEqual(
    alone.nodes?.map(({ self }) => self),
    [true],
  )
  const b = await nodeOf(t, memory.open())
  await until(async () => (await a.client.system()).nodes?.length === 2)
  const [ofA, ofB] = await Promise.all([a.client.system(), b.client.system()])
  const ids = (nodes: typeof ofA.nodes) => nodes?.map(({ id }) => id).sort()
  const selfOf = (nodes: typeof ofA.nodes) => nodes?.filter(({ self }) => self).map(({ id }) => id)
  assert.deepEqual(ids(ofA.nodes), ids(ofB.nodes))
  assert.equal(new Set([...selfOf(ofA.nodes)!, ...selfOf(ofB.nodes)!]).size, 2)
  for (const { id, address, version, leftMs, problem } of [...ofA.nodes!, ...ofB.nodes!]) {
    assert.match(id, /^node_/)
    assert.match(address ?? '', /^127\.0\.0\.1:\d+$/)
    assert.equal(version, ofA.version)
    assert.ok(leftMs > 0 && leftMs <= 3_000, String(leftMs))
    assert.equal(problem, undefined)
  }
  assert.ok(ofA.nodesSeenAt! <= Date.now() && ofA.nodesSeenAt! >= ofA.startedAt - 60_000)
  await b.server.stop()
  const left = selfOf(ofB.nodes)![0]
  await until(async () => {
    const { nodes } = await a.client.system()
    return !nodes?.some(({ id, leftMs }) => id === left && leftMs > 0)
  })
})

test('a server whose store is its own lists none', limited, async t => {
  const model = scripted({ steps: [{ text: 'Hello.' }] })
  const turnwire = await Turnwire.open({ data: 'memory', agents: [{ name: 'helper', model }] })
  const server = await startServer(turnwire, { port: 0 })
  t.after(() => server.stop())
  const system = await new OperatorClient({ baseUrl: server.url, retries: 0 }).system()
  assert.equal('nodes' in system, false)
  assert.equal('nodesSeenAt' in system, false)
})
