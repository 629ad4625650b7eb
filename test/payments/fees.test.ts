// What the wallet of the server may offer for gas. While the chain wants more, nothing is sent and nothing is lost.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseGwei } from 'viem'
import { skipped, startChain } from './chain.ts'
import { asOperator, openShop, post, shop } from './rig.ts'
import { exactPayment, offersOf, paidWith } from './sign.ts'

const chain = await startChain()
const path = '/v1/responses'
const body = { model: 'helper', input: 'Hi', store: false }

async function baseFee(gwei: string): Promise<void> {
  await chain.tester.setNextBlockBaseFeePerGas({ baseFeePerGas: parseGwei(gwei) })
  await chain.tester.mine({ blocks: 1 })
}

test('a payment waits while fees are above the limit, and settles once', { skip: skipped }, async t => {
  const { key, account } = await chain.facilitator()
  const { url, asked } = await openShop(t, chain, {
    payTo: account.address,
    payments: {
      facilitator: { key, rpcUrl: chain.rpcUrl, maxFeePerGas: '5' },
      settleMs: 2000,
      reconcileMs: 60_000,
    },
  })
  const payment = paidWith(await exactPayment(await chain.payer(), await offersOf(url, path, body)))
  await baseFee('50')
  const before = await chain.reader.getTransactionCount({ address: account.address })
  for (let times = 0; times < 2; times += 1) {
    const early = await post(url, path, body, payment)
    assert.equal(early.status, 409, await early.clone().text())
    assert.match(await early.text(), /payment_pending/)
  }
  assert.equal(await chain.reader.getTransactionCount({ address: account.address }), before)
  await baseFee('1')
  const answer = await post(url, path, body, payment)
  assert.equal(answer.status, 200, await answer.clone().text())
  assert.equal(await chain.balance(account.address), 10_000n)
  assert.equal(asked(), 1)

  const listed = await fetch(`${url}/operator/payments`, { headers: asOperator })
  const [{ id } = { id: '' }] = ((await listed.json()) as { payments: { id: string }[] }).payments
  await baseFee('50')
  const refund = (): Promise<Response> => post(url, `/operator/payments/${id}/refund`, {}, asOperator)
  const refused = await refund()
  assert.equal(refused.status, 502, await refused.clone().text())
  await baseFee('1')
  const paidBack = await refund()
  assert.equal(paidBack.status, 200, await paidBack.clone().text())
  assert.equal(await chain.balance(account.address), 0n)
  assert.equal(await chain.balance(shop), 0n)
})
