// One payment buys one answer, whatever is done with it: sent often, sent again, sent for something else, changed (T-33).
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isWallet } from '../../src/language/payments.ts'
import { runtimeOf } from '../../src/library/turnwire.ts'
import { cites } from '../requirements/manifest.ts'
import { skipped, startChain } from './chain.ts'
import { decoded, openShop, post, shop, tokenPrice } from './rig.ts'
import { encoded, exactPayment, inSeconds, offersOf, paidWith } from './sign.ts'

const chain = await startChain()
const options = { skip: skipped }
const path = '/v1/responses'
const body = { model: 'helper', input: 'Hi', store: false }

test(
  cites('X402-ONCE-01', '50 parallel repetitions of one payment buy one answer, and the money moves once'),
  options,
  async t => {
    const { url, asked } = await openShop(t, chain)
    const payment = await exactPayment(await chain.payer(), await offersOf(url, path, body))
    const before = await chain.balance(shop)
    const answers = await Promise.all(
      Array.from({ length: 50 }, () => post(url, path, body, paidWith(payment))),
    )
    const texts = await Promise.all(answers.map(answer => answer.text()))
    assert.deepEqual([...new Set(answers.map(({ status }) => status))], [200], texts.join('\n').slice(0, 500))
    for (const text of texts) assert.match(text, /Hello\./)
    assert.equal(asked(), 1)
    assert.equal((await chain.balance(shop)) - before, 10_000n)
  },
)

test('the same payment later gives the first answer again, streamed too', options, async t => {
  const { url, asked } = await openShop(t, chain)
  const payment = await exactPayment(
    await chain.payer(),
    await offersOf(url, path, { ...body, stream: true }),
  )
  const before = await chain.balance(shop)
  const [first, second] = [
    await post(url, path, { ...body, stream: true }, paidWith(payment)),
    await post(url, path, { ...body, stream: true }, paidWith(payment)),
  ]
  assert.match(await first.text(), /Hello\./)
  assert.match(await second.text(), /Hello\./)
  assert.equal(
    decoded(first.headers.get('payment-response'))['transaction'],
    decoded(second.headers.get('payment-response'))['transaction'],
  )
  assert.equal(asked(), 1)
  assert.equal((await chain.balance(shop)) - before, 10_000n)
})

test(
  cites('X402-ONCE-02', 'a payment is for one request: another body, path or signature is refused'),
  options,
  async t => {
    const { url, asked } = await openShop(t, chain)
    const payer = await chain.payer()
    const payment = await exactPayment(payer, await offersOf(url, path, body))
    assert.equal((await post(url, path, body, paidWith(payment))).status, 200)
    const other = await post(url, path, { ...body, input: 'Something else' }, paidWith(payment))
    assert.equal(other.status, 409)
    const chat = { model: 'helper', messages: [{ role: 'user', content: 'Hi' }] }
    const { resource: _, ...unbound } = payment
    assert.equal((await post(url, '/v1/chat/completions', chat, paidWith(unbound))).status, 409)
    // The same authorization under another signature is the same payment.
    const { signature } = payment.payload
    const twisted = { ...payment, payload: { ...payment.payload, signature: `${signature.slice(0, -1)}0` } }
    assert.equal((await post(url, path, body, paidWith(twisted))).status, 409)
    assert.equal(asked(), 1)
  },
)

test(
  cites('X402-VERIFY-01', 'what was changed in a payment is refused, and nothing is done for it'),
  options,
  async t => {
    const { url, asked } = await openShop(t, chain)
    const payer = await chain.payer()
    const offers = await offersOf(url, path, body)
    const before = await chain.balance(shop)
    const good = await exactPayment(payer, offers)
    const { accepted, payload } = good
    const elsewhere = '0x00000000000000000000000000000000000000ee'
    const authorization = (over: object) => ({
      ...good,
      payload: { ...payload, authorization: { ...payload.authorization, ...over } },
    })
    const offered = (over: object) => ({ ...good, accepted: { ...accepted, ...over } })
    const changed: Record<string, object> = {
      'the amount that is signed': authorization({ value: '1' }),
      'the amount of the offer': offered({ amount: '1' }),
      'amount and offer, signed so': await exactPayment(payer, offers, { value: '1' }),
      'the asset': offered({ asset: elsewhere }),
      'the network': offered({ network: 'eip155:8453' }),
      'the recipient of the offer': offered({ payTo: elsewhere }),
      'the recipient that is signed': authorization({ to: elsewhere }),
      'another recipient, signed so': await exactPayment(payer, offers, { to: elsewhere }),
      'the resource': { ...good, resource: { ...offers.resource, url: `${url}/v1/chat/completions` } },
      'a later expiry than was signed': authorization({ validBefore: inSeconds(100_000) }),
      'expired, signed so': await exactPayment(payer, offers, { validBefore: inSeconds(-10) }),
      'not valid yet, signed so': await exactPayment(payer, offers, { validAfter: inSeconds(1000) }),
      'the payer': authorization({ from: elsewhere }),
      'the nonce': authorization({ nonce: `0x${'01'.repeat(32)}` }),
      'the domain of the token': offered({ extra: { name: 'Other', version: '2' } }),
    }
    for (const [what, payment] of Object.entries(changed)) {
      const answer = await post(url, path, body, paidWith(payment))
      assert.equal(answer.status, 402, `${what}: ${await answer.clone().text()}`)
    }
    assert.equal(asked(), 0)
    assert.equal(await chain.balance(shop), before)
  },
)

