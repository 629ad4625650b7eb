// Calls that calls make: they pass the gate, wait for people and clients, survive restarts, and end with their parent.
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { CallSlots } from '../../src/engine/calls/running-calls.ts'
import { LocalEngine, type Session, Suspended, type Tool } from '../../src/engine/index.ts'
import type { ToolContext } from '../../src/engine/ports/index.ts'
import { joinText } from '../../src/language/content.ts'
import type { Event } from '../../src/language/events.ts'
import type { Json } from '../../src/lib/json/index.ts'
import { memoryStore } from '../../src/stores/memory.ts'
import { tool } from '../../src/tools/index.ts'
import {
  begin,
  clientTool,
  eventsOf,
  makeRig,
  makeWorld,
  owner,
  type Rig,
  type RigOptions,
  say,
  stopAll,
  takeControl,
  until,
} from './rig.ts'

after(stopAll)

const numbered = { type: 'object', properties: { n: { type: 'integer' } } }
const declared = { description: 'For a test.', input: numbered }

/** Calls the tools of each step at the same time, one step after another, and gives their results. */
function steps(list: readonly (readonly string[])[], over: Partial<Tool> = {}): Tool {
  const base = tool({
    name: 'steps',
    description: 'Runs steps.',
    input: { type: 'object' },
    trust: 'trusted',
    run: () => '',
  })
  return { ...base, resumable: true, run: (_input, context) => runSteps(list, context), ...over }
}

async function runSteps(list: readonly (readonly string[])[], { nested }: ToolContext) {
  assert.ok(nested)
  const waits = new Promise<never>((_, reject) =>
    nested.onWaiting(() => reject(new Suspended('its calls wait'))),
  )
  waits.catch(() => {})
  const said: string[] = []
  for (const [at, names] of list.entries()) {
    const made = names.map(async (name, place) => {
      const { outcome } = await nested.call(`${at}.${place}`, name, JSON.stringify({ n: at }))
      return `${name}: ${outcome.kind} ${joinText(outcome.parts)}`
    })
    said.push(...(await Promise.race([Promise.all(made), waits])))
  }
  return { parts: [{ type: 'text' as const, text: said.join('\n') }] }
}

type Seen = { runs: string[] }

function rigWith(list: readonly (readonly string[])[], over: RigOptions = {}, own: Partial<Tool> = {}) {
  const seen: Seen = { runs: [] }
  const ran = (name: string) => (input: Json) => {
    seen.runs.push(name)
    return `${name} ${JSON.stringify(input)}`
  }
  const tools = [
    steps(list, own),
    tool({ ...declared, name: 'look', readOnly: true, trust: 'trusted', run: ran('look') }),
    tool({ ...declared, name: 'mail', trust: 'ask', run: ran('mail') }),
    tool({ ...declared, name: 'pay', trust: 'trusted', run: ran('pay') }),
  ]
  const script = [{ calls: [{ name: 'steps', input: {} }] }, { text: 'Done.' }]
  return { ...makeRig({ tools, script, ...over }), seen }
}

const waiting = (session: Session) =>
  session.state.batch.filter(({ stage }) => stage === 'asking' || stage === 'handed')

const allow = (session: Session) => ({
  results: [],
  decisions: waiting(session).map(({ part }) => ({ callId: part.id, granted: true, by: owner })),
})

function resultOf(session: Session): string {
  const last = session.state.entries.findLast(entry => entry.role === 'tool')
  assert.ok(last?.role === 'tool')
  assert.equal(last.results.length, 1, 'a model reads the results of its own calls only')
  return joinText(last.results[0]?.outcome.parts ?? [])
}

test('a call makes calls, in order and in parallel; the model reads the result of the parent alone', async () => {
  const rig = rigWith([['look', 'pay'], ['look']])
  const session = await begin(rig)
  await say(session, 'go')
  assert.equal(resultOf(session), 'look: ok look {"n":0}\npay: ok pay {"n":0}\nlook: ok look {"n":1}')
  const events = await eventsOf(rig, session)
  const nested = events.filter(event => event.type === 'call.nested')
  assert.deepEqual(
    nested.map(({ key, call }) => [key, call.name]),
    [
      ['0.0', 'look'],
      ['0.1', 'pay'],
      ['1.0', 'look'],
    ],
  )
  assert.equal(session.status, 'idle')
})

test('a call that asks suspends its parent; the turn waits and goes on with the decision', async () => {
  const rig = rigWith([['pay', 'mail'], ['look']])
  const session = await begin(rig)
  await say(session, 'go')
  assert.equal(session.status, 'waiting')
  assert.deepEqual(rig.seen.runs, ['pay'])
  assert.equal(session.driver.callsRunning, 0, 'nothing of it stays in memory but its state')
  const { calls } = await rig.local.summary({ owner, session: session.id })
  const [parent, ...children] = calls
  assert.equal(parent?.stage, 'suspended')
  assert.ok(children.every(call => call.parent === parent.part.id))
  await until(session, () => session.respond(allow(session)))
  assert.equal(resultOf(session), 'pay: ok pay {"n":0}\nmail: ok mail {"n":0}\nlook: ok look {"n":1}')
  assert.deepEqual(rig.seen.runs, ['pay', 'mail', 'look'])
})

