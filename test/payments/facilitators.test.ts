// Who moves the money: a facilitator elsewhere, which may not answer, and the server's own wallet on a chain that is slow.
// A settlement whose end is not known is pending, and never a reason to pay again. What was settled can be paid back.
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { x402Facilitator } from '@x402/core/facilitator'
import { toFacilitatorEvmSigner } from '@x402/evm'
import { registerExactEvmScheme } from '@x402/evm/exact/facilitator'
import { createWalletClient, http, publicActions } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { baseSepolia } from 'viem/chains'
import { root, start } from '../cli/rig.ts'
import { until } from '../cluster/rig.ts'
import { newFolder } from '../crash/killed-server.ts'
import { cites } from '../requirements/manifest.ts'
import { type Hex, network, skipped, startChain } from './chain.ts'
import { asOperator, openShop, post, shop, tokenPrice } from './rig.ts'
import { exactPayment, offersOf, paidWith } from './sign.ts'
import { exactPermit2Payment, uptoPayment } from './sign-upto.ts'

const chain = await startChain()
const options = { skip: skipped }
const path = '/v1/responses'
const body = { model: 'helper', input: 'Hi', store: false }

type Answer = (path: string) => 'answer' | 'silence' | 'idle' | 'error'

/** x402's own facilitator over HTTP. `how`: whether it answers; with `silence` it does its work all the same. */
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
    const act = how(url)
    if (act === 'idle') return
    const answer =
      act === 'error'
        ? undefined
        : url === '/supported'
          ? facilitator.getSupported()
          : url === '/verify'
            ? await facilitator.verify(paymentPayload, paymentRequirements)
            : await facilitator.settle(paymentPayload, paymentRequirements)
    if (act === 'silence') return
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

type Listed = { id: string; state: string; unclear?: boolean; transaction?: string; reason?: string }

async function listed(url: string): Promise<Listed[]> {
  const answer = await fetch(`${url}/operator/payments`, { headers: asOperator })
  return ((await answer.json()) as { payments: Listed[] }).payments
}

/** Once the only payment is as wanted. */
async function once(url: string, holds: (payment: Listed) => unknown): Promise<Listed> {
  for (let tries = 0; tries < 400; tries += 1) {
    const [payment] = await listed(url)
    if (payment && holds(payment)) return payment
    await pause(50)
  }
  return assert.fail(JSON.stringify(await listed(url)))
}

/** A facilitator that does its work, or does not, and says nothing about it, the first time that it is to settle. */
async function silentOnce(t: TestContext, works: boolean) {
  let settles = 0
  const isFirst = (): boolean => settles++ === 0
  return openFacilitator(t, call =>
    call !== '/settle' || !isFirst() ? 'answer' : works ? 'silence' : 'idle',
  )
}

for (const scheme of ['eip3009', 'permit2'] as const)
  test(
    cites(
      'X402-FAC-02',
      `a facilitator that settles and does not say so: pending, then found on the chain, never a second 402 (${scheme})`,
    ),
    options,
    async t => {
      const remote = await silentOnce(t, true)
      const { url, asked } = await openShop(t, chain, {
        payments: {
          facilitator: { url: remote.url, rpcUrl: chain.rpcUrl },
          asset: { ...chain.asset, transfer: [scheme] },
          settleMs: 1500,
          reconcileMs: 60_000,
        },
      })
      const before = await chain.balance(shop)
      const payment = paidWith(await signed(scheme, url))
      const first = await post(url, path, body, payment)
      assert.equal(first.status, 409, await first.clone().text())
      assert.match(await first.text(), /payment_pending/)
      assert.equal(first.headers.get('x-payment-state'), 'pending')
      assert.equal(first.headers.get('x-should-retry'), 'false')
      await until(async () => (await chain.balance(shop)) - before === 10_000n)
      const second = await post(url, path, body, payment)
      assert.equal(second.status, 200, await second.clone().text())
      assert.equal((await chain.balance(shop)) - before, 10_000n)
      assert.equal(asked(), 1)
      const { transaction } = await once(url, ({ state }) => state === 'settled')
      const { status } = await chain.reader.getTransactionReceipt({ hash: transaction as Hex })
      assert.equal(status, 'success')
      // The chain was asked, and not the facilitator again.
      assert.equal(remote.calls.filter(call => call === '/settle').length, 1)
    },
  )

