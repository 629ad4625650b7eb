// The page about capacity says what its program reckons, and the numbers that the program multiplies are those that the
// engine and the simulator show.
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import {
  costs,
  loads,
  machines,
  measuredCosts,
  pageText,
  plan,
  usual,
  withTables,
} from '../../bench/capacity.ts'
import type { Store } from '../../src/engine/index.ts'
import { tool } from '../../src/index.ts'
import { memoryStore } from '../../src/stores/memory.ts'
import { begin, makeRig, type RigOptions, say, stopAll, until } from '../engine/rig.ts'
import { Scheduler } from '../sim/scheduler.ts'

after(stopAll)

test('the tables of the page are those of the program', () => {
  assert.equal(withTables(pageText()), pageText(), 'run: npm run capacity -- --write')
})

test('unit costs are taken from what the trials measured', () => {
  const results = [
    { medians: { 'turn: CPU of the node, µs': 412.34, 'an idle stream': 20.017 } },
    { medians: { one: 300, three: 310, 'three, any': 465 } },
  ]
  const { turnNodeCpu, streamKiB, hopFactor, turnAppends } = measuredCosts(costs, results)
  assert.deepEqual([turnNodeCpu, streamKiB, hopFactor, turnAppends], [412, 20, 1.75, costs.turnAppends])
})

test('a hundred times the sessions need about a hundred times the nodes, appends and bytes', () => {
  const [small, large] = [1_000_000, 100_000_000].map(sessionsPerDay =>
    plan({ ...usual, sessionsPerDay }, costs),
  ) as [ReturnType<typeof plan>, ReturnType<typeof plan>]
  assert.ok(Math.abs(large.appendsPerSecond / small.appendsPerSecond - 100) < 0.01)
  assert.ok(Math.abs(large.keptTiB / small.keptTiB - 100) < 0.01)
  // One is spare, and what is left over takes a whole one.
  assert.ok(large.nodes - 1 <= (small.nodes - 1) * 100)
  assert.ok(large.nodes - 1 > (small.nodes - 2) * 100)
})

test('no node is asked for more than one was seen to hold, and no server for more than is assumed', () => {
  for (const sessionsPerDay of loads) {
    const { nodes, shards, ...need } = plan({ ...usual, sessionsPerDay }, costs)
    const used = nodes - 1
    assert.ok(need.streams <= used * costs.heldStreams)
    assert.ok(need.turnsAtWork <= used * costs.heldTurns)
    assert.ok((need.turnsPerSecond * costs.turnNodeCpu) / 1e6 <= used * machines.use)
    assert.ok(need.keptTiB <= shards * machines.databaseTiB)
    assert.ok(need.databaseCores <= shards * machines.databaseCores * machines.use)
    assert.ok(need.memoryGiB <= nodes * machines.nodeGiB)
  }
})

/** A session with one tool, and how often its store was called: in all, and to append. */
async function counted(trust: 'trusted' | 'ask', world: RigOptions['world'] = {}) {
  let [calls, appends] = [0, 0]
  const store: Store = new Proxy(memoryStore(), {
    get(target, name) {
      const member: unknown = Reflect.get(target, name)
      // As on PostgreSQL, where events that may wait do so; here for as long as nothing else is written.
      if (name === 'lingerMs') return 60_000
      if (typeof member !== 'function') return member
      return (...args: unknown[]) => {
        calls += 1
        if (name === 'append') appends += 1
        return Reflect.apply(member, target, args)
      }
    },
  })
  const add = tool({
    name: 'add',
    description: 'Adds.',
    input: { type: 'object' },
    trust,
    exposed: false,
    run: () => '5',
  })
  const rig = makeRig({
    store,
    world,
    tools: [add],
    script: ({ history }) =>
      history.at(-1)?.role === 'user' ? { calls: [{ name: 'add', input: {} }] } : { text: 'Five.' },
  })
  const session = await begin(rig)
  return { session, calls: () => calls, appends: () => appends }
}

test('a turn makes as many appends as the unit costs say', async () => {
  const { session, appends } = await counted('trusted')
  const before = appends()
  for (let turn = 0; turn < 5; turn += 1) await say(session, 'What is two and three?')
  await session.flushed()
  assert.equal((appends() - before) / 5, costs.turnAppends)
})

test('a question to a person makes as many appends more as the unit costs say', async () => {
  const { session, appends } = await counted('ask')
  const before = appends()
  for (let turn = 0; turn < 5; turn += 1) {
    await say(session, 'What is two and three?')
    const callId = session.state.batch[0]?.part.id ?? ''
    await until(session, () =>
      session.respond({ results: [], decisions: [{ callId, granted: true, by: 'ana' }] }),
    )
  }
  await session.flushed()
  assert.equal((appends() - before) / 5, costs.turnAppends + costs.answerAppends)
})

test('an hour of simulated time in which a session waits for a person costs no call of the store', async () => {
  const scheduler = new Scheduler()
  const { session, calls } = await counted('ask', {
    now: () => scheduler.now,
    elapsed: () => scheduler.now,
    timer: (ms, run) => scheduler.after(ms, run),
  })
  await say(session, 'What is two and three?')
  await session.flushed()
  const [before, began] = [calls(), scheduler.now]
  let isOver = false
  scheduler.after(3_600_000, () => {
    isOver = true
  })
  await scheduler.run(() => isOver)
  assert.equal(scheduler.now - began, 3_600_000)
  assert.deepEqual([calls() - before, session.status], [0, 'waiting'])
})
