// Amounts of money for people. They are texts of whole numbers that may be larger than a number can hold.

/** From the smallest unit of an asset to whole ones: "12500" with 6 decimals is "0.0125". */
export function wholeAmount(smallest: string, decimals: number): string {
  if (!/^\d+$/.test(smallest)) return smallest
  const digits = smallest.padStart(decimals + 1, '0')
  const whole = digits.slice(0, digits.length - decimals)
  const rest = digits.slice(digits.length - decimals).replace(/0+$/, '')
  return rest === '' ? whole : `${whole}.${rest}`
}