async function signed(scheme: 'eip3009' | 'permit2', url: string): Promise<object> {
  const payer = await chain.payer()
  const offers = await offersOf(url, path, body)
  return scheme === 'eip3009' ? exactPayment(payer, offers) : exactPermit2Payment(payer, offers)
}

test(
  cites(
    'X402-FAIL-04',
    'a payer who cancels while the facilitator is silent has not paid, and the chain shows it',
  ),
  options,
  async t => {
    const remote = await silentOnce(t, false)
    const { url } = await openShop(t, chain, {
      payments: {
        facilitator: { url: remote.url, rpcUrl: chain.rpcUrl },
        settleMs: 500,
        reconcileMs: 60_000,
      },
    })
    const payer = await chain.payer()
    const payment = await exactPayment(payer, await offersOf(url, path, body))
    assert.equal((await post(url, path, body, paidWith(payment))).status, 409)
    await chain.cancel(payer, payment.payload.authorization['nonce'] as Hex)
    const before = await chain.balance(shop)
    const second = await post(url, path, body, paidWith(payment))
    assert.equal(second.status, 402, await second.clone().text())
    const { reason } = await once(url, ({ state }) => state === 'failed')
    assert.equal(reason, 'authorization_canceled')
    assert.equal(await chain.balance(shop), before)
  },
)

test(
  cites(
    'X402-FAC-02',
    'without a chain to look at, a nonce that is used up decides nothing: an operator says what the chain shows',
  ),
  options,
  async t => {
    const remote = await silentOnce(t, true)
    const data = newFolder(t)
    const { url } = await openShop(t, chain, {
      data,
      payments: { facilitator: { url: remote.url }, settleMs: 1000, reconcileMs: 100, validSeconds: 8 },
    })
    const before = await chain.balance(shop)
    const payment = paidWith(await exactPayment(await chain.payer(), await offersOf(url, path, body)))
    assert.equal((await post(url, path, body, payment)).status, 409)
    await until(async () => (await chain.balance(shop)) - before === 10_000n)
    // The facilitator says that the nonce is used. It may be the payer who used it up.
    await once(url, () => remote.calls.filter(call => call === '/settle').length > 3)
    assert.equal((await listed(url))[0]?.state, 'settling')
    const resolve = (id: string, transaction: string) =>
      post(url, `/operator/payments/${id}/resolve`, { transaction }, asOperator)
    const [{ id } = { id: '' }] = await listed(url)
    assert.equal((await resolve(id, 'none')).status, 400)
    // Nobody waits a minute for it to expire for good.
    const now = Date.now
    t.after(() => {
      Date.now = now
    })
    Date.now = () => now() + 120_000
    await once(url, ({ unclear }) => unclear === true)
    const settles = remote.calls.length
    await pause(500)
    assert.equal(remote.calls.length, settles, 'the facilitator is not asked any more')
    assert.equal((await post(url, path, body, payment)).status, 409)
    assert.equal((await resolve(id, '0x12')).status, 400)
    const hash = `0x${'ab'.repeat(32)}`
    const config = join(data, 'turnwire.config.ts')
    const payments = { network, asset: chain.asset, payTo: shop, facilitator: { url: remote.url } }
    const agents = `[{ name: 'helper', model: rehearsal(), price: { request: '0.01' } }]`
    const index = JSON.stringify(join(root, 'src/index.ts'))
    writeFileSync(
      config,
      `import { rehearsal } from ${index}\nexport default { agents: ${agents}, payments: ${JSON.stringify(payments)} }\n`,
    )
    // Beside the server, which has the data folder.
    const command = async (...words: string[]): Promise<string> => {
      const started = start(t, ['payments', ...words, '--config', config, '--data', data], { cwd: data })
      assert.equal(await started.exit, 0, started.stderr())
      return started.stdout()
    }
    const list = await command('list')
    assert.match(list, new RegExp(`^${id} {2}unclear {2}0\\.01 `, 'm'))
    assert.match(list, /^1 unclear: .*turnwire payments resolve <id> <transaction>, or none$/m)
    assert.match(await command('resolve', id, hash), / settled /)
    const { transaction } = await once(url, ({ state, unclear }) => state === 'settled' && !unclear)
    assert.equal(transaction, hash)
    assert.equal((await post(url, path, body, payment)).status, 200)
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
