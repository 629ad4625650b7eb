// Where payments are kept: each is a session of its own, made under the payment's id as its request key, whose log says how
// the payment changed. So a payment is reserved once on any number of nodes, its changes have one order, and every store
// keeps it. Nothing here decides about a payment.
import type { Engine, ListedSession, SessionRef } from '../engine/index.ts'
import { TurnwireError } from '../language/errors.ts'
import { type PaymentChange, type PaymentRecord, paymentsWire, walletOwner } from '../language/payments.ts'

/** A payment as it stands. `seq`: the number of the last event of its log. */
export type Kept = { ref: SessionRef; record: PaymentRecord; seq: number }

/** Someone else has changed it. */
export const isBusy = (error: unknown): boolean => error instanceof TurnwireError && error.code === 'busy'

const keyOf = (payment: string): string => `x402:${payment}`
const pageSize = 100
export const retryMs = 50
const mostTries = 100

export const pause = (ms: number): Promise<void> => new Promise(resolve => setTimeout(resolve, ms))

export class Ledger {
  readonly #engine: Engine

  constructor(engine: Engine) {
    this.#engine = engine
  }

  /** Undefined: it is not known, or was only begun to be reserved. */
  async find(payer: string, payment: string): Promise<Kept | undefined> {
    const owner = walletOwner(payer)
    const session = await this.#engine.find(owner, keyOf(payment))
    return session === undefined ? undefined : this.read({ owner, session })
  }

  /**
   * Reserves a payment for the request that `hash` names, or gives it as it is if that has happened before. Rejects with
   * `payment_conflict` if it was reserved for another request.
   */
  async reserve(record: PaymentRecord, hash: string): Promise<{ kept: Kept; fresh: boolean }> {
    const ref = await this.#session(record, hash)
    const before = await this.read(ref)
    if (before) return { kept: before, fresh: false }
    try {
      const { first } = await this.#engine.command(ref, {
        do: 'record-payment',
        payment: record.id,
        change: record,
        after: 1,
      })
      return { kept: { ref, record, seq: first }, fresh: true }
    } catch (error) {
      if (!isBusy(error)) throw error
      // Someone else recorded it: what is not durable yet will be in a moment.
      for (let tries = 0; tries < mostTries; tries += 1) {
        const kept = await this.read(ref)
        if (kept) return { kept, fresh: false }
        await pause(retryMs)
      }
      throw error
    }
  }

  async #session(record: PaymentRecord, hash: string): Promise<SessionRef> {
    const owner = walletOwner(record.payer)
    try {
      const { session } = await this.#engine.create({
        owner,
        agent: record.agent,
        wire: paymentsWire,
        settings: { tools: [], options: {}, clientTools: [] },
        seed: [],
        request: { key: keyOf(record.id), hash },
      })
      return { owner, session }
    } catch (error) {
      if (error instanceof TurnwireError && error.code === 'idempotency_conflict') throw paymentConflict()
      throw error
    }
  }

  async read(ref: SessionRef): Promise<Kept | undefined> {
    let record: PaymentRecord | undefined
    let seq = 0
    for (const recorded of await this.#engine.events(ref)) {
      seq = recorded.seq
      const { event } = recorded
      // The first change of a payment is the whole record.
      if (event.type === 'payment.recorded') record = { ...record, ...event.change } as PaymentRecord
    }
    return record && { ref, record, seq }
  }

  /** Rejects with `busy` if someone else has changed it. */
  async change(kept: Kept, change: PaymentChange): Promise<Kept> {
    const { ref, record, seq } = kept
    const { first } = await this.#engine.command(ref, {
      do: 'record-payment',
      payment: record.id,
      change,
      after: seq,
    })
    return { ref, record: { ...record, ...change }, seq: first }
  }

  /** Payments, newest first. `owner` null: of everyone. `open`: those with something left to be done. */
  async *list(owner: string | null, open = false): AsyncGenerator<Kept> {
    let after: string | undefined
    do {
      const page = {
        limit: pageSize,
        ...(after !== undefined && { after }),
        ...(open && { status: 'waiting' as const }),
      }
      const { rows, next } = await this.#engine.list(owner, page, true)
      for (const row of rows) {
        const kept = await this.#readRow(row)
        if (kept && (!open || kept.record.open)) yield kept
      }
      after = next
    } while (after !== undefined)
  }

  async #readRow({ owner, id }: ListedSession): Promise<Kept | undefined> {
    return this.read({ owner, session: id })
  }

  /** The payment of this id, whoever paid it. The beginning of an id will do if it is that of one payment only. */
  async byId(id: string): Promise<Kept | undefined> {
    let found: Kept | undefined
    let isUnclear = false
    for await (const kept of this.list(null)) {
      if (kept.record.id === id) return kept
      if (!kept.record.id.startsWith(id)) continue
      isUnclear ||= found !== undefined
      found ??= kept
    }
    if (!isUnclear) return found
    throw new TurnwireError('bad_request', 'More than one payment begins so. Give the whole id.')
  }
}

export function paymentConflict(): TurnwireError {
  return new TurnwireError(
    'payment_conflict',
    'This payment pays for another request. Sign a new one for this request.',
  )
}
