// The page about capacity says what its program reckons, and the numbers that the program multiplies are those that the
// engine and the simulator show.
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { costs, loads, machines, pageText, plan, usual, withTables } from '../../bench/capacity.ts'
import { tool } from '../../src/index.ts'
import { memoryStore } from '../../src/stores/memory.ts'
import { begin, makeRig, say, stopAll, until } from '../engine/rig.ts'

after(stopAll)

test('the tables of the page are those of the program', () => {
  assert.equal(withTables(pageText()), pageText(), 'run: npm run capacity -- --write')
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

/** Appends to the store that `work` makes. */
async function counted(trust: 'trusted' | 'ask') {
  const store = memoryStore()
  let appends = 0
  const append: typeof store.append = batch => {
    appends += 1
    return store.append(batch)
  }
  const add = tool({
    name: 'add',
    description: 'Adds.',
    input: { type: 'object' },
    trust,
    exposed: false,
    run: () => '5',
  })
  const rig = makeRig({
    // As on PostgreSQL, where events that may wait do so; here for as long as nothing else is written.
    store: { ...store, lingerMs: 60_000, append },
    tools: [add],
    script: ({ history }) =>
      history.at(-1)?.role === 'user' ? { calls: [{ name: 'add', input: {} }] } : { text: 'Five.' },
  })
  const session = await begin(rig)
  return { session, appends: () => appends }
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
