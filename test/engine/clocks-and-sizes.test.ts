// A clock that is set back, a session that is full, and a session that is watched where nothing can be claimed.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { defaultLimits } from '../../src/policy/index.ts'
import { memoryStore } from '../../src/stores/memory.ts'
import { tool } from '../../src/tools/index.ts'
import { begin, makeRig, owner, say } from './rig.ts'

/** A clock that a test sets, and timers that fire when it says so. */
function fakeClock() {
  const timers = new Set<() => void>()
  const clock = {
    now: 1_000_000,
    world: {
      now: () => clock.now,
      timer(_ms: number, run: () => void) {
        timers.add(run)
        return () => void timers.delete(run)
      },
    },
    fire() {
      const due = [...timers]
      timers.clear()
      for (const run of due) run()
    },
  }
  return clock
}

const mail = (runs: unknown[]) =>
  tool({
    name: 'mail',
    description: 'Is run only if a person allows it.',
    input: { type: 'object' },
    trust: 'ask',
    run: input => void runs.push(input),
  })
const rules = [{ tool: 'mail', then: 'ask' as const, expiresInMs: 1_000 }]
const script = [{ calls: [{ name: 'mail', input: {} }] }, { text: 'ok' }]

test('a clock that is set back does not let an expired question be granted, nor does a restart', async () => {
  const store = memoryStore()
  const runs: unknown[] = []
  const clock = fakeClock()
  const options = { store, tools: [mail(runs)], gate: { rules }, script, world: clock.world }
  const session = await begin(makeRig(options))
  await say(session, 'go')
  const callId = session.state.batch[0]!.part.id
  const granted = { results: [], decisions: [{ callId, granted: true, by: 'bo' }] }
  clock.now += 2_000
  clock.fire()
  await session.flushed()
  assert.ok((await store.read(session.id)).some(({ event }) => event.type === 'approval.expired'))
  clock.now -= 100_000
  await assert.rejects(session.respond(granted), { code: 'approval_expired' })

  const again = await makeRig(options).engine.open(owner, session.id)
  await assert.rejects(again.respond(granted), { code: 'approval_expired' })
  assert.deepEqual(runs, [])
})

test('a session that has reached its size takes no message, and can be read', async () => {
  const limits = { ...defaultLimits, sessionBytes: 20_000 }
  const rig = makeRig({ agent: { limits }, script: () => ({ text: 'z'.repeat(15_000) }) })
  const session = await begin(rig)
  await say(session, 'one')
  await say(session, 'two')
  await assert.rejects(say(session, 'three'), { code: 'too_large', message: /20000 bytes/ })
  const { entries } = await rig.local.history({ owner, session: session.id }, { get: 'entries' })
  assert.equal(entries.length, 4)
  await rig.local.remove({ owner, session: session.id })
})

test('after a result that is too large to take, the model is told, and can ask for less', async () => {
  const sizes = [17 * 1024 * 1024, 10]
  const big = tool({
    name: 'big',
    description: 'Gives much.',
    input: { type: 'object' },
    trust: 'trusted',
    run: () => 'x'.repeat(sizes.shift() ?? 0),
  })
  const call = { calls: [{ name: 'big', input: {} }] }
  const script = [call, call, { text: 'That was enough.' }]
  const session = await begin(makeRig({ agent: { limits: defaultLimits }, tools: [big], script }))
  await say(session, 'go')
  const kinds = session.state.entries.flatMap(entry =>
    entry.role === 'tool' ? entry.results.map(({ outcome }) => outcome.kind) : [],
  )
  assert.deepEqual(kinds, ['error', 'ok'])
  assert.deepEqual(session.state.lastStop, { stop: 'end' })
})

test('a session that rests is watched without a claim', async () => {
  const store = memoryStore()
  const session = await begin(makeRig({ store, script: [{ text: 'ok' }] }))
  await say(session, 'hello')
  let claims = 0
  const claim: typeof store.claim = () => {
    claims += 1
    return Promise.reject(new Error('Nothing can be written.'))
  }
  const { local } = makeRig({ store: { ...store, claim } })
  const seen: string[] = []
  for await (const items of local.follow(
    { owner, session: session.id },
    { from: 1, until: 'stop', deltas: 'none' },
  ))
    for (const item of items) if (item.type === 'event') seen.push(item.event.type)
  assert.equal(seen.at(-1), 'turn.ended')
  assert.equal(claims, 0)
})
