// Amounts of US dollars for people. The prices of models are in US dollars, and so is all that is counted by them: costs, limits and
// budgets. Payments are not: their amounts are in the asset that they are paid in.

let formats: Record<'cents' | 'parts' | 'tiny', Intl.NumberFormat> | undefined

/** "$1,234.50", "$0.0123", "$0.000012". Whole cents have two digits, parts of a cent four, so that a column lines up. */
export function dollars(amount: number): string {
  formats ??= {
    cents: format({ minimumFractionDigits: 2, maximumFractionDigits: 2 }),
    parts: format({ minimumFractionDigits: 4, maximumFractionDigits: 4 }),
    tiny: format({ maximumSignificantDigits: 2 }),
  }
  const size = Math.abs(amount)
  if (size > 0 && size < 0.001) return formats.tiny.format(amount)
  const isParts = size < 1 && Math.round(size * 10_000) % 100 !== 0
  return formats[isParts ? 'parts' : 'cents'].format(amount)
}

function format(digits: Intl.NumberFormatOptions): Intl.NumberFormat {
  return new Intl.NumberFormat('en-US', { style: 'currency', currency: 'USD', ...digits })
}
