// The vendors' list prices: data with a date. They are for standard requests at the vendor's own address; batch, regional and
// priority requests, fees of hosted tools and discounts are not here. A model whose price depends on more than the length of its
// prompt is listed with the highest price, or left out: a budget that ends early can be raised, money cannot be taken back.

import type { Prices } from '../common/cost.ts'

/** The prices are those of this day. */
export const priceTableDate = '2026-11-18'

/** US dollars per million tokens. `model`: the name without its date. */
export type PriceRow = { provider: PricedProvider; model: string; prices: Prices; note?: string }

export type PricedProvider = (typeof pricedProviders)[number]

export const pricedProviders = ['anthropic', 'openai', 'gemini', 'xai', 'deepseek', 'mistral'] as const

/** Providers that reach the same models at the same address with another API. */
const sameAddress: Readonly<Record<string, PricedProvider>> = {
  'openai-chat': 'openai',
  'gemini-interactions': 'gemini',
}

const rows = (
  provider: PricedProvider,
  prices: Readonly<Record<string, Prices>>,
  note?: string,
): readonly PriceRow[] =>
  Object.entries(prices).map(([model, each]) => ({
    provider,
    model,
    prices: each,
    ...(note !== undefined && { note }),
  }))

const fable = { input: 10, output: 50, cacheWrite: 12.5 }
const opus: Prices = { input: 5, output: 25, cacheRead: 0.5, cacheWrite: 6.25 }
const firstOpus: Prices = { input: 15, output: 75, cacheRead: 1.5, cacheWrite: 18.75 }
const sonnet: Prices = { input: 3, output: 15, cacheRead: 0.3, cacheWrite: 3.75 }
const gpt5: Prices = { input: 1.25, output: 10, cacheRead: 0.125 }
const gpt52: Prices = { input: 1.75, output: 14, cacheRead: 0.175 }
const gemini3Pro: Prices = {
  input: 2,
  output: 12,
  cacheRead: 0.2,
  above: { tokens: 200_000, input: 4, output: 18, cacheRead: 0.4 },
}
const medium35: Prices = { input: 1.5, output: 7.5 }
const flash: Prices = { input: 0.3, output: 1.2, cacheRead: 0.006 }

