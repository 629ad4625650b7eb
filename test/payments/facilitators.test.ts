// Who moves the money: a facilitator elsewhere, which may not answer, and the server's own wallet on a chain that is slow.
// A settlement whose end is not known is pending, and never a reason to pay again. What was settled can be paid back.
import assert from 'node:assert/strict'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { type TestContext, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { x402Facilitator } from '@x402/core/facilitator'
import { toFacilitatorEvmSigner } from '@x402/evm'
import { registerExactEvmScheme } from '@x402/evm/exact/facilitator'
import { createWalletClient, http, publicActions } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { baseSepolia } from 'viem/chains'
import { cites } from '../requirements/manifest.ts'
import { network, skipped, startChain } from './chain.ts'
import { asOperator, openShop, post, shop, tokenPrice } from './rig.ts'
import { exactPayment, offersOf, paidWith } from './sign.ts'
import { uptoPayment } from './sign-upto.ts'

const chain = await startChain()
const options = { skip: skipped }
const path = '/v1/responses'
const body = { model: 'helper', input: 'Hi', store: false }

type Answer = (path: string) => 'answer' | 'silence' | 'error'

/** x402's own facilitator over HTTP. `how`: whether it answers; it does its work in any case but `error`. */
async function openFacilitator(t: TestContext, how: Answer) {
  const { key } = await chain.facilitator()
  const account = privateKeyToAccount(key)
  const client = createWalletClient({ account, chain: baseSepolia, transport: http(chain.rpcUrl) }).extend(
    publicActions,
  )
  const signer = toFacilitatorEvmSigner({ ...client, address: account.address } as never)
  const facilitator = registerExactEvmScheme(new x402Facilitator(), { signer, networks: network })
  const calls: string[] = []
  const serve = async (incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> => {
    const url = incoming.url ?? ''
    calls.push(url)
    let text = ''
    for await (const chunk of incoming) text += String(chunk)
    const { paymentPayload, paymentRequirements } = JSON.parse(text || '{}') as Record<
      'paymentPayload' | 'paymentRequirements',
      never
    >
    const answer =
      how(url) === 'error'
        ? undefined
        : url === '/supported'
          ? facilitator.getSupported()
          : url === '/verify'
            ? await facilitator.verify(paymentPayload, paymentRequirements)
            : await facilitator.settle(paymentPayload, paymentRequirements)
    if (how(url) === 'silence') return
    outgoing
      .writeHead(answer ? 200 : 500, { 'content-type': 'application/json' })
      .end(JSON.stringify(answer ?? {}))
  }
  const server = createServer((incoming, outgoing) => void serve(incoming, outgoing))
  await new Promise<void>(resolve => void server.listen(0, '127.0.0.1', resolve))
  t.after(() => {
    server.close()
    server.closeAllConnections()
  })
  const { port } = server.address() as { port: number }
  return { url: `http://127.0.0.1:${port}`, calls }
}

test(cites('X402-FAC-01', 'a facilitator elsewhere verifies and settles, once'), options, async t => {
  const remote = await openFacilitator(t, () => 'answer')
  const { url } = await openShop(t, chain, { payments: { facilitator: { url: remote.url } } })
  const before = await chain.balance(shop)
  const payment = paidWith(await exactPayment(await chain.payer(), await offersOf(url, path, body)))
  for (let times = 0; times < 3; times += 1) assert.equal((await post(url, path, body, payment)).status, 200)
  assert.equal((await chain.balance(shop)) - before, 10_000n)
  assert.equal(remote.calls.filter(call => call === '/settle').length, 1)
})

test(
  cites(
    'X402-FAC-02',
    'a facilitator that settles and does not say so: pending, then found out, never a second 402',
  ),
  options,
  async t => {
    let silent = true
    const remote = await openFacilitator(t, call => (call === '/settle' && silent ? 'silence' : 'answer'))
    const { url, asked } = await openShop(t, chain, {
      payments: { facilitator: { url: remote.url }, settleMs: 1500, reconcileMs: 60_000 },
    })
    const before = await chain.balance(shop)
    const payment = paidWith(await exactPayment(await chain.payer(), await offersOf(url, path, body)))
    const first = await post(url, path, body, payment)
    assert.equal(first.status, 409, await first.clone().text())
    assert.match(await first.text(), /payment_pending/)
    assert.equal(first.headers.get('x-payment-state'), 'pending')
    assert.equal(first.headers.get('x-should-retry'), 'false')
    silent = false
    const second = await post(url, path, body, payment)
    assert.equal(second.status, 200, await second.clone().text())
    assert.equal((await chain.balance(shop)) - before, 10_000n)
    assert.equal(asked(), 1)
  },
)

test(
  cites(
    'X402-FAC-03',
    'a facilitator that is down: nothing is done, and the client is not told to pay again',
  ),
  options,
  async t => {
    let down = false
    const remote = await openFacilitator(t, call => (down && call === '/verify' ? 'error' : 'answer'))
    const { url, asked } = await openShop(t, chain, { payments: { facilitator: { url: remote.url } } })
    const payment = paidWith(await exactPayment(await chain.payer(), await offersOf(url, path, body)))
    down = true
    const answer = await post(url, path, body, payment)
    assert.equal(answer.status, 502)
    assert.equal(asked(), 0)
  },
)

test('a chain that takes no blocks: pending, and settled once it does', options, async t => {
  const { url, asked } = await openShop(t, chain, { payments: { settleMs: 1000 } })
  const before = await chain.balance(shop)
  const payment = paidWith(await exactPayment(await chain.payer(), await offersOf(url, path, body)))
  await chain.tester.setAutomine(false)
  try {
    const first = await post(url, path, body, payment)
    assert.equal(first.status, 409, await first.clone().text())
  } finally {
    await chain.tester.setAutomine(true)
    await chain.tester.mine({ blocks: 1 })
  }
  for (let tries = 0; (await chain.balance(shop)) === before && tries < 100; tries += 1) await pause(50)
  const answer = await post(url, path, body, payment)
  assert.equal(answer.status, 200, await answer.clone().text())
  assert.equal((await chain.balance(shop)) - before, 10_000n)
  assert.equal(asked(), 1)
})

test(
  cites('X402-FAIL-04', 'a payer who uses up the authorization elsewhere has not paid'),
  options,
  async t => {
    const { url, asked } = await openShop(t, chain, {
      price: tokenPrice,
      script: [{ text: 'A long answer.', chunk: 1, delayMs: 100, usage: { input: 100, output: 50 } }],
    })
    const payer = await chain.payer()
    const before = await chain.balance(shop)
    const streamed = { ...body, stream: true }
    const payment = await uptoPayment(payer, await offersOf(url, path, streamed))
    const answer = await post(url, path, streamed, paidWith(payment))
    assert.equal(answer.status, 200)
    // While the answer is sent, its payer makes the nonce invalid.
    const nonce = BigInt(payment.payload.permit2Authorization.nonce)
    await chain.invalidate(payer, nonce)
    await answer.text()
    let state = ''
    for (let tries = 0; tries < 200 && !/settled|failed/.test(state); tries += 1) {
      const all = await fetch(`${url}/operator/payments`, { headers: asOperator })
      const { payments } = (await all.json()) as { payments: { state: string }[] }
      state = payments[0]?.state ?? ''
      await pause(50)
    }
    assert.equal(state, 'failed')
    assert.equal(await chain.balance(shop), before)
    const again = await post(url, path, streamed, paidWith(payment))
    assert.equal(again.status, 402, await again.text())
    assert.equal(asked(), 1)
  },
)

async function openOwnShop(t: TestContext, script?: Parameters<typeof openShop>[2]) {
  const own = await chain.facilitator()
  return openShop(t, chain, {
    ...script,
    payTo: own.account.address,
    payments: { facilitator: { key: own.key, rpcUrl: chain.rpcUrl } },
  })
}

test(
  cites('X402-FAIL-02', 'an answer that fails after the money has moved is paid back'),
  options,
  async t => {
    const { url } = await openOwnShop(t, {
      script: [{ text: 'Hello, and then', fail: { code: 'model_failed', message: 'cut off', after: 2 } }],
    })
    const payer = await chain.payer(1_000_000n)
    const streamed = { ...body, stream: true }
    const payment = paidWith(await exactPayment(payer, await offersOf(url, path, streamed)))
    await (await post(url, path, streamed, payment)).text()
    for (let tries = 0; tries < 100; tries += 1) {
      const { payments } = (await (
        await fetch(`${url}/operator/payments`, { headers: asOperator })
      ).json()) as {
        payments: { state: string }[]
      }
      if (payments[0]?.state === 'refunded' || payments[0]?.state === 'released') break
      await pause(50)
    }
    assert.equal(await chain.balance(payer.address), 1_000_000n)
  },
)

test('an operator pays back a payment, once', options, async t => {
  const { url } = await openOwnShop(t)
  const payer = await chain.payer(1_000_000n)
  const payment = paidWith(await exactPayment(payer, await offersOf(url, path, body)))
  assert.equal((await post(url, path, body, payment)).status, 200)
  assert.equal(await chain.balance(payer.address), 990_000n)
  const all = await fetch(`${url}/operator/payments`, { headers: asOperator })
  const { payments } = (await all.json()) as { payments: { id: string }[] }
  const refund = () => post(url, `/operator/payments/${payments[0]?.id}/refund`, {}, asOperator)
  const done = await refund()
  assert.equal(done.status, 200, await done.clone().text())
  assert.equal(await chain.balance(payer.address), 1_000_000n)
  assert.equal((await refund()).status, 400)
  assert.equal(await chain.balance(payer.address), 1_000_000n)
  const again = await post(url, path, body, payment)
  assert.equal(again.status, 409)
})

test('a wallet that was not paid cannot pay back', options, async t => {
  const { url } = await openShop(t, chain)
  const payment = paidWith(await exactPayment(await chain.payer(), await offersOf(url, path, body)))
  assert.equal((await post(url, path, body, payment)).status, 200)
  const all = await fetch(`${url}/operator/payments`, { headers: asOperator })
  const { payments } = (await all.json()) as { payments: { id: string }[] }
  const refused = await post(url, `/operator/payments/${payments[0]?.id}/refund`, {}, asOperator)
  assert.equal(refused.status, 400)
  assert.match(await refused.text(), /needs the key of the wallet/)
})
