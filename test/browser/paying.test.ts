// `payingFetch` in a real Chromium, on a page of another origin: the wallet is an object in the page whose key is elsewhere, as
// that of an extension is, and the chain is real.
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import type { PrivateKeyAccount } from 'viem/accounts'
import { createServer } from 'vite'
import { folder, root } from '../cli/rig.ts'
import { network, skipped, startChain } from '../payments/chain.ts'
import { openShop, shop } from '../payments/rig.ts'
import { launch, open, skip } from './console-rig.ts'

type Signed = Parameters<PrivateKeyAccount['signTypedData']>[0]

describe('a page that pays', { skip: skip || skipped }, async () => {
  const chain = await startChain()

  test('buys two answers through the openai SDK, one of them streamed, and not above its limit', async t => {
    const vite = await createServer({
      configFile: false,
      root: join(root, 'test/browser/paying-page'),
      cacheDir: join(folder(t), 'cache'),
      server: { port: 0, host: '127.0.0.1', hmr: false, ws: false, fs: { allow: [root] } },
      logLevel: 'error',
    })
    await vite.listen()
    t.after(() => vite.close())
    const address = vite.resolvedUrls?.local[0] ?? ''
    const { url, asked } = await openShop(t, chain, { server: { origins: [new URL(address).origin] } })
    const browser = await launch()
    t.after(() => browser.close())
    const { page } = await open(t, browser, address)
    const payer = await chain.payer(1_000_000n)
    let signatures = 0
    await page.exposeFunction('signWithWallet', (json: string) => {
      signatures += 1
      // What x402 signs; viem takes its numbers as texts too.
      return payer.signTypedData(JSON.parse(json) as Signed)
    })
    const before = await chain.balance(shop)
    const settings = { url, address: payer.address, network, asset: chain.token, most: '10000' }
    const buy = (most: string) =>
      page.evaluate(given => window.buy(given), { ...settings, most }) as ReturnType<Window['buy']>
    await page.waitForFunction(() => 'buy' in window)
    const { text, streamed, spent, payments } = await buy('10000')
    assert.deepEqual([text, streamed, spent], ['Hello.', 'Hello.', '20000'])
    assert.equal(payments.length, 2)
    for (const { transaction } of payments) assert.match(transaction ?? '', /^0x[0-9a-f]{64}$/)
    assert.equal((await chain.balance(shop)) - before, 20_000n)
    assert.equal(await chain.balance(payer.address), 980_000n)
    assert.equal(signatures, 2)
    await assert.rejects(buy('9999'), /Nothing was paid/)
    assert.deepEqual([signatures, asked()], [2, 2])
  })
})
