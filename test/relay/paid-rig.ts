// A relay that takes payments on a real chain, and clients that pay: x402's own.
import type { TestContext } from 'node:test'
import { UptoEvmScheme } from '@x402/evm'
import { wrapFetchWithPayment, x402Client } from '@x402/fetch'
import type { PrivateKeyAccount } from 'viem/accounts'
import type { PaymentsConfig } from '../../src/payments/index.ts'
import { type Chain, network } from '../payments/chain.ts'
import { operator, shop } from '../payments/rig.ts'
import { relay } from './rig.ts'

/** The setting `payments`, with a facilitator of its own. */
export async function paymentsOn(chain: Chain, more: Partial<PaymentsConfig> = {}) {
  const { key, account } = await chain.facilitator()
  const payments: PaymentsConfig = {
    network,
    asset: chain.asset,
    payTo: shop,
    facilitator: { key, rpcUrl: chain.rpcUrl },
    settleMs: 20_000,
    reconcileMs: 200,
    ...more,
  }
  return { payments, account }
}

export async function paidRelay(
  t: TestContext,
  chain: Chain,
  settings: Parameters<typeof relay>[1] = {},
  more: Partial<PaymentsConfig> = {},
  data = 'memory',
) {
  const { payments, account } = await paymentsOn(chain, more)
  const server = { log: 'silent' as const, keys: [operator.entry] }
  return { ...(await relay(t, settings, { payments, server, data })), account }
}

export function payingFetch(payer: PrivateKeyAccount): typeof fetch {
  const client = new x402Client().setSpendControls(false).register(network, new UptoEvmScheme(payer))
  return wrapFetchWithPayment(fetch, client)
}

export const request = (body: object): RequestInit => ({
  method: 'POST',
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify(body),
})