export const priceTable: readonly PriceRow[] = [
  ...rows(
    'anthropic',
    {
      'claude-fable-5-1': { ...fable, cacheRead: 0.25 },
      'claude-mythos-5-1': { ...fable, cacheRead: 0.25 },
      'claude-fable-5': { ...fable, cacheRead: 1 },
      'claude-mythos-5': { ...fable, cacheRead: 1 },
      'claude-opus-5-5': { input: 4, output: 20, cacheRead: 0.2, cacheWrite: 5 },
      'claude-opus-5': opus,
      'claude-opus-4-8': opus,
      'claude-opus-4-7': opus,
      'claude-opus-4-6': opus,
      'claude-opus-4-5': opus,
      'claude-opus-4-1': firstOpus,
      'claude-opus-4-0': firstOpus,
      'claude-opus-4': firstOpus,
      'claude-sonnet-5-5': { input: 2, output: 10, cacheRead: 0.1, cacheWrite: 2.5 },
      'claude-sonnet-5': { input: 2, output: 10, cacheRead: 0.2, cacheWrite: 2.5 },
      'claude-sonnet-4-6': sonnet,
      'claude-sonnet-4-5': sonnet,
      'claude-sonnet-4-0': sonnet,
      'claude-sonnet-4': sonnet,
      'claude-haiku-5-5': {
        input: 0.1,
        output: 0.5,
        cacheRead: 0.01,
        cacheWrite: 0.125,
        above: { tokens: 100_000, input: 0.5, output: 2.5, cacheRead: 0.05, cacheWrite: 0.625 },
      },
      'claude-haiku-4-5': { input: 1, output: 5, cacheRead: 0.1, cacheWrite: 1.25 },
      'claude-3-5-haiku': { input: 0.8, output: 4, cacheRead: 0.08, cacheWrite: 1 },
    },
    'cache writes for five minutes',
  ),
  ...rows('openai', {
    'gpt-5.5': {
      input: 5,
      output: 30,
      cacheRead: 0.5,
      above: { tokens: 272_000, input: 10, output: 45, cacheRead: 1 },
    },
    'gpt-5.4': {
      input: 2.5,
      output: 15,
      cacheRead: 0.25,
      above: { tokens: 272_000, input: 5, output: 22.5, cacheRead: 0.5 },
    },
    'gpt-5.4-mini': { input: 0.75, output: 4.5, cacheRead: 0.075 },
    'gpt-5.4-nano': { input: 0.2, output: 1.25, cacheRead: 0.02 },
    'gpt-5.3-codex': gpt52,
    'gpt-5.2-codex': gpt52,
    'gpt-5.2': gpt52,
    'gpt-5.1-codex': gpt5,
    'gpt-5.1': gpt5,
    'gpt-5-codex': gpt5,
    'gpt-5': gpt5,
    'gpt-5-mini': { input: 0.25, output: 2, cacheRead: 0.025 },
    'gpt-5-nano': { input: 0.05, output: 0.4, cacheRead: 0.005 },
    'gpt-4.1': { input: 2, output: 8, cacheRead: 0.5 },
    'gpt-4.1-mini': { input: 0.4, output: 1.6, cacheRead: 0.1 },
    'gpt-4.1-nano': { input: 0.1, output: 0.4, cacheRead: 0.025 },
    'gpt-4o': { input: 2.5, output: 10, cacheRead: 1.25 },
    'gpt-4o-2024-05-13': { input: 5, output: 15 },
    'gpt-4o-mini': { input: 0.15, output: 0.6, cacheRead: 0.075 },
    o3: { input: 2, output: 8, cacheRead: 0.5 },
    'o4-mini': { input: 1.1, output: 4.4, cacheRead: 0.275 },
  }),
  ...rows(
    'gemini',
    {
      'gemini-3.5-flash': { input: 1.5, output: 9, cacheRead: 0.15 },
      'gemini-3.1-pro': gemini3Pro,
      'gemini-3.1-flash-lite': { input: 0.25, output: 1.5, cacheRead: 0.025 },
      'gemini-3-pro': gemini3Pro,
      'gemini-3-flash': { input: 0.5, output: 3, cacheRead: 0.05 },
      'gemini-2.5-pro': {
        input: 1.25,
        output: 10,
        cacheRead: 0.125,
        above: { tokens: 200_000, input: 2.5, output: 15, cacheRead: 0.25 },
      },
      'gemini-2.5-flash': { input: 0.3, output: 2.5, cacheRead: 0.03 },
      'gemini-2.5-flash-lite': { input: 0.1, output: 0.4, cacheRead: 0.01 },
    },
    'text, images and video; audio costs more',
  ),
  ...rows('xai', {
    'grok-4.5': {
      input: 2,
      output: 6,
      cacheRead: 0.5,
      above: { tokens: 200_000, input: 4, output: 12 },
    },
    'grok-4.3': {
      input: 1.25,
      output: 2.5,
      cacheRead: 0.2,
      above: { tokens: 200_000, input: 2.5, output: 5 },
    },
  }),
  ...rows(
    'deepseek',
    {
      'deepseek-flash': flash,
      'deepseek-v4-flash': flash,
      'deepseek-v4-pro': { input: 1.32, output: 3.96, cacheRead: 0.044 },
    },
    'peak hours; half of it at other times',
  ),
  ...rows('mistral', {
    'mistral-medium-3.5': medium35,
    'mistral-medium-3-5': medium35,
    'mistral-large-2512': { input: 0.5, output: 1.5 },
    'mistral-small-2603': { input: 0.15, output: 0.6 },
    'codestral-2508': { input: 0.3, output: 0.9 },
  }),
]

/** A version of a model that has the price of its plain name: a date, or a word for its newest or early form. */
const VERSION = /^-(?:\d{8}|\d{4}|\d{4}-\d{2}-\d{2}|\d{2}-\d{2}|\d{3}|preview(?:-\d{2}-\d{2,4})?|latest)$/

/** The row of a model at its vendor's own address; undefined if its price is not known. The longest name counts. */
export function findPrice(provider: string, model: string): PriceRow | undefined {
  const vendor = sameAddress[provider] ?? provider
  const name = model.toLowerCase().replace(/^models\//, '')
  return priceTable
    .filter(row => row.provider === vendor && nameMatches(row.model, name))
    .sort((a, b) => b.model.length - a.model.length)[0]
}

function nameMatches(model: string, name: string): boolean {
  return name.startsWith(model) && (name.length === model.length || VERSION.test(name.slice(model.length)))
}
