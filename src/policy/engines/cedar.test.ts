// Cedar behind the contract of policy engines, and what is its own: schemas, entities, numbers.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { deciderContract } from '../../../test/contracts/decider.ts'
import type { Question } from '../../engine/ports/index.ts'
import type { Json } from '../../lib/json/index.ts'
import { cedar } from './cedar.ts'

const policies = `
@id("no-deletes")
@reason("Nothing is deleted.")
forbid(principal, action, resource == Tool::"delete_file");

@id("refunds")
permit(principal, action, resource == Tool::"refund") when { context.input.amount <= 100 };

@id("large")
@then("ask")
@reason("More than 100.")
forbid(principal, action, resource == Tool::"refund") when { context.input.amount > 100 };

permit(principal, action, resource == Tool::"send_mail");

@id("after-the-web")
@then("ask")
@reason("After the web.")
forbid(principal, action, resource == Tool::"send_mail") when { context.turn.called.contains("fetch") };

forbid(principal, action, resource == Tool::"broken") when { context.input.missing };
`

deciderContract('Cedar', {
  make: otherwise => cedar({ policies, ...(otherwise && { otherwise }) }),
  makeOther: () => cedar({ policies: policies.replace('More than 100.', 'Too much.') }),
  makeWrong: () => cedar({ policies: 'permit(principal, action' }),
})

const ask = (name: string, input: Json, over: Partial<Question> = {}): Question =>
  ({
    owner: 'ana',
    agent: 'clerk',
    session: 's',
    tool: { name, kind: 'edit', readOnly: false, destructive: true },
    input,
    trust: 'trusted',
    history: { turn: [], session: [] },
    ...over,
  }) as Question // What an engine is told of a call is made of these.

test('the tool has attributes, owners are in the groups that entities say, and flow control is in the context', async () => {
  const decide = await cedar({
    policies: `
      permit(principal in Group::"staff", action == Action::"call", resource)
      when { resource.kind == "edit" && resource.destructive && context.warranted };`,
    entities: [{ uid: { type: 'Owner', id: 'ana' }, attrs: {}, parents: [{ type: 'Group', id: 'staff' }] }],
    otherwise: 'ask',
  })
  const flow = { mode: 'warrants' as const, warranted: true, tainted: true, facts: [] }
  assert.equal(await decide(ask('write', {}, { flow })), 'allow')
  assert.equal(await decide(ask('write', {}, { flow: { ...flow, warranted: false } })), 'ask')
  assert.equal(await decide(ask('write', {}, { flow, owner: 'bo' })), 'ask')
})

test('policies and requests are checked against a schema', async () => {
  const schema = `
    entity Owner;
    entity Tool = { kind: String, readOnly: Bool, destructive: Bool, trust: String };
    type Before = { called: Set<String>, ok: Set<String> };
    action call appliesTo { principal: Owner, resource: Tool, context: {
      agent: String, session: String, requesters: Set<String>, turn: Before, earlier: Before, input: { amount: Long } } };`
  const text = 'permit(principal, action, resource) when { context.input.amount < 5 };'
  const decide = await cedar({ policies: text, schema })
  assert.equal(await decide(ask('refund', { amount: 4 })), 'allow')
  assert.throws(() => decide(ask('refund', { amount: 'four' })), /amount|type/)
  const wrong = cedar({ policies: text.replace('amount', 'sum'), schema })
  await assert.rejects(wrong, /The policies of Cedar cannot be used: .*sum/s)
})

test('whole numbers are longs, others decimals of at most four digits', async () => {
  const decide = await cedar({
    policies: 'permit(principal, action, resource) when { context.input.price.lessThan(decimal("10.5")) };',
  })
  assert.equal(await decide(ask('buy', { price: 10.4999 })), 'allow')
  assert.deepEqual(await decide(ask('buy', { price: 10.5001 })), 'deny')
  for (const price of [10, 0.00001, 1e20])
    assert.throws(() => decide(ask('buy', { price })), /no number for|decimal|type/)
})

test('annotations that could be misread, templates and double ids are refused', async () => {
  const wrong = async (text: string, why: RegExp): Promise<void> => {
    await assert.rejects(cedar({ policies: text }), why)
  }
  await wrong(
    '@then("ask") permit(principal, action, resource);',
    /@then .* must be "ask", and stand at a forbid/,
  )
  await wrong('@then("perhaps") forbid(principal, action, resource);', /@then/)
  await wrong('permit(principal == ?principal, action, resource);', /template/)
  const twice = '@id("a") permit(principal, action, resource);'
  await wrong(`${twice}${twice}`, /an id of its own/)
})
