// The cost of an answer, by the operator's prices. No price list is built in: prices change more often than programs, and a
// wrong price is worse than none.

import { TurnwireError } from '../../language/errors.ts'
import type { Usage } from '../../language/events.ts'

/** Per million tokens, in any one currency. Absent cache prices are those of `input`. */
export type Prices = { input: number; output: number; cacheRead?: number; cacheWrite?: number }

const priceNames: readonly string[] = [
  'input',
  'output',
  'cacheRead',
  'cacheWrite',
] satisfies (keyof Prices)[]

/** Throws `config_invalid`. `where` names the provider. */
export function checkPrices(prices: Prices, where: string): void {
  const wrong = (problem: string): never => {
    throw new TurnwireError(
      'config_invalid',
      `The prices of ${where} ${problem}. They are per million tokens, such as { input: 3, output: 15, cacheRead: 0.3 }.`,
    )
  }
  if (typeof prices !== 'object' || prices === null) wrong('must be an object')
  for (const [name, price] of Object.entries(prices)) {
    if (!priceNames.includes(name)) wrong(`name the unknown kind ${JSON.stringify(name)}`)
    if (typeof price !== 'number' || !Number.isFinite(price) || price < 0)
      wrong(`have ${name} as ${String(price)}, which is no price`)
  }
  if (prices.input === undefined || prices.output === undefined) wrong('must say input and output')
}

/** `input` includes what was read from the cache and what was written to it. */
export function calculateCost(
  { input, output, cacheRead = 0, cacheWrite = 0 }: Usage,
  prices: Prices,
): number {
  const fresh = Math.max(0, input - cacheRead - cacheWrite)
  const total =
    fresh * prices.input +
    cacheRead * (prices.cacheRead ?? prices.input) +
    cacheWrite * (prices.cacheWrite ?? prices.input) +
    output * prices.output
  // Rounded, so that the log has 0.003 and not 0.0030000000000000005.
  return Math.round(total * 1e6) / 1e12
}