test('arguments are edited in a call of a call, and a denial reaches its parent', async () => {
  const rig = rigWith([['mail', 'mail']])
  const session = await begin(rig)
  await say(session, 'go')
  const [first, second] = waiting(session).map(({ part }) => part.id)
  const decisions = [
    { callId: first ?? '', granted: true, by: owner, edit: '{"n":7}' },
    { callId: second ?? '', granted: false, by: owner, reason: 'no' },
  ]
  await until(session, () => session.respond({ results: [], decisions }))
  assert.equal(resultOf(session), 'mail: ok mail {"n":7}\nmail: denied Tool call denied: no')
})

test('the client runs its tool within a call, one answer at a time', async () => {
  const rig = rigWith([['mine', 'mine'], ['look']])
  const session = await begin(rig, { clientTools: [clientTool('mine')] })
  await say(session, 'go')
  for (const text of ['one', 'two']) {
    assert.equal(session.status, 'waiting')
    const callId = waiting(session)[0]?.part.id ?? ''
    const results = [{ callId, parts: [{ type: 'text' as const, text }] }]
    await until(session, () => session.respond({ results, decisions: [] }))
  }
  assert.equal(resultOf(session), 'mine: ok one\nmine: ok two\nlook: ok look {"n":1}')
})

/** A second engine on the same store, as after a restart. */
async function reopened(rig: Rig & { seen: Seen }, session: Session): Promise<Session> {
  await rig.engine.stop(0)
  const next = makeRig({ store: rig.store, agent: rig.agent })
  return next.engine.open(owner, session.id)
}

test('a suspended call goes on in another process, and nothing runs twice', async () => {
  const rig = rigWith([['pay', 'mail'], ['look']])
  const session = await begin(rig)
  await say(session, 'go')
  const again = await reopened(rig, session)
  assert.equal(again.status, 'waiting')
  await until(again, () => again.respond(allow(again)))
  assert.equal(resultOf(again), 'pay: ok pay {"n":0}\nmail: ok mail {"n":0}\nlook: ok look {"n":1}')
  assert.deepEqual(rig.seen.runs, ['pay', 'mail', 'look'])
})

test('after a crash the parent runs again; a call of its that was running is unknown', async () => {
  const begun = Promise.withResolvers<void>()
  let runs = 0
  const stuck = tool({
    ...declared,
    name: 'stuck',
    trust: 'trusted',
    run: () => {
      runs += 1
      begun.resolve()
      return new Promise<string>(() => {})
    },
  })
  const store = memoryStore()
  const rig = rigWith([['look', 'stuck'], ['look']], { store })
  const tools = [...rig.agent.tools, stuck]
  const first = makeRig({ store, agent: { ...rig.agent, tools } })
  const session = await begin(first)
  void session.say({ parts: [{ type: 'text', text: 'go' }], wire: 'test' })
  await begun.promise
  await session.flushed()
  session.lose(new Error('a crash'))
  const second = makeRig({ store, agent: { ...rig.agent, tools } })
  const again = await second.engine.open(owner, session.id)
  while (again.status !== 'idle') await new Promise(resolve => setTimeout(resolve, 5))
  assert.match(resultOf(again), /^look: ok .*\nstuck: unknown The server stopped .*\nlook: ok/)
  assert.equal(runs, 1)
})

test('a cancellation settles the parent and its calls', async () => {
  const rig = rigWith([['mail', 'mail']])
  const session = await begin(rig)
  await say(session, 'go')
  await session.cancel()
  const kinds = (await eventsOf(rig, session)).flatMap(event =>
    event.type === 'call.settled' ? [event.outcome.kind] : [],
  )
  assert.deepEqual(kinds, ['cancelled', 'cancelled', 'cancelled'])
  assert.equal(session.status, 'idle')
})

test('calls that are open when their parent ends are stopped and settled before it', async () => {
  const stopped = Promise.withResolvers<void>()
  const long = tool({
    ...declared,
    name: 'long',
    trust: 'trusted',
    run: (_input, { signal }) =>
      new Promise<string>(() => signal.addEventListener('abort', () => stopped.resolve())),
  })
  const hasty: Partial<Tool> = {
    run(_input, { nested }) {
      nested?.call('a', 'long', '{}').catch(() => {})
      nested?.call('b', 'mail', '{}').catch(() => {})
      return new Promise(resolve =>
        setTimeout(resolve, 20, { parts: [{ type: 'text', text: 'I do not wait.' }] }),
      )
    },
  }
  const rig = rigWith([], {}, hasty)
  const session = await begin(makeRig({ ...rig, agent: { ...rig.agent, tools: [...rig.agent.tools, long] } }))
  await say(session, 'go')
  await stopped.promise
  assert.equal(resultOf(session), 'I do not wait.')
})

