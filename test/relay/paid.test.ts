// Relayed requests that are paid for on a real chain: the agent's own wallet is paid, for answers and nothing else.
import assert from 'node:assert/strict'
import test from 'node:test'
import type { PrivateKeyAccount } from 'viem/accounts'
import type { JsonObject } from '../../src/lib/json/index.ts'
import { type Hex, skipped, startChain } from '../payments/chain.ts'
import { operator, platform, post } from '../payments/rig.ts'
import { encoded, offersOf, paidWith, sixerrPayment } from '../payments/sign.ts'
import { uptoPayment } from '../payments/sign-upto.ts'
import { cites } from '../requirements/manifest.ts'
import { comeBack, serve } from './counting-machine.ts'
import { paidRelay, payingFetch, request } from './paid-rig.ts'
import { ask, folder, machine, newWallet, RawMachine, tokenOf, until } from './rig.ts'

const chain = await startChain()
const options = { skip: skipped, timeout: 240_000 }

const tools = [{ type: 'function', function: { name: 'add', parameters: { type: 'object' } } }]

test(
  cites(
    'SIX-HTTP-06',
    'SIX-PAY-02',
    'a wallet pays, calls its tool, pays again and gets the answer; the agent’s wallet is paid for both',
  ),
  options,
  async t => {
    const { url } = await paidRelay(t, chain)
    const script = [
      { calls: [{ name: 'add', input: { a: 2, b: 2 } }], usage: { input: 100, output: 50 } },
      { text: 'It is 4.', usage: { input: 200, output: 10 } },
    ]
    const { agentId, wallet } = await machine(t, url, script, { prices: ['1', '4'] })
    const pay = payingFetch(await chain.payer())
    const question = { type: 'message', role: 'user', content: '2+2?' }
    const first = await pay(
      `${url}/v1/responses`,
      request({ model: 'm', routing: 'cheapest', input: [question], tools }),
    )
    assert.equal(first.status, 200, await first.clone().text())
    const [call] = ((await first.json()) as { output: JsonObject[] }).output
    const { call_id, name, arguments: given } = call!
    assert.equal(call?.['type'], 'function_call')
    assert.equal(await chain.balance(agentId as Hex), 300n)
    const input = [
      question,
      { type: 'function_call', call_id, name, arguments: given },
      { type: 'function_call_output', call_id, output: '4' },
    ]
    const body = { model: 'm', agent_id: agentId, input, tools, stream: true }
    const second = await pay(`${url}/v1/responses`, request(body))
    assert.match(await second.text(), /It is 4\./)
    await until(async () => (await chain.balance(agentId as Hex)) === 540n, 'the second payment')

    const headers = { authorization: `Bearer ${await tokenOf(url, wallet)}` }
    type Usage = { earnings: JsonObject; requests: JsonObject }
    const usage = async () => (await (await fetch(`${url}/v1/usage`, { headers })).json()) as Usage
    // The chain knows of the second payment a moment before the record does.
    await until(async () => (await usage()).earnings['amount'] === '540', 'both are on record')
    const { earnings, requests } = await usage()
    assert.deepEqual([earnings['payments'], requests['served']], [2, 2])
  },
)

