// One HTTP request as the desk sees it: what it carries to pay with, and where its answer's headers go. The server makes one
// for each request, and binds the engine of its wire to it.
import { createHash } from 'node:crypto'
import type { RequestPayment } from '../callers/caller.ts'
import { TurnwireError } from '../language/errors.ts'
import { anyWallet, walletOwner } from '../language/payments.ts'
import { hashJson } from '../lib/json/hash.ts'
import type { Json, JsonObject } from '../lib/json/index.ts'
import { type GivenPayment, paymentHeaders, readPayment, readPaymentObject } from './given.ts'
import type { Drive } from './settlement.ts'
import type { Refusal } from './terms.ts'

export type RequestFacts = {
  /** The owner that calls. Of a caller without a key: `wallet:`. */
  owner: string
  /** It is for a route that begins a turn. */
  payable: boolean
  method: string
  path: string
  /** The address under which the client sent it. */
  url: string
  header(name: string): string | undefined
  /** Does nothing once the head of the answer was sent. */
  setHeader: (name: string, value: string) => void
  /** The head of the answer was sent: the answer is a stream that has begun. */
  isAnswering: () => boolean
}

export class PaidRequest implements RequestPayment {
  readonly facts: RequestFacts
  /** The payment that it carries. Undefined: none. */
  given: GivenPayment | undefined
  /** Its payment is in its body, and so is the receipt in its answer. */
  carried = false
  receipt: JsonObject | undefined
  /** The caller has no key: its identity counts only once its payment is admitted. */
  readonly bare: boolean
  /** A client that was refused is sent this. */
  refusal: Refusal | undefined
  /** The payment is good, and reserved for this request. */
  admitted = false
  /** The session that its payment is tied to. */
  session: string | undefined
  /** The turn that it pays for. One request pays for one. */
  drive: Drive | undefined
  #body = ''

  constructor(facts: RequestFacts) {
    this.facts = facts
    this.bare = facts.owner === anyWallet
    const header = paymentHeaders.map(name => facts.header(name)).find(value => value !== undefined)
    this.given = header === undefined ? undefined : readPayment(header)
  }

  /** The owner that calls. Of a caller without a key: the wallet that its payment names. */
  get owner(): string {
    if (!this.bare) return this.facts.owner
    return this.given ? walletOwner(this.given.payer) : anyWallet
  }

  takeBody(pieces: readonly Uint8Array[]): void {
    const hash = createHash('sha256')
    for (const piece of pieces) hash.update(piece)
    this.#body = hash.digest('base64url')
  }

  /** A message is the same with every id and with every payment. */
  carry(payment: Json | undefined, about: Json): void {
    this.carried = true
    this.#body = hashJson(about)
    if (payment !== undefined) this.given = readPaymentObject(payment)
  }

  get bodyHash(): string {
    return this.#body
  }

  refuseSecond(): void {
    if (this.drive)
      throw new TurnwireError(
        'bad_request',
        'One payment pays for one turn. Send the results first, and the message in a request of its own.',
      )
  }
}
