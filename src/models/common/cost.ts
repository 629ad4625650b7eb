// The cost of an answer, by the operator's prices or the vendor's list prices (`providers/price-table.ts`). A model whose price is
// not known has no cost: a wrong price is worse than none.

import { TurnwireError } from '../../language/errors.ts'
import type { Usage } from '../../language/events.ts'

/** US dollars per million tokens. Absent cache prices are those of `input`. */
export type TokenPrices = { input: number; output: number; cacheRead?: number; cacheWrite?: number }

export type Prices = TokenPrices & {
  /** The prices of a whole request, answer included, whose input has more than so many tokens. */
  above?: TokenPrices & { tokens: number }
}

const priceNames: readonly string[] = [
  'input',
  'output',
  'cacheRead',
  'cacheWrite',
] satisfies (keyof TokenPrices)[]

/** Throws `config_invalid`. `where` names the provider. */
export function checkPrices(prices: Prices, where: string): void {
  const wrong = (problem: string): never => {
    throw new TurnwireError(
      'config_invalid',
      `The prices of ${where} ${problem}. They are US dollars per million tokens, such as { input: 3, output: 15, cacheRead: 0.3 }.`,
    )
  }
  if (typeof prices !== 'object' || prices === null) wrong('must be an object, or false for none')
  const { above, ...plain } = prices
  checkTokenPrices(plain, wrong)
  if (above === undefined) return
  if (typeof above !== 'object' || above === null) wrong('have `above` as something other than an object')
  const { tokens, ...long } = above
  if (!(Number.isSafeInteger(tokens) && tokens > 0))
    wrong('must say in `above` from how many tokens it holds')
  checkTokenPrices(long, wrong)
}

function checkTokenPrices(prices: TokenPrices, wrong: (problem: string) => never): void {
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
  { above, ...plain }: Prices,
): number {
  const prices = above && input > above.tokens ? above : plain
  const fresh = Math.max(0, input - cacheRead - cacheWrite)
  const total =
    fresh * prices.input +
    cacheRead * (prices.cacheRead ?? prices.input) +
    cacheWrite * (prices.cacheWrite ?? prices.input) +
    output * prices.output
  // Rounded, so that the log has 0.003 and not 0.0030000000000000005.
  return Math.round(total * 1e6) / 1e12
}
