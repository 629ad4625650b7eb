// Any node serves any session: commands, approvals, results, cancels, attached tools, reads and live deltas cross to the node
// that has it, with one hop, and find it again when it has moved.
import assert from 'node:assert/strict'
import { afterEach, test } from 'node:test'
import type { FollowItem, SessionChange, SessionRef } from '../../src/engine/index.ts'
import { tool } from '../../src/tools/index.ts'
import { clientTool, owner } from '../engine/rig.ts'
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

const slow: NodeRigOptions = {
  script: () => ({ text: 'one two three four five six', chunk: 4, delayMs: 5 }),
}

const follow = { from: 1, until: 'stop', deltas: 'take-back' } as const

test('a session that was begun on one node takes messages and is followed on every other', async () => {
  const cluster = makeCluster()
  const nodes = [await cluster.start(slow), await cluster.start(slow), await cluster.start(slow)]
  const [a, b, c] = nodes as [(typeof nodes)[0], (typeof nodes)[0], (typeof nodes)[0]]
  const ref = await begin(a)
  const { first } = await say(b.engine, ref, 'Hello')
  const seen = await Promise.all(
    nodes.map(({ engine }) => collect(engine.follow(ref, { ...follow, from: first }))),
  )
  for (const items of seen) {
    assert.equal(textOf(items), 'one two three four five six')
    assert.deepEqual(eventsOf(items), ['turn.started', 'model.answered', 'turn.ended'])
  }
  assert.equal(await holderOf(c.store, ref), a.node.id)
  for (const { engine } of nodes) {
    assert.equal((await engine.summary(ref)).status, 'idle')
    assert.equal((await engine.history(ref, { get: 'entries' })).entries.length, 2)
    assert.equal((await engine.events(ref)).length, 4)
    assert.equal((await engine.list(owner, { limit: 5 })).rows.length, 1)
  }
})

const asking: NodeRigOptions = {
  gate: { rules: [{ tool: 'send', then: 'ask' }] },
  script: request =>
    request.history.at(-1)?.role === 'user' ? { calls: [{ name: 'send', input: {} }] } : { text: 'sent' },
}

function sending(sent: string[]): NonNullable<NodeRigOptions['tools']> {
  return [
    tool({
      name: 'send',
      description: 'Sends.',
      input: { type: 'object' },
      run: () => {
        sent.push('mail')
        return 'ok'
      },
    }),
  ]
}

test('an approval that is given on another node runs the call once, and watchers elsewhere see it', async () => {
  const sent: string[] = []
  const cluster = makeCluster()
  const options = { ...asking, tools: sending(sent) }
  const [a, b, c] = [await cluster.start(options), await cluster.start(options), await cluster.start(options)]
  const ref = await begin(a)
  await say(a.engine, ref, 'Send it')
  await collect(c.engine.follow(ref, follow))
  const [call] = (await b.engine.summary(ref)).calls
  assert.equal(call?.stage, 'asking')
  const decision = { callId: call?.part.id ?? '', granted: true, by: 'ada' }
  const { first } = await b.engine.command(ref, { do: 'respond', results: [], decisions: [decision] })
  const items = await collect(c.engine.follow(ref, { ...follow, from: first }))
  assert.deepEqual(eventsOf(items), [
    'approval.decided',
    'call.started',
    'call.settled',
    'model.answered',
    'turn.ended',
  ])
  assert.deepEqual(sent, ['mail'])
  await assert.rejects(
    c.engine.command(ref, { do: 'respond', results: [], decisions: [decision] }),
    (error: { code?: string }) => error.code === 'already_decided' || error.code === 'call_settled',
  )
})

test("results of a client's tools, and cancels, are taken on any node", async () => {
  const cluster = makeCluster()
  const options: NodeRigOptions = {
    script: request =>
      request.history.at(-1)?.role === 'user' ? { calls: [{ name: 'pick', input: {} }] } : { hang: true },
  }
  const [a, b] = [await cluster.start(options), await cluster.start(options)]
  const settings = { tools: null, options: {}, clientTools: [clientTool('pick')] }
  const made = await a.engine.create({ owner, agent: 'helper', wire: 'test', settings, seed: [] })
  const ref = { owner, session: made.session }
  await say(b.engine, ref, 'Pick')
  await collect(b.engine.follow(ref, follow))
  const [call] = (await b.engine.summary(ref)).calls
  const result = { callId: call?.part.id ?? '', parts: [{ type: 'text' as const, text: 'the red one' }] }
  await b.engine.command(ref, { do: 'respond', results: [result], decisions: [] })
  assert.equal((await b.engine.summary(ref)).status, 'running')
  await b.engine.command(ref, { do: 'cancel' })
  assert.equal((await a.engine.summary(ref)).lastStop?.stop, 'cancelled')
  await b.engine.remove(ref)
  await assert.rejects(a.engine.summary(ref), { code: 'session_not_found' })
})

