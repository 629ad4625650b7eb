// What one door asks of the model counts for the turns that are started there, and for no other door's.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ModelRequest } from '../../src/engine/index.ts'
import { scripted } from '../../src/models/scripted/index.ts'
import { begin, makeRig, until } from './rig.ts'

test('an ask belongs to its door', async () => {
  const asked: ModelRequest[] = []
  const model = scripted(request => {
    asked.push(request)
    return { text: 'ok' }
  })
  const rig = makeRig({ model, agent: { system: 'Be kind.', maxTokens: 1000 } })
  const session = await begin(rig)
  const asks = {
    responses: { choice: 'required' as const, system: 'Be brief.', maxTokens: 5000, parallel: false },
  }
  const parts = [{ type: 'text' as const, text: 'go' }]
  await until(session, () => session.say({ parts, door: 'responses', settings: { asks } }))
  await until(session, () => session.say({ parts, door: 'aap' }))
  const told = asked.map(({ choice, system, maxTokens, parallel }) => ({
    choice,
    system,
    maxTokens,
    parallel,
  }))
  assert.deepEqual(told, [
    { choice: 'required', system: 'Be kind.\n\nBe brief.', maxTokens: 1000, parallel: false },
    { choice: 'auto', system: 'Be kind.', maxTokens: 1000, parallel: true },
  ])
})