test('a place among the calls that run is given to the calls of a call', async () => {
  const rig = rigWith([['look', 'pay'], ['look']], { callSlots: new CallSlots(1), agent: { callsAtOnce: 1 } })
  const session = await begin(rig)
  await say(session, 'go')
  assert.deepEqual(rig.seen.runs, ['look', 'pay', 'look'])
})

test('calls of calls count towards the limits of the turn', async () => {
  const limits = { ...makeRig().agent.limits, calls: 3 }
  const rig = rigWith([['look', 'pay', 'look', 'look']], { agent: { limits } })
  const session = await begin(rig)
  await say(session, 'go')
  assert.equal(session.state.lastStop?.limit, 'calls')
  assert.deepEqual(rig.seen.runs, ['look', 'pay'])
})

test('under manual control each call of a call is one action', async () => {
  const rig = rigWith([['look'], ['pay']])
  const session = await begin(rig)
  const control = await takeControl(rig, session.id, 'olga')
  await session.say({ parts: [{ type: 'text', text: 'go' }], wire: 'test' })
  for (let actions = 0; rig.seen.runs.length < 2; actions++) {
    assert.ok(actions < 20)
    await control.perform()
  }
  await until(session, () => control.release())
  assert.equal(resultOf(session), 'look: ok look {"n":0}\npay: ok pay {"n":1}')
})

test('a server that stops suspends the parent, and goes on after the restart', async () => {
  const held = Promise.withResolvers<void>()
  const gate = { ...makeRig().agent.gate }
  const authorise: typeof gate.authorise = async question => {
    if (question.tool.name === 'pay') await held.promise
    return { verdict: 'allow', rule: 'test' }
  }
  const rig = rigWith([['look'], ['pay']], { agent: { gate: { ...gate, authorise } } })
  const session = await begin(rig)
  void session.say({ parts: [{ type: 'text', text: 'go' }], wire: 'test' })
  while (session.state.batch.length < 3) await new Promise(resolve => setTimeout(resolve, 2))
  const stopping = rig.engine.stop(60_000)
  held.resolve()
  await stopping
  assert.ok(rig.seen.runs.length <= 2)
  const next = makeRig({ store: rig.store, agent: rig.agent })
  const again = await next.engine.open(owner, session.id)
  while (again.status !== 'idle') await new Promise(resolve => setTimeout(resolve, 5))
  assert.equal(resultOf(again), 'look: ok look {"n":0}\npay: ok pay {"n":1}')
  assert.deepEqual(rig.seen.runs, ['look', 'pay'])
})

test('an answer to a call of an earlier answer is refused as settled', async () => {
  const rig = rigWith([['mail']])
  const session = await begin(rig)
  await say(session, 'go')
  const answer = allow(session)
  await until(session, () => session.respond(answer))
  await assert.rejects(session.respond(answer), { code: 'call_settled' })
})

test('a reader that replays the request sees the turn stop where it waited', async () => {
  const rig = rigWith([['mail'], ['look']])
  const session = await begin(rig)
  const ref = { owner, session: session.id }
  const request = { key: 'k', hash: 'h' }
  const { first } = await rig.local.command(ref, {
    do: 'say',
    wire: 'test',
    parts: [{ type: 'text', text: 'go' }],
    request,
  })
  const follow = async (replay: boolean): Promise<Event[]> => {
    const events: Event[] = []
    for await (const batch of rig.local.follow(ref, { from: first, until: 'stop', replay, deltas: 'none' }))
      for (const item of batch) if (item.type === 'event') events.push(item.event)
    return events
  }
  const live = await follow(false)
  assert.equal(live.at(-1)?.type, 'call.suspended')
  await until(session, () => session.respond(allow(session)))
  assert.deepEqual(await follow(true), live)
})

test('a tool that only programs may call is not offered to the model, and refused to it', async () => {
  const only = tool({ ...declared, name: 'only', trust: 'trusted', run: () => 'ran' })
  const rig = rigWith([['only']])
  const tools = [...rig.agent.tools, { ...only, callers: ['code'] as const }]
  const script = [
    { calls: [{ name: 'only', input: {} }] },
    { calls: [{ name: 'steps', input: {} }] },
    { text: 'Done.' },
  ]
  const own = makeRig({ script, tools })
  const session = await begin(own)
  assert.ok(!session.request().tools.some(({ name }) => name === 'only'))
  await say(session, 'go')
  const [direct, inner] = session.state.entries.flatMap(entry => (entry.role === 'tool' ? entry.results : []))
  assert.equal(direct?.outcome.kind, 'invalid')
  assert.match(joinText(inner?.outcome.parts ?? []), /^only: ok ran/)
})

test('the fold of the log equals the state, with calls of calls in it', async () => {
  const rig = rigWith([['mail', 'look'], ['mail']])
  const session = await begin(rig)
  await say(session, 'go')
  await until(session, () => session.respond(allow(session)))
  const engine = new LocalEngine({
    store: rig.store,
    world: makeWorld(),
    vault: { seal: text => text, open: text => text },
    agent: () => rig.agent,
    log: () => {},
  })
  const folded = await engine.sessions.stateAt({ owner, session: session.id }, session.state.seq)
  assert.deepEqual(folded, session.state)
})