test(
  cites(
    'SIX-PAY-01',
    'SIX-PAY-02',
    'Sixerr’s own form: the offer names the agent’s wallet and prices, and the platform gets its fee',
  ),
  options,
  async t => {
    const { key, account } = await chain.facilitator()
    const address = await chain.terminal(account.address, platform)
    const facilitator = { key, rpcUrl: chain.rpcUrl }
    const terminal = { address, feeBps: 1000 }
    const { url } = await paidRelay(t, chain, { maxCost: '5000' }, { facilitator, terminal })
    const usage = { input: 1000, output: 500 }
    const { agentId } = await machine(t, url, [{ text: 'Paid for.', usage }], { prices: ['1', '4'] })
    const payer = await chain.payer()
    const body = { model: 'm', agent_id: agentId, input: 'Hi' }
    const refused = await ask(url, body)
    assert.equal(refused.status, 402, refused.text)
    const offers = refused.body['accepts'] as JsonObject[]
    const offer = offers.find(({ scheme }) => scheme === 'permit2')
    assert.ok(offer, refused.text)
    assert.deepEqual(
      [
        offer['payTo'],
        offer['inputTokenPrice'],
        offer['outputTokenPrice'],
        offer['maxCost'],
        offer['platformFeeBps'],
      ],
      [agentId, '1', '4', '5000', 1000],
    )
    const before = await chain.balance(platform)
    const payment = encoded(await sixerrPayment(payer, offer as Record<string, string>))
    const answer = await post(url, '/v1/responses', body, { 'x-payment': payment })
    assert.equal(answer.status, 200, await answer.clone().text())
    assert.match(await answer.text(), /Paid for\./)
    await until(async () => (await chain.balance(agentId as Hex)) === 2700n, 'the agent is paid')
    assert.equal((await chain.balance(platform)) - before, 300n)
  },
)

test(
  cites(
    'SIX-WS-14',
    'SIX-PAY-03',
    'machines that die or fail cost the payer nothing, and answers are paid for once',
  ),
  options,
  async t => {
    const { url } = await paidRelay(t, chain, { queueMs: 20_000, attempts: 5 })
    const wallet = await newWallet()
    const prices = { inputTokenPrice: '1', outputTokenPrice: '1' }
    let died = 0
    const answered = new Map<string, number>()
    const start = async (requests: number): Promise<void> => {
      const raw = await RawMachine.attached(t, url, wallet, prices)
      let left = requests
      serve(raw, answered, () => (left-- > 0 ? 'answers' : 'dies'))
      comeBack(raw, async () => {
        if (left >= 0) return
        died += 1
        await start(Infinity)
      })
    }
    // Of machines with equally much to do the first gets a request: those that die come first.
    for (const requests of [3, 3, Infinity]) await start(requests)
    const payers: PrivateKeyAccount[] = []
    while (payers.length < 4) payers.push(await chain.payer())
    const answers = await Promise.all(
      Array.from({ length: 24 }, (_, number) =>
        payingFetch(payers[number % 4]!)(
          `${url}/v1/responses`,
          request({ model: 'm', routing: 'cheapest', input: `n${number}.` }),
        ),
      ),
    )
    const statuses = answers.map(({ status }) => status)
    assert.deepEqual(new Set(statuses), new Set([200]))
    assert.ok(died > 0)
    assert.deepEqual([answered.size, new Set(answered.values())], [24, new Set([1])])
    // Three tokens read and two written, at one each.
    await until(async () => (await chain.balance(wallet.address)) === 24n * 5n, 'every answer is paid for')

    const failing = await newWallet()
    const raw = await RawMachine.attached(t, url, failing, prices)
    const paying = payingFetch(payers[0]!)(
      `${url}/v1/responses`,
      request({ model: 'm', agent_id: failing.address, input: 'a' }),
    )
    const { id } = await raw.frame('request')
    raw.send({ type: 'error', id, code: 'plugin_error', message: 'no' })
    assert.equal((await paying).status, 502)
    assert.equal(await chain.balance(failing.address), 0n)
  },
)

test(
  cites(
    'SIX-PAY-04',
    'where payments are taken, a token alone pays for nothing, and agents without a price are for keys',
  ),
  options,
  async t => {
    const { url } = await paidRelay(t, chain)
    const { agentId } = await machine(t, url, [{ text: 'x' }], { prices: ['1', '1'] })
    const free = await machine(t, url, [{ text: 'free' }])
    const token = await tokenOf(url)
    assert.equal((await ask(url, { model: agentId, input: 'a' }, { token })).status, 402)
    assert.equal((await ask(url, { model: 'm', routing: 'cheapest', input: 'a' })).status, 402)
    assert.equal((await ask(url, { model: free.agentId, input: 'a' }, { token })).status, 401)
    const keyed = await ask(url, { model: 'm', agent_id: agentId, input: 'a' }, { token: operator.key })
    assert.equal(keyed.status, 200)
  },
)

