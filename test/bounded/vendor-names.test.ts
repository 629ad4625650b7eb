// A model of Google's that calls tools by names which its own API refuses: they go back in a spelling that the API takes, and the
// turn goes on. The double refuses what the API refuses.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type ScriptedTurn, startDouble } from '../../src/testing/index.ts'
import { attacked } from './attack-rig.ts'

const refused = ['wipe disk', 'w'.repeat(400)]
const turns = (): ScriptedTurn[] => [
  ...refused.map((name): ScriptedTurn => ({ calls: [{ name, input: {} }] })),
  { text: 'Gone on.' },
]

for (const [vendor, model] of [
  ['gemini', 'gemini-3-pro'],
  ['gemini', 'gemini-2.5-pro'],
  ['gemini-interactions', 'gemini-3-pro'],
  ['gemini-interactions', 'gemini-2.5-pro'],
] as const)
  test(`${vendor}, ${model}: names that the API refuses are respelled in its history`, async t => {
    const double = await startDouble({ vendor, script: turns() })
    t.after(() => double.close())
    const env = { ATTACK_VENDOR: `${vendor} ${model} ${double.url}/v1beta` }
    const server = await attacked(t, { env })
    const answer = await server.turn(await server.session(), 'go')
    assert.equal(answer.status, 200, answer.text)
    assert.match(answer.text, /Gone on\./)
    assert.deepEqual(double.rejections(), [])
    const last = JSON.stringify(double.exchanges.at(-1)?.body)
    for (const name of refused) assert.ok(!last.includes(`"name":"${name}"`), last.slice(0, 2_000))
    const names = [...last.matchAll(/"name":"([^"]*)"/g)].map(([, name]) => name ?? '')
    assert.ok(names.length >= 4)
    for (const name of names) assert.match(name, /^[a-zA-Z_][\w.:-]{0,63}$/)
    if (vendor === 'gemini-interactions')
      assert.match(last, /"type":"thought","signature":"[^"]+"[^[]*"type":"function_call"/)
  })
