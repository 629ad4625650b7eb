// A payment as it is kept: what was signed, what it pays for, and how far it is. Plain data that every version reads. Amounts
// are decimal texts in the smallest unit of the asset.
import type { JsonObject } from '../lib/json/index.ts'

/** The prefix of all wallet names. Alone: a caller that has not shown yet which wallet it is. */
export const anyWallet = 'wallet:'

/** Wallets own what they pay for under this name. No key has a name with a colon. */
export const walletOwner = (address: string): string => `${anyWallet}${address.toLowerCase()}`

export const isWallet = (owner: string): boolean => owner.startsWith(anyWallet)

/**
 * `reserved`: it pays for a request that is being answered. `settling`: the money is being moved, or nobody knows yet
 * whether it has moved. `settled`: it has moved. `released`: it was not charged, and can pay for the same request again.
 * `failed`: it was to be charged and could not be. `refunding`, `refunded`: the money goes, or went, back.
 */
export type PaymentState =
  | 'reserved'
  | 'settling'
  | 'settled'
  | 'released'
  | 'failed'
  | 'refunding'
  | 'refunded'

/** `exact`: the whole amount is moved before the answer begins. `metered`: what was used, once it is whole. */
export type PaymentKind = 'exact' | 'metered'

export type PaymentRecord = {
  /** The same for every repetition of the payment. */
  id: string
  /** Names the request that it pays for: method, path, body, signature and owner. */
  hash: string
  state: PaymentState
  /** Something is left to be done, by the server itself. */
  open: boolean
  kind: PaymentKind
  /** The form in which it was given: x402 version 1 or 2, or Sixerr's. */
  form: 'x402-1' | 'x402-2' | 'sixerr'
  payer: string
  payTo: string
  network: string
  asset: string
  /** The amount that was signed: the most that can be moved. */
  cap: string
  /** Unix seconds: after this it cannot be settled. */
  validUntil: number
  /** When it was reserved: it has not moved before. Absent in old records. */
  reservedAt?: number
  agent: string
  path: string
  provider?: string
  /** Data for settling: the payment as the payer gave it, and the payment requirements that it answers. */
  given: JsonObject
  asked: JsonObject
  price: JsonObject
  /** The request and its answer, if it pays for a request without a session. Null: no longer kept. */
  request?: JsonObject | null
  answer?: JsonObject | null
  /** The process that answers such a request. */
  worker?: string
  /** The session that it pays for a turn of, written before the turn begins. It buys nothing in another one. */
  session?: string
  /** The turn that it pays for: its session, and the number of its first event there. */
  work?: { owner: string; session: string; first: number }
  /** The tokens of the answer. */
  usage?: { input: number; output: number }
  amount?: string
  fee?: string
  /** The id of the transfer, known before it is sent. Absent: nothing was sent, or a facilitator did not report it. */
  transaction?: string
  /** Every transaction that was made to move it, each written before it was sent. */
  sent?: readonly string[]
  settledAt?: number
  /** How often settling was tried. */
  tries?: number
  /** Nobody here can find out whether it has moved: an operator has to say, from what the chain shows. */
  unclear?: boolean
  /** The reason for its state, where the state alone does not explain it. */
  reason?: string
  /** The answer failed after the money had moved: the payer can ask again without paying, or is paid back. */
  owed?: boolean
  refund?: { amount: string; transaction?: string; by: string; at: number }
}

/** Its members replace those of the record. */
export type PaymentChange = Partial<Omit<PaymentRecord, 'id' | 'hash'>>

/** The session that a payment is tied to. */
export function boundSession({ session, work }: Pick<PaymentRecord, 'session' | 'work'>): string | undefined {
  return session ?? work?.session
}
