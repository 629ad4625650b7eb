// Nodes that die, hang, are cut off or stop: their sessions go on elsewhere, and what they still do changes nothing.
import assert from 'node:assert/strict'
import { afterEach, test } from 'node:test'
import type { FollowItem, SessionRef } from '../../src/engine/index.ts'
import { later, tool } from '../../src/tools/index.ts'
import { owner } from '../engine/rig.ts'
import { collect, say } from '../engines/rig.ts'
import {
  begin,
  eventsOf,
  holderOf,
  lookTool,
  makeCluster,
  type NodeRigOptions,
  stopNodes,
  textOf,
  until,
} from './rig.ts'

afterEach(stopNodes)

const leaseMs = 1_200

/** A tool that ends when the test says so. */
function gatedTool(options: { idempotent?: boolean } = {}) {
  const gate = Promise.withResolvers<void>()
  const started: string[] = []
  const work = tool({
    name: 'work',
    description: 'Works.',
    input: { type: 'object' },
    ...options,
    run: async () => {
      started.push('run')
      await gate.promise
      return 'worked'
    },
  })
  return { work, started, open: gate.resolve }
}

const allowed: Pick<NodeRigOptions, 'gate'> = { gate: { rules: [{ tool: 'work', then: 'allow' }] } }

const working: NodeRigOptions['script'] = request =>
  request.history.at(-1)?.role === 'user' ? { calls: [{ name: 'work', input: {} }] } : { text: 'all done' }

test('the sessions of a node that is cut off are continued by the others, and none by two', async () => {
  // Long enough that a busy machine does not make the others lose their leases too.
  const cluster = makeCluster(4 * leaseMs)
  const hanging: NodeRigOptions = { script: () => ({ text: 'half an answer', chunk: 4, hang: true }) }
  const answering: NodeRigOptions = { script: () => ({ text: 'a whole answer', chunk: 4 }) }
  const a = await cluster.start(hanging)
  const [b, c] = [await cluster.start(answering), await cluster.start(answering)]
  const refs: SessionRef[] = []
  for (let count = 0; count < 40; count++) {
    const ref = await begin(a)
    await say(a.engine, ref, 'Hello')
    refs.push(ref)
  }
  const watched: FollowItem[] = []
  const watching = (async () => {
    const options = { from: 1, until: 'stop', deltas: 'take-back' } as const
    for await (const batch of b.engine.follow(refs[0]!, options)) watched.push(...batch)
  })()
  await until(() => textOf(watched).length > 0)
  a.cutStore()
  await watching
  await until(async () => {
    const statuses = await Promise.all(refs.map(ref => b.engine.summary(ref)))
    return statuses.every(({ status }) => status === 'idle')
  })
  assert.equal(textOf(watched), 'a whole answer')
  assert.deepEqual(eventsOf(watched), ['turn.started', 'model.answered', 'turn.ended'])
  const holders = await Promise.all(refs.map(ref => holderOf(b.store, ref)))
  const shares = [b, c].map(({ node }) => holders.filter(id => id === node.id).length)
  assert.equal(shares[0]! + shares[1]!, refs.length)
  // Each survivor took a share.
  assert.ok(Math.min(...shares) > 5, `they took ${shares.join(' and ')}`)
  for (const ref of refs) {
    const types = (await c.engine.events(ref)).map(({ event }) => event.type)
    assert.deepEqual(types, ['session.created', 'turn.started', 'model.answered', 'turn.ended'])
  }
})

test('a node that was cut off stops itself before its lease ends, and discards what its tools still give', async () => {
  // Long enough that a busy machine sees the node stop before the others may act.
  const cluster = makeCluster(4 * leaseMs)
  const { work, started, open } = gatedTool()
  const options = { ...allowed, script: working, tools: [work] }
  const [a, b] = [await cluster.start(options), await cluster.start(options)]
  const ref = await begin(a)
  await say(a.engine, ref, 'Work')
  await until(() => started.length === 1)
  a.cutStore()
  assert.equal(a.node.failure(), undefined)
  // It stops itself while the others still have to wait.
  await until(() => a.node.failure() !== undefined)
  assert.equal(await holderOf(b.store, ref), a.node.id)
  assert.ok(((await b.store.holder(ref.session))?.node?.leftMs ?? 0) > 0)
  const items = await collect(b.engine.follow(ref, { from: 1, until: 'stop', deltas: 'none' }))
  const old = a.node.id
  open()
  a.healStore()
  assert.deepEqual(started, ['run'])
  const settled = items.flatMap(item =>
    item.type === 'event' && item.event.type === 'call.settled' ? [item.event.outcome.kind] : [],
  )
  assert.deepEqual(settled, ['unknown'])
  await until(() => a.logs.some(line => line.includes('It was discarded.')))
  // It comes back as another node, and serves the session through its new holder.
  await until(() => a.node.failure() === undefined)
  assert.notEqual(a.node.id, old)
  const { entries } = await a.engine.history(ref, { get: 'entries' })
  assert.equal(JSON.stringify(entries).includes('worked'), false)
  await say(a.engine, ref, 'And now?')
  assert.equal(await holderOf(a.store, ref), b.node.id)
})

