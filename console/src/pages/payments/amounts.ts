// Amounts of payments for people, in the unit of their asset. They are texts of whole numbers that may be larger than a number can hold.
import type { OperatorPayments } from '../../../../src/client/index.ts'
import { printable } from '../../../../src/lib/text/index.ts'

/** "0.0125 USD Coin". How many decimals another asset than the configured one has is not known here. */
export function assetAmount(
  smallest: string,
  asset: string,
  { asset: known }: Pick<OperatorPayments, 'asset'>,
): string {
  return asset.toLowerCase() === known.address.toLowerCase()
    ? `${wholeAmount(smallest, known.decimals)} ${printable(known.name, 40)}`
    : `${smallest} of the smallest unit of ${printable(asset, 42).slice(0, 8)}…`
}

/** From the smallest unit of an asset to whole ones: "12500" with 6 decimals is "0.0125". */
function wholeAmount(smallest: string, decimals: number): string {
  if (!/^\d+$/.test(smallest)) return smallest
  const digits = smallest.padStart(decimals + 1, '0')
  const whole = digits.slice(0, digits.length - decimals)
  const rest = digits.slice(digits.length - decimals).replace(/0+$/, '')
  return rest === '' ? whole : `${whole}.${rest}`
}
