// MCP with payments: a call that is not paid for is told what it costs, one that is has its receipt in its result. The official
// client pays by hand; our own pays by itself, within what its owner allows.
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { type PayingFetchOptions, payingFetch } from '../../src/client/payments.ts'
import { joinText } from '../../src/language/content.ts'
import { contextFor } from '../../src/testing/contracts/tool.ts'
import { mcpServer } from '../../src/tools/mcp/index.ts'
import { cites } from '../requirements/manifest.ts'
import { network, skipped, startChain } from './chain.ts'
import { asOperator, openShop, post, shop, tokenPrice } from './rig.ts'
import { exactPayment, type Offer } from './sign.ts'

const chain = await startChain()
const options = { skip: skipped, timeout: 120_000 }

type Required = { x402Version: number; error: string; resource: { url: string }; accepts: Offer[] }
type Result = {
  isError?: boolean
  structuredContent?: unknown
  content: { type: string; text?: string }[]
  _meta?: Record<string, unknown>
}

type Revision = '2025-11-25' | '2026-07-28'

async function connect(
  t: TestContext,
  url: string,
  revision: Revision,
  headers: Record<string, string> = {},
): Promise<Client> {
  const client = new Client(
    { name: 'test', version: '1' },
    { versionNegotiation: { mode: revision === '2025-11-25' ? 'legacy' : { pin: revision } } },
  )
  await client.connect(
    new StreamableHTTPClientTransport(new URL(`${url}/mcp/helper`), { requestInit: { headers } }),
  )
  t.after(() => client.close())
  return client
}

const ask = async (client: Client, payment?: object, message = 'Hi'): Promise<Result> =>
  (await client.callTool({
    name: 'ask_helper',
    arguments: { message },
    ...(payment && { _meta: { 'x402/payment': payment } }),
  })) as Result

for (const [who, revision, keysPay] of [
  ['a wallet without a key', '2026-07-28', false],
  ['a key that pays', '2026-07-28', true],
  ['a key that pays', '2025-11-25', true],
] as const)
  test(
    cites('X402-WIRE-03', `${who} is told the price, pays in _meta and gets a receipt (${revision})`),
    options,
    async t => {
      const { url, asked } = await openShop(t, chain, { payments: { keysPay } })
      const client = await connect(t, url, revision, keysPay ? asOperator : {})
      const refused = await ask(client)
      assert.equal(refused.isError, true)
      const required = refused.structuredContent as Required
      assert.deepEqual(JSON.parse(refused.content[0]?.text ?? ''), required)
      assert.equal(required.x402Version, 2)
      assert.equal(required.resource.url, `${url}/mcp/helper`)
      assert.equal(asked(), 0)
      const before = await chain.balance(shop)
      const payment = await exactPayment(await chain.payer(), required)
      const paid = await ask(client, payment)
      assert.equal(paid.isError, undefined, JSON.stringify(paid))
      assert.match(JSON.stringify(paid.content), /Hello\./)
      const receipt = paid._meta?.['x402/payment-response'] as { success: boolean; transaction: string }
      assert.equal(receipt.success, true)
      assert.match(receipt.transaction, /^0x/)
      assert.equal((await chain.balance(shop)) - before, 10_000n)
      // The same call with the same payment: the same answer, and no second charge. Another call is refused.
      assert.match(JSON.stringify((await ask(client, payment)).content), /Hello\./)
      const other = await ask(client, payment, 'Something else')
      assert.equal(other.isError, true)
      assert.equal(asked(), 1)
      assert.equal((await chain.balance(shop)) - before, 10_000n)
    },
  )

test(
  cites('X402-WIRE-03', 'a payment that cannot be read, or is signed for less, buys nothing'),
  options,
  async t => {
    const { url, asked } = await openShop(t, chain)
    const client = await connect(t, url, '2026-07-28')
    const required = (await ask(client)).structuredContent as Required
    await assert.rejects(ask(client, { x402Version: 2 }), /payment cannot be read/)
    const cheap = await exactPayment(await chain.payer(), required, { value: '1' })
    const refused = await ask(client, cheap)
    assert.equal(refused.isError, true)
    assert.notEqual((refused.structuredContent as Required).error, 'Payment required')
    assert.equal(asked(), 0)
  },
)

test(
  'a wallet without a key has no session of the older revision, and nothing but calls',
  options,
  async t => {
    const { url } = await openShop(t, chain)
    await assert.rejects(connect(t, url, '2025-11-25'))
    const list = { jsonrpc: '2.0', id: 1, method: 'tools/list' }
    assert.equal((await post(url, '/mcp/helper', list)).status, 401)
    // Of an agent without a price it sees nothing, in no revision.
    for (const path of ['/mcp/free', '/mcp', '/mcp/nobody'])
      assert.equal((await post(url, path, list, { 'mcp-protocol-version': '2026-07-28' })).status, 401)
    assert.equal((await fetch(`${url}/mcp/helper`)).status, 401)
  },
)

const allowed = async (over: Partial<PayingFetchOptions> = {}): Promise<PayingFetchOptions> => ({
  wallet: await chain.payer(),
  networks: [network],
  assets: [chain.token],
  maxPerRequest: '1000000',
  maxTotal: '10000000',
  ...over,
})

for (const [kind, price] of [
  ['fixed', { request: '0.01' }],
  ['metered', tokenPrice],
] as const)
  test(cites('X402-WIRE-03', `our client pays a ${kind} price by itself`), options, async t => {
    const { url, asked } = await openShop(t, chain, { price })
    const paid: (string | undefined)[] = []
    const pay = payingFetch(await allowed({ onPayment: ({ charged }) => void paid.push(charged) }))
    const server = await mcpServer({ name: 'shop', url: `${url}/mcp/helper` }, { pay })
    t.after(() => server.close())
    const output = await server.tools[0]?.run({ message: 'Hi' }, contextFor())
    assert.match(joinText(output?.parts ?? []), /Hello\./)
    assert.equal(asked(), 1)
    assert.deepEqual(paid, [kind === 'fixed' ? '10000' : '300'])
  })

test('our client pays nothing beyond its limits, and nothing if nobody pays', options, async t => {
  const { url, asked } = await openShop(t, chain)
  const pay = payingFetch(await allowed({ maxPerRequest: '9999' }))
  const spec = { name: 'shop', url: `${url}/mcp/helper` }
  const server = await mcpServer(spec, { pay })
  t.after(() => server.close())
  await assert.rejects(
    async () => server.tools[0]?.run({ message: 'Hi' }, contextFor()),
    /Nothing was paid: 10000 is more/,
  )
  assert.equal(pay.spent, '0')
  const poor = await mcpServer(spec)
  t.after(() => poor.close())
  const output = await poor.tools[0]?.run({ message: 'Hi' }, contextFor())
  assert.equal(output?.failed, true)
  assert.equal(asked(), 0)
})