test('an idempotent call of a dead node is run again under the same key by its successor', async () => {
  const cluster = makeCluster(leaseMs)
  const { work, started, open } = gatedTool({ idempotent: true })
  const options = { ...allowed, script: working, tools: [work] }
  const [a, b] = [await cluster.start(options), await cluster.start(options)]
  const ref = await begin(a)
  await say(a.engine, ref, 'Work')
  await until(() => started.length === 1)
  a.cutStore()
  await until(() => started.length === 2)
  open()
  const items = await collect(b.engine.follow(ref, { from: 1, until: 'stop', deltas: 'none' }))
  assert.equal(eventsOf(items).filter(type => type === 'call.settled').length, 1)
  assert.equal((await b.engine.summary(ref)).status, 'idle')
})

test('a node that cannot be reached by others loses its sessions, although its database answers', async () => {
  const cluster = makeCluster(leaseMs)
  const hanging: NodeRigOptions = { script: () => ({ hang: true }) }
  const answering: NodeRigOptions = { script: () => ({ text: 'here' }) }
  const [a, b] = [await cluster.start(hanging), await cluster.start(answering)]
  const ref = await begin(a)
  await say(a.engine, ref, 'Hello')
  await a.deafen()
  await until(() => a.node.failure() !== undefined)
  const items = await collect(b.engine.follow(ref, { from: 1, until: 'stop', deltas: 'none' }))
  assert.equal(eventsOf(items).at(-1), 'turn.ended')
  assert.equal(await holderOf(b.store, ref), b.node.id)
})

test('a stopping node hands its sessions over at once, and streams go on', async () => {
  const cluster = makeCluster()
  let asked = 0
  const options: NodeRigOptions = {
    script: () => {
      asked += 1
      return asked === 1 ? { text: 'half', chunk: 1, hang: true } : { text: 'half and whole', chunk: 4 }
    },
  }
  const [a, b] = [await cluster.start(options), await cluster.start(options)]
  const ref = await begin(a)
  await say(b.engine, ref, 'Hello')
  const watched: FollowItem[] = []
  const watching = (async () => {
    const options = { from: 1, until: 'stop', deltas: 'append' } as const
    for await (const batch of b.engine.follow(ref, options)) watched.push(...batch)
  })()
  await until(() => textOf(watched) === 'half')
  await a.node.stop(5_000)
  await watching
  assert.equal(textOf(watched), 'half and whole')
  assert.deepEqual(eventsOf(watched), ['turn.started', 'model.answered', 'turn.ended'])
  assert.equal(await holderOf(b.store, ref), b.node.id)
})

test('a stopping node keeps a session until its tool has returned, and gives the others up before', async () => {
  const cluster = makeCluster()
  const { work, started, open } = gatedTool()
  const script: NodeRigOptions['script'] = request => {
    const last = JSON.stringify(request.history.at(-1))
    if (last.includes('Wait')) return { text: 'waited', stepDelayMs: 50 }
    return request.history.at(-1)?.role === 'user'
      ? { calls: [{ name: 'work', input: {} }] }
      : { text: 'done' }
  }
  const options = { ...allowed, script, tools: [work] }
  const [a, b] = [await cluster.start(options), await cluster.start(options)]
  const [busy, idle] = [await begin(a), await begin(a)]
  await say(a.engine, busy, 'Work')
  await until(() => started.length === 1)
  await say(a.engine, idle, 'Wait')
  const stopping = a.node.stop(10_000)
  await until(async () => (await b.engine.summary(idle)).status === 'idle')
  assert.equal(await holderOf(b.store, idle), b.node.id)
  assert.equal(await holderOf(b.store, busy), a.node.id)
  assert.equal(a.node.failure()?.code, 'stopping')
  open()
  await stopping
  const items = await collect(b.engine.follow(busy, { from: 1, until: 'stop', deltas: 'none' }))
  assert.deepEqual(
    items.flatMap(item =>
      item.type === 'event' && item.event.type === 'call.settled' ? [item.event.outcome.kind] : [],
    ),
    ['ok'],
  )
  assert.deepEqual(started, ['run'])
})

