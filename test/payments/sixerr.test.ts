// Sixerr's client flow, as its documentation describes it: a 402 with its own body, a Permit2 signature for up to a cap, and
// what was used is split between the agent's wallet and the platform.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { cites } from '../requirements/manifest.ts'
import { skipped, startChain } from './chain.ts'
import { decoded, openShop, platform, post, shop } from './rig.ts'
import { encoded, sixerrPayment } from './sign.ts'

const chain = await startChain()
const options = { skip: skipped }
const path = '/v1/responses'
const price = { input: '1', output: '4', cap: '10' }
const body = {
  model: 'helper',
  input: '2+2?',
  tools: [{ type: 'function', function: { name: 'add', parameters: { type: 'object' } } }],
}

async function openTerminal(t: Parameters<typeof openShop>[0]) {
  const operator = await chain.facilitator()
  const address = await chain.terminal(operator.account.address, platform)
  const facilitator = { key: operator.key, rpcUrl: chain.rpcUrl }
  const script = [{ text: 'Four.', usage: { input: 1000, output: 500 } }]
  return openShop(t, chain, { price, script, payments: { facilitator, terminal: { address, feeBps: 1000 } } })
}

async function offerOf(url: string): Promise<Record<string, string>> {
  const refused = await post(url, path, body)
  assert.equal(refused.status, 402)
  const required = (await refused.json()) as {
    x402Version: number
    error: string
    accepts: Record<string, string>[]
  }
  assert.equal(required.x402Version, 2)
  assert.equal(required.error, 'Payment required')
  const [offer] = required.accepts
  assert.ok(offer)
  return offer
}

test(
  cites(
    'X402-SIXERR-01',
    'a Sixerr client pays what it used, the platform gets its share, and repeats are free',
  ),
  options,
  async t => {
    const { url, asked } = await openTerminal(t)
    const offer = await offerOf(url)
    assert.deepEqual(
      { ...offer, permit2Terminal: '', asset: '' },
      {
        ...{ scheme: 'permit2', network: 'eip155:84532', asset: '', payTo: shop, permit2Terminal: '' },
        ...{ maxCost: '10000000', inputTokenPrice: '1', outputTokenPrice: '4', platformFeeBps: 1000 },
        maxTimeoutSeconds: 600,
      },
    )
    const payer = await chain.payer()
    const headers = { 'x-payment': encoded(await sixerrPayment(payer, offer)) }
    const [agent, share] = [await chain.balance(shop), await chain.balance(platform)]
    const answer = await post(url, path, body, headers)
    assert.equal(answer.status, 200, await answer.clone().text())
    assert.equal(decoded(answer.headers.get('x-payment-response'))['amount'], '3000')
    assert.equal((await chain.balance(shop)) - agent, 2700n)
    assert.equal((await chain.balance(platform)) - share, 300n)
    const again = await post(url, path, body, headers)
    assert.equal(again.status, 200)
    assert.equal((await chain.balance(shop)) - agent, 2700n)
    assert.equal(asked(), 1)
  },
)

test(
  cites('X402-SIXERR-03', 'a standard client is offered the same price in the header'),
  options,
  async t => {
    const { url } = await openTerminal(t)
    const refused = await post(url, path, body)
    const required = decoded(refused.headers.get('payment-required')) as { accepts: { scheme: string }[] }
    assert.deepEqual(
      required.accepts.map(({ scheme }) => scheme),
      ['upto'],
    )
  },
)

test(cites('X402-SIXERR-02', 'what was changed in a Sixerr payment is refused'), options, async t => {
  const { url, asked } = await openTerminal(t)
  const offer = await offerOf(url)
  const payer = await chain.payer()
  const good = await sixerrPayment(payer, offer)
  const late = Math.floor(Date.now() / 1000) - 10
  const other = '0x00000000000000000000000000000000000000ee'
  const permit = (over: object) => ({ ...good, permit: { ...good.permit, ...over } })
  const changed: Record<string, object> = {
    'the sender': { ...good, sender: other },
    'the amount': permit({ permitted: { ...good.permit.permitted, amount: '20000000' } }),
    'the token': permit({ permitted: { ...good.permit.permitted, token: other } }),
    'the nonce': permit({ nonce: '7' }),
    'the deadline': permit({ deadline: good.permit.deadline + 1000 }),
    'expired, signed so': await sixerrPayment(payer, offer, { deadline: late }),
    'less than is asked, signed so': await sixerrPayment(payer, offer, { amount: '9999999' }),
    'another spender, signed so': await sixerrPayment(payer, { ...offer, permit2Terminal: other }),
    'no allowance': await sixerrPayment(await chain.payer(10n ** 9n, false), offer),
  }
  for (const [what, payment] of Object.entries(changed)) {
    const answer = await post(url, path, body, { 'x-payment': encoded(payment) })
    assert.equal(answer.status, 402, `${what}: ${await answer.text()}`)
  }
  assert.equal(asked(), 0)
  await pause(0)
})
