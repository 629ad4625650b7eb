// A call that two people with a role have to allow, on every wire: whoever else decides is refused, and the log says so; the first
// yes is a vote, and the call runs at the second. The same for calls that programs and other agents make.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type AllWires, allWires, type WireDriver, wireDrivers } from './all-wires.ts'
import { ana, approvals, as, ben, eve, joe, options, scenes } from './approvers-rig.ts'
import { until } from './rig.ts'

/** What the person is told. An editor has no answer to its choice: it stays until the log has it. */
async function allow(wire: WireDriver, at: AllWires, session: string, callId: string): Promise<string> {
  if (wire.name !== 'ACP')
    return wire.decide(at, session, callId, true).then(
      ({ text }) => text,
      (error: Error) => error.message,
    )
  const before = (await approvals(at, session)).length
  const editor = await at.edit({ permission: 'allow' })
  await editor.agent.request('session/load', { sessionId: session, cwd: '/w/app', mcpServers: [] })
  await until(async () => (await approvals(at, session)).length > before)
  editor.close()
  return JSON.stringify(editor.updates)
}

for (const wire of wireDrivers)
  for (const scene of scenes)
    test(`${wire.name}: ${scene.name} runs when two who may have allowed it, and for nobody else`, async t => {
      const runs: string[] = []
      const at = await allWires(t, options(scene, runs))
      const { sessionId, asks } = await wire.start(as(t, at, ana), 'Write to Bo.')
      assert.ok(asks, 'the call waits')
      const told: string[] = []
      for (const person of [joe, ana, ben]) {
        told.push(await allow(wire, as(t, at, person), sessionId, asks))
        assert.deepEqual(runs, [], `${person.name} cannot run it`)
      }
      if (wire.name !== 'ACP')
        for (const refused of told.slice(0, 2)) assert.match(refused, /2 people with the role/)
      await allow(wire, as(t, at, eve), sessionId, asks)
      await until(() => runs.length > 0)
      assert.deepEqual(runs, ['{"to":"bo"}'])
      assert.deepEqual(await approvals(at, sessionId), [
        'approval.requested',
        'approval.refused joe',
        'approval.refused ana',
        'approval.voted ben',
        'approval.decided eve',
      ])
    })
