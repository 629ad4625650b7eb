// An agent gives a task to another, whose call asks for an approval: on every wire it is asked where the task was given,
// decided on any other wire, also after a restart, and the task goes on. Then the conversation is handed over.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { AgentConfig } from '../../src/config/config.ts'
import { scripted } from '../../src/models/scripted/index.ts'
import { agentTool, handOverTool, tool } from '../../src/tools/index.ts'
import { allWires, wireDrivers } from './all-wires.ts'

const script = [
  { text: 'May I? ', calls: [{ name: 'ask_writer', input: { task: 'Mail Ana.' } }] },
  { text: 'She has mail.' },
  { calls: [{ name: 'hand_over_to_writer', input: {} }] },
]

/** Whose mail it is, is told by `runs`. */
const mailOf = (agent: string, runs: string[]) =>
  tool({
    name: 'mail',
    description: 'Sends.',
    input: { type: 'object', properties: { to: { type: 'string' } }, required: ['to'] },
    run: input => {
      runs.push(`${agent} ${JSON.stringify(input)}`)
      return 'sent'
    },
  })

const tools = (runs: string[]) => [agentTool('writer'), handOverTool('writer'), mailOf('helper', runs)]

function writer(runs: string[]): AgentConfig {
  const task = [{ calls: [{ name: 'mail', input: { to: 'ana' } }] }, { text: 'Sent.' }]
  const model = scripted(({ history }) =>
    JSON.stringify(history).includes('hand_over_to_writer')
      ? { text: 'The writer speaks.' }
      : task[history.filter(({ role }) => role === 'assistant').length]!,
  )
  return { name: 'writer', model, tools: [mailOf('writer', runs)] }
}

for (const start of wireDrivers)
  test(`${start.name}: an agent's question is decided on every wire, and after a restart`, async t => {
    for (const decide of wireDrivers) {
      const runs: string[] = []
      const options = { script, tools: tools(runs), agents: [writer(runs)] }
      const before = await allWires(t, options)
      const first = await start.start(before, 'Mail Ana.')
      assert.equal(first.text, 'May I? ')
      assert.ok(first.asks, 'the call of the other agent waits')
      assert.deepEqual(runs, [])
      const at = start === decide ? before : await before.restart(options)
      const second = await decide.decide(at, first.sessionId, first.asks, true)
      assert.equal(second.text, 'She has mail.', decide.name)
      assert.deepEqual(runs, ['writer {"to":"ana"}'])
      const third = await start.say(at, first.sessionId, 'Let me speak to the writer.')
      assert.equal(third.text, 'The writer speaks.')
    }
  })
