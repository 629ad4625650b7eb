// Where payments are kept: the port that the desk writes through and that every store implements. A payment is one record,
// changed by one writer at a time. It is no session: its changes have no log and no readers that follow them.
import { TurnwireError } from '../language/errors.ts'
import type { PaymentChange, PaymentRecord } from '../language/payments.ts'

/** A payment as it stands. `version`: how often it was written. */
export type KeptPayment = { record: PaymentRecord; version: number }

/** `after`: the `next` of the page before. `session`: only those that are tied to it. `open`: with something left to be done. */
export type PaymentPage = { limit: number; after?: string; payer?: string; session?: string; open?: true }

/**
 * Contract.
 * - A write is all or nothing, and durable once it has resolved. Reads see every write that resolved before.
 * - An id is that of one record for ever: nothing is deleted.
 * - Methods never throw; they reject, with a TurnwireError (`store_*`, `payment_conflict`, `busy`).
 */
export type PaymentStore = {
  /**
   * Keeps a new record, or gives the one that has its id. Rejects with `payment_conflict` if that one is for another
   * request, which its `hash` names.
   */
  reserve(record: PaymentRecord): Promise<KeptPayment>
  /** Replaces members of the record. Rejects with `busy`, and writes nothing, unless `version` is the current one. */
  record(kept: KeptPayment, change: PaymentChange): Promise<KeptPayment>
  find(id: string): Promise<KeptPayment | undefined>
  /** Newest first, without `request` and `answer`, which may be large. */
  list(page: PaymentPage): Promise<{ rows: KeptPayment[]; next?: string }>
}

export type KeepsPayments = { readonly payments: PaymentStore }

export function keepsPayments<Kept extends object>(store: Kept): store is Kept & KeepsPayments {
  return 'payments' in store
}

export function paymentConflict(): TurnwireError {
  return new TurnwireError(
    'payment_conflict',
    'This payment pays for another request. Sign a new one for this request.',
  )
}

/** Someone else has changed it since it was read. */
export function paymentChanged(): TurnwireError {
  return new TurnwireError('busy', 'The payment was changed meanwhile. Read it again.')
}
