// A server that takes payments on the local chain, with a scripted model that counts how often it is asked.
import type { TestContext } from 'node:test'
import { newKey } from '../../src/callers/keys.ts'
import { scripted, startServer, Turnwire, type TurnwireConfig } from '../../src/index.ts'
import type { ScriptStep } from '../../src/models/scripted/index.ts'
import type { Chain, Hex } from './chain.ts'
import { network } from './chain.ts'

export const shop: Hex = '0x00000000000000000000000000000000000000aa'
export const platform: Hex = '0x00000000000000000000000000000000000000bb'

export const operator = newKey('boss', true)

export type RigOptions = {
  /** One step for each request to the model; the last is repeated. */
  script?: readonly ScriptStep[]
  price?: NonNullable<TurnwireConfig['agents'][number]['price']>
  payments?: Partial<NonNullable<TurnwireConfig['payments']>>
  data?: string
  payTo?: Hex
  server?: TurnwireConfig['server']
}

export const fixedPrice = { request: '0.01' }
/** One smallest unit for a token read, four for one written. */
export const tokenPrice = { input: '1', output: '4', cap: '1' }

export async function openShop(t: TestContext, chain: Chain, options: RigOptions = {}) {
  const { key, account } = await chain.facilitator()
  let asked = 0
  const steps = options.script ?? [{ text: 'Hello.', usage: { input: 100, output: 50 } }]
  const turnwire = await Turnwire.open({
    agents: [
      {
        name: 'helper',
        model: scripted(() => {
          asked += 1
          return steps[Math.min(asked, steps.length) - 1] ?? { text: 'Hello.' }
        }),
        price: options.price ?? fixedPrice,
        serveMcp: { ask: true },
      },
      { name: 'free', model: scripted([{ text: 'Free.' }]), serveMcp: { ask: true } },
    ],
    payments: {
      network,
      asset: chain.asset,
      payTo: options.payTo ?? shop,
      facilitator: { key, rpcUrl: chain.rpcUrl },
      settleMs: 10_000,
      reconcileMs: 200,
      ...options.payments,
    },
    server: { log: 'error', keys: [operator.entry], ...options.server },
    data: options.data ?? 'memory',
  })
  const server = await startServer(turnwire, { port: 0 })
  t.after(async () => {
    await server.stop()
    await turnwire.close()
  })
  return { url: server.url, account, key, turnwire, stop: () => server.stop(), asked: () => asked }
}

export const asOperator = { authorization: `Bearer ${operator.key}` }

export const post = (url: string, path: string, body: unknown, headers: Record<string, string> = {}) =>
  fetch(`${url}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  })

export const decoded = (header: string | null): Record<string, unknown> =>
  JSON.parse(Buffer.from(header ?? '', 'base64').toString()) as Record<string, unknown>
