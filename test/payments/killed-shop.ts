// Server processes that take payments and get killed, and the payments that are sent to them.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { TestContext } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { type PaymentCrashPoint, paymentCrashPoints } from '../../src/payments/index.ts'
import { newFolder, serveScript } from '../crash/killed-server.ts'
import { type Chain, network } from './chain.ts'
import { asOperator, fixedPrice, operator, post, shop, tokenPrice } from './rig.ts'
import { exactPayment, offersOf, paidWith } from './sign.ts'
import { uptoPayment } from './sign-upto.ts'

const script = fileURLToPath(new URL('./shop-server.ts', import.meta.url))
export const path = '/v1/responses'

type Kind = {
  name: string
  price: object
  stream: boolean
  costs: bigint
  sign: typeof exactPayment
  points: readonly PaymentCrashPoint[]
}
const all = paymentCrashPoints
export const kinds: Kind[] = [
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

/** `database`: they are nodes on it. Otherwise each follows the last on the same folder. */
export async function shopProcesses(t: TestContext, on: Chain, price: object, database?: object) {
  const folder = newFolder(t)
  const { key } = await on.facilitator()
  const payments = {
    ...{ network, asset: on.asset, payTo: shop, settleMs: 10_000, reconcileMs: 100 },
    facilitator: { key, rpcUrl: on.rpcUrl },
  }
  process.env['SHOP'] = JSON.stringify({ payments, price, database, keys: [operator.entry] })
  return { folder, serve: (crashAt?: string) => serveScript(t, script, folder, crashAt) }
}

export async function payments(url: string): Promise<{ state: string; open: boolean }[]> {
  const answer = await fetch(`${url}/operator/payments`, { headers: asOperator })
  return ((await answer.json()) as { payments: { state: string; open: boolean }[] }).payments
}

/** Once the server has nothing left to do about its payments. */
export async function settled(url: string): Promise<{ state: string }[]> {
  for (let tries = 0; tries < 200; tries += 1) {
    const all = await payments(url)
    if (all.every(({ open }) => !open)) return all
    await pause(50)
  }
  return payments(url)
}

/**
 * Pays a server that is to be killed while it handles the payment, and waits for its end. Gives the payment: it says nothing of
 * the address, since the next server has another.
 */
export async function payUntilKilled(
  on: Chain,
  { url, child }: Awaited<ReturnType<typeof serveScript>>,
  sign: Kind['sign'],
  body: object,
): Promise<Record<string, string>> {
  const gone = once(child, 'exit')
  const { resource: _, ...unbound } = await sign(await on.payer(), await offersOf(url, path, body))
  const payment = paidWith(unbound)
  await post(url, path, body, payment)
    .then(answer => answer.text())
    .catch(() => '')
  const [, signal] = (await gone) as [number | null, string | null]
  assert.equal(signal, 'SIGKILL', 'the point was reached')
  return payment
}
