// What all wallets may have together: they have no account, and a new one costs nothing. Each is told 429 in the form of the
// wire that it uses; holders of a key notice nothing.
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { TurnwireConfig } from '../../src/index.ts'
import { until } from '../cluster/rig.ts'
import { skipped, startChain } from './chain.ts'
import { asOperator, openShop, post, shop, tokenPrice } from './rig.ts'
import { offersOf, paidWith } from './sign.ts'
import { uptoPayment } from './sign-upto.ts'

const chain = await startChain()
const options = { skip: skipped, timeout: 120_000 }
const path = '/v1/responses'
const body = { model: 'helper', input: 'Hi', store: false, stream: true }

type Limits = NonNullable<NonNullable<TurnwireConfig['server']>['allWallets']>

const openLimited = (t: TestContext, allWallets: Limits, delayMs = 0) =>
  openShop(t, chain, {
    price: tokenPrice,
    script: [{ text: 'Hello there.', chunk: 1, delayMs, usage: { input: 100, output: 50 } }],
    payments: { keysPay: false },
    server: { allWallets },
  })

/** Another wallet each time. */
const paid = async (url: string) =>
  paidWith(await uptoPayment(await chain.payer(), await offersOf(url, path, body)))

async function refused(answer: Response, words: RegExp): Promise<void> {
  const text = await answer.text()
  assert.equal(answer.status, 429, text)
  assert.match(answer.headers.get('retry-after') ?? '', /^[1-9]\d*$/)
  const { error } = JSON.parse(text) as { error: { message: string; code: string } }
  assert.match(error.message, words)
  assert.equal(error.code, 'rate_limit_exceeded')
}

const withKey = async (url: string): Promise<void> => {
  const answer = await post(url, path, { ...body, stream: false }, asOperator)
  assert.equal(answer.status, 200, await answer.text())
}

test(
  'requests: callers without a key share one allowance, whoever they say that they are',
  options,
  async t => {
    const { url } = await openLimited(t, { requests: 1, burst: 6 })
    const payment = await paid(url)
    for (let sent = 1; sent < 6; sent += 1) assert.equal((await post(url, path, body)).status, 402)
    await refused(await post(url, path, body, payment), /Too many requests/)
    const plain = await post(url, '/v1/messages', {}, { 'anthropic-version': '2023-06-01' })
    assert.equal(plain.status, 429)
    assert.match(await plain.text(), /"rate_limit_error"/)
    await withKey(url)
  },
)

test(
  'turns: one more than all wallets may have waits its time, and its payment stays good',
  options,
  async t => {
    const { url, asked } = await openLimited(t, { turns: 2 }, 300)
    const before = await chain.balance(shop)
    const payments = [await paid(url), await paid(url), await paid(url)] as const
    const running = [await post(url, path, body, payments[0]), await post(url, path, body, payments[1])]
    assert.deepEqual(
      running.map(({ status }) => status),
      [200, 200],
    )
    await refused(await post(url, path, body, payments[2]), /2 turns of all wallets are at work/)
    assert.equal(asked(), 2)
    await withKey(url)
    for (const answer of running) assert.match(await answer.text(), /response\.completed/)
    let late = await post(url, path, body, payments[2])
    for (let tries = 0; late.status === 429 && tries < 100; tries += 1) {
      await new Promise(resolve => setTimeout(resolve, 100))
      late = await post(url, path, body, payments[2])
    }
    assert.match(await late.text(), /response\.completed/)
    await until(async () => (await chain.balance(shop)) - before === 900n)
  },
)
