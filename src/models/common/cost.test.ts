import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startDouble } from '../../testing/doubles/index.ts'
import { anthropic } from '../providers/vendors.ts'
import { calculateCost, type Prices } from './cost.ts'

const prices: Prices = { input: 3, output: 15, cacheRead: 0.3, cacheWrite: 3.75 }

test('input, cache reads, cache writes and output each have their price', () => {
  const usage = { input: 1_000_000, output: 100_000, cacheRead: 400_000, cacheWrite: 200_000 }
  assert.equal(calculateCost(usage, prices), 3.57)
  assert.equal(calculateCost({ input: 1000, output: 0 }, prices), 0.003)
  assert.equal(calculateCost(usage, { input: 3, output: 15 }), 4.5)
})

test('an answer has its cost if prices are known', async t => {
  const double = await startDouble({ vendor: 'anthropic', script: [{ text: 'Hello.' }, { text: 'Hello.' }] })
  t.after(() => double.close())
  const request = {
    session: 's',
    history: [{ role: 'user' as const, parts: [{ type: 'text' as const, text: 'Hi' }] }],
    tools: [],
    choice: 'auto' as const,
    parallel: true,
    options: {},
  }
  const ask = (more: { prices?: Prices }) =>
    anthropic({ model: 'claude-x', apiKey: 'k', baseUrl: double.url, ...more }).respond(
      request,
      () => {},
      new AbortController().signal,
    )
  const { usage } = await ask({ prices })
  assert.ok(usage && usage.input > 0 && usage.output > 0)
  assert.equal(usage.cost, calculateCost(usage, prices))
  assert.equal((await ask({})).usage?.cost, undefined)
})

test('a longer prompt has its own prices, for the whole request', () => {
  const tiered = { ...prices, above: { tokens: 200_000, input: 6, output: 22.5 } }
  assert.equal(calculateCost({ input: 200_000, output: 10_000 }, tiered), 0.75)
  assert.equal(calculateCost({ input: 200_001, output: 10_000, cacheRead: 200_000 }, tiered), 1.425006)
})

for (const wrong of [
  { input: 1, output: 1, above: null },
  { input: 1, output: 1, above: { input: 2, output: 2 } },
  { input: 1, output: 1, above: { tokens: 1000, input: 2 } },
  {},
  { input: 1 },
  { input: -1, output: 1 },
  { input: '3', output: 1 },
  { input: 1, output: 1, in: 2 },
  null,
])
  test(`prices of ${JSON.stringify(wrong)} are refused`, () => {
    // A configuration file can hold anything, whatever the type says.
    const given = wrong as unknown as Prices
    assert.throws(() => anthropic({ model: 'claude-x', prices: given }), {
      code: 'config_invalid',
      message: /anthropic\/claude-x .*per million tokens/,
    })
  })
