// For the command: the payments of a data folder, paying one back, and saying what became of one. Reading uses the engine of the process that has the
// folder, as visit.ts does; paying back uses the wallet of the configuration.

import type { TurnwireConfig } from '../config/config.ts'
import { TurnwireError } from '../language/errors.ts'
import type { PaymentRecord } from '../language/payments.ts'
import { visitSessions } from '../library/visit.ts'
import type { PaymentDesk } from './index.ts'
import { Ledger } from './ledger.ts'

export { toWhole } from './amounts.ts'
export { csvOf } from './report.ts'
export type { PaymentRecord }

/** Newest first. */
export function listPayments(place: string, config: TurnwireConfig): Promise<PaymentRecord[]> {
  return visitSessions(place, config, async (_, store) => {
    const records: PaymentRecord[] = []
    for await (const { record } of new Ledger(store).list()) records.push(record)
    return records
  })
}

/** `id`: the whole of it, or a beginning that no other payment has. */
export function refundPayment(place: string, config: TurnwireConfig, id: string): Promise<PaymentRecord> {
  return atDesk(place, config, desk => desk.refund(id, 'command'))
}

/** An operator says by which transaction a payment has moved that is unclear, or "none". */
export function resolvePayment(
  place: string,
  config: TurnwireConfig,
  id: string,
  transaction: string,
): Promise<PaymentRecord> {
  return atDesk(place, config, desk => desk.resolve(id, transaction))
}

function atDesk<Result>(
  place: string,
  config: TurnwireConfig,
  act: (desk: PaymentDesk) => Promise<Result>,
): Promise<Result> {
  return visitSessions(place, config, async (engine, payments) => {
    if (!config.payments)
      throw new TurnwireError('config_invalid', 'The configuration has no `payments`, so there is no wallet.')
    const { openDesk } = await import('./serve.ts')
    return act(await openDesk({ engine, payments, config, log: () => {} }, config.payments))
  })
}
