// A process that goes away at each of its crash points in turn, in a batch of calls that are allowed and started in one
// event, that policy takes its time over, that fail once, and that may not be repeated; with a store that lingers.
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import type { CrashPoint, Store, ToolContext } from '../../src/engine/index.ts'
import { TurnwireError } from '../../src/language/errors.ts'
import type { Event } from '../../src/language/events.ts'
import { toolHash } from '../../src/language/tools.ts'
import { memoryStore } from '../../src/stores/memory.ts'
import { tool } from '../../src/tools/index.ts'
import { begin, eventsOf, makeRig, owner, plainSettings, stopAll } from './rig.ts'

after(stopAll)

type Ran = { callId: string; name: string; key: string; attempt: number }

/** One process. It is cut off at the crash point number `at`: from there on nothing that it does counts. */
function life(inner: Store, ran: Ran[], at = Infinity) {
  const passed: CrashPoint[] = []
  const gone = Promise.withResolvers<void>()
  const refused = () => Promise.reject(new TurnwireError('lease_lost', 'The process is gone.'))
  const isGone = () => passed.length >= at
  const note = (name: string, { callId, idempotencyKey, attempt }: ToolContext) => {
    if (!isGone()) ran.push({ callId, name, key: idempotencyKey, attempt })
  }
  const declared = { description: 'd', input: { type: 'object' } } as const
  const pay = tool({
    ...declared,
    name: 'pay',
    trust: 'trusted',
    run: (_, context) => {
      note('pay', context)
      return 'paid'
    },
  })
  const slow = tool({
    ...declared,
    name: 'slow',
    run: async (_, context) => {
      note('slow', context)
      await new Promise(setImmediate)
      return 'done'
    },
  })
  const again = tool({
    ...declared,
    name: 'again',
    trust: 'trusted',
    idempotent: true,
    retries: 2,
    run: async (_, context) => {
      note('again', context)
      if (context.attempt === 1) throw new Error('not yet')
      return 'done'
    },
  })
  const names = ['pay', 'again', 'slow', 'pay', 'again']
  const rig = makeRig({
    tools: [pay, slow, again],
    gate: {
      rules: [
        { tool: 'slow', then: 'allow', when: () => new Promise(resolve => setImmediate(resolve, true)) },
      ],
    },
    script: [{ calls: names.map((name, n) => ({ name, input: { n } })) }, { text: 'Done.' }],
    store: {
      ...inner,
      lingerMs: 1,
      append: batch => (isGone() ? refused() : inner.append(batch)),
    },
    world: {
      crashPoint(point) {
        if (isGone()) return
        passed.push(point)
        if (isGone()) gone.resolve()
      },
    },
  })
  return { rig, passed, gone: gone.promise }
}

function settledOnce(events: readonly Event[], ran: readonly Ran[]): void {
  const asked = events.flatMap(event =>
    event.type === 'model.answered' ? event.parts.flatMap(part => (part.type === 'call' ? [part] : [])) : [],
  )
  for (const { id, name } of asked) {
    const about = events.filter(event => 'callId' in event && event.callId === id)
    const starts = about.flatMap(event => (event.type === 'call.started' ? [event] : []))
    const judged = about.filter(
      event => event.type === 'call.allowed' || (event.type === 'call.started' && event.allowed),
    )
    const outcomes = about.flatMap(event => (event.type === 'call.settled' ? [event.outcome.kind] : []))
    const runs = ran.filter(({ callId }) => callId === id)
    assert.equal(judged.length, 1, `${name} is judged once`)
    assert.equal(outcomes.length, 1, `${name} is settled once`)
    assert.deepEqual(
      starts.map(({ attempt }) => attempt),
      starts.map((_, index) => index + 1),
    )
    for (const { key } of runs) assert.equal(key, id, 'one key for all attempts')
    for (const { attempt } of runs) assert.ok(attempt <= starts.length, 'its intent was durable')
    if (name === 'again') assert.equal(outcomes[0], 'ok')
    else {
      assert.ok(runs.length <= 1, `${name} ran once at the most`)
      if (outcomes[0] === 'ok') assert.equal(runs.length, 1)
      else assert.deepEqual([outcomes[0], starts.length], ['unknown', 1])
    }
  }
}

async function toItsEnd(inner: Store, ran: Ran[], id: string): Promise<Event[]> {
  const { rig } = life(inner, ran)
  await rig.engine.recover()
  const session = await rig.engine.open(owner, id)
  await session.driver.settle()
  await session.flushed()
  assert.equal(session.status, 'idle')
  return eventsOf(rig, session)
}

async function cutOff(at: number): Promise<{ events: Event[]; ran: Ran[]; over: boolean }> {
  const inner = memoryStore()
  const ran: Ran[] = []
  const { rig, gone } = life(inner, ran, at)
  const session = await begin(rig)
  session.say({ parts: [{ type: 'text', text: 'go' }], wire: 'test' }).catch(() => {})
  const over = await Promise.race([gone.then(() => false), session.driver.settle().then(() => true)])
  return { events: await toItsEnd(inner, ran, session.id), ran, over }
}

test('at every crash point, and however often it is reached: what was started once is settled once', async () => {
  let points = 0
  for (let over = false; !over; points += 1) {
    const life = await cutOff(points + 1)
    settledOnce(life.events, life.ran)
    over = life.over
  }
  assert.ok(points > 30)
})

test('a log whose verdicts and starts are apart goes on: allowed is run, started is not, unless it may be', async () => {
  const inner = memoryStore()
  const ran: Ran[] = []
  const { rig } = life(inner, ran)
  const hashes = Object.fromEntries(rig.agent.tools.map(tool => [tool.name, toolHash(tool)]))
  const asked = { allowed: 'pay', started: 'pay', repeatable: 'again' }
  const at = 1
  const events: Event[] = [
    {
      v: 1,
      at,
      type: 'session.created',
      owner,
      agent: 'helper',
      wire: 'test',
      settings: plainSettings,
      seed: [],
    },
    { v: 1, at, type: 'turn.started', turn: 'turn', parts: [{ type: 'text', text: 'go' }], wire: 'test' },
    {
      v: 1,
      at,
      type: 'model.answered',
      parts: Object.entries(asked).map(([id, name]) => ({
        type: 'call',
        id,
        name,
        form: 'json',
        text: '{}',
      })),
      stop: 'calls',
      model: 'm',
    },
    ...Object.entries(asked).map(([callId, name]) => {
      const bound = { callId, argsHash: 'a', toolHash: hashes[name]! }
      return { v: 1, at, type: 'call.allowed', ...bound, rule: 'trust' } as const
    }),
    { v: 1, at, type: 'call.started', callId: 'started', attempt: 1 },
    { v: 1, at, type: 'call.started', callId: 'repeatable', attempt: 1 },
  ]
  const row = { id: 'old', owner, agent: 'helper', status: 'running', createdAt: at } as const
  await inner.create({ row, events, summary: { settings: plainSettings } })
  const log = await toItsEnd(inner, ran, 'old')
  assert.deepEqual(
    ran.map(({ callId, attempt }) => `${callId} ${attempt}`).toSorted((a, b) => a.localeCompare(b)),
    ['allowed 1', 'repeatable 2'],
  )
  assert.equal(ran.find(({ callId }) => callId === 'repeatable')?.key, 'repeatable')
  const settled = log.flatMap(event =>
    event.type === 'call.settled' ? [[event.callId, event.outcome.kind]] : [],
  )
  assert.deepEqual(Object.fromEntries(settled), { allowed: 'ok', started: 'unknown', repeatable: 'ok' })
})
