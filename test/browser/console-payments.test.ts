// The page of payments in a real Chromium: a real payment on a local chain, seen, counted and paid back.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { ExactEvmScheme } from '@x402/evm'
import { wrapFetchWithPayment, x402Client } from '@x402/fetch'
import type { Browser } from 'playwright-core'
import { OperatorClient } from '../../src/client/index.ts'
import { until } from '../cluster/rig.ts'
import { network, skipped, startChain } from '../payments/chain.ts'
import { openShop, operator } from '../payments/rig.ts'
import { launch, open, skip, violationsInThemes } from './console-rig.ts'

describe('payments', { skip: skip || skipped }, async () => {
  const chain = await startChain()
  let browser: Browser
  before(async () => {
    browser = await launch()
  })
  after(() => browser?.close())

  test('a payment is listed with its state, leads to its session, and is paid back', async t => {
    // Only the wallet that was paid can pay back.
    const { key, account } = await chain.facilitator()
    const { url } = await openShop(t, chain, {
      payTo: account.address,
      payments: { facilitator: { key, rpcUrl: chain.rpcUrl } },
    })
    const client = new x402Client()
      .setSpendControls(false)
      .register(network, new ExactEvmScheme(await chain.payer()))
    const { page, problems } = await open(t, browser, `${url}/payments`)
    await page.getByLabel('API key').fill(operator.key)
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByText('Nobody has paid yet').waitFor()
    const answer = await wrapFetchWithPayment(fetch, client)(`${url}/v1/responses`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'helper', input: 'Hi' }),
    })
    assert.equal(answer.status, 200, await answer.clone().text())
    await stateIs(url, 'settled')
    await page.reload()
    await page.getByText('0.01 Test Dollar settled in 1 payment').waitFor()
    assert.deepEqual(await violationsInThemes(page), [])
    await page.getByRole('link', { name: 'helper' }).click()
    await page.getByText('Hello.').first().waitFor()
    await page.goBack()
    await page.getByRole('heading', { name: 'Payments' }).waitFor()
    page.on('dialog', dialog => void dialog.accept())
    await page.getByRole('button', { name: /^Pay back/ }).click()
    await page.locator('.state', { hasText: 'refunded' }).or(page.getByRole('alert')).first().waitFor()
    assert.deepEqual(await page.getByRole('alert').allInnerTexts(), [], 'it was paid back')
    await stateIs(url, 'refunded')
    assert.deepEqual(problems, [])
  })
})

/** Waits until the server says so of its only payment. What it says instead is in the failure. */
async function stateIs(baseUrl: string, state: string): Promise<void> {
  const client = new OperatorClient({ baseUrl, apiKey: operator.key, retries: 0 })
  let last = ''
  await until(async () => {
    const { payments } = await client.payments()
    last = payments.map(({ state, reason = '' }) => `${state} ${reason}`.trim()).join(', ')
    return last === state
  }).catch(() => assert.fail(`The payment is "${last}", not "${state}".`))
}
