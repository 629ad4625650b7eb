// What an answer cost, from what the operator says that its model costs. Nobody's price list is built in: prices change
// more often than programs, and a wrong one is worse than none.
import { TurnwireError } from '../../language/errors.ts'
import type { Usage } from '../../language/events.ts'

/** Per million tokens, in any one currency. What is left out of the cache costs as `input` does. */
export type Prices = { input: number; output: number; cacheRead?: number; cacheWrite?: number }

const names: readonly string[] = ['input', 'output', 'cacheRead', 'cacheWrite'] satisfies (keyof Prices)[]

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
    if (!names.includes(name)) wrong(`name the unknown kind ${JSON.stringify(name)}`)
    if (typeof price !== 'number' || !Number.isFinite(price) || price < 0)
      wrong(`have ${name} as ${String(price)}, which is no price`)
  }
  if (prices.input === undefined || prices.output === undefined) wrong('must say input and output')
}

/** `input` counts all that was read; what came from the cache or went into it is part of that. */
export function costOf({ input, output, cacheRead = 0, cacheWrite = 0 }: Usage, prices: Prices): number {
  const fresh = Math.max(0, input - cacheRead - cacheWrite)
  const total =
    fresh * prices.input +
    cacheRead * (prices.cacheRead ?? prices.input) +
    cacheWrite * (prices.cacheWrite ?? prices.input) +
    output * prices.output
  // So that the log reads 0.003 and not 0.0030000000000000005.
  return Math.round(total * 1e6) / 1e12
}
