// Several nodes on one PostgreSQL: a payment that reaches both at the same time buys one answer.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { databaseUrl, own } from '../stores/postgres/server.ts'
import { skipped, startChain } from './chain.ts'
import { openShop, post, shop } from './rig.ts'
import { exactPayment, offersOf, paidWith } from './sign.ts'

const path = '/v1/responses'
const body = { model: 'helper', input: 'Hi', store: false }

test('one payment at two nodes at the same time buys one answer', { skip: own.skip || skipped }, async t => {
  const chain = await startChain()
  const data = await databaseUrl()
  process.env['TURNWIRE_VAULT_KEY'] = 'a'.repeat(64)
  process.env['TURNWIRE_CLUSTER_SECRET'] = 'b'.repeat(64)
  const nodes = [await openShop(t, chain, { data }), await openShop(t, chain, { data })]
  const [first] = nodes
  assert.ok(first)
  const { resource: _, ...payment } = await exactPayment(
    await chain.payer(),
    await offersOf(first.url, path, body),
  )
  const before = await chain.balance(shop)
  const asks = nodes.flatMap(({ url }) =>
    Array.from({ length: 10 }, () => post(url, path, body, paidWith(payment))),
  )
  const answers = await Promise.all(asks)
  const texts = await Promise.all(answers.map(answer => answer.text()))
  // A node that finds the payment in the other's hands says that it is pending, never that it is to be paid again.
  for (const [index, { status }] of answers.entries())
    assert.ok(status === 200 || status === 409 || status === 503, `${status} ${texts[index]}`)
  for (const { url } of nodes) {
    let again = await post(url, path, body, paidWith(payment))
    // As a client does while its payment is pending.
    for (let tries = 0; again.status === 409 && tries < 100; tries += 1) {
      await new Promise(resolve => setTimeout(resolve, 50))
      again = await post(url, path, body, paidWith(payment))
    }
    assert.equal(again.status, 200, await again.clone().text())
  }
  assert.equal(
    nodes.reduce((sum, { asked }) => sum + asked(), 0),
    1,
  )
  assert.equal((await chain.balance(shop)) - before, 10_000n)
})
