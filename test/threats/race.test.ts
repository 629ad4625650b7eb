// The first decision about a call holds, whatever else is asked for at the same moment.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { tool } from '../../src/tools/index.ts'
import { begin, eventsOf, makeRig, owner, say, until } from '../engine/rig.ts'

function rig(now?: () => number) {
  let runs = 0
  const gated = tool({
    name: 'gated',
    description: 'Asked about.',
    input: { type: 'object' },
    trust: 'ask',
    run: () => {
      runs += 1
      return 'done'
    },
  })
  const made = makeRig({
    tools: [gated],
    script: { steps: [{ calls: [{ name: 'gated' }] }, { text: 'ok' }], whenOver: 'repeat-last' },
    gate: now ? { rules: [{ tool: 'gated', then: 'ask', expiresInMs: 1000 }] } : {},
    ...(now && { world: { now } }),
  })
  return { made, runs: () => runs }
}

const decide = (callId: string, granted: boolean, by: string) => ({
  results: [],
  decisions: [{ callId, granted, by }],
})

test('allow and deny in the same moment, 1000 times: one decision, and deny first means no run', async () => {
  for (let round = 0; round < 1000; round += 1) {
    const { made, runs } = rig()
    const session = await begin(made)
    await say(session, 'go')
    const callId = session.state.batch[0]!.part.id
    const first = round % 2 === 0
    const given = await Promise.allSettled([
      session.respond(decide(callId, first, 'first')),
      session.respond(decide(callId, !first, 'second')),
      session.respond(decide(callId, true, 'third')),
    ])
    assert.deepEqual(
      given.map(each => (each.status === 'fulfilled' ? 'taken' : (each.reason as { code: string }).code)),
      first ? ['taken', 'already_decided', 'already_decided'] : ['taken', 'call_settled', 'call_settled'],
    )
    await session.driver.settle()
    const decisions = (await eventsOf(made, session)).filter(event => event.type === 'approval.decided')
    assert.deepEqual(
      decisions.map(({ by, granted }) => ({ by, granted })),
      [{ by: 'first', granted: first }],
    )
    assert.equal(runs(), first ? 1 : 0)
  }
})

test('an approval after its deadline, after a cancellation or a second time does nothing', async () => {
  let now = 1_000_000
  const { made, runs } = rig(() => now)
  const session = await begin(made)
  await say(session, 'go')
  const expired = session.state.batch[0]!.part.id
  now += 1000
  await assert.rejects(session.respond(decide(expired, true, owner)), { code: 'approval_expired' })
  await session.cancel()
  await assert.rejects(session.respond(decide(expired, true, owner)), { code: 'call_settled' })
  assert.equal(runs(), 0)

  const again = rig()
  const other = await begin(again.made)
  await say(other, 'again')
  const callId = other.state.batch[0]!.part.id
  await until(other, () => other.respond(decide(callId, true, owner)))
  await assert.rejects(other.respond(decide(callId, true, owner)), { code: 'call_settled' })
  assert.equal(again.runs(), 1)
})
