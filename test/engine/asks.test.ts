// What a request asks of the model holds for its own turn and for no later one.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ModelRequest } from '../../src/engine/index.ts'
import { scripted } from '../../src/models/scripted/index.ts'
import { tool } from '../../src/tools/index.ts'
import { begin, makeRig, until } from './rig.ts'

test('what a request asks of the model holds for its own turn only', async () => {
  const asked: ModelRequest[] = []
  const model = scripted(request => {
    asked.push(request)
    return { text: 'ok' }
  })
  const rig = makeRig({ model, agent: { system: 'Be kind.', maxTokens: 1000 } })
  const session = await begin(rig)
  const ask = { choice: 'required' as const, system: 'Be brief.', maxTokens: 5000, parallel: false }
  const parts = [{ type: 'text' as const, text: 'go' }]
  await until(session, () => session.say({ parts, wire: 'responses', ask }))
  await until(session, () => session.say({ parts, wire: 'aap' }))
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

test('a request may allow fewer calls of the server than the operator; the model goes on without the rest', async () => {
  let runs = 0
  const count = tool({
    name: 'count',
    description: 'd',
    input: { type: 'object' },
    trust: 'trusted',
    run: () => String(++runs),
  })
  const calls = [1, 2, 3].map(n => ({ name: 'count', input: { n } }))
  const script = [{ calls }, { calls: [{ name: 'count', input: { n: 4 } }] }, { text: 'done' }]
  const rig = makeRig({ tools: [count], script })
  const session = await begin(rig)
  const parts = [{ type: 'text' as const, text: 'go' }]
  const ask = { maxCalls: 2 }
  await until(session, () => session.say({ parts, wire: 'responses', ask }))
  assert.equal(runs, 2)
  const kinds = session.state.entries.flatMap(entry =>
    entry.role === 'tool' ? entry.results.map(each => each.outcome.kind) : [],
  )
  assert.deepEqual(kinds, ['ok', 'ok', 'denied', 'denied'])
  assert.equal(session.state.lastStop?.stop, 'end')
})
