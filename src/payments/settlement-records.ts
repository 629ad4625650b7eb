// Records the result of a settlement. It decides nothing about a payment: src/payments/settlement.ts does.
import type { PaymentRecord } from '../language/payments.ts'
import type { Moved } from './facilitator.ts'
import type { Kept } from './ledger.ts'
import type { Receipt } from './price.ts'
import type { SettlementPorts } from './settlement.ts'

/** How a drive came out, as far as the payer is concerned. `released`: nothing was charged. */
export type Outcome = 'settled' | 'pending' | 'failed' | 'released'
type Pending = Extract<Moved, { state: 'pending' }>

export class SettlementRecords {
  readonly #ports: SettlementPorts

  constructor(ports: SettlementPorts) {
    this.#ports = ports
  }

  async record(kept: Kept, moved: Moved): Promise<Kept> {
    const { ledger, now, crashPoint, log, source } = this.#ports
    const { record } = kept
    if (moved.state === 'pending') return this.#stillPending(kept, moved)
    if (moved.state === 'failed') {
      log('warn', 'A payment could not be settled.', { payment: record.id, reason: moved.reason })
      const known = record.unclear ? { unclear: false } : {}
      return ledger.change(kept, { state: 'failed', open: false, reason: moved.reason, ...known })
    }
    const { transaction } = moved
    const known = { transaction, settledAt: now(), ...(record.unclear && { unclear: false }) }
    // The money has moved: this is recorded even if another node has changed the record meanwhile.
    const settled = await ledger.changeNow(kept, current =>
      settlementOutcome(current) === 'settled' ? undefined : { state: 'settled', ...known },
    )
    crashPoint('payment-settled')
    source.paid?.(makeReceipt(settled.record))
    return settled
  }

  async #stillPending(kept: Kept, { reason, transaction, unclear }: Pending): Promise<Kept> {
    const { ledger, log } = this.#ports
    const { record } = kept
    log(
      'warn',
      unclear
        ? 'Nobody can find out whether a payment has moved. Look at the chain, then say so: turnwire payments resolve.'
        : 'A settlement is pending.',
      { payment: record.id, reason },
    )
    if (unclear) return ledger.change(kept, { unclear, reason })
    return transaction === undefined || transaction === record.transaction
      ? kept
      : ledger.change(kept, { transaction })
  }
}

export function settlementOutcome({ state }: PaymentRecord): Outcome {
  if (state === 'settled' || state === 'refunding' || state === 'refunded') return 'settled'
  if (state === 'failed' || state === 'released') return state
  return 'pending'
}

export function makeReceipt(record: PaymentRecord): Receipt {
  const { id, payer, payTo, network, asset, amount = '0', transaction = '', agent, provider } = record
  return {
    payment: id,
    ...{ payer, payTo, network, asset, amount, transaction, agent },
    ...(provider !== undefined && { provider }),
    usage: record.usage ?? { input: 0, output: 0 },
    at: record.settledAt ?? 0,
  }
}