test('tools that a client runs go with the session when its node dies', async () => {
  const cluster = makeCluster(leaseMs)
  const script: NodeRigOptions['script'] = request =>
    request.history.at(-1)?.role === 'user'
      ? { calls: [{ name: 'look', input: {} }], stepDelayMs: 100 }
      : { text: 'seen' }
  const [a, b, c] = [
    await cluster.start({ script: () => ({ hang: true }) }),
    await cluster.start({ script }),
    await cluster.start({ script }),
  ]
  const ref = await begin(a)
  const stop = new AbortController()
  const attached = Promise.withResolvers<void>()
  const runs: string[] = []
  const attaching = (async () => {
    for await (const batch of b.engine.attach(ref, [lookTool], stop.signal))
      for (const item of batch) {
        if (item.type === 'attached') attached.resolve()
        if (item.type !== 'run') continue
        runs.push(item.name)
        await b.engine.report(ref, { run: item.run, output: { parts: [{ type: 'text', text: 'a tree' }] } })
      }
  })()
  await attached.promise
  await say(c.engine, ref, 'Look')
  a.cutStore()
  const items = await collect(c.engine.follow(ref, { from: 1, until: 'stop', deltas: 'none' }))
  assert.equal(eventsOf(items).at(-1), 'turn.ended')
  assert.deepEqual(runs, ['look'])
  assert.match(JSON.stringify(await c.engine.history(ref, { get: 'entries' })), /a tree/)
  stop.abort()
  await attaching
})

test('a result that never comes is noticed in time although the node that waited for it is gone', async () => {
  const cluster = makeCluster(leaseMs)
  const order = tool({
    name: 'work',
    description: 'Orders.',
    input: { type: 'object' },
    run: () => later({ expires: leaseMs + 800 }),
  })
  const options: NodeRigOptions = { ...allowed, script: working, tools: [order] }
  const [a, b] = [await cluster.start(options), await cluster.start(options)]
  const ref = await begin(a)
  await say(a.engine, ref, 'Work')
  await until(async () => (await b.engine.summary(ref)).status === 'waiting')
  a.cutStore()
  await until(async () => (await b.engine.summary(ref)).status === 'idle')
  assert.equal(await holderOf(b.store, ref), b.node.id)
  assert.match(JSON.stringify(await b.engine.history(ref, { get: 'entries' })), /did not come in time/)
})

test('a session that works for a call is continued where the call is', async () => {
  const cluster = makeCluster()
  const [a, b] = [
    await cluster.start({ script: () => ({ text: 'x' }) }),
    await cluster.start({ script: () => ({ text: 'x' }) }),
  ]
  const ref = await begin(a)
  const child = await b.local.sessions.make(
    {
      owner,
      agent: 'helper',
      wire: 'test',
      settings: { tools: null, options: {}, clientTools: [] },
      seed: [],
    },
    { key: 'child', hash: 'child' },
  )
  // B has it, and A needs it for one of its calls.
  const made = { owner, session: child.id }
  assert.equal(await holderOf(a.store, made), b.node.id)
  const { first } = await a.local.sessions.subSessions.command(made, {
    do: 'say',
    wire: 'test',
    parts: [{ type: 'text', text: 'Hello' }],
  })
  assert.equal(first, 2)
  assert.equal(await holderOf(a.store, made), a.node.id)
  assert.equal((await b.engine.summary(ref)).status, 'idle')
})

test('a session of a node that is unreachable but has its lease is not taken: the caller is told to try again', async () => {
  const cluster = makeCluster(60_000)
  const options: NodeRigOptions = { script: () => ({ text: 'x' }) }
  const a = await cluster.start(options)
  const b = await cluster.start({ ...options, patienceMs: 300 })
  const ref = await begin(a)
  await a.deafen()
  await assert.rejects(say(b.engine, ref, 'Hello'), { code: 'moved', retryAfterMs: 1000 })
  assert.equal(await holderOf(b.store, ref), a.node.id)
  // What is durable can be read meanwhile.
  assert.equal((await b.engine.events(ref)).length, 1)
})
