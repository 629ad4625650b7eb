// A settlement counts once it has as many blocks as the operator wants, however long they take.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { skipped, startChain } from './chain.ts'
import { openShop, post, shop } from './rig.ts'
import { exactPayment, offersOf, paidWith } from './sign.ts'

const chain = await startChain()
const path = '/v1/responses'
const body = { model: 'helper', input: 'Hi', store: false }

test('an answer is given only after so many blocks as were asked for', { skip: skipped }, async t => {
  const { key } = await chain.facilitator()
  const { url } = await openShop(t, chain, {
    payments: {
      facilitator: { key, rpcUrl: chain.rpcUrl, confirmations: 5 },
      settleMs: 1000,
      reconcileMs: 60_000,
    },
  })
  const payment = paidWith(await exactPayment(await chain.payer(), await offersOf(url, path, body)))
  const before = await chain.balance(shop)
  // The chain makes a block for each transaction and no other.
  for (const blocks of [0, 3]) {
    if (blocks > 0) await chain.tester.mine({ blocks })
    const early = await post(url, path, body, payment)
    assert.equal(early.status, 409, await early.clone().text())
    assert.match(await early.text(), /payment_pending/)
  }
  assert.equal((await chain.balance(shop)) - before, 10_000n)
  await chain.tester.mine({ blocks: 1 })
  const answer = await post(url, path, body, payment)
  assert.equal(answer.status, 200, await answer.clone().text())
  assert.equal((await chain.balance(shop)) - before, 10_000n)
})
