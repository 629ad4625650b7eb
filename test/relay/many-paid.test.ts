// Many paid requests over 20 machines, some of which die or break off: every request is answered, every answer is paid for
// once, and nothing else is. `npm run test:faults -- many-paid` sends 1,000; the suite sends 100.
import assert from 'node:assert/strict'
import test from 'node:test'
import type { PrivateKeyAccount } from 'viem/accounts'
import type { PaymentRecord } from '../../src/language/payments.ts'
import { runtimeOf } from '../../src/library/turnwire.ts'
import { Ledger } from '../../src/payments/index.ts'
import { isLong } from '../faults/scale.ts'
import { skipped, startChain } from '../payments/chain.ts'
import { cites } from '../requirements/manifest.ts'
import { comeBack, type Fate, numberIn, serve } from './counting-machine.ts'
import { paidRelay, payingFetch, request } from './paid-rig.ts'
import { newWallet, RawMachine, type RelayRig, until } from './rig.ts'

const requests = isLong ? 1_000 : 100
const machines = 20
const agents = 5
/** Requests at the same time. */
const clients = 100
/** Three tokens read and two written, at one each. */
const price = 5n

test(cites(
  'SIX-WS-14',
  'SIX-PAY-03',
  `${requests} paid requests over ${machines} machines, some of which die: none is lost, none is paid for nothing`,
), { skip: skipped, timeout: 600_000 }, async t => {
  const chain = await startChain()
  // Machines die when the test says so, and not because a busy process answers no ping in time.
  const limits = { atOnce: 4, attempts: 20, queueMs: 120_000, waiting: 2_000, pingMs: 3_600_000 }
  const rig = await paidRelay(t, chain, limits)
  const { url } = rig
  const wallets = await Promise.all(Array.from({ length: agents }, () => newWallet()))
  const prices = { inputTokenPrice: '1', outputTokenPrice: '1' }
  const answered = new Map<string, number>()
  const deaths = { dies: 0, 'breaks off': 0 }
  const brokenOff = new Set<string>()

  const attach = async (index: number, left: number, end: Fate): Promise<void> => {
    const raw = await RawMachine.attached(t, url, wallets[index % agents], prices)
    let rest = left
    serve(raw, answered, body => {
      if (rest-- > 0) return 'answers'
      if (end === 'breaks off' && body['stream'] !== true) return 'answers'
      if (end === 'breaks off') brokenOff.add(numberIn(body))
      if (end !== 'answers') deaths[end] += 1
      return end
    })
    // Half of those that die come back.
    if (index % 2 === 1 && end !== 'answers') comeBack(raw, () => attach(index, Infinity, 'answers'))
  }
  // The first machine of each agent stays; of the others a third dies, and a third breaks off in the middle of a stream.
  const fateOf = (index: number): Fate =>
    index < agents ? 'answers' : (['dies', 'breaks off', 'answers'] as const)[index % 3]!
  // Of machines with equally much to do the first gets a request, so those that stay come last.
  for (let index = machines - 1; index >= 0; index -= 1)
    await attach(index, index < agents ? Infinity : 1 + (index % 3), fateOf(index))

  const payers: PrivateKeyAccount[] = []
  while (payers.length < 4) payers.push(await chain.payer())
  const paidBefore = await total(payers.map(({ address }) => address))
  const ask = async (number: number): Promise<{ text: string; tries: number }> => {
    const body = { model: 'm', routing: 'cheapest', input: `n${number}.`, stream: number % 2 === 0 }
    const pay = payingFetch(payers[number % payers.length]!)
    for (let tries = 1; ; tries += 1) {
      const answer = await pay(`${url}/v1/responses`, request(body))
      const text = await answer.text()
      // A stream that broke off is asked for again, with another payment.
      if (answer.status !== 200 || !text.includes('response.failed') || tries === 5) return { text, tries }
    }
  }
  const answers: { text: string; tries: number }[] = []
  let next = 0
  const client = async (): Promise<void> => {
    for (let number = next++; number < requests; number = next++) answers[number] = await ask(number)
  }
  await Promise.all(Array.from({ length: clients }, client))
  const lost = answers.filter(({ text }, number) => !text.includes(`answer ${number}.`))
  assert.deepEqual(lost, [])
  assert.ok(deaths.dies > 0 && deaths['breaks off'] > 0, JSON.stringify(deaths))
  assert.deepEqual([answered.size, new Set(answered.values())], [requests, new Set([1])])
  const again = answers.filter(({ tries }) => tries > 1).length
  assert.ok(again >= 1 && again <= brokenOff.size, `${again} of ${brokenOff.size}`)

  const due = BigInt(requests) * price
  await until(
    async () => (await total(wallets.map(({ address }) => address))) >= due,
    'all are paid',
    120_000,
  )
  await until(async () => (await payments(rig)).every(({ open }) => !open), 'nothing is open', 60_000)
  assert.equal(await total(wallets.map(({ address }) => address)), due)
  assert.equal(paidBefore - (await total(payers.map(({ address }) => address))), due)
  const all = await payments(rig)
  const sum = (state: string): number => all.filter(each => each.state === state).length
  const released = answers.reduce((tries, answer) => tries + answer.tries - 1, 0)
  assert.deepEqual([sum('settled'), sum('released'), all.length], [requests, released, requests + released])
  t.diagnostic(`${requests} answers, ${due} moved, ${JSON.stringify(deaths)}, ${released} payments released`)

  async function total(addresses: readonly `0x${string}`[]): Promise<bigint> {
    const balances = await Promise.all(addresses.map(address => chain.balance(address)))
    return balances.reduce((total, balance) => total + balance, 0n)
  }
})

async function payments({ turnwire }: RelayRig): Promise<PaymentRecord[]> {
  const found: PaymentRecord[] = []
  for await (const { record } of new Ledger(runtimeOf(turnwire).payments!).list()) found.push(record)
  return found
}
