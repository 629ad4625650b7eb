// Payments for relayed requests where several nodes share a PostgreSQL: machines at other nodes, and nodes that are killed.
import assert from 'node:assert/strict'
import test from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { type Hex, skipped, startChain } from '../payments/chain.ts'
import { payments as listed, settled } from '../payments/killed-shop.ts'
import { operator, post } from '../payments/rig.ts'
import { offersOf, paidWith } from '../payments/sign.ts'
import { uptoPayment } from '../payments/sign-upto.ts'
import { cites } from '../requirements/manifest.ts'
import { serve } from './counting-machine.ts'
import { database, node, nodeProcess, providers, options as usual } from './nodes-rig.ts'
import { payingFetch, paymentsOn, request } from './paid-rig.ts'
import { machine, newWallet, RawMachine, until } from './rig.ts'

const options = { skip: usual.skip || skipped, timeout: 120_000 }

test('a payment is taken by one node for a machine at another', options, async t => {
  const chain = await startChain()
  const { payments } = await paymentsOn(chain)
  const config = { payments, server: { keys: [operator.entry] } }
  const data = await database(t)
  const [a, b] = [await node(t, data, {}, config), await node(t, data, {}, config)]
  const script = [{ text: 'It is 4.', usage: { input: 100, output: 50 } }]
  const { agentId } = await machine(t, a.url, script, { prices: ['1', '4'] })
  await until(async () => (await providers(b.url)).length === 1, 'the machine is known')
  const pay = payingFetch(await chain.payer())
  const body = { model: 'm', routing: 'cheapest', input: '2+2?' }
  const paid = await pay(`${b.url}/v1/responses`, request(body))
  assert.equal(paid.status, 200, await paid.clone().text())
  assert.match(await paid.text(), /It is 4\./)
  await until(async () => (await chain.balance(agentId as Hex)) === 300n, 'the agent is paid')
})

for (const point of ['payment-work-begun', 'payment-sending'] as const)
  test(
    cites(
      'X402-ONCE-03',
      `the node of a paid relayed turn is killed at ${point}: another goes on with it, once`,
    ),
    options,
    async t => {
      const chain = await startChain()
      const { payments } = await paymentsOn(chain)
      const data = await database(t)
      const keys = [operator.entry]
      const a = await nodeProcess(t, data, { payments, keys, crashAt: point })
      // It settles what its clients ask for and looks for nothing else: any node may settle an answer that is recorded, and
      // the first would not reach its point.
      const waiting = { ...payments, reconcileMs: 3_600_000 }
      const b = await node(t, data, {}, { payments: waiting, server: { keys } })
      const wallet = await newWallet()
      const prices = { inputTokenPrice: '1', outputTokenPrice: '1' }
      const raw = await RawMachine.attached(t, b.url, wallet, prices)
      const answered = new Map<string, number>()
      serve(raw, answered)
      await until(async () => (await providers(a.url)).length === 1, 'the machine is known')
      const body = { model: 'm', agent_id: wallet.address, input: 'n1.', stream: true }
      const offers = await offersOf(a.url, '/v1/responses', body)
      const { resource: _, ...unbound } = await uptoPayment(await chain.payer(), offers)
      const ask = (url: string): Promise<Response> => post(url, '/v1/responses', body, paidWith(unbound))
      await ask(a.url)
        .then(answer => answer.text())
        .catch(() => '')
      const [, signal] = await a.ended
      assert.equal(signal, 'SIGKILL', 'the point was reached')
      let answer = await ask(b.url)
      for (let tries = 0; answer.status !== 200 && tries < 400; tries += 1) {
        assert.ok([409, 503].includes(answer.status), `${answer.status} ${await answer.text()}`)
        await pause(50)
        answer = await ask(b.url)
      }
      assert.match(await answer.text(), /answer 1\./)
      assert.deepEqual(
        (await settled(b.url)).map(({ state }) => state),
        ['settled'],
      )
      // Three tokens read and two written, at one each, whichever of its answers is the one that was kept.
      assert.equal(await chain.balance(wallet.address), 5n)
      assert.match(await (await ask(b.url)).text(), /answer 1\./)
      assert.equal(await chain.balance(wallet.address), 5n)
      assert.equal((await listed(b.url)).length, 1)
      assert.ok((answered.get('1') ?? 0) <= 2)
    },
  )
