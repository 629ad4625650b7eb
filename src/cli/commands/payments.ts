// Lists payments, as lines or for a spreadsheet, and pays one back.
import { printable } from '../../lib/text.ts'
import {
  csvOf,
  listPayments,
  type PaymentRecord,
  refundPayment,
  toWhole,
} from '../../runtime/visit-payments.ts'
import { type CliCommand, UsageError } from '../command.ts'
import { configOption, dataOption, sessionPlace, setUp } from '../setup.ts'

export const payments: CliCommand = {
  name: 'payments',
  usage: 'list | csv | refund <id>',
  about: `Shows what wallets have paid, newest first: as lines, or as CSV for a spreadsheet. A payment that is settled can be
paid back with the wallet of the configuration, if that is the wallet that was paid. All of this works beside a server
that is running.`,
  options: { data: dataOption, config: configOption },
  words: 2,
  async run({ values, words: [action = 'list', id] }) {
    const { config } = await setUp(values)
    const place = await sessionPlace(values)
    const { decimals = 6 } = config.payments?.asset ?? {}
    if (action === 'refund') {
      if (id === undefined) throw new UsageError('Say which: turnwire payments refund <id>')
      const record = await refundPayment(place, config, id)
      process.stdout.write(`${lineOf(record, decimals)}\n`)
      return record.state === 'refunded' ? 0 : 1
    }
    if (action !== 'list' && action !== 'csv')
      throw new UsageError(`turnwire payments knows list, csv and refund, not "${printable(action, 80)}".`)
    const records = await listPayments(place, config)
    if (action === 'csv') process.stdout.write(csvOf(records, decimals))
    else process.stdout.write(listOf(records, decimals))
    return 0
  },
}

function listOf(records: readonly PaymentRecord[], decimals: number): string {
  if (records.length === 0) return 'There are no payments.\n'
  return records.map(record => `${lineOf(record, decimals)}\n`).join('')
}

function lineOf(record: PaymentRecord, decimals: number): string {
  const { id, state, amount, payer, agent, owed } = record
  const paid = amount === undefined ? `up to ${toWhole(record.cap, decimals)}` : toWhole(amount, decimals)
  const more = [record.transaction, owed ? 'owed' : undefined, record.reason].filter(text => text)
  return printable(`${id}  ${state}  ${paid}  ${payer}  ${agent}  ${more.join('  ')}`.trimEnd(), 400)
}