test(
  cites('X402-VERIFY-02', 'a payer without money, and a header that is no payment, are refused'),
  options,
  async t => {
    const { url, asked } = await openShop(t, chain)
    const poor = await exactPayment(await chain.payer(1n, false), await offersOf(url, path, body))
    assert.equal((await post(url, path, body, paidWith(poor))).status, 402)
    for (const header of ['nonsense!', encoded({ x402Version: 7 }), encoded([])]) {
      const answer = await post(url, path, body, { 'payment-signature': header })
      assert.equal(answer.status, 400, header.slice(0, 40))
    }
    assert.equal(asked(), 0)
  },
)

test(
  cites('X402-FAIL-01', 'a model that fails costs nothing, and the same payment pays for the next try'),
  options,
  async t => {
    const { url, asked } = await openShop(t, chain, {
      script: [
        { fail: { code: 'model_failed', message: 'no' } },
        { text: 'Hello.', usage: { input: 1, output: 1 } },
      ],
    })
    const payment = await exactPayment(await chain.payer(), await offersOf(url, path, body))
    const before = await chain.balance(shop)
    const failed = await post(url, path, body, paidWith(payment))
    assert.ok(failed.status >= 500, `${failed.status}`)
    assert.equal(await chain.balance(shop), before)
    const answer = await post(url, path, body, paidWith(payment))
    assert.equal(answer.status, 200, await answer.clone().text())
    assert.equal((await chain.balance(shop)) - before, 10_000n)
    assert.equal(asked(), 2)
  },
)

test('one signed authorization beside others that nobody signed buys nothing', options, async t => {
  const { url, asked, turnwire } = await openShop(t, chain)
  const [payer, victim] = [await chain.payer(), await chain.payer()]
  const offers = await offersOf(url, path, body)
  const { payload } = await exactPayment(payer, offers)
  const unsigned = (nonce: number) => ({
    from: victim.address,
    permitted: { token: chain.token, amount: '10000' },
    ...{ spender: shop, nonce: String(nonce), deadline: inSeconds(600) },
  })
  const version1 = (over: object) => ({ x402Version: 1, scheme: 'exact', network: 'base-sepolia', ...over })
  const { accepted, resource } = await exactPayment(payer, offers)
  for (let nonce = 1; nonce <= 4; nonce += 1) {
    const both = { ...payload, permit2Authorization: unsigned(nonce) }
    const { authorization: _, ...permitOnly } = both
    const sixerr = { sender: victim.address, permit: unsigned(nonce), signature: payload.signature }
    const sent: Record<string, string>[] = [
      { 'x-payment': encoded(version1({ payload: both })) },
      { 'x-payment': encoded(version1({ payload: permitOnly })) },
      { 'x-payment': encoded(version1({ payload: { ...payload, permit2Authorization: null } })) },
      { 'x-payment': encoded(version1({ payload, ...sixerr })) },
      paidWith({ x402Version: 2, resource, accepted, payload: both }),
      paidWith({ x402Version: 2, resource, accepted, payload, ...sixerr }),
    ]
    for (const [at, headers] of sent.entries()) {
      const answer = await post(url, path, body, headers)
      assert.equal(answer.status, 400, `${at}: ${await answer.text()}`)
    }
  }
  assert.equal(asked(), 0)
  const local = await runtimeOf(turnwire).local()
  assert.deepEqual((await local?.sessions.ports.store.owners())?.filter(isWallet), [])
  const paid = await post(url, path, body, { 'x-payment': encoded(version1({ payload })) })
  assert.equal(paid.status, 200, await paid.clone().text())
})

test('who has not paid sees nothing and owns nothing', options, async t => {
  const { url } = await openShop(t, chain, { price: tokenPrice })
  const payment = {
    'payment-signature': encoded(
      await exactPayment(await chain.payer(), await offersOf((await openShop(t, chain)).url, path, body)),
    ),
  }
  for (const headers of [{}, payment]) {
    for (const get of [
      '/sessions',
      '/v1/usage',
      '/operator/agents',
      '/operator/payments',
      '/v1/models',
      '/meta',
    ])
      assert.equal((await fetch(`${url}${get}`, { headers })).status, 401, get)
    assert.equal((await post(url, '/operator/keys', { name: 'eve' }, headers)).status, 401)
    const turn = await post(
      url,
      '/sessions/sess_x/turns',
      { messages: [{ role: 'user', content: 'Hi' }] },
      headers,
    )
    assert.equal(turn.status, 404)
  }
})
