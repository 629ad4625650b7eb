// Relayed requests that are paid for on a real chain: the agent's own wallet is paid, for answers and nothing else.
import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import { UptoEvmScheme } from '@x402/evm'
import { wrapFetchWithPayment, x402Client } from '@x402/fetch'
import type { PrivateKeyAccount } from 'viem/accounts'
import type { JsonObject } from '../../src/lib/json.ts'
import { type Hex, network, permit2Address, skipped, startChain } from '../payments/chain.ts'
import { operator, platform, post, shop } from '../payments/rig.ts'
import { offersOf, paidWith } from '../payments/sign.ts'
import { uptoPayment } from '../payments/sign-upto.ts'
import { cites } from '../requirements/manifest.ts'
import { ask, machine, newWallet, RawMachine, relay, saying, tokenOf, until } from './rig.ts'

const chain = await startChain()
const options = { skip: skipped, timeout: 240_000 }

async function paidRelay(t: TestContext, settings = {}, terminal?: { address: Hex; feeBps: number }) {
  const { key, account } = await chain.facilitator()
  const payments = {
    network,
    asset: chain.asset,
    payTo: shop,
    facilitator: { key, rpcUrl: chain.rpcUrl },
    settleMs: 20_000,
    reconcileMs: 200,
    ...(terminal && { terminal }),
  }
  const server = { log: 'silent' as const, keys: [operator.entry] }
  return { ...(await relay(t, settings, { payments, server })), account }
}

function payingFetch(payer: PrivateKeyAccount): typeof fetch {
  const client = new x402Client().setSpendControls(false).register(network, new UptoEvmScheme(payer))
  return wrapFetchWithPayment(fetch, client)
}

const request = (body: object): RequestInit => ({
  method: 'POST',
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify(body),
})

const tools = [{ type: 'function', function: { name: 'add', parameters: { type: 'object' } } }]

test(
  cites(
    'SIX-HTTP-06',
    'SIX-PAY-02',
    'a wallet pays, calls its tool, pays again and gets the answer; the agent’s wallet is paid for both',
  ),
  options,
  async t => {
    const { url } = await paidRelay(t)
    const script = [
      { calls: [{ name: 'add', input: { a: 2, b: 2 } }], usage: { input: 100, output: 50 } },
      { text: 'It is 4.', usage: { input: 200, output: 10 } },
    ]
    const { agentId, wallet } = await machine(t, url, script, { prices: ['1', '4'] })
    const pay = payingFetch(await chain.payer())
    const question = { type: 'message', role: 'user', content: '2+2?' }
    const first = await pay(
      `${url}/v1/responses`,
      request({ model: 'm', routing: 'cheapest', input: [question], tools }),
    )
    assert.equal(first.status, 200, await first.clone().text())
    const [call] = ((await first.json()) as { output: JsonObject[] }).output
    const { call_id, name, arguments: given } = call!
    assert.equal(call?.['type'], 'function_call')
    assert.equal(await chain.balance(agentId as Hex), 300n)
    const input = [
      question,
      { type: 'function_call', call_id, name, arguments: given },
      { type: 'function_call_output', call_id, output: '4' },
    ]
    const body = { model: 'm', agent_id: agentId, input, tools, stream: true }
    const second = await pay(`${url}/v1/responses`, request(body))
    assert.match(await second.text(), /It is 4\./)
    await until(async () => (await chain.balance(agentId as Hex)) === 540n, 'the second payment')

    const headers = { authorization: `Bearer ${await tokenOf(url, wallet)}` }
    const usage = (await (await fetch(`${url}/v1/usage`, { headers })).json()) as {
      earnings: JsonObject
      requests: JsonObject
    }
    const { amount, payments } = usage.earnings
    assert.deepEqual([amount, payments, usage.requests['served']], ['540', 2, 2])
  },
)

test(
  cites(
    'SIX-PAY-01',
    'SIX-PAY-02',
    'Sixerr’s own form: the offer names the agent’s wallet and prices, and the platform gets its fee',
  ),
  options,
  async t => {
    const { key, account } = await chain.facilitator()
    const address = await chain.terminal(account.address, platform)
    const payments = {
      network,
      asset: chain.asset,
      payTo: shop,
      facilitator: { key, rpcUrl: chain.rpcUrl },
      terminal: { address, feeBps: 1000 },
      settleMs: 20_000,
    }
    const { url } = await relay(
      t,
      { maxCost: '5000' },
      { payments, server: { log: 'silent', keys: [operator.entry] } },
    )
    const usage = { input: 1000, output: 500 }
    const { agentId } = await machine(t, url, [{ text: 'Paid for.', usage }], { prices: ['1', '4'] })
    const payer = await chain.payer()
    const body = { model: 'm', agent_id: agentId, input: 'Hi' }
    const refused = await ask(url, body)
    assert.equal(refused.status, 402, refused.text)
    const offers = refused.body['accepts'] as JsonObject[]
    const offer = offers.find(({ scheme }) => scheme === 'permit2')
    assert.ok(offer, refused.text)
    assert.deepEqual(
      [
        offer['payTo'],
        offer['inputTokenPrice'],
        offer['outputTokenPrice'],
        offer['maxCost'],
        offer['platformFeeBps'],
      ],
      [agentId, '1', '4', '5000', 1000],
    )
    const before = await chain.balance(platform)
    const deadline = Math.floor(Date.now() / 1000) + 600
    const nonce = BigInt(Date.now())
    const permitted = { token: chain.token, amount: 5000n }
    const signature = await payer.signTypedData({
      domain: { name: 'Permit2', chainId: 84532, verifyingContract: permit2Address },
      types: {
        PermitTransferFrom: [
          { name: 'permitted', type: 'TokenPermissions' },
          { name: 'spender', type: 'address' },
          { name: 'nonce', type: 'uint256' },
          { name: 'deadline', type: 'uint256' },
        ],
        TokenPermissions: [
          { name: 'token', type: 'address' },
          { name: 'amount', type: 'uint256' },
        ],
      },
      primaryType: 'PermitTransferFrom',
      message: { permitted, spender: address, nonce, deadline: BigInt(deadline) },
    })
    const permit = { permitted: { token: chain.token, amount: '5000' }, nonce: String(nonce), deadline }
    const payment = Buffer.from(JSON.stringify({ sender: payer.address, permit, signature })).toString(
      'base64',
    )
    const answer = await fetch(`${url}/v1/responses`, {
      ...request(body),
      headers: { 'content-type': 'application/json', 'x-payment': payment },
    })
    assert.equal(answer.status, 200, await answer.clone().text())
    assert.match(await answer.text(), /Paid for\./)
    await until(async () => (await chain.balance(agentId as Hex)) === 2700n, 'the agent is paid')
    assert.equal((await chain.balance(platform)) - before, 300n)
  },
)

