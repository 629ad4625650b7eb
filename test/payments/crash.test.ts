// kill -9 between any two instructions of a payment: no charge without an answer, no answer twice, no second charge.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type TestContext, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { type PaymentCrashPoint, paymentCrashPoints } from '../../src/payments/index.ts'
import { killed, newFolder, serveScript } from '../crash/killed-server.ts'
import { cites } from '../requirements/manifest.ts'
import { type Chain, network, skipped, startChain } from './chain.ts'
import { asOperator, fixedPrice, operator, post, shop, tokenPrice } from './rig.ts'
import { exactPayment, offersOf, paidWith } from './sign.ts'
import { uptoPayment } from './sign-upto.ts'

const chain = await startChain()
const script = fileURLToPath(new URL('./shop-server.ts', import.meta.url))
const path = '/v1/responses'

type Kind = {
  name: string
  price: object
  stream: boolean
  costs: bigint
  sign: typeof exactPayment
  points: readonly PaymentCrashPoint[]
}
const all = paymentCrashPoints
const kinds: Kind[] = [
  { name: 'exact', price: fixedPrice, stream: false, costs: 10_000n, sign: exactPayment, points: all },
  // A stream is settled before it begins: the points where that differs.
  {
    ...{ name: 'exact, streamed', price: fixedPrice, stream: true, costs: 10_000n, sign: exactPayment },
    points: ['payment-settling', 'payment-moved', 'payment-answered'],
  },
  {
    ...{ name: 'metered, streamed', price: tokenPrice, stream: true, costs: 300n, points: all },
    // The payload of one scheme looks unlike that of the other; the tests send it as it is.
    sign: uptoPayment as unknown as typeof exactPayment,
  },
]

async function setUp(t: TestContext, on: Chain, price: object) {
  const folder = newFolder(t)
  const { key } = await on.facilitator()
  const payments = {
    ...{ network, asset: on.asset, payTo: shop, settleMs: 10_000, reconcileMs: 100 },
    facilitator: { key, rpcUrl: on.rpcUrl },
  }
  process.env['SHOP'] = JSON.stringify({ payments, price, keys: [operator.entry] })
  return { serve: (crashAt?: string) => serveScript(t, script, folder, crashAt) }
}

async function payments(url: string): Promise<{ state: string; open: boolean }[]> {
  const answer = await fetch(`${url}/operator/payments`, { headers: asOperator })
  return ((await answer.json()) as { payments: { state: string; open: boolean }[] }).payments
}

/** Once the server has nothing left to do about its payments. */
async function settled(url: string): Promise<{ state: string }[]> {
  for (let tries = 0; tries < 200; tries += 1) {
    const all = await payments(url)
    if (all.every(({ open }) => !open)) return all
    await pause(50)
  }
  return payments(url)
}

/** Points before the work is begun: nothing is known of the payment afterwards, or nothing was done for it. */
const beforeWork: readonly PaymentCrashPoint[] = ['payment-verified', 'payment-reserved']

for (const { name, price, stream, costs, sign, points } of kinds)
  for (const point of points)
    test(cites('X402-ONCE-03', `${name}: killed at ${point}, the payment buys one answer`), {
      skip: skipped,
    }, async t => {
      const { serve } = await setUp(t, chain, price)
      const body = { model: 'helper', input: 'Hi', store: false, ...(stream && { stream }) }
      const before = await chain.balance(shop)
      const first = await serve(point)
      const gone = once(first.child, 'exit')
      const payment = await sign(await chain.payer(), await offersOf(first.url, path, body))
      // The address of the next server is another; a payer need not say what it pays for.
      const { resource: _, ...unbound } = payment
      await post(first.url, path, body, paidWith(unbound))
        .then(answer => answer.text())
        .catch(() => '')
      const [, signal] = (await gone) as [number | null, string | null]
      assert.equal(signal, 'SIGKILL', 'the point was reached')

      const second = await serve()
      // Nobody asks again yet: what was begun is finished, what was not is not charged.
      if (!beforeWork.includes(point)) {
        const [kept] = await settled(second.url)
        assert.equal(kept?.state, 'settled')
        assert.equal((await chain.balance(shop)) - before, costs)
      } else assert.equal(await chain.balance(shop), before)
      const answer = await post(second.url, path, body, paidWith(unbound))
      assert.equal(answer.status, 200, await answer.clone().text())
      assert.match(await answer.text(), /Hello\./)
      await settled(second.url)
      assert.equal((await chain.balance(shop)) - before, costs)
      assert.equal((await payments(second.url)).length, 1)
      await killed(second.child)
    })
