import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { FlowLabels } from '../language/flow.ts'
import { rehearsal } from '../models/rehearsal/index.ts'
import { agentTool, tool } from '../tools/index.ts'
import type { AgentConfig, TurnwireConfig } from './config.ts'
import { reportFlow } from './flow-report.ts'

const make = (name: string, readOnly: boolean, flow?: FlowLabels, trust: 'trusted' | 'ask' = 'trusted') =>
  tool({
    name,
    description: name,
    input: { type: 'object' },
    readOnly,
    trust,
    ...(flow && { flow }),
    run: () => '',
  })
const page = make('read_page', true, { output: 'untrusted' })
const files = make('read_files', true, { output: 'trusted', private: true })
const send = make('send', false, { output: 'trusted' })
const agent = (more: Partial<AgentConfig>): AgentConfig => ({ name: 'a', model: rehearsal(), ...more })
const report = (...agents: AgentConfig[]) => reportFlow({ agents } as TurnwireConfig)[0]!

test('a path is where untrusted text, private data and an acting tool meet with nobody asked', () => {
  const found = report(agent({ tools: [page, files, send] }))
  assert.deepEqual(found.paths, [['read_page', 'read_files', 'send']])
  assert.deepEqual([found.untrusted, found.private, found.acting], [['read_page'], ['read_files'], ['send']])
  assert.match(found.closedBy ?? '', /flow: 'warrants'.*\{ tool: \['send'\], then: 'ask' \}/)
})

test('there is none where a part is missing, where someone is asked, or where values are followed', () => {
  for (const more of [
    { tools: [page, send] },
    { tools: [files, send] },
    { tools: [page, files] },
    { tools: [page, files, make('send', false, { output: 'trusted' }, 'ask')] },
    { tools: [page, files, send], rules: [{ tool: 'se*', then: 'ask' as const }] },
    { tools: [page, files, send], flow: 'warrants' as const },
  ])
    assert.deepEqual(report(agent(more)).paths, [], JSON.stringify(Object.keys(more)))
  for (const rule of [
    { when: () => true, then: 'ask' },
    { args: { to: 'x' }, then: 'ask' },
    { after: { tool: 'read_page' }, then: 'deny' },
    { owner: 'maria', then: 'ask' },
    { then: () => undefined },
  ] satisfies AgentConfig['rules']) {
    const conditional = agent({ tools: [page, files, send], rules: [rule] })
    assert.equal(
      report(conditional).pathCount,
      1,
      `a condition may not hold: ${Object.keys(rule).join(', ')}`,
    )
  }
})

test('a rule that allows a call opens a path, with flow control only if it needs no warrant', () => {
  const asks = make('send', false, { output: 'trusted' }, 'ask')
  const count = (rules: AgentConfig['rules'], flow: AgentConfig['flow'] = 'off'): number =>
    report(agent({ tools: [page, files, asks], flow, ...(rules && { rules }) })).pathCount
  assert.equal(count([{ tool: 'send', then: 'allow' }]), 1)
  assert.equal(count([{ tool: 'send', args: { to: 'x' }, then: 'allow' }]), 1, 'it may hold')
  assert.equal(count([{ tool: 'send', then: 'ask' }, { then: 'allow' }]), 0)
  assert.equal(count([{ tool: 'send', then: 'allow' }], 'warrants'), 0)
  assert.equal(count([{ tool: 'send', warranted: false, then: 'allow' }], 'warrants'), 1)
  assert.equal(count([{ tool: 'send', warranted: false, then: 'allow' }]), 0, 'no call is without a warrant')
  assert.equal(
    count(
      [
        { warranted: false, then: 'deny' },
        { warranted: false, then: 'allow' },
      ],
      'strict',
    ),
    0,
  )
  const { closedBy = '' } = report(
    agent({ tools: [page, files, asks], flow: 'warrants', rules: [{ warranted: false, then: 'allow' }] }),
  )
  assert.match(closedBy, /^no rule with warranted: false.*then: 'ask' \} before others$/)
})

test('a tool that nobody labelled counts as all of it, and agents that work for another count with it', () => {
  const plain = report(agent({ tools: [make('look', true), make('act', false)] }))
  assert.deepEqual(plain.paths, [
    ['look', 'act'],
    ['act', 'look'],
  ])
  assert.deepEqual(plain.unlabelled, ['look', 'act'])
  const worker: AgentConfig = { name: 'b', model: rehearsal(), tools: [send] }
  const found = report(agent({ tools: [page, files, agentTool('b')], flow: 'warrants' }), worker)
  assert.deepEqual(found.paths, [['read_page', 'read_files', 'b/send']])
})
