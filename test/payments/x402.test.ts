// Clients that know nothing of Turnwire pay it on a real chain: x402's own packages, versions 2 and 1.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ExactEvmScheme, UptoEvmScheme } from '@x402/evm'
import { ExactEvmSchemeV1 } from '@x402/evm/v1'
import { decodePaymentResponseHeader, wrapFetchWithPayment, x402Client } from '@x402/fetch'
import type { PrivateKeyAccount } from 'viem/accounts'
import { cites } from '../requirements/manifest.ts'
import { type Hex, network, skipped, startChain } from './chain.ts'
import { decoded, openShop, post, shop, tokenPrice } from './rig.ts'

const chain = await startChain()
const options = { skip: skipped }

function payingFetch(payer: PrivateKeyAccount, ask: typeof fetch = fetch): typeof fetch {
  const client = new x402Client()
    .setSpendControls(false)
    .register(network, new ExactEvmScheme(payer))
    .register(network, new UptoEvmScheme(payer))
    .registerV1('base-sepolia', new ExactEvmSchemeV1(payer))
  return wrapFetchWithPayment(ask, client)
}

const request = (body: object): RequestInit => ({
  method: 'POST',
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify(body),
})

const messages = [{ role: 'user', content: 'Hi' }]

/** Each wire that has no session of its own, and AAP and the stored responses, which have. */
const requests: Record<string, { path: string; body: object; stream?: object }> = {
  'responses, not stored': { path: '/v1/responses', body: { model: 'helper', input: 'Hi', store: false } },
  'responses, stored': { path: '/v1/responses', body: { model: 'helper', input: 'Hi' } },
  chat: { path: '/v1/chat/completions', body: { model: 'helper', messages } },
  messages: { path: '/v1/messages', body: { model: 'helper', messages, max_tokens: 100 } },
}

const userParts = [{ type: 'text', text: 'Hi' }]
const run = { threadId: 't1', runId: 'r1', state: {}, tools: [], context: [], forwardedProps: {} }

/** The other HTTP wires. Those that keep a session make it for the wallet that pays. */
const otherRequests: Record<string, { path: string; body: object; method?: 'PUT' }> = {
  gemini: {
    path: '/v1beta/models/helper:generateContent',
    body: { contents: [{ role: 'user', parts: [{ text: 'Hi' }] }] },
  },
  'gemini, version 1': {
    path: '/v1/models/helper:generateContent',
    body: { contents: [{ role: 'user', parts: [{ text: 'Hi' }] }] },
  },
  'gemini, streamed': {
    path: '/v1beta/models/helper:streamGenerateContent?alt=sse',
    body: { contents: [{ role: 'user', parts: [{ text: 'Hi' }] }] },
  },
  AAP: { path: '/session', method: 'PUT', body: { agent: { name: 'helper' }, messages } },
  'AG-UI': { path: '/agui/helper', body: { ...run, messages: [{ id: 'm1', role: 'user', content: 'Hi' }] } },
  'AI SDK UI': {
    path: '/ui/helper',
    body: { id: 'c1', messages: [{ id: 'm1', role: 'user', parts: userParts }], trigger: 'submit-message' },
  },
  DeltaKit: { path: '/api/chat', body: { message: 'Hi' } },
}

for (const [name, { path, body, method = 'POST' }] of Object.entries(otherRequests))
  for (const [price, costs] of [
    [undefined, 10_000n],
    [tokenPrice, 300n],
  ] as const)
    test(cites('X402-WIRE-01', `the official client pays ${costs} on ${name}`), options, async t => {
      const { url, asked } = await openShop(t, chain, price ? { price } : {})
      const pay = payingFetch(await chain.payer())
      const before = await chain.balance(shop)
      const answer = await pay(`${url}${path}`, { ...request(body), method })
      const text = await answer.text()
      assert.ok(answer.ok, text)
      assert.match(text, /Hello/)
      for (let tries = 0; (await chain.balance(shop)) === before && tries < 100; tries += 1)
        await new Promise(resolve => setTimeout(resolve, 50))
      assert.equal((await chain.balance(shop)) - before, costs)
      assert.equal(asked(), 1)
    })

async function gain(of: Hex, work: () => Promise<void>): Promise<bigint> {
  const before = await chain.balance(of)
  await work()
  return (await chain.balance(of)) - before
}

