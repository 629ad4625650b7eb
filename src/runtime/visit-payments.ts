// For the command: the payments of a data folder, and paying one back. Reading uses the engine of the process that has the
// folder, as visit.ts does; paying back uses the wallet of the configuration.
import type { Engine } from '../engine/index.ts'
import { TurnwireError } from '../language/errors.ts'
import type { PaymentRecord } from '../language/payments.ts'
import { Ledger } from '../payments/ledger.ts'
import type { TurnwireConfig } from './config.ts'
import { visitSessions } from './visit.ts'

export { toWhole } from '../payments/amounts.ts'
export { csvOf } from './payments-report.ts'
export type { PaymentRecord }

/** Newest first. */
export function listPayments(place: string, config: TurnwireConfig): Promise<PaymentRecord[]> {
  return visitSessions(place, config, async engine => {
    const records: PaymentRecord[] = []
    for await (const { record } of new Ledger(engine).list(null)) records.push(record)
    return records
  })
}

/** `id`: the whole of it, or a beginning that no other payment has. */
export function refundPayment(place: string, config: TurnwireConfig, id: string): Promise<PaymentRecord> {
  return visitSessions(place, config, engine => refund(engine, config, id))
}

async function refund(engine: Engine, config: TurnwireConfig, id: string): Promise<PaymentRecord> {
  if (!config.payments)
    throw new TurnwireError('config_invalid', 'The configuration has no `payments`, so there is no wallet.')
  const { openDesk } = await import('./payments.ts')
  const desk = await openDesk({ engine, config, log: () => {} }, config.payments)
  const kept = await desk.ledger.byId(id)
  if (!kept) throw new TurnwireError('not_found', `There is no payment ${id}.`)
  const { record } = await desk.settlement.refund(kept, kept.record.amount ?? '0', 'command')
  return record
}
