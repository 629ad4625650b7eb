import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { Command, Engine, OnceRequest, SessionRef } from '../engine/index.ts'
import { scripted, Turnwire } from '../index.ts'
import { runtimeOf } from '../library/turnwire.ts'
import { BoundEngine } from './bound-engine.ts'
import type { Caller } from './caller.ts'
import { WorkLimits } from './owner-limits.ts'

const settings = { tools: null, options: {}, clientTools: [] }
const creation = { agent: 'helper', wire: 'test', seed: [], settings }
const say: Extract<Command, { do: 'say' }> = {
  do: 'say',
  wire: 'test',
  parts: [{ type: 'text', text: 'Hi' }],
}

async function open(t: TestContext) {
  const model = scripted([{ text: 'Hello.' }, { text: 'Again.' }])
  const turnwire = await Turnwire.open({ agents: [{ name: 'helper', model }], data: 'memory' })
  t.after(() => turnwire.close())
  const { engine } = runtimeOf(turnwire)
  const limits = new WorkLimits(engine)
  return (caller: Caller) => new BoundEngine(engine, limits, caller)
}

test('a caller reaches no session of another owner, whatever owner its wire names', async t => {
  const engineFor = await open(t)
  const [ann, ben] = [engineFor({ owner: 'ann' }), engineFor({ owner: 'ben' })]
  const { session } = await ann.create({ owner: 'ann', ...creation })
  const ref = { owner: 'ann', session }
  const missing = { code: 'session_not_found' }
  await assert.rejects(ben.create({ owner: 'ann', ...creation }), missing)
  await assert.rejects(ben.command(ref, say), missing)
  await assert.rejects(ben.summary(ref), missing)
  await assert.rejects(ben.remove(ref), missing)
  await assert.rejects(ben.list('ann', { limit: 10 }), missing)
  await assert.rejects(ben.list(null, { limit: 10 }), missing)
  await assert.rejects(ben.lookUp({ get: 'session', owner: 'ann', key: 'key' }), missing)
  const once: OnceRequest = { owner: 'ann', agent: 'helper', clientTools: [], history: [], deltas: 'none' }
  assert.throws(() => ben.answerOnce(once), missing)
  assert.throws(() => ben.follow(ref, { until: 'stop', deltas: 'none' }), missing)
  assert.throws(() => ben.attach(ref, []), missing)
  assert.equal(await ben.lookUp({ get: 'owner', session }), undefined)
  assert.equal((await ann.summary(ref)).id, session)
})

test('an operator reaches the sessions of every owner', async t => {
  const engineFor = await open(t)
  const { session } = await engineFor({ owner: 'ann' }).create({ owner: 'ann', ...creation })
  const boss = engineFor({ owner: 'boss', operator: true })
  assert.equal(await boss.lookUp({ get: 'owner', session }), 'ann')
  assert.equal((await boss.list(null, { limit: 10 })).rows.length, 1)
  assert.equal((await boss.summary({ owner: 'ann', session })).owner, 'ann')
})

test('a caller is told of changes of its own sessions only', async t => {
  const engineFor = await open(t)
  const [ann, ben] = [engineFor({ owner: 'ann' }), engineFor({ owner: 'ben' })]
  const left = new AbortController()
  const changes = ben.changes(left.signal)[Symbol.asyncIterator]()
  const next = changes.next()
  await ann.create({ owner: 'ann', ...creation })
  const { session } = await ben.create({ owner: 'ben', ...creation })
  const { value } = await next
  assert.deepEqual(
    value?.map((change: { row?: { id: string } }) => change.row?.id),
    [session],
  )
  left.abort()
})

test('what a caller starts belongs to its trace', async t => {
  const engineFor = await open(t)
  const trace = { traceparent: '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01' }
  const ann = engineFor({ owner: 'ann', trace })
  const { session } = await ann.create({ owner: 'ann', ...creation })
  const ref = { owner: 'ann', session }
  const { first } = await ann.command(ref, say)
  const [started] = await ann.events(ref, first - 1)
  assert.equal(started?.event.type === 'turn.started' && started.event.trace?.traceparent, trace.traceparent)
})

test('the first message of a new session passes what messages pass', async t => {
  const engineFor = await open(t)
  const trace = { traceparent: '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01' }
  const ann = engineFor({ owner: 'ann', trace })
  const { session, accepted } = await ann.create({ owner: 'ann', ...creation, say })
  const [started] = await ann.events({ owner: 'ann', session }, accepted!.first - 1)
  assert.equal(started?.event.type === 'turn.started' && started.event.trace?.traceparent, trace.traceparent)
})

test('decisions, grants and messages are those of the caller, whatever a wire says', async () => {
  const given: Command[] = []
  const inner = {
    command: async (_ref: SessionRef, command: Command) => void given.push(command),
    lookUp: async () => ({ running: [], sessions: 0, bytes: 0 }),
  }
  const engine = inner as unknown as Engine // Nothing else of it is used.
  const eve = { owner: 'ana', name: 'eve', roles: ['finance'] }
  const bound = new BoundEngine(engine, new WorkLimits(engine), eve)
  const ref = { owner: 'ana', session: 's' }
  const people = [{ name: 'boss', roles: ['all'] }]
  const decision = { callId: 'c', granted: true, by: 'boss', people }
  await bound.command(ref, { do: 'respond', results: [], decisions: [decision] })
  await bound.command(ref, { do: 'grant', grant: { tool: 't', toolHash: 'h', by: 'boss', people } })
  await bound.command(ref, { do: 'say', wire: 'test', parts: [], requesters: ['boss'] })
  await new BoundEngine(engine, new WorkLimits(engine), { owner: 'ana', name: 'ana' }).command(ref, say)
  const [respond, grant, said, own] = given
  const known = [{ name: 'eve', roles: ['finance'] }]
  assert.deepEqual(respond?.do === 'respond' && respond.decisions[0]?.people, known)
  assert.deepEqual(grant?.do === 'grant' && grant.grant.people, known)
  assert.deepEqual(said?.do === 'say' && said.requesters, ['eve'])
  assert.equal(own, say)
})
