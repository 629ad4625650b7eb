// The exports of this folder. It is loaded only when payments are configured; types are erased.
export { toWhole } from './amounts.ts'
export { ChainEvidence } from './chain-evidence.ts'
export type { PaymentsConfig } from './config.ts'
export { PaymentDesk } from './desk.ts'
export { Ledger } from './ledger.ts'
export { PaidRequest } from './paid-request.ts'
export type { Price } from './price.ts'
export { type PaymentCrashPoint, paymentCrashPoints } from './settlement.ts'
