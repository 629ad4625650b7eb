import assert from 'node:assert/strict'
import { test } from 'node:test'
import { checkPrices, type Prices } from '../common/cost.ts'
import { deepseek, mistral, xai } from './compatible.ts'
import { findPrice, priceTable, priceTableDate } from './price-table.ts'
import { anthropic, azureOpenai, gemini, geminiInteractions, openai, openaiChat } from './vendors.ts'

/** Models of providers carry the prices that their answers are counted by. */
const pricesOf = (model: object): Prices | undefined =>
  'prices' in model ? (model.prices as Prices) : undefined

test('every row is well formed, has its own name, and no longer prompt is cheaper', () => {
  assert.match(priceTableDate, /^\d{4}-\d{2}-\d{2}$/)
  const names = priceTable.map(({ provider, model }) => `${provider}/${model}`)
  assert.deepEqual([...new Set(names)], names)
  for (const { provider, model, prices } of priceTable) {
    checkPrices(prices, `${provider}/${model}`)
    const { input, output, cacheRead = input, cacheWrite = input, above } = prices
    assert.ok(input > 0 && output > input && cacheRead <= input && cacheWrite >= input, model)
    if (above) assert.ok(above.input > input && above.output > output, model)
  }
})

for (const [provider, model, row] of [
  ['anthropic', 'claude-sonnet-4-5-20250929', 'claude-sonnet-4-5'],
  ['anthropic', 'claude-opus-4-20250514', 'claude-opus-4'],
  ['anthropic', 'claude-opus-4-1', 'claude-opus-4-1'],
  ['anthropic', 'claude-3-5-haiku-latest', 'claude-3-5-haiku'],
  ['openai', 'gpt-5-2025-08-07', 'gpt-5'],
  ['openai', 'GPT-5-mini', 'gpt-5-mini'],
  ['openai', 'gpt-4o-2024-08-06', 'gpt-4o'],
  ['openai', 'gpt-4o-2024-05-13', 'gpt-4o-2024-05-13'],
  ['openai-chat', 'gpt-4.1', 'gpt-4.1'],
  ['gemini', 'models/gemini-3-pro-preview', 'gemini-3-pro'],
  ['gemini', 'gemini-2.5-flash-preview-09-2025', 'gemini-2.5-flash'],
  ['gemini-interactions', 'gemini-2.5-flash-lite', 'gemini-2.5-flash-lite'],
  ['deepseek', 'deepseek-v4-pro-0813', 'deepseek-v4-pro'],
  ['mistral', 'mistral-medium-3-5-26-04', 'mistral-medium-3-5'],
] as const)
  test(`${provider}/${model} costs what ${row} does`, () => {
    assert.equal(findPrice(provider, model)?.model, row)
  })

for (const [provider, model] of [
  ['openai', 'gpt-5-pro'],
  ['openai', 'gpt-5.5-pro'],
  ['openai', 'gpt-50'],
  ['openai', 'o3-mini'],
  ['openai', 'claude-sonnet-4-5'],
  ['anthropic', 'claude-opus-4-9'],
  ['anthropic', 'claude-sonnet-4-5-fast'],
  ['gemini', 'gemini-3-pro-image-preview'],
  ['openrouter', 'gpt-5'],
] as const)
  test(`${provider}/${model} has no list price, for it is another model`, () => {
    assert.equal(findPrice(provider, model), undefined)
  })

test('a model at its vendor has the list price', () => {
  const model = 'claude-sonnet-4-6'
  assert.deepEqual(pricesOf(anthropic({ model })), findPrice('anthropic', model)?.prices)
  for (const made of [
    openai({ model: 'gpt-5' }),
    openaiChat({ model: 'gpt-5' }),
    gemini({ model: 'gemini-2.5-pro' }),
    geminiInteractions({ model: 'gemini-2.5-pro' }),
    xai({ model: 'grok-4.3' }),
    deepseek({ model: 'deepseek-flash' }),
    mistral({ model: 'mistral-medium-3.5' }),
  ])
    assert.ok(pricesOf(made), made.id)
})

test("an operator's prices come before the list, and false switches it off", () => {
  const own = { input: 1, output: 2 }
  assert.deepEqual(pricesOf(openai({ model: 'gpt-5', prices: own })), own)
  assert.equal(pricesOf(openai({ model: 'gpt-5', prices: false })), undefined)
})

test('the same name elsewhere has no price: it may cost anything there', () => {
  assert.equal(pricesOf(openai({ model: 'gpt-5', baseUrl: 'http://127.0.0.1:1/v1' })), undefined)
  assert.equal(pricesOf(azureOpenai({ model: 'gpt-5', endpoint: 'http://127.0.0.1:1' })), undefined)
})
