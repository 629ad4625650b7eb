// Takes payments for requests: finds the price, checks the payment, and binds it to this request and no other.
// A payment is reserved durably before anything is done for it. The desk knows no wire: src/payments/paid-engine.ts asks it
// at the place that all of them pass, the engine's boundary.
import type { Engine } from '../engine/index.ts'
import { TurnwireError } from '../language/errors.ts'
import { boundSession, isWallet, type PaymentRecord, walletOwner } from '../language/payments.ts'
import { hashJson } from '../lib/json/hash.ts'
import type { JsonObject } from '../lib/json/index.ts'
import { printable } from '../lib/text/index.ts'
import { isMetered, priceCap } from './amounts.ts'
import type { PaymentsConfig } from './config.ts'
import type { Verified } from './facilitator.ts'
import { type GivenPayment, paymentId, textIn } from './given.ts'
import { type AskOnce, OnceJob, turnJob } from './job.ts'
import { type Kept, Ledger } from './ledger.ts'
import type { PaidRequest } from './paid-request.ts'
import { type PaymentStore, paymentConflict } from './port.ts'
import type { Price, PricedRequest, PriceSource } from './price.ts'
import { type Drive, type Driven, Settlement, type SettlementPorts } from './settlement.ts'
import { receiptHeader, refuseWithTerms, type Shown, type Terms, takenTerms, termsFor } from './terms.ts'
import type { Work } from './watch-turn.ts'

export type DeskOptions = Pick<SettlementPorts, 'now' | 'crashPoint' | 'log' | 'facilitator' | 'workers'> & {
  /** The engine without payments: the desk's own calls are not paid for. */
  engine: Engine
  store: PaymentStore
  config: PaymentsConfig
  /** The configured price of an agent. Undefined: it costs nothing. */
  priceOf(agent: string): Price | undefined
  source?: PriceSource | undefined
}

/** The agent, model and target that a request pays for. */
export type AskedPayment = Omit<PricedRequest, 'path'>

const defaultValidSeconds = 600
/** The part of a signature's validity that must be left when the payment comes. */
const leastLeft = 0.75
/** How long before its payment expires a metered turn is ended, so that it can be settled. */
const longestLeadMs = 30_000

/** A payment that is reserved for this request. */
export type AdmittedPayment = { kept: Kept; price: Price }

export class PaymentDesk {
  readonly ledger: Ledger
  readonly settlement: Settlement
  readonly #options: DeskOptions
  #timer: NodeJS.Timeout | undefined

  constructor(options: DeskOptions) {
    this.#options = options
    this.ledger = new Ledger(options.store)
    const { engine, facilitator, workers, now, crashPoint, log, source = {}, config } = options
    const { validSeconds = defaultValidSeconds } = config
    this.settlement = new Settlement({
      ...{ engine, facilitator, workers, now, crashPoint, log, source },
      ledger: this.ledger,
      leadMs: Math.min(longestLeadMs, (validSeconds * 1000) / 4),
    })
  }

  get config(): PaymentsConfig {
    return this.#options.config
  }

  // ---- prices ----------------------------------------------------------------------------------------------

  async prices(asked: PricedRequest): Promise<readonly Price[]> {
    const own = this.#options.priceOf(asked.agent)
    return (await this.#options.source?.prices(asked)) ?? (own ? [own] : [])
  }

  async #terms(request: PaidRequest, asked: PricedRequest): Promise<Terms[]> {
    const prices = await this.prices(asked)
    const abilities = await this.#options.facilitator.abilities()
    return termsFor(prices, this.config, abilities, shownFor(request, asked))
  }

  // ---- taking a payment ------------------------------------------------------------------------------------

  /**
   * Takes the payment of a request, or throws `payment_required` with what it costs. The same request of the same owner with
   * the same payment is admitted again, so that it gets the first answer.
   */
  async admit(
    request: PaidRequest,
    owner: string,
    asked: AskedPayment,
    once?: JsonObject,
  ): Promise<AdmittedPayment> {
    const { given, bodyHash, facts } = request
    const { method, path } = facts
    const priced = { ...asked, path }
    if (!given) throw await this.refuse(request, priced, 'Payment required')
    if (isWallet(owner) && owner !== walletOwner(given.payer)) throw otherWallet()
    const id = this.#paymentId(given)
    const hash = hashJson([method, path, bodyHash, given.signatureHash, owner])
    const kept = await this.ledger.find(id)
    if (kept && isTaken(kept.record)) {
      if (kept.record.hash !== hash) throw paymentConflict()
      refuseRefunded(kept.record)
      // A failed settlement is not tried again: with two tries it would be unclear which one has moved the money.
      if (kept.record.state === 'failed')
        throw await this.refuse(request, priced, kept.record.reason || 'settlement_failed')
      return { kept, price: priceIn(kept.record) }
    }
    const terms = await this.#check(request, priced, given)
    this.#options.crashPoint('payment-verified')
    const fresh = {
      ...makeRecord(id, hash, given, terms, asked, path, this.config),
      reservedAt: this.#options.now(),
      ...(once && { request: once }),
    }
    const again = await this.#renewed(await this.ledger.reserve(fresh), fresh)
    this.#options.crashPoint('payment-reserved')
    return { kept: again, price: priceIn(again.record) }
  }

