// Writes down what came of a settlement: in the ledger, and as a receipt in the session whose turn was paid for. It decides
// nothing about a payment: src/payments/settlement.ts does.
import { TurnwireError, wordsOf } from '../language/errors.ts'
import type { PaymentChange, PaymentRecord } from '../language/payments.ts'
import type { Moved } from './facilitator.ts'
import { isBusy, type Kept, pause, retryMs } from './ledger.ts'
import type { Receipt } from './price.ts'
import type { SettlementPorts } from './settlement.ts'

/** Kept beside the log of a session with a turn whose payment failed. It stays. */
export const unpaidMark = 'x402-unpaid'

/** How a drive came out, as far as the payer is concerned. `released`: nothing was charged. */
export type Outcome = 'settled' | 'pending' | 'failed' | 'released'
type Pending = Extract<Moved, { state: 'pending' }>

/** How often a write is tried while other nodes write too. */
const mostTries = 400

export class SettlementRecords {
  readonly #ports: SettlementPorts

  constructor(ports: SettlementPorts) {
    this.#ports = ports
  }

  async record(kept: Kept, moved: Moved): Promise<Kept> {
    const { ledger, now, crashPoint, log } = this.#ports
    const { record } = kept
    if (moved.state === 'pending') return this.#stillPending(kept, moved)
    if (moved.state === 'failed') {
      log('warn', 'A payment could not be settled.', { payment: record.id, reason: moved.reason })
      await this.#markUnpaid(record)
      const known = record.unclear ? { unclear: false } : {}
      return ledger.change(kept, { state: 'failed', open: false, reason: moved.reason, ...known })
    }
    const settled = await this.#recordMoved(kept, {
      state: 'settled',
      transaction: moved.transaction,
      settledAt: now(),
      ...(record.unclear && { unclear: false }),
    })
    crashPoint('payment-settled')
    await this.#giveReceipt(settled.record)
    return settled
  }

  /** That it has moved is a fact, whatever another node has written meanwhile. */
  async #recordMoved(given: Kept, change: PaymentChange): Promise<Kept> {
    const { ledger } = this.#ports
    let kept = given
    for (let tries = 1; ; tries += 1)
      try {
        return await ledger.change(kept, change)
      } catch (error) {
        if (!isBusy(error) || tries >= mostTries) throw error
        await pause(retryMs)
        kept = (await ledger.read(kept.ref)) ?? kept
        if (outcomeOf(kept.record) === 'settled') return kept
      }
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

  /** Before the payment counts as failed, so that its answer is never open to the payer. */
  async #markUnpaid({ id, work }: PaymentRecord): Promise<void> {
    if (!work) return
    const { owner, session } = work
    try {
      await this.#ports.engine.keepBlob({ owner, session }, unpaidMark, id)
    } catch (error) {
      if (!(error instanceof TurnwireError && error.code === 'session_not_found')) throw error
    }
  }

  /** The session whose turn was paid for has the receipt too. */
  async #giveReceipt(record: PaymentRecord): Promise<void> {
    const { engine, source, log } = this.#ports
    const receipt = receiptOf(record)
    source.paid?.(receipt)
    if (!record.work) return
    const { owner, session } = record.work
    const { payer, payTo, network, asset, amount, transaction, settledAt } = record
    const change: PaymentChange = {
      ...{ state: 'settled', payer, payTo, network, asset },
      ...(amount !== undefined && { amount }),
      ...(transaction !== undefined && { transaction }),
      ...(settledAt !== undefined && { settledAt }),
    }
    try {
      await engine.command({ owner, session }, { do: 'record-payment', payment: record.id, change })
    } catch (error) {
      log('warn', 'The session of a paid turn could not be given its receipt.', {
        payment: record.id,
        error: wordsOf(error),
      })
    }
  }
}

export function outcomeOf({ state }: PaymentRecord): Outcome {
  if (state === 'settled' || state === 'refunding' || state === 'refunded') return 'settled'
  if (state === 'failed' || state === 'released') return state
  return 'pending'
}

export function receiptOf(record: PaymentRecord): Receipt {
  const { id, payer, payTo, network, asset, amount = '0', transaction = '', agent, provider } = record
  return {
    payment: id,
    ...{ payer, payTo, network, asset, amount, transaction, agent },
    ...(provider !== undefined && { provider }),
    usage: record.usage ?? { input: 0, output: 0 },
    at: record.settledAt ?? 0,
  }
}
