// Amounts: decimal texts, whole units and the smallest units of an asset, and what a request costs. Whole numbers only, so
// nothing is lost to rounding; a fraction of the smallest unit is rounded up once, at the end.
import type { Price } from './price.ts'

/** Digits after the point that are counted. */
const fraction = 12
const one = 10n ** BigInt(fraction)

/** A decimal text times 10^12. Undefined: it is no such text, or has more digits. */
function parseDecimal(text: string): bigint | undefined {
  const [, whole = '', part = ''] = /^(\d{1,30})(?:\.(\d{1,12}))?$/.exec(text) ?? []
  return whole === '' ? undefined : BigInt(whole) * one + BigInt(part.padEnd(fraction, '0'))
}

function printDecimal(value: bigint): string {
  const part = (value % one).toString().padStart(fraction, '0').replace(/0+$/, '')
  return `${value / one}${part === '' ? '' : `.${part}`}`
}

/** Whole units as the smallest ones. Undefined: it cannot be said in them. */
export function toSmallest(text: string, decimals: number): string | undefined {
  const value = parseDecimal(text)
  if (value === undefined) return undefined
  const smallest = value * 10n ** BigInt(decimals)
  return smallest % one === 0n ? (smallest / one).toString() : undefined
}

/** The smallest units as whole ones, for people. */
export function toWhole(smallest: string, decimals: number): string {
  return printDecimal((BigInt(smallest) * one) / 10n ** BigInt(decimals))
}

/** A price per million tokens in whole units, as one per token in the smallest units. */
export function perToken(text: string, decimals: number): string | undefined {
  const value = parseDecimal(text)
  if (value === undefined) return undefined
  const scaled = value * 10n ** BigInt(decimals)
  return scaled % 1_000_000n === 0n ? printDecimal(scaled / 1_000_000n) : undefined
}

export type TokensUsed = { input: number; output: number }

/** A token has four characters. */
export const estimateTokens = (said: unknown): number => Math.ceil(JSON.stringify(said).length / 4)

export function isMetered({ inputToken, outputToken }: Price): boolean {
  return inputToken !== undefined || outputToken !== undefined
}

/** The amount that a payer signs for, in the smallest unit. */
export function priceCap(price: Price): string {
  return (isMetered(price) ? price.cap : price.perRequest) ?? '0'
}

/** The cost of the request, in the smallest unit: never more than `most`, the amount that was signed for. */
export function priceUsage(price: Price, used: TokensUsed, most: string): string {
  const part = (text: string | undefined, count: number): bigint =>
    (parseDecimal(text ?? '0') ?? 0n) * BigInt(Math.max(0, Math.round(count)))
  const sum =
    part(price.perRequest, 1) + part(price.inputToken, used.input) + part(price.outputToken, used.output)
  const cost = (sum + one - 1n) / one
  return (cost < BigInt(most) ? cost : BigInt(most)).toString()
}

/** The platform's share, in the smallest unit, rounded down. */
export function calculateFee(price: Price, amount: string): string {
  return ((BigInt(amount) * BigInt(price.feeBps ?? 0)) / 10_000n).toString()
}
