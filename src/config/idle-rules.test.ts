import assert from 'node:assert/strict'
import { test } from 'node:test'
import { rehearsal } from '../models/rehearsal/index.ts'
import { tool } from '../tools/index.ts'
import { idleRules } from './idle-rules.ts'

const close = tool({ name: 'close_ticket', description: 'Closes.', input: {}, run: () => '' })
const open = tool({ name: 'open.ticket', description: 'Opens.', input: {}, run: () => '' })

test('rules for tools that the server itself offers apply: an undo, what became of a call, long outputs, programs, a search', () => {
  const pay = tool({ name: 'pay', description: 'Pays.', input: {}, run: () => '', undo: () => '' })
  const rules = ['undo_pay', 'undo_close_ticket', 'check_call', 'read_output', 'run_code', 'find_tools'].map(
    name => ({ tool: name, then: 'deny' as const }),
  )
  const found = idleRules({
    agents: [{ name: 'a', model: rehearsal(), tools: [pay, close], code: true, search: true, rules }],
  })
  assert.deepEqual(found, [{ rule: 'agents[0].rules[1]', tool: 'undo_close_ticket' }])
})

test('rules for tools that nobody has are found, and no others', () => {
  const found = idleRules({
    agents: [
      { name: 'a', model: rehearsal(), tools: [close], rules: [{ tool: 'open.ticket', then: 'deny' }] },
      { name: 'b', model: rehearsal(), tools: [open], rules: [{ tool: '*', then: 'ask' }] },
    ],
    policy: {
      rules: [
        { tool: 'close_*', then: 'ask' },
        { tool: ['close_ticket', 'closeticket'], then: 'deny' },
        { tool: 'open_ticket', then: 'deny' },
        { tool: 'open.*t', then: 'deny' },
        { tool: 'read_text_file', then: 'ask' },
        { destructive: true, then: 'ask' },
      ],
    },
  })
  assert.deepEqual(found, [
    { rule: 'agents[0].rules[0]', tool: 'open.ticket' },
    { rule: 'policy.rules[1]', tool: 'closeticket' },
    { rule: 'policy.rules[2]', tool: 'open_ticket' },
  ])
})
