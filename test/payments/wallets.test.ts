// A client with a wallet and no key: the wallet owns what it creates, signs in to read and continue it, and sees its receipts.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import type { PrivateKeyAccount } from 'viem/accounts'
import { payingFetch } from '../../src/client/payments.ts'
import { cites } from '../requirements/manifest.ts'
import { network, skipped, startChain } from './chain.ts'
import { asOperator, openShop, post, shop, tokenPrice } from './rig.ts'
import { encoded, exactPayment, offersOf, paidWith, signIn } from './sign.ts'

const chain = await startChain()
const options = { skip: skipped }

const paying = (wallet: PrivateKeyAccount) =>
  payingFetch({
    wallet,
    networks: [network],
    assets: [chain.token],
    maxPerRequest: '1000000',
    maxTotal: '9000000',
  })

const json = (body: object, headers: Record<string, string> = {}): RequestInit => ({
  method: 'POST',
  headers: { 'content-type': 'application/json', ...headers },
  body: JSON.stringify(body),
})
const turn = { messages: [{ role: 'user', content: 'Hi' }] }

test(
  cites('X402-TURN-01', 'a wallet pays for each turn of a session, and its turns name their receipts'),
  options,
  async t => {
    const { url } = await openShop(t, chain, {
      script: [
        { calls: [{ name: 'mine', input: {} }], usage: { input: 10, output: 5 } },
        { text: 'Done.', usage: { input: 20, output: 5 } },
      ],
    })
    const wallet = await chain.payer()
    const token = await signIn(url, wallet)
    const tools = [{ name: 'mine', description: 'Mine.', inputSchema: { type: 'object' } }]
    const pay = paying(wallet)
    const before = await chain.balance(shop)
    const made = { ...json({ agent: { name: 'helper' }, tools, ...turn }, token), method: 'PUT' }
    assert.equal((await fetch(`${url}/session`, made)).status, 402)
    const first = await pay(`${url}/session`, made)
    assert.equal(first.status, 201, await first.clone().text())
    const { sessionId, messages } = (await first.json()) as {
      sessionId: string
      messages: { content: { toolCallId?: string }[] }[]
    }
    const callId = messages
      .flatMap(({ content }) => (Array.isArray(content) ? content : []))
      .find(block => block.toolCallId)?.toolCallId
    const result = { messages: [{ role: 'tool', toolCallId: callId, content: 'ok' }] }
    assert.equal((await post(url, `/sessions/${sessionId}/turns`, result, token)).status, 402)
    const last = await pay(`${url}/sessions/${sessionId}/turns`, json(result, token))
    assert.equal(last.status, 200, await last.clone().text())
    assert.equal((await chain.balance(shop)) - before, 20_000n)
    const log = await fetch(`${url}/operator/sessions/${sessionId}/events`, { headers: asOperator })
    const named = new Set((await log.text()).match(/pay_[\w-]+/g))
    const all = await fetch(`${url}/operator/payments`, { headers: asOperator })
    const { payments } = (await all.json()) as {
      payments: { id: string; state: string; amount: string; session: string }[]
    }
    assert.deepEqual(new Set(payments.map(({ id }) => id)), named, 'a receipt for each turn')
    for (const { state, amount, session } of payments)
      assert.deepEqual([state, amount, session], ['settled', '10000', sessionId])
  },
)

test(
  cites('X402-OWN-02', 'usage shows a wallet its own payments, an operator those of all, without signatures'),
  options,
  async t => {
    const { url } = await openShop(t, chain, { price: tokenPrice })
    const [ann, eve] = [await chain.payer(), await chain.payer()]
    await (await paying(ann)(`${url}/v1/responses`, json({ model: 'helper', input: 'Hi' }))).text()
    type Usage = { data: { payer: string; amount: string; usage: object }[]; totals: { amount: string }[] }
    const usageOf = async (wallet: PrivateKeyAccount): Promise<Usage> =>
      (await (await fetch(`${url}/v1/usage`, { headers: await signIn(url, wallet) })).json()) as Usage
    const own = await usageOf(ann)
    assert.equal(own.data[0]?.amount, '300')
    assert.deepEqual(own.data[0]?.usage, { input: 100, output: 50 })
    assert.deepEqual(
      own.totals.map(({ amount }) => amount),
      ['300'],
    )
    assert.deepEqual((await usageOf(eve)).data, [])
    const all = await fetch(`${url}/operator/payments`, { headers: asOperator })
    const text = await all.text()
    assert.match(text, new RegExp(ann.address.toLowerCase()))
    assert.doesNotMatch(text, /signature/)
  },
)

