// Old logs, played again by today's code: people, models and tools do what they did, and the session comes to the same.
import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { basename } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import type { Agent, Tool } from '../../src/engine/index.ts'
import type { GateOptions } from '../../src/policy/index.ts'
import { readRecording } from '../../src/replay/recording.ts'
import { replay } from '../../src/replay/replay.ts'
import { agentTool, handOverTool, tool } from '../../src/tools/index.ts'
import { makeAgent } from '../engine/rig.ts'
import type { Transcript } from '../transcripts/summary.ts'

const folder = fileURLToPath(new URL('../transcripts/fixtures/', import.meta.url))
const neverRun = (): never => assert.fail('A replay runs no tool.')
const declared = {
  description: 'For a transcript.',
  input: { type: 'object', properties: { n: { type: 'integer' } } },
  run: neverRun,
}
const trusted = ['form', 'address', 'late', 'gone', 'given', 'missed', 'left', 'long', 'asks']

const tools: Tool[] = [
  tool({ ...declared, name: 'look', readOnly: true, trust: 'trusted' }),
  tool({ ...declared, name: 'pay', trust: 'trusted' }),
  tool({ ...declared, name: 'mail', trust: 'ask' }),
  tool({ ...declared, name: 'slow', trust: 'trusted' }),
  tool({ ...declared, name: 'flaky', readOnly: true, retries: 1, trust: 'trusted' }),
  tool({ ...declared, name: 'again', idempotent: true, trust: 'trusted' }),
  tool({ ...declared, name: 'wire', trust: 'trusted' }),
  ...trusted.map(name => tool({ ...declared, name, trust: 'trusted' })),
  { ...tool({ ...declared, name: 'several', trust: 'trusted' }), resumable: true },
  agentTool('writer'),
  handOverTool('writer'),
]

/** Its calls can be checked and undone. In a replay the log does both. */
const payer = tool({ ...declared, name: 'pay', trust: 'trusted', reconcile: neverRun, undo: neverRun })

const gates: Record<string, GateOptions> = {
  approvers: {
    rules: [{ tool: 'mail', then: 'ask', approvers: { roles: ['finance'], notRequester: true, quorum: 2 } }],
  },
  'signed-votes': {
    rules: [{ name: 'mail', tool: 'mail', then: 'ask', approvers: { roles: ['finance'], quorum: 2 } }],
  },
  expired: { rules: [{ tool: 'mail', then: 'ask', expiresInMs: 5 }] },
  policy: {
    rules: [
      { name: 'no-pay', tool: 'pay', then: 'deny', reason: 'Nothing is paid here.' },
      { name: 'look', tool: 'look', then: 'allow' },
    ],
  },
  'hidden-arguments': { redact: [{ name: 'number', pattern: '[0-9]{6}' }] },
}

/** The rule of this transcript is not given to its agent, which shows that a change of rules is found. */
const known: Record<string, string[]> = {
  'started-at-once': ['14 verdict: wire ran unasked (policy[0]). Now: ran unasked (operator-trust).'],
}

/** The tools of most transcripts, and those that this one uses. */
function toolsOf(log: string): Tool[] {
  return tools.filter(({ name }, index) => index < 4 || log.includes(`"name":"${name}"`))
}

for (const file of globSync(`${folder}*.json`).sort()) {
  const name = basename(file, '.json')
  test(`${name} is played again`, async () => {
    const { log, summary } = JSON.parse(readFileSync(file, 'utf8')) as Transcript // What record.ts wrote.
    const { id } = summary as { id: string } // Of a session.
    const over: Partial<Agent> = name === 'budgets' ? { budgets: { session: { money: 1, then: 'ask' } } } : {}
    const gate = gates[name] ?? {}
    const own = name === 'doubts' ? [payer] : toolsOf(JSON.stringify(log))
    const helper = makeAgent({ tools: own, agent: over, gate, script: [] })
    const agents = [helper, { ...makeAgent({ tools, script: [] }), name: 'writer' }]
    const report = await replay(readRecording(id, log), {
      agents,
      vault: { seal: text => `sealed(${text})`, open: sealed => sealed.slice(7, -1) },
    })
    const found = report.differences.map(({ seq, about, text }) => `${seq} ${about}: ${text}`)
    if (report.left) found.push(`left at ${report.left.seq}: ${report.left.why}`)
    assert.deepEqual(found, known[name] ?? [])
  })
}
