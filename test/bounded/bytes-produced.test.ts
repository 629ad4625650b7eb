// The limit of a turn counts what its tools produce, not the part that a model is shown.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { attacked, script } from './attack-rig.ts'

test('results that are cut for the model count whole, and end the turn', async t => {
  const server = await attacked(t, { config: { limits: { bytes: 10_000_000 } } })
  const session = await server.session()
  const step = { calls: [{ name: 'give_cut', input: { bytes: 6_000_000 } }] }
  const answer = await server.turn(session, script(step, { ...step, repeat: 2 }, step, step))
  assert.equal(answer.status, 200)
  assert.match(answer.text, /"limit":"bytes"/)
  assert.doesNotMatch(answer.text, /Done\./)
})
