// A price that changes between the offer and the payment: nobody pays more than they were shown.
import assert from 'node:assert/strict'
import test from 'node:test'
import type { JsonObject } from '../../src/lib/json/index.ts'
import type { PaymentsConfig } from '../../src/payments/config.ts'
import type { GivenPayment, PaymentForm } from '../../src/payments/given.ts'
import { type Terms, takenTerms, termsFor } from '../../src/payments/terms.ts'
import type { Machine } from '../../src/relay/server/machine.ts'
import { relayPrices } from '../../src/relay/server/prices.ts'
import { Registry } from '../../src/relay/server/registry.ts'
import { attachedAgent } from '../../src/relay/server/target.ts'

const wallet = `0x${'a'.repeat(40)}` as const
const config: PaymentsConfig = {
  network: 'eip155:84532',
  asset: { address: `0x${'b'.repeat(40)}`, name: 'USDC', version: '2' },
  payTo: `0x${'c'.repeat(40)}`,
  facilitator: { url: 'http://127.0.0.1:1' },
  terminal: { address: `0x${'d'.repeat(40)}` },
}

/** One agent that can be given other prices, and what is offered for it. */
function pricing(first: [string, string]) {
  const clock = { now: 1_000_000 }
  const registry = new Registry(() => clock.now, 600_000)
  const agent = registry.add(wallet, wallet, {} as Machine) // Only counted here.
  const reprice = ([inputTokenPrice, outputTokenPrice]: [string, string]): void =>
    registry.reprice(agent, { inputTokenPrice, outputTokenPrice })
  reprice(first)
  const source = relayPrices({ registry, maxCost: '1000000' })
  const to = { route: { agentId: wallet }, model: 'm', stream: false }
  const terms = async (): Promise<Terms[]> => {
    const prices = await source.prices({ agent: attachedAgent, to, path: '/v1/responses' })
    const abilities = { uptoBy: `0x${'e'.repeat(40)}`, terminal: true }
    return termsFor(prices ?? [], config, abilities, { url: 'u', description: 'd' })
  }
  return { clock, reprice, terms }
}

function paying(form: PaymentForm, accepted?: JsonObject): GivenPayment {
  return {
    form,
    payer: `0x${'f'.repeat(40)}`,
    validUntil: 0,
    amount: '1000000',
    nonce: '1',
    through: 'permit2',
    signatureHash: 'x',
    ...(accepted && { accepted }),
    raw: {},
  }
}

const askedIn = (terms: readonly Terms[], form: PaymentForm): JsonObject =>
  terms.find(each => each.form === form)!.asked

test('a payment of x402 that was signed before a change of price is not taken', async () => {
  const { reprice, terms } = pricing(['1', '4'])
  const given = paying('x402-2', askedIn(await terms(), 'x402-2'))
  assert.ok(takenTerms(given, await terms()))
  reprice(['1', '400000'])
  assert.equal(takenTerms(given, await terms()), undefined)
  reprice(['1', '4'])
  assert.ok(takenTerms(given, await terms()))
})

test('a payment in Sixerr’s form costs the lowest price that was shown while it could be signed', async () => {
  const { clock, reprice, terms } = pricing(['1', '4'])
  const charged = async (): Promise<unknown[]> => {
    const price = takenTerms(paying('sixerr'), await terms())?.price
    return [price?.inputToken, price?.outputToken]
  }
  const shown = async (): Promise<unknown> => askedIn(await terms(), 'sixerr')['outputTokenPrice']
  reprice(['2', '400000'])
  assert.deepEqual([await charged(), await shown()], [['1', '4'], '400000'])
  // Another step, or going through a time without a price, does not end it.
  clock.now += 300_000
  reprice(['0', '0'])
  reprice(['3', '500000'])
  assert.deepEqual(await charged(), ['1', '4'])
  clock.now += 600_000
  assert.deepEqual(await charged(), ['3', '500000'])
  // Coming back with the price of before starts no time; a lower price holds at once.
  reprice(['3', '500000'])
  reprice(['1', '1'])
  assert.deepEqual(await charged(), ['1', '1'])
})

test('the first price of an agent holds at once', async () => {
  const { terms } = pricing(['7', '8'])
  const price = takenTerms(paying('sixerr'), await terms())?.price
  assert.deepEqual([price?.inputToken, price?.outputToken], ['7', '8'])
})