test('tools that a client of one node runs are used by a session of another', async () => {
  const cluster = makeCluster()
  const options: NodeRigOptions = {
    script: request =>
      request.history.at(-1)?.role === 'user' ? { calls: [{ name: 'look', input: {} }] } : { text: 'seen' },
  }
  const [a, b] = [await cluster.start(options), await cluster.start(options)]
  const ref = await begin(a)
  const stop = new AbortController()
  const runs: string[] = []
  const attached = Promise.withResolvers<void>()
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
  await say(a.engine, ref, 'Look')
  const items = await collect(b.engine.follow(ref, follow))
  assert.ok(eventsOf(items).includes('call.settled'))
  assert.deepEqual(runs, ['look'])
  assert.match(JSON.stringify(await a.engine.history(ref, { get: 'entries' })), /a tree/)
  stop.abort()
  await attaching
})

test('a call that arrives at a node which no longer has the session finds the one that does', async () => {
  const cluster = makeCluster()
  const [a, b, c] = [await cluster.start(slow), await cluster.start(slow), await cluster.start(slow)]
  const ref = await begin(a)
  // B remembers that A has it.
  await b.engine.summary(ref)
  const before = await a.store.holder(ref.session)
  a.local.sessions.inMemory(ref)?.lose(new Error('given away'))
  await a.store.release(ref.session, before?.epoch ?? 0)
  assert.equal(await c.store.adopt(ref.session, before?.epoch ?? 0), true)
  const { first } = await say(b.engine, ref, 'Hello')
  assert.equal(first, 2)
  assert.equal(await holderOf(b.store, ref), c.node.id)
  const items = await collect(a.engine.follow(ref, follow))
  assert.equal(textOf(items), 'one two three four five six')
})

test('a node that does not have the session refuses a forwarded call instead of passing it on', async () => {
  const cluster = makeCluster()
  const [a, b, c] = [await cluster.start(slow), await cluster.start(slow), await cluster.start(slow)]
  const ref = await begin(a)
  const { peerOf } = await import('./rig.ts')
  const toB = await peerOf(b)
  await assert.rejects(toB.engine.at(1).command(ref, { do: 'compact' }), { code: 'moved' })
  const toA = await peerOf(a)
  await assert.rejects(toA.engine.at(7).command(ref, { do: 'compact' }), { code: 'moved' })
  await toA.engine.at(1).command(ref, { do: 'compact' })
  toA.close()
  toB.close()
  assert.equal(await holderOf(c.store, ref), a.node.id)
})

test('a reader on another node that stops reading does not hold up the session', async () => {
  const cluster = makeCluster()
  const many: NodeRigOptions = { script: () => ({ text: 'word '.repeat(20_000), chunk: 5 }) }
  const [a, b] = [await cluster.start(many), await cluster.start(many)]
  const ref = await begin(a)
  const stalled = b.engine.follow(ref, { ...follow, until: 'never' })[Symbol.asyncIterator]()
  await stalled.next()
  await say(b.engine, ref, 'Hello')
  const items = await collect(a.engine.follow(ref, { ...follow, deltas: 'none' }))
  assert.equal(eventsOf(items).at(-1), 'turn.ended')
  // It goes on where it was: the log, without a gap.
  const late: FollowItem[] = []
  while (eventsOf(late).at(-1) !== 'turn.ended') late.push(...((await stalled.next()).value ?? []))
  assert.deepEqual(eventsOf(late), ['turn.started', 'model.answered', 'turn.ended'])
  await stalled.return?.()
})

test('turns of an owner are counted on all nodes, and lists change for watchers on all of them', async () => {
  const cluster = makeCluster()
  const hanging: NodeRigOptions = { script: () => ({ hang: true }) }
  const [a, b] = [await cluster.start(hanging), await cluster.start(hanging)]
  const changes: SessionChange[] = []
  const stop = new AbortController()
  const watching = (async () => {
    for await (const batch of b.engine.changes(stop.signal)) changes.push(...batch)
  })()
  await until(async () => {
    await a.engine.remove(await begin(a))
    return changes.length > 0
  })
  const refs: SessionRef[] = [await begin(a), await begin(b)]
  for (const ref of refs) await say(b.engine, ref, 'Work')
  // A learns within a moment that B has come.
  const both = refs.map(({ session }) => session).sort()
  for (const { engine } of [a, b])
    await until(
      async () => String((await engine.lookUp({ get: 'usage', owner })).running.sort()) === String(both),
    )
  await until(() => refs.every(({ session }) => JSON.stringify(changes).includes(session)))
  stop.abort()
  await watching
})