test(
  cites('X402-OWN-01', 'what one wallet paid for no other can read; lists of sessions hold no payments'),
  options,
  async t => {
    const { url } = await openShop(t, chain)
    const [ann, eve] = [await chain.payer(), await chain.payer()]
    const answer = await paying(ann)(`${url}/v1/responses`, json({ model: 'helper', input: 'Hi' }))
    const { id } = (await answer.json()) as { id: string }
    const read = async (wallet: PrivateKeyAccount) =>
      (await fetch(`${url}/v1/responses/${id}`, { headers: await signIn(url, wallet) })).status
    assert.equal(await read(ann), 200)
    assert.equal(await read(eve), 404)
    const listed = await fetch(`${url}/sessions`, { headers: await signIn(url, ann) })
    assert.equal(((await listed.json()) as { sessions: unknown[] }).sessions.length, 1)
  },
)

test('a wallet has nothing of the operator API, also of its own sessions', options, async t => {
  const { url } = await openShop(t, chain)
  const ann = await chain.payer()
  const token = await signIn(url, ann)
  const made = { ...json({ agent: { name: 'helper' }, ...turn }, token), method: 'PUT' }
  const { sessionId } = (await (await paying(ann)(`${url}/session`, made)).json()) as { sessionId: string }
  for (const path of [
    'me',
    'agents',
    'sessions',
    'changes',
    'approvals',
    'system',
    'keys',
    'payments',
    `sessions/${sessionId}`,
    `sessions/${sessionId}/events`,
    `sessions/${sessionId}/follow`,
    `sessions/${sessionId}/export`,
    `sessions/${sessionId}/request?protocol=anthropic`,
  ]) {
    const answer = await fetch(`${url}/operator/${path}`, { headers: token })
    assert.equal(answer.status, 403, path)
    await answer.body?.cancel()
  }
  for (const path of ['sessions', `sessions/${sessionId}/commands`, `sessions/${sessionId}/fork`])
    assert.equal((await post(url, `/operator/${path}`, { do: 'cancel' }, token)).status, 403, path)
})

test('a text that was changed, is old, or was signed by another wallet signs nobody in', options, async t => {
  const { url } = await openShop(t, chain)
  const [ann, eve] = [await chain.payer(), await chain.payer()]
  const asked = await fetch(`${url}/v1/wallet/challenge?address=${ann.address}`)
  const { message } = (await asked.json()) as { message: string }
  const later = message.replace(/Expires: \d+/, `Expires: ${Date.now() + 10 ** 9}`)
  for (const [text, signer] of [
    [message, eve],
    [later, ann],
    [message.replace(ann.address.toLowerCase(), eve.address.toLowerCase()), eve],
    ['Let me in', ann],
  ] as const) {
    const signature = await signer.signMessage({ message: text })
    assert.equal((await post(url, '/v1/wallet/sign-in', { message: text, signature })).status, 401)
  }
  const forged = { authorization: 'Bearer twp_AAAA' }
  assert.equal((await fetch(`${url}/v1/usage`, { headers: forged })).status, 401)
})

test('a client that leaves does not lose what it paid for', options, async t => {
  const { url, asked } = await openShop(t, chain, {
    script: [{ text: 'A long answer.', delayMs: 300, usage: { input: 1, output: 1 } } as never],
  })
  const body = { model: 'helper', input: 'Hi' }
  const payment = paidWith(
    await exactPayment(await chain.payer(), await offersOf(url, '/v1/responses', body)),
  )
  const leaving = new AbortController()
  const left = fetch(`${url}/v1/responses`, { ...json(body, payment), signal: leaving.signal }).catch(
    () => undefined,
  )
  await pause(100)
  leaving.abort()
  await left
  const answer = await post(url, '/v1/responses', body, payment)
  assert.equal(answer.status, 200, await answer.clone().text())
  assert.match(await answer.text(), /A long answer\./)
  assert.equal(asked(), 1)
})

test('holders of a key pay nothing, unless they are to', options, async t => {
  const { url } = await openShop(t, chain)
  const body = { model: 'helper', input: 'Hi' }
  assert.equal((await post(url, '/v1/responses', body, asOperator)).status, 200)
  const strict = await openShop(t, chain, { payments: { keysPay: true } })
  assert.equal((await post(strict.url, '/v1/responses', body, asOperator)).status, 402)
  assert.equal((await post(strict.url, '/v1/responses', { ...body, model: 'free' }, asOperator)).status, 200)
  const payment = encoded(
    await exactPayment(await chain.payer(), await offersOf(strict.url, '/v1/responses', body)),
  )
  const paid = await post(strict.url, '/v1/responses', body, { ...asOperator, 'payment-signature': payment })
  assert.equal(paid.status, 200, await paid.clone().text())
})