test(
  cites(
    'SIX-WS-14',
    'SIX-PAY-03',
    'machines that die or fail cost the payer nothing, and answers are paid for once',
  ),
  options,
  async t => {
    const { url } = await paidRelay(t, { queueMs: 20_000, attempts: 5 })
    const wallet = await newWallet()
    const prices = { inputTokenPrice: '1', outputTokenPrice: '1' }
    let died = 0
    let served = 0
    const start = async (mayDie: boolean): Promise<void> => {
      const raw = await RawMachine.attached(t, url, wallet, prices)
      let seen = 0
      const timer = setInterval(() => {
        for (; seen < raw.frames.length; seen++) {
          const frame = raw.frames[seen]
          if (frame?.type !== 'request') continue
          if (mayDie && seen > 3) {
            died += 1
            clearInterval(timer)
            raw.end()
            void start(false)
            return
          }
          served += 1
          raw.send({ type: 'response', id: frame.id, body: saying('ok') })
        }
      }, 5)
      void raw.closed.then(() => clearInterval(timer))
    }
    await Promise.all([start(true), start(true), start(false)])
    const payers: PrivateKeyAccount[] = []
    while (payers.length < 4) payers.push(await chain.payer())
    const answers = await Promise.all(
      Array.from({ length: 24 }, (_, number) =>
        payingFetch(payers[number % 4]!)(
          `${url}/v1/responses`,
          request({ model: 'm', routing: 'cheapest', input: `${number}` }),
        ),
      ),
    )
    const statuses = answers.map(({ status }) => status)
    assert.deepEqual(new Set(statuses), new Set([200]))
    assert.ok(died > 0)
    assert.equal(served, 24)
    // Three tokens read and two written, at one each.
    await until(async () => (await chain.balance(wallet.address)) === 24n * 5n, 'every answer is paid for')

    const failing = await newWallet()
    const raw = await RawMachine.attached(t, url, failing, prices)
    const paying = payingFetch(payers[0]!)(
      `${url}/v1/responses`,
      request({ model: 'm', agent_id: failing.address, input: 'a' }),
    )
    const { id } = await raw.frame('request')
    raw.send({ type: 'error', id, code: 'plugin_error', message: 'no' })
    assert.equal((await paying).status, 502)
    assert.equal(await chain.balance(failing.address), 0n)
  },
)

test(
  cites(
    'SIX-PAY-04',
    'where payments are taken, a token alone pays for nothing, and agents without a price are for keys',
  ),
  options,
  async t => {
    const { url } = await paidRelay(t)
    const { agentId } = await machine(t, url, [{ text: 'x' }], { prices: ['1', '1'] })
    const free = await machine(t, url, [{ text: 'free' }])
    const token = await tokenOf(url)
    assert.equal((await ask(url, { model: agentId, input: 'a' }, { token })).status, 402)
    assert.equal((await ask(url, { model: 'm', routing: 'cheapest', input: 'a' })).status, 402)
    assert.equal((await ask(url, { model: free.agentId, input: 'a' }, { token })).status, 401)
    const keyed = await ask(url, { model: 'm', agent_id: agentId, input: 'a' }, { token: operator.key })
    assert.equal(keyed.status, 200)
  },
)

test('an owner who raises the price after the offer was shown is not paid with it', options, async t => {
  const { url } = await paidRelay(t)
  const wallet = await newWallet()
  const raw = await RawMachine.attached(t, url, wallet, { inputTokenPrice: '1', outputTokenPrice: '4' })
  const body = { model: 'm', agent_id: wallet.address, input: 'a' }
  const payer = await chain.payer()
  const old = paidWith(await uptoPayment(payer, await offersOf(url, '/v1/responses', body)))
  raw.send({ type: 'price_update', inputTokenPrice: '1', outputTokenPrice: '400000' })
  await raw.frame('price_update_ack')
  const refused = await post(url, '/v1/responses', body, old)
  assert.equal(refused.status, 402)
  assert.ok(!raw.frames.some(({ type }) => type === 'request'))
})
