// Pays settled payments back, each once. The ledger records a refund before and after it is sent, so that one that was
// begun is looked up after a crash and never sent twice.
import { TurnwireError } from '../language/errors.ts'
import type { Facilitator, Moved } from './facilitator.ts'
import type { Kept, Ledger } from './ledger.ts'

/** So long after it was begun a refund that was not sent will not be sent any more. */
const refundingMs = 2 * 60_000

export type RefundPorts = { ledger: Ledger; facilitator: Facilitator; now: () => number }

export class Refunds {
  readonly #ports: RefundPorts
  /** The payments that this process pays back now. */
  readonly #underWay = new Set<string>()

  constructor(ports: RefundPorts) {
    this.#ports = ports
  }

  /** Pays back up to what was settled. */
  async refund(given: Kept, amount: string, by: string): Promise<Kept> {
    const { id } = given.record
    if (this.#underWay.has(id)) throw new TurnwireError('busy', 'This payment is being paid back.')
    this.#underWay.add(id)
    try {
      return await this.#refund(given, amount, by)
    } finally {
      this.#underWay.delete(id)
    }
  }

  async #refund(given: Kept, amount: string, by: string): Promise<Kept> {
    const { facilitator, ledger, now } = this.#ports
    const { record } = given
    if (record.state !== 'settled' || BigInt(record.amount ?? '0') < BigInt(amount) || BigInt(amount) <= 0n)
      throw new TurnwireError('bad_request', 'Only a settled payment can be paid back, up to what it was.')
    if (!facilitator.refund) throw cannotRefund()
    let kept = await ledger.change(given, {
      state: 'refunding',
      open: true,
      refund: { amount, by, at: now() },
    })
    const refund = { amount, by, at: now() }
    const sending = async (transaction: string): Promise<void> => {
      kept = await ledger.change(kept, { refund: { ...refund, transaction } })
    }
    const moved = await facilitator.refund(record, amount, sending).catch(async (error: unknown) => {
      // Nothing was sent, so it can be asked for again at once.
      if (kept.record.refund?.transaction === undefined)
        await ledger.change(kept, { state: 'settled', open: false })
      throw error
    })
    if (moved === undefined) {
      await ledger.change(kept, { state: 'settled', open: false })
      throw cannotRefund()
    }
    return this.#record(kept, moved)
  }

  /** Goes on with one whose process ended. */
  async resume(kept: Kept): Promise<Kept> {
    if (this.#underWay.has(kept.record.id)) return kept
    const { refund } = kept.record
    const { facilitator } = this.#ports
    const found =
      refund?.transaction === undefined ? undefined : await facilitator.lookRefund?.(refund.transaction)
    if (found && found.state !== 'unsent') return this.#record(kept, found)
    // Another process may be about to send it. After this time it never will be, and the refund may be asked for again.
    if (this.#ports.now() < (refund?.at ?? 0) + refundingMs) return kept
    return this.#ports.ledger.change(kept, { state: 'settled', open: false })
  }

  async #record(kept: Kept, moved: Moved): Promise<Kept> {
    const { ledger } = this.#ports
    if (moved.state === 'pending') return kept
    if (moved.state === 'failed')
      return ledger.change(kept, { state: 'settled', open: false, reason: moved.reason })
    return ledger.change(kept, { state: 'refunded', open: false })
  }
}

function cannotRefund(): TurnwireError {
  return new TurnwireError(
    'bad_request',
    'This server cannot pay back: it needs the key of the wallet that was paid. Pay back from that wallet yourself.',
  )
}
