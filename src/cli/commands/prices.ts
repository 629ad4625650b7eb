// Lists the vendors' prices that come with this release. It reads no configuration: prices of an operator are in their own file.

import { printable } from '../../lib/text/index.ts'
import { findPrice, type PriceRow, pricedProviders, priceTable, priceTableDate } from '../../models/index.ts'
import { type CliCommand, UsageError } from '../command.ts'

export const command: CliCommand = {
  name: 'prices',
  usage: '[model]',
  about: `Lists what the vendors charge for their models, and from which day the list is. The cost of a session is counted by it,
unless the configuration gives a model prices of its own. With a name: the price of that model, as its cost would be counted.`,
  options: { json: { type: 'boolean', help: 'Print the list as JSON' } },
  words: 1,
  async run({ values, words: [model] }) {
    const rows = model === undefined ? priceTable : namedRows(model)
    if (values['json'] === true)
      process.stdout.write(
        `${JSON.stringify({ date: priceTableDate, currency: 'USD', perTokens: 1_000_000, models: rows }, null, 2)}\n`,
      )
    else process.stdout.write(table(rows))
    return 0
  },
}

/** `model` may name its provider: `openai/gpt-5`. */
function namedRows(model: string): readonly PriceRow[] {
  const found = pricedProviders.flatMap(provider => {
    const name = model.startsWith(`${provider}/`) ? model.slice(provider.length + 1) : model
    return findPrice(provider, name) ?? []
  })
  if (found.length > 0) return found
  throw new UsageError(
    `There is no list price for "${printable(model, 80)}". Give the model prices of its own, such as prices: { input: 3, output: 15 }. The list: turnwire prices`,
  )
}

const widths = [34, 14, 10, 12, 13]

function table(rows: readonly PriceRow[]): string {
  const line = (...cells: readonly (string | number | undefined)[]): string =>
    cells
      .map((cell, column) => {
        const text = String(cell ?? '')
        return column === 0 ? text.padEnd(widths[0]!) : text.padStart(widths[column]!)
      })
      .join('')
      .trimEnd()
  const notes = new Set<string>()
  const lines = rows.flatMap(({ provider, model, prices, note }) => {
    if (note !== undefined) notes.add(`${provider}: ${note}.`)
    const { input, output, cacheRead, cacheWrite, above } = prices
    const plain = line(`${provider}/${model}`, input, output, cacheRead, cacheWrite)
    if (!above) return [plain]
    const over = `  above ${above.tokens.toLocaleString('en')} tokens of input`
    return [plain, line(over, above.input, above.output, above.cacheRead, above.cacheWrite)]
  })
  const head = line('model', 'input', 'output', 'cache read', 'cache write')
  const below = notes.size > 0 ? ['', ...notes] : []
  return `${[`US dollars per million tokens, as of ${priceTableDate}.`, '', head, ...lines, ...below].join('\n')}\n`
}