test('an owner who raises the price after the offer was shown is not paid with it', options, async t => {
  const { url } = await paidRelay(t, chain)
  const wallet = await newWallet()
  const raw = await RawMachine.attached(t, url, wallet, { inputTokenPrice: '1', outputTokenPrice: '4' })
  const body = { model: 'm', agent_id: wallet.address, input: 'a' }
  const payer = await chain.payer()
  const old = paidWith(await uptoPayment(payer, await offersOf(url, '/v1/responses', body)))
  raw.send({ type: 'price_update', inputTokenPrice: '1', outputTokenPrice: '400000' })
  await raw.frame('price_update_ack')
  const refused = await post(url, '/v1/responses', body, old)
  assert.equal(refused.status, 402)
  assert.ok(!raw.frames.some(({ type }) => type === 'request'))
})

test(
  'a paid request whose machine has gone gets its first answer again, also from a server that never saw it',
  options,
  async t => {
    const data = folder(t)
    const open = (queueMs: number) => paidRelay(t, chain, { queueMs }, {}, data)
    const before = await open(20_000)
    const wallet = await newWallet()
    const prices = { inputTokenPrice: '1', outputTokenPrice: '1' }
    const raw = await RawMachine.attached(t, before.url, wallet, prices)
    const answered = new Map<string, number>()
    serve(raw, answered)
    const body = { model: 'm', agent_id: wallet.address, input: 'n1.' }
    const offers = await offersOf(before.url, '/v1/responses', body)
    // The next server has another address: the payment does not say what it is for.
    const { resource: _, ...unbound } = await uptoPayment(await chain.payer(), offers)
    const payment = paidWith(unbound)
    const send = async (
      url: string,
      asked: object,
      paid = payment,
    ): Promise<{ status: number; text: string }> => {
      const answer = await post(url, '/v1/responses', asked, paid)
      return { status: answer.status, text: await answer.text() }
    }
    assert.equal((await send(before.url, body)).status, 200)
    await until(async () => (await chain.balance(wallet.address)) === 5n, 'it is paid for')
    raw.end()
    await raw.closed
    assert.match((await send(before.url, body)).text, /answer 1\./)
    await before.stop()

    const { url } = await open(1)
    const unknown = await send(url, body, {})
    assert.equal(unknown.status, 404, unknown.text)
    const again = await send(url, body)
    assert.equal(again.status, 200, again.text)
    assert.match(again.text, /answer 1\./)
    const other = await send(url, { ...body, input: 'n2.' })
    assert.equal(other.status, 409, other.text)
    assert.deepEqual([...answered], [['1', 1]])
    assert.equal(await chain.balance(wallet.address), 5n)
  },
)

test(
  'a model name that nobody knows is for the only attached agent: 402, then its answer',
  options,
  async t => {
    const { url } = await paidRelay(t, chain)
    const named = { model: 'claude-sonnet-4-20250514', input: 'Hi' }
    const script = [{ text: 'Hello.', usage: { input: 100, output: 50 } }]
    const { agentId } = await machine(t, url, script, { prices: ['1', '4'] })
    assert.equal((await fetch(`${url}/v1/responses`, request(named))).status, 402)
    const answer = await payingFetch(await chain.payer())(`${url}/v1/responses`, request(named))
    assert.equal(answer.status, 200, await answer.clone().text())
    assert.match(await answer.text(), /Hello\./)
    assert.equal(await chain.balance(agentId as Hex), 300n)
    await machine(t, url, script, { prices: ['1', '4'] })
    const several = await fetch(`${url}/v1/responses`, request(named))
    assert.equal(several.status, 404, 'nobody can say which of two is meant')
    assert.match(await several.text(), /agent_id, or give routing/)
  },
)