for (const [name, { path, body }] of Object.entries(requests)) {
  test(
    cites('X402-EXACT-01', `version 2, exact over EIP-3009, on ${name}: the official client pays once`),
    options,
    async t => {
      const { url, asked } = await openShop(t, chain)
      const pay = payingFetch(await chain.payer())
      const moved = await gain(shop, async () => {
        const answer = await pay(`${url}${path}`, request(body))
        assert.equal(answer.status, 200, await answer.clone().text())
        assert.match(await answer.text(), /Hello\./)
        const receipt = decodePaymentResponseHeader(answer.headers.get('payment-response') ?? '')
        assert.equal(receipt.success, true)
        assert.match(receipt.transaction, /^0x[0-9a-f]{64}$/)
      })
      assert.equal(moved, 10_000n)
      assert.equal(asked(), 1)
    },
  )

  test(
    cites('X402-UPTO-01', `version 2, upto, streamed on ${name}: what was used is paid`),
    options,
    async t => {
      const { url, asked } = await openShop(t, chain, { price: tokenPrice })
      const pay = payingFetch(await chain.payer())
      const before = await chain.balance(shop)
      const answer = await pay(`${url}${path}`, request({ ...body, stream: true }))
      assert.equal(answer.status, 200, await answer.clone().text())
      assert.match(answer.headers.get('content-type') ?? '', /event-stream/)
      assert.match(await answer.text(), /Hello\./)
      for (let tries = 0; (await chain.balance(shop)) === before && tries < 100; tries += 1)
        await new Promise(resolve => setTimeout(resolve, 50))
      // 100 tokens at 1 and 50 at 4.
      assert.equal((await chain.balance(shop)) - before, 300n)
      assert.equal(asked(), 1)
    },
  )
}

test(
  cites(
    'X402-EXACT-02',
    'X402-EXACT-03',
    'version 2, exact over Permit2, streamed: settled before the first byte',
  ),
  options,
  async t => {
    const asset = { ...chain.asset, transfer: ['permit2' as const] }
    const { url } = await openShop(t, chain, { payments: { asset } })
    const pay = payingFetch(await chain.payer())
    const moved = await gain(shop, async () => {
      const answer = await pay(`${url}/v1/responses`, request({ model: 'helper', input: 'Hi', stream: true }))
      assert.equal(answer.status, 200)
      // The head of a stream has the receipt: the money has moved before anything was sent.
      assert.equal(decoded(answer.headers.get('payment-response'))['success'], true)
      assert.match(await answer.text(), /Hello\./)
    })
    assert.equal(moved, 10_000n)
  },
)

test(
  cites('X402-UPTO-02', 'version 2, upto, not streamed: the receipt says what was charged'),
  options,
  async t => {
    const { url } = await openShop(t, chain, { price: tokenPrice })
    const pay = payingFetch(await chain.payer())
    const moved = await gain(shop, async () => {
      const answer = await pay(`${url}/v1/chat/completions`, request({ model: 'helper', messages }))
      assert.equal(answer.status, 200, await answer.clone().text())
      assert.equal(decoded(answer.headers.get('payment-response'))['amount'], '300')
    })
    assert.equal(moved, 300n)
  },
)

test(
  cites('X402-EXACT-04', 'version 1: a client that reads the body pays with X-PAYMENT'),
  options,
  async t => {
    const { url, asked } = await openShop(t, chain)
    // It does not know the header of version 2.
    const before2: typeof fetch = async (...args) => {
      const answer = await fetch(...args)
      const headers = new Headers(answer.headers)
      headers.delete('payment-required')
      return new Response(answer.body, { status: answer.status, headers })
    }
    const pay = payingFetch(await chain.payer(), before2)
    const moved = await gain(shop, async () => {
      const answer = await pay(`${url}/v1/responses`, request({ model: 'helper', input: 'Hi' }))
      assert.equal(answer.status, 200, await answer.clone().text())
      assert.equal(decoded(answer.headers.get('x-payment-response'))['success'], true)
    })
    assert.equal(moved, 10_000n)
    assert.equal(asked(), 1)
  },
)

test(
  cites('X402-OFFER-01', 'X402-OFFER-02', 'a request without a payment is told what it costs, in both forms'),
  options,
  async t => {
    const { url, asked } = await openShop(t, chain)
    const refused = await post(url, '/v1/responses', { model: 'helper', input: 'Hi' })
    assert.equal(refused.status, 402)
    assert.equal(refused.headers.get('cache-control'), 'no-store')
    const required = decoded(refused.headers.get('payment-required'))
    assert.equal(required['x402Version'], 2)
    assert.equal((required['resource'] as { url: string }).url, `${url}/v1/responses`)
    const body = (await refused.json()) as { x402Version: number; accepts: Record<string, unknown>[] }
    assert.equal(body.x402Version, 1)
    const [offer] = body.accepts
    assert.deepEqual(
      [offer?.['network'], offer?.['maxAmountRequired'], offer?.['payTo']],
      ['base-sepolia', '10000', shop],
    )
    assert.equal(asked(), 0)
  },
)

test('a wallet gets nothing for which there is no price', options, async t => {
  const { url } = await openShop(t, chain)
  const pay = payingFetch(await chain.payer())
  const answer = await pay(`${url}/v1/responses`, request({ model: 'free', input: 'Hi' }))
  assert.equal(answer.status, 401)
})
