// Lists payments, as lines or for a spreadsheet, pays one back, and resolves an unclear one by an operator's word.
import type { TurnwireConfig } from '../../config/config.ts'
import { TurnwireError } from '../../language/errors.ts'
import type { PaymentRecord } from '../../language/payments.ts'
import { printable } from '../../lib/text/index.ts'
import { visitSessions } from '../../library/visit.ts'
import { toWhole } from '../../payments/amounts.ts'
import type { PaymentDesk } from '../../payments/desk.ts'
import { Ledger } from '../../payments/ledger.ts'
import { writeCsv } from '../../payments/report.ts'
import { type CliCommand, self, UsageError } from '../command.ts'
import { configOption, dataOption, sessionPlace, setUp } from '../setup.ts'

export const command: CliCommand = {
  name: 'payments',
  usage: 'list | csv | refund <id> | resolve <id> <transaction>',
  about: `Shows what wallets have paid, newest first: as lines, or as CSV for a spreadsheet. A payment that is settled can be
paid back with the wallet of the configuration, if that is the wallet that was paid. All of this works beside a server
that is running.

A payment is "unclear" when a facilitator elsewhere was asked to move it, did not say how that ended, and the payment has
expired since. Look for it on the chain, then say so with resolve: the transaction that moved it, or "none".`,
  options: { data: dataOption, config: configOption },
  words: 3,
  async run({ values, words: [action = 'list', id, transaction] }) {
    const { config } = await setUp(values)
    const place = await sessionPlace(values)
    const { decimals = 6 } = config.payments?.asset ?? {}
    if (action === 'refund') {
      if (id === undefined) throw new UsageError('Say which: turnwire payments refund <id>')
      const record = await atDesk(place, config, desk => desk.refund(id, 'command'))
      process.stdout.write(`${paymentLine(record, decimals)}\n`)
      return record.state === 'refunded' ? 0 : 1
    }
    if (action === 'resolve') {
      if (id === undefined || transaction === undefined)
        throw new UsageError(
          'Say which, and what moved it: turnwire payments resolve <id> <transaction>, or none',
        )
      const record = await atDesk(place, config, desk => desk.resolve(id, transaction))
      process.stdout.write(`${paymentLine(record, decimals)}\n`)
      return 0
    }
    if (action !== 'list' && action !== 'csv')
      throw new UsageError(
        `turnwire payments knows list, csv, refund and resolve, not "${printable(action, 80)}".`,
      )
    const records = await listPayments(place, config)
    if (action === 'csv') process.stdout.write(writeCsv(records, decimals))
    else process.stdout.write(paymentTable(records, decimals))
    return 0
  },
}

/** Newest first. They are those of the process that has the data folder, if one has. */
function listPayments(place: string, config: TurnwireConfig): Promise<PaymentRecord[]> {
  return visitSessions(place, config, async (_, { payments }) => {
    const records: PaymentRecord[] = []
    for await (const { record } of new Ledger(payments).list()) records.push(record)
    return records
  })
}

/** Acts with the wallet of the configuration. */
function atDesk<Result>(
  place: string,
  { payments, agents }: TurnwireConfig,
  act: (desk: PaymentDesk) => Promise<Result>,
): Promise<Result> {
  return visitSessions(place, undefined, async (engine, { payments: store }) => {
    if (!payments)
      throw new TurnwireError('config_invalid', 'The configuration has no `payments`, so there is no wallet.')
    const { openDesk } = await import('../../payments/serve.ts')
    return act(await openDesk({ engine, store, agents, config: payments, log: () => {} }))
  })
}

function paymentTable(records: readonly PaymentRecord[], decimals: number): string {
  if (records.length === 0) return 'There are no payments.\n'
  const lines = records.map(record => `${paymentLine(record, decimals)}\n`).join('')
  const unclear = records.filter(record => record.unclear).length
  if (unclear === 0) return lines
  return `${lines}\n${unclear} unclear: nobody here knows whether the money has moved. Look at the chain, then: ${self} payments resolve <id> <transaction>, or none\n`
}

function paymentLine(record: PaymentRecord, decimals: number): string {
  const { id, amount, payer, agent, owed } = record
  const state = record.unclear ? 'unclear' : record.state
  const paid = amount === undefined ? `up to ${toWhole(record.cap, decimals)}` : toWhole(amount, decimals)
  const more = [record.transaction, owed ? 'owed' : undefined, record.reason].filter(text => text)
  return printable(`${id}  ${state}  ${paid}  ${payer}  ${agent}  ${more.join('  ')}`.trimEnd(), 400)
}
