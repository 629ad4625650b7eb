// How the durable stores write a payment: a small body that each change rewrites, and beside it the request and the answer, which
// lists do not read. Also reads payments of the form before, in which each was a session. It knows no database.
import type { Event } from '../language/events.ts'
import { boundSession, type PaymentChange, type PaymentRecord } from '../language/payments.ts'
import type { JsonObject } from '../lib/json/index.ts'
import { type KeptPayment, type PaymentPage, paymentConflict } from '../payments/port.ts'
import { checkLimit } from './cursor.ts'

/** `request` and `answer` null: it has none, or they were not read. */
export type PaymentColumns = {
  id: string
  payer: string
  session: string | null
  open: boolean
  body: string
  request: string | null
  answer: string | null
}

export function paymentColumns({ request, answer, ...small }: PaymentRecord): PaymentColumns {
  return {
    id: small.id,
    payer: small.payer,
    session: boundSession(small) ?? null,
    open: small.open,
    body: JSON.stringify(small),
    request: request === undefined ? null : JSON.stringify(request),
    answer: answer === undefined ? null : JSON.stringify(answer),
  }
}

/** Of the columns of one row. */
export function keptPayment(
  version: number,
  body: string,
  request: string | null = null,
  answer: string | null = null,
): KeptPayment {
  // They were written from a PaymentRecord.
  const record = JSON.parse(body) as PaymentRecord
  if (request !== null) record.request = JSON.parse(request) as JsonObject | null
  if (answer !== null) record.answer = JSON.parse(answer) as JsonObject | null
  return { record, version }
}

export function withChange({ record, version }: KeptPayment, change: PaymentChange): KeptPayment {
  return { record: { ...record, ...change }, version: version + 1 }
}

/** As a list shows it. */
export function listedPayment({ record, version }: KeptPayment): KeptPayment {
  const { request: _, answer: __, ...small } = record
  return { record: small, version }
}

/** Throws `payment_conflict` if what is there is for another request. */
export function sameRequest(there: KeptPayment, { hash }: PaymentRecord): KeptPayment {
  if (there.record.hash !== hash) throw paymentConflict()
  return there
}

/** Rows that a page asks for: one more than its limit tells whether there is a next page. */
export function pageRows({ limit }: PaymentPage): number {
  checkLimit(limit)
  return limit + 1
}

// ---- the form before -----------------------------------------------------------------------------------------

/** The wire of sessions that held a payment each. */
export const oldPaymentsWire = 'payments'

/** The record of such a session. `hash`: that of its request key. Undefined: it was only begun. */
export function oldPayment(events: readonly Event[], hash: string): PaymentRecord | undefined {
  let record: Partial<PaymentRecord> | undefined
  for (const event of events) if (event.type === 'payment.recorded') record = { ...record, ...event.change }
  // The first change was the whole record.
  return record && ({ ...record, hash } as PaymentRecord)
}
