// The port of a facilitator, which checks payments and moves the money. There are two: a remote one over HTTP
// (remote-facilitator.ts), and one in this process with a wallet (local-facilitator.ts).
import type { PaymentRecord } from '../language/payments.ts'
import type { JsonObject } from '../lib/json/index.ts'
import type { GivenPayment } from './given.ts'
import type { Abilities } from './terms.ts'

/** `payer`: the wallet that signed, if the facilitator says so. */
export type Verified = { ok: true; payer?: string } | { ok: false; reason: string; message?: string }

/** The most that a node of the chain is behind. This long after a payment has expired, nothing can move it. */
export const behindMs = 60_000

/** `pending`: nobody knows yet whether it has moved. `unclear`: nor will this facilitator ever know. */
export type Moved =
  | { state: 'moved'; transaction: string }
  | { state: 'failed'; reason: string }
  | { state: 'pending'; reason: string; transaction?: string; unclear?: true }

/** It has not moved. `mayMove`: a try that was made before may still go through. */
export type Unsent = { state: 'unsent'; mayMove?: true }

export type SettleRequest = {
  record: PaymentRecord
  /** At most what was signed for. */
  amount: string
  fee: string
  /** Called with the transaction before it is sent, and waited for. Not called if that cannot be known. */
  sending(transaction: string): Promise<void>
}

/**
 * Contract: nothing throws for what a payer did; a method rejects only when it could not do its work at all. `verify` says
 * that the payment would settle now for all that was signed for. A payment settles at most once, however often `settle` is
 * called, since the chain takes an authorization once. `look` says what became of a settlement that was begun and whose
 * end is not known: `unsent` means that it did not move and may be settled again. Absent: it cannot be looked up, and
 * `settle` is called again. Only evidence makes a payment `moved` or `failed`: a statement of the facilitator, or the
 * chain. A used nonce is no evidence: its payer can use it up without paying.
 */
export type Facilitator = {
  abilities(): Promise<Abilities>
  verify(given: GivenPayment, asked: JsonObject): Promise<Verified>
  settle(request: SettleRequest): Promise<Moved>
  look?(record: PaymentRecord): Promise<Moved | Unsent>
  /** Pays back. Absent: it has no wallet. Undefined: its wallet is not the one that was paid. */
  refund?(
    record: PaymentRecord,
    amount: string,
    sending: (transaction: string) => Promise<void>,
  ): Promise<Moved | undefined>
  /** Looks up the result of a refund that was begun. */
  lookRefund?(transaction: string): Promise<Moved | Unsent>
}
