import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Question } from '../engine/ports/index.ts'
import { toolHash } from '../language/tools.ts'
import { type Authoriser, authoriseBy } from './authorise.ts'
import { compileRules, type PolicyRule } from './rules.ts'

const tool: Question['tool'] = {
  name: 'far__send',
  description: 'Sends.',
  input: { form: 'json', schema: { type: 'object' } },
  kind: 'other',
  readOnly: false,
  idempotent: false,
  destructive: true,
  side: 'server',
}
const question: Question = {
  session: 's',
  owner: 'o',
  agent: 'a',
  callId: 'c',
  tool,
  toolHash: toolHash(tool),
  input: {},
  argsHash: 'h',
  trust: 'trusted',
  changed: 'It is another.',
  grants: [],
  now: 0,
  history: { turn: [], session: [] },
}

const createAuthoriser = (rules: PolicyRule[]): Authoriser => authoriseBy(compileRules(rules))

test('a tool whose definition has changed asks, whatever trust and rules allow', () => {
  const asks = { verdict: 'ask', rule: 'changed-tool', reason: 'It is another.' }
  assert.deepEqual(createAuthoriser([])(question), asks)
  assert.deepEqual(createAuthoriser([])({ ...question, clientTrust: true }), asks)
  assert.deepEqual(createAuthoriser([{ tool: 'far__*', then: 'allow' }])(question), asks)
})

test('a rule that asks or denies goes on to do so', () => {
  const asked = createAuthoriser([{ tool: '*', then: 'ask', reason: 'Mail is for ever.' }])(question)
  assert.ok(!(asked instanceof Promise) && asked.verdict === 'ask')
  assert.equal(asked.reason, 'It is another. Mail is for ever.')
  const denied = createAuthoriser([{ tool: '*', then: 'deny' }])(question)
  assert.ok(!(denied instanceof Promise) && denied.verdict === 'deny')
})

test('a grant for the new definition is enough', () => {
  const grant = { id: 'g', tool: tool.name, toolHash: toolHash(tool), by: 'ana' }
  const verdict = createAuthoriser([])({ ...question, trust: 'ask', grants: [grant] })
  assert.deepEqual(verdict, { verdict: 'allow', rule: 'grant', grantId: 'g' })
  const old = createAuthoriser([])({ ...question, grants: [{ ...grant, toolHash: 'other' }] })
  assert.ok(!(old instanceof Promise) && old.verdict === 'ask')
})
