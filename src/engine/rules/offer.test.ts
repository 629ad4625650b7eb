// The offer of a client's tools alone, which is kept for as long as the client declares the same list.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Settings } from '../../language/events.ts'
import type { ToolDeclaration } from '../../language/tools.ts'
import type { Agent } from '../ports/index.ts'
import { buildOffer } from './offer.ts'

const lookUp: ToolDeclaration = {
  name: 'look_up',
  description: 'Looks something up.',
  input: { form: 'json', schema: { type: 'object' } },
  kind: 'other',
  readOnly: false,
  idempotent: false,
  destructive: false,
  side: 'client',
}

/** What an offer is made of. */
function agentWith(gate: Partial<Agent['gate']>): Agent {
  return { tools: [], gate } as unknown as Agent
}

function settingsWith(clientTools: ToolDeclaration[]): Settings {
  return { tools: null, options: {}, clientTools }
}

test('requests that declare the same list have one offer', () => {
  const agent = agentWith({})
  const tools = [lookUp]
  const offer = buildOffer(agent, settingsWith(tools), [], true)
  assert.deepEqual(offer.declarations, [lookUp])
  assert.equal(buildOffer(agent, settingsWith(tools), [], true), offer)
  assert.notEqual(buildOffer(agent, settingsWith([lookUp]), [], true), offer)
})

test('an agent with other rules has another offer of the same list', () => {
  const tools = [lookUp]
  const [open, hiding] = [agentWith({}), agentWith({ redactArguments: value => value })]
  assert.equal(buildOffer(open, settingsWith(tools), [], true).hidesArguments, false)
  assert.equal(buildOffer(hiding, settingsWith(tools), [], true).hidesArguments, true)
  assert.equal(buildOffer(open, settingsWith(tools), [], true).hidesArguments, false)
})
