// `payingFetch`: the `openai` SDK as it is pays for each turn of a tool conversation, within what its owner allows.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import OpenAI from 'openai'
import { type PayingFetchOptions, PaymentRefused, payingFetch } from '../../src/client/payments.ts'
import { cites } from '../requirements/manifest.ts'
import { network, skipped, startChain } from './chain.ts'
import { openShop, shop, tokenPrice } from './rig.ts'

const chain = await startChain()
const options = { skip: skipped }

const allowed = async (over: Partial<PayingFetchOptions> = {}): Promise<PayingFetchOptions> => ({
  wallet: await chain.payer(),
  networks: [network],
  assets: [chain.token],
  maxPerRequest: '1000000',
  maxTotal: '10000000',
  ...over,
})

const add = {
  type: 'function' as const,
  name: 'add',
  description: 'Adds.',
  parameters: { type: 'object', properties: { a: { type: 'number' }, b: { type: 'number' } } },
  strict: false,
}

test('the openai SDK pays for each turn of a tool conversation with its own payment', options, async t => {
  const { url, asked } = await openShop(t, chain, {
    script: [
      { calls: [{ name: 'add', input: { a: 2, b: 2 } }], usage: { input: 30, output: 9 } },
      { text: 'Four.', usage: { input: 50, output: 2 } },
    ],
    price: { request: '0.01' },
  })
  const paid: string[] = []
  const fetch = payingFetch(
    await allowed({ onPayment: ({ transaction = '' }) => void paid.push(transaction) }),
  )
  const openai = new OpenAI({ baseURL: `${url}/v1`, apiKey: 'none', fetch })
  const before = await chain.balance(shop)
  const first = await openai.responses.create({ model: 'helper', input: '2+2?', tools: [add], store: false })
  const call = first.output.find(item => item.type === 'function_call')
  assert.ok(call)
  const last = await openai.responses.create({
    model: 'helper',
    store: false,
    tools: [add],
    input: [
      { role: 'user', content: '2+2?' },
      { type: 'function_call', call_id: call.call_id, name: call.name, arguments: call.arguments },
      { type: 'function_call_output', call_id: call.call_id, output: '4' },
    ],
  })
  assert.equal(last.output_text, 'Four.')
  assert.equal(asked(), 2)
  assert.equal(new Set(paid).size, 2)
  assert.equal((await chain.balance(shop)) - before, 20_000n)
  assert.equal(fetch.spent, '20000')
})

test('the openai SDK streams a metered answer', options, async t => {
  const { url } = await openShop(t, chain, { price: tokenPrice })
  const before = await chain.balance(shop)
  const fetch = payingFetch(await allowed())
  const openai = new OpenAI({ baseURL: `${url}/v1`, apiKey: 'none', fetch })
  const stream = await openai.chat.completions.create({
    model: 'helper',
    stream: true,
    messages: [{ role: 'user', content: 'Hi' }],
  })
  let text = ''
  for await (const chunk of stream) text += chunk.choices[0]?.delta.content ?? ''
  assert.equal(text, 'Hello.')
  // It is settled after the stream has ended.
  while ((await chain.balance(shop)) - before < 300n) await pause(20)
})

test(cites('X402-CLIENT-01', 'nothing is paid beyond what is allowed'), options, async t => {
  const { url, asked } = await openShop(t, chain)
  const ask = async (over: Partial<PayingFetchOptions>): Promise<Response> =>
    payingFetch(await allowed(over))(`${url}/v1/responses`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'helper', input: 'Hi' }),
    })
  const before = await chain.balance(shop)
  for (const [over, why] of [
    [{ maxPerRequest: '9999' }, /more than the 9999 for one request/],
    [{ maxTotal: '9999' }, /more than is left/],
    [{ networks: ['eip155:8453'] }, /network .* is not allowed/],
    [{ assets: ['0x00000000000000000000000000000000000000cc'] }, /asset .* is not allowed/],
    [{ recipients: ['0x00000000000000000000000000000000000000cc'] }, /recipient .* is not allowed/],
    [{ origins: ['https://other.example'] }, /server .* is not allowed/],
    [{ approve: () => false }, /not approved/],
  ] as const)
    await assert.rejects(ask(over), error => error instanceof PaymentRefused && why.test(error.message))
  assert.equal(asked(), 0)
  assert.equal(await chain.balance(shop), before)
  assert.equal((await ask({ recipients: [shop], origins: [url] })).status, 200)
})

test('what is allowed in all is not exceeded by requests at the same time', options, async t => {
  const { url } = await openShop(t, chain)
  const fetch = payingFetch(await allowed({ maxTotal: '30000' }))
  const before = await chain.balance(shop)
  const answers = await Promise.allSettled(
    Array.from({ length: 8 }, (_, index) =>
      fetch(`${url}/v1/responses`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ model: 'helper', input: `Hi ${index}` }),
      }),
    ),
  )
  assert.equal(answers.filter(({ status }) => status === 'fulfilled').length, 3)
  assert.equal((await chain.balance(shop)) - before, 30_000n)
})

test('limits in another unit than the smallest, or left out, are refused before anything is asked', () => {
  const wallet = { address: '0x1', signTypedData: () => Promise.resolve('0x') }
  const whole = { wallet, networks: [network], assets: ['0x1'], maxPerRequest: '1', maxTotal: '1' }
  const made = (over: object) => payingFetch({ ...whole, ...over } as unknown as PayingFetchOptions) // as JavaScript can
  assert.ok(made({}))
  for (const [over, words] of [
    [{ maxPerRequest: '0.5' }, /maxPerRequest must be a whole number as text, in the smallest unit/],
    [{ maxPerRequest: 500_000 }, /maxPerRequest must be/],
    [{ maxTotal: undefined }, /maxTotal must be/],
    [{ maxTotal: '' }, /maxTotal must be/],
    [{ assets: undefined }, /assets must list/],
  ] as const)
    assert.throws(() => made(over), words)
})
