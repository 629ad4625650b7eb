// The payments of a store, as the desk uses them: all pages of a list as one, and changes that are retried when another
// writer was first. Nothing here decides about a payment.
import { hasCode, TurnwireError } from '../language/errors.ts'
import type { PaymentChange, PaymentRecord } from '../language/payments.ts'
import type { KeptPayment as Kept, PaymentPage, PaymentStore } from './port.ts'

export type { Kept }

/** Someone else has changed it. */
export const isBusy = (error: unknown): boolean => hasCode(error, 'busy')

const pageSize = 100
export const retryMs = 50
/** How often a change is made again while others change the payment too. */
const mostTries = 400

export const pause = (ms: number): Promise<void> => new Promise(resolve => setTimeout(resolve, ms))

export class Ledger {
  readonly #store: PaymentStore

  constructor(store: PaymentStore) {
    this.#store = store
  }

  find(id: string): Promise<Kept | undefined> {
    return this.#store.find(id)
  }

  /** Rejects with `payment_conflict` if it was reserved for another request. */
  reserve(record: PaymentRecord): Promise<Kept> {
    return this.#store.reserve(record)
  }

  /** Rejects with `busy` if someone else has changed it. */
  change(kept: Kept, change: PaymentChange): Promise<Kept> {
    return this.#store.record(kept, change)
  }

  /** Changes a payment as it stands: it is read again if someone else has changed it. `change` undefined: it is left so. */
  async changeNow(given: Kept, change: (record: PaymentRecord) => PaymentChange | undefined): Promise<Kept> {
    let kept = given
    for (let tries = 1; ; tries += 1) {
      const wanted = change(kept.record)
      if (!wanted) return kept
      try {
        return await this.change(kept, wanted)
      } catch (error) {
        if (!isBusy(error) || tries >= mostTries) throw error
      }
      await pause(retryMs)
      kept = (await this.find(kept.record.id)) ?? kept
    }
  }

  /** Newest first. */
  async *list(which: Omit<PaymentPage, 'limit' | 'after'> = {}): AsyncGenerator<Kept> {
    let after: string | undefined
    do {
      const page = { ...which, limit: pageSize, ...(after !== undefined && { after }) }
      const { rows, next } = await this.#store.list(page)
      yield* rows
      after = next
    } while (after !== undefined)
  }

  /** The payment of this id, or of an id that begins so. Throws `bad_request` if more than one does. */
  async byId(id: string): Promise<Kept | undefined> {
    const whole = await this.find(id)
    if (whole) return whole
    let found: Kept | undefined
    for await (const kept of this.list()) {
      if (!kept.record.id.startsWith(id)) continue
      if (found) throw new TurnwireError('bad_request', 'More than one payment begins so. Give the whole id.')
      found = kept
    }
    return found
  }
}