  #paymentId(given: GivenPayment): string {
    const { network, asset } = this.config
    return paymentId(given, network, asset.address)
  }

  /** The request carries a payment that was taken before: its current price does not matter. */
  async isTaken({ given }: PaidRequest): Promise<boolean> {
    const before = given && (await this.ledger.find(this.#paymentId(given)))
    return before !== undefined && isTaken(before.record)
  }

  /** A payment that was released is reserved again, for what is asked for it now. */
  #renewed(given: Kept, fresh: PaymentRecord): Promise<Kept> {
    return this.ledger.changeNow(given, record =>
      isTaken(record) ? undefined : { ...fresh, reason: '', tries: 0 },
    )
  }

  /** Ties a payment to the session of its turn. In another session it pays for nothing. */
  async bind(admitted: AdmittedPayment, session: string): Promise<AdmittedPayment> {
    const kept = await this.ledger.changeNow(admitted.kept, record => {
      const bound = boundSession(record)
      if (bound !== undefined && bound !== session) throw paymentConflict()
      return bound === undefined ? { session } : undefined
    })
    return { ...admitted, kept }
  }

  /** The terms that the payment takes, if it is good. */
  async #check(request: PaidRequest, priced: PricedRequest, given: GivenPayment): Promise<Terms> {
    if (given.resource !== undefined && given.resource !== request.facts.url)
      throw await this.refuse(request, priced, 'The payment is for another resource')
    const terms = takenTerms(given, await this.#terms(request, priced))
    if (!terms) throw await this.refuse(request, priced, 'No matching payment requirements')
    const { validSeconds = defaultValidSeconds } = this.config
    if (given.validUntil * 1000 < this.#options.now() + leastLeft * validSeconds * 1000)
      throw await this.refuse(request, priced, 'The payment expires too soon')
    const verified = await this.#verified(given, terms)
    if (verified.ok) return terms
    this.#options.log('info', 'A payment was refused.', {
      reason: verified.reason,
      ...(verified.message !== undefined && { message: verified.message.slice(0, 300) }),
    })
    throw await this.refuse(request, priced, verified.reason)
  }

  /** The named payer must be the signer. */
  async #verified(given: GivenPayment, { asked }: Terms): Promise<Verified> {
    const verified = await this.#options.facilitator.verify(given, asked)
    if (!verified.ok || verified.payer === undefined || verified.payer.toLowerCase() === given.payer)
      return verified
    return { ok: false, reason: 'payer_mismatch' }
  }

  /** The error that tells a client what to pay. The answer's headers and body are left with the request. */
  async refuse(request: PaidRequest, priced: PricedRequest, why: string): Promise<TurnwireError> {
    const terms = await this.#terms(request, priced)
    request.refusal = refuseWithTerms(terms, shownFor(request, priced), why)
    if (terms.length === 0)
      return new TurnwireError(
        'payment_failed',
        `"${priced.agent}" is to be paid for, but this server's facilitator can take none of its prices.`,
      )
    return new TurnwireError('payment_required', why)
  }

  // ---- the work that is paid for ---------------------------------------------------------------------------

  /** A turn of a session. An exact payment settles as soon as the model has begun. */
  begin({ kept }: AdmittedPayment, work: Work): Drive {
    return this.settlement.drive(kept, turnJob(this.#options.engine, this.ledger, work), true)
  }

  /** One answer without a session. `streams`: it is sent while it is made. */
  answer(kept: Kept, ask: AskOnce, streams: boolean): { drive: Drive; job: OnceJob } {
    refuseGone(kept.record)
    const own = new OnceJob(this.ledger, this.#options.workers, ask)
    const drive = this.settlement.drive(kept, own, streams)
    if (drive.job instanceof OnceJob) return { drive, job: drive.job }
    throw paymentConflict()
  }

  /** Nothing was done for it. */
  async release({ kept }: AdmittedPayment, reason: string): Promise<void> {
    const { state, work } = kept.record
    if (state !== 'reserved' || work || this.settlement.findDrive(kept.record.id)) return
    await this.ledger.change(kept, { state: 'released', open: false, reason }).catch(() => {})
  }

  /** Gives the client the receipt of its payment, or throws the error for which it gets no answer. */
  async tell(request: PaidRequest, { outcome, record }: Driven): Promise<void> {
    if (outcome === 'released') return
    const success = outcome === 'settled'
    const response = {
      success,
      transaction: record.transaction ?? '',
      network: textIn(record.asked, 'network'),
      payer: record.payer,
      ...(record.amount !== undefined && success && { amount: record.amount }),
      ...(!success && { errorReason: outcome === 'pending' ? 'settlement_pending' : (record.reason ?? '') }),
    }
    if (success) {
      request.receipt = response
      request.facts.setHeader(...receiptHeader(record.form, response))
    }
    if (outcome === 'failed') {
      const { agent, path, reason = 'settlement_failed' } = record
      const error = await this.refuse(request, { agent, path }, reason)
      const [name, value] = receiptHeader(record.form, response)
      if (request.refusal) request.refusal.headers[name] = value
      throw error
    }
    if (outcome !== 'pending' || record.kind !== 'exact') return
    request.facts.setHeader('X-Payment-State', 'pending')
    throw new TurnwireError(
      'payment_pending',
      'The payment is on its way and not confirmed yet. Send the same request with the same payment again; it is not charged twice.',
      { retryAfterMs: 5_000 },
    )
  }

  // ---- for operators ---------------------------------------------------------------------------------------

  /** `id`: the whole of it, or a beginning that no other payment has. */
  async #byId(id: string): Promise<Kept> {
    const kept = await this.ledger.byId(id)
    if (!kept) throw new TurnwireError('not_found', `There is no payment ${printable(id, 100)}.`)
    return kept
  }

  /** Pays all of it back. */
  async refund(id: string, by: string): Promise<PaymentRecord> {
    const kept = await this.#byId(id)
    const { record } = await this.settlement.refund(kept, kept.record.amount ?? '0', by)
    return record
  }

  /** `transaction`: the one that moved a payment that is unclear; "none" if the chain shows that none has. */
  async resolve(id: string, transaction: unknown): Promise<PaymentRecord> {
    const isHash = typeof transaction === 'string' && /^0x[0-9a-f]{64}$/i.test(transaction)
    if (!isHash && transaction !== 'none')
      throw new TurnwireError(
        'bad_request',
        'Give the transaction that moved the payment, 0x and 64 digits, or "none" if none has.',
      )
    const kept = await this.#byId(id)
    const { record } = await this.settlement.resolve(kept, isHash ? transaction : undefined)
    return record
  }

  // ---- going on --------------------------------------------------------------------------------------------

  /** Looks at open payments now and from time to time. */
  start(): void {
    const again = async (): Promise<void> => {
      try {
        await this.settlement.reconcile()
      } catch (error) {
        this.#options.log('warn', 'Payments could not be looked at.', { error: String(error) })
      }
      if (this.#timer) this.#timer = setTimeout(() => void again(), this.config.reconcileMs ?? 15_000).unref()
    }
    this.#timer = setTimeout(() => void again(), 0).unref()
  }

  stop(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.settlement.stop()
  }
}

function shownFor({ facts }: PaidRequest, { agent }: AskedPayment): Shown {
  return { url: facts.url, description: `One answer of "${agent}"` }
}

function refuseRefunded({ state }: PaymentRecord): void {
  if (state !== 'refunding' && state !== 'refunded') return
  throw new TurnwireError('payment_conflict', 'This payment was paid back. Sign a new one.')
}

/** There is no answer, and there will be none: it was cut and has been charged for, or is not kept any more. */
function refuseGone({ state, open, answer, owed }: PaymentRecord): void {
  if (answer === null)
    throw new TurnwireError(
      'payment_conflict',
      'This payment has paid for an answer that is not kept any more. Sign a new one.',
    )
  if (state !== 'settled' || open || answer || owed) return
  throw new TurnwireError('stopping', 'The request was cancelled: its payment was about to expire.')
}

function otherWallet(): TurnwireError {
  return new TurnwireError(
    'payment_conflict',
    'This payment is from another wallet than the one that signed in. Pay with the wallet that signed in.',
  )
}

/** It pays for a request already, or has. */
function isTaken({ state }: PaymentRecord): boolean {
  return state !== 'released'
}

function priceIn({ price }: PaymentRecord): Price {
  return price as unknown as Price // The desk wrote it.
}

function makeRecord(
  id: string,
  hash: string,
  given: GivenPayment,
  { price, asked }: Terms,
  { agent }: AskedPayment,
  path: string,
  { network, asset }: PaymentsConfig,
): PaymentRecord {
  return {
    id,
    hash,
    state: 'reserved',
    open: true,
    kind: isMetered(price) ? 'metered' : 'exact',
    form: given.form,
    payer: given.payer,
    payTo: price.payTo,
    network,
    asset: asset.address,
    cap: priceCap(price),
    validUntil: given.validUntil,
    agent,
    path,
    ...(price.provider !== undefined && { provider: price.provider }),
    given: given.raw,
    asked,
    price: price as unknown as JsonObject, // Plain data, all of it.
  }
}
