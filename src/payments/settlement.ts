// Moves the money of payments, each once, and says so in the ledger before and after. A payment is driven by one drive in
// this process; after a crash, or when a settlement stays pending, `reconcile` goes on from what the ledger says. Every step
// is written down before it is taken, so that it can be found out later whether it was taken:
//
//   reserved ─ work begun ─ (answered) ─ settling ─ transaction known ─ sent ─ settled
//
// An exact payment settles when the model has begun to answer and nothing was sent to the client; a metered one when the
// answer is whole. A turn that failed before that releases the payment.
import type { Engine } from '../engine/index.ts'
import { TurnwireError, wordsOf } from '../language/errors.ts'
import { boundSession, type PaymentChange, type PaymentRecord } from '../language/payments.ts'
import type { JsonObject } from '../lib/json/index.ts'
import { calculateFee, priceUsage, type TokensUsed } from './amounts.ts'
import { behindMs, type Facilitator, type Moved } from './facilitator.ts'
import { isHeld, type Job, OnceJob, turnJob, type Workers } from './job.ts'
import { isBusy, type Kept, type Ledger, pause, retryMs } from './ledger.ts'
import type { Price, PriceSource, Receipt } from './price.ts'
import { Refunds } from './refunds.ts'
import type { TurnResult } from './watch-turn.ts'

/** A turn that is over by then is found to be so first. */
const leastTimerMs = 1000
/** The longest time that a timer takes. */
const longestTimerMs = 2 ** 31 - 1

export const paymentCrashPoints = [
  'payment-verified',
  'payment-reserved',
  'payment-work-begun',
  'payment-answered',
  'payment-settling',
  'payment-sending',
  'payment-moved',
  'payment-settled',
] as const
export type PaymentCrashPoint = (typeof paymentCrashPoints)[number]

/** How often a payment that another node drives is looked at before it counts as pending. */
const mostLooks = 400
/** After this many looks without a change this node goes on with it. If the other one does too, nothing moves twice. */
const stillLooks = 40
const mostTakeOvers = 10

export type SettlementPorts = {
  engine: Engine
  ledger: Ledger
  facilitator: Facilitator
  source: Pick<PriceSource, 'paid'>
  workers: Workers
  /** How long before its payment expires a metered turn is ended. */
  leadMs: number
  now: () => number
  crashPoint: (point: PaymentCrashPoint) => void
  log: (level: 'info' | 'warn' | 'error', message: string, fields?: Record<string, string>) => void
}

/** How a drive came out, as far as the payer is concerned. `released`: nothing was charged. */
export type Outcome = 'settled' | 'pending' | 'failed' | 'released'
export type Driven = { outcome: Outcome; record: PaymentRecord }

/** `settled`: once it is known whether the money has moved. `done`: once nothing is left to be done. Neither rejects. */
export type Drive = { job: Job; settled: Promise<Driven>; done: Promise<Driven> }

export class Settlement {
  readonly #ports: SettlementPorts
  readonly #drives = new Map<string, Drive>()
  readonly #working = new Set<string>()
  readonly #refunds: Refunds
  #stopped = false

  constructor(ports: SettlementPorts) {
    this.#ports = ports
    this.#refunds = new Refunds(ports)
  }

  /** A paid turn of this session has not been settled yet. */
  isWorking(session: string): boolean {
    return this.#working.has(session)
  }

  stop(): void {
    this.#stopped = true
  }

  findDrive(payment: string): Drive | undefined {
    return this.#drives.get(payment)
  }

  /** `early`: an exact payment settles as soon as the model has begun. Otherwise once the answer is whole. */
  drive(kept: Kept, job: Job, early: boolean): Drive {
    const { id } = kept.record
    const session = boundSession(kept.record)
    const before = this.#drives.get(id)
    if (before) return before
    const settled = Promise.withResolvers<Driven>()
    if (session !== undefined) this.#working.add(session)
    const done = this.#driven(kept, job, early, settled.resolve).then(driven => {
      this.#drives.delete(id)
      if (session !== undefined) this.#working.delete(session)
      job.over?.(driven.record)
      settled.resolve(driven)
      return driven
    })
    const drive = { job, settled: settled.promise, done }
    this.#drives.set(id, drive)
    return drive
  }

  /** Never rejects. */
  async #driven(given: Kept, job: Job, early: boolean, settled: (driven: Driven) => void): Promise<Driven> {
    let kept = given
    for (let times = 1; ; times += 1)
      try {
        return await this.#run(kept, job, early, settled)
      } catch (error) {
        if (!isBusy(error)) {
          const fields = { payment: kept.record.id, error: wordsOf(error) }
          this.#ports.log('warn', 'A payment could not be settled now. It will be looked at again.', fields)
          return { outcome: 'pending', record: kept.record }
        }
        kept = await this.#elsewhere(kept)
        if (isDone(kept.record) || times >= mostTakeOvers || this.#stopped) return driven(kept)
      }
  }

  /** Another node drives it and records the result in the ledger. If nothing changes, that node may be dead. */
  async #elsewhere(given: Kept): Promise<Kept> {
    let kept = given
    for (let looks = 0, changedAt = 0; looks < mostLooks && !this.#stopped; looks += 1) {
      const found = (await this.#ports.ledger.find(kept.record.id).catch(() => undefined)) ?? kept
      if (found.version !== kept.version) changedAt = looks
      kept = found
      if (isDone(kept.record) || looks - changedAt >= stillLooks) break
      await pause(retryMs)
    }
    return kept
  }

  async #run(given: Kept, job: Job, early: boolean, settled: (driven: Driven) => void): Promise<Driven> {
    if (given.record.state === 'failed') return driven(given)
    let kept = await job.take(given)
    this.#ports.crashPoint('payment-work-begun')
    if (early && kept.record.kind === 'exact' && kept.record.state !== 'settled') {
      const begun = await job.begun()
      if (begun.result === 'failed') return this.#failed(kept, begun.reason)
      if (begun.result === 'begun') {
        kept = await this.#settle(kept, kept.record.cap)
        settled(driven(kept))
        const outcome = settlementOutcome(kept.record)
        if (outcome === 'pending' && job.answered) kept = await this.#keepAnswer(kept, job, await job.ended())
        if (outcome !== 'settled') return driven(kept)
      }
    }
    const stopInTime = kept.record.kind === 'metered' ? this.#endInTime(kept.record, job) : undefined
    const turn = await job.ended().finally(() => clearTimeout(stopInTime))
    return this.#finish(await this.#keepAnswer(kept, job, turn), turn)
  }

  /** The same request is given the same answer: it is durable before its end is shown. */
  async #keepAnswer(kept: Kept, job: Job, turn: TurnResult): Promise<Kept> {
    if (turn.result !== 'answered' || !turn.answer || kept.record.answer) return kept
    const { usage, answer } = turn
    const plain = answer as unknown as JsonObject // It crosses the engine's boundary.
    const after = await this.#ports.ledger.change(kept, { usage, answer: plain, request: null })
    job.answered?.(answer)
    return after
  }

  /** An expired payment cannot be settled. So the turn is ended shortly before, and its answer so far is charged. */
  #endInTime({ id, validUntil }: PaymentRecord, job: Job): NodeJS.Timeout {
    const { now, leadMs, log } = this.#ports
    const end = (): void => {
      log('warn', 'A turn is ended, because its payment expires.', { payment: id })
      job.cut()
    }
    const ms = validUntil * 1000 - leadMs - now()
    return setTimeout(end, Math.min(Math.max(ms, leastTimerMs), longestTimerMs)).unref()
  }

  async #finish(kept: Kept, turn: TurnResult): Promise<Driven> {
    if (turn.result === 'failed') return this.#failed(kept, turn.reason)
    // An answer from before its session was deleted is charged.
    const usage = turn.result === 'answered' || isDeleted(turn) ? turn.usage : undefined
    if (!usage) return this.#gone(kept, turn)
    this.#ports.crashPoint('payment-answered')
    const { record } = kept
    if (record.state === 'settled')
      return this.#close(kept, { usage, open: false, ...(record.owed && { owed: false }) })
    const price = record.price as unknown as Price // The desk wrote it.
    const amount = record.kind === 'exact' ? record.cap : priceUsage(price, usage, record.cap)
    const after = await this.#settle(kept, amount, usage)
    if (after.record.state !== 'settled') return driven(after)
    return this.#close(after, { usage, open: false })
  }

  async #close(kept: Kept, change: PaymentChange): Promise<Driven> {
    return driven(await this.#ports.ledger.change(kept, change))
  }

  /** The session of the turn is not here now; if it was deleted, there is no answer to charge for. */
  async #gone(kept: Kept, turn: TurnResult): Promise<Driven> {
    if (isDeleted(turn)) return this.#failed(kept, turn.reason)
    return { outcome: 'pending', record: kept.record }
  }

  /** The turn failed: a payment that has not moved is released, one that has is paid back where that is possible. */
  async #failed(given: Kept, reason: string): Promise<Driven> {
    // A settlement that was begun may have gone through.
    const kept = isUnknown(given.record) ? await this.#whatCameOfIt(given) : given
    if (kept.record.state === 'settling') return driven(kept)
    if (kept.record.state === 'failed') return { outcome: 'released', record: kept.record }
    if (kept.record.state !== 'settled') return this.#close(kept, { state: 'released', open: false, reason })
    const owed = await this.#ports.ledger.change(kept, { owed: true, open: false, reason })
    return driven(await this.refund(owed, owed.record.amount ?? '0', 'turnwire').catch(() => owed))
  }

  // ---- settling --------------------------------------------------------------------------------------------

  /** Moves the money, or finds out that it has moved. */
  async #settle(given: Kept, amount: string, usage?: TokensUsed): Promise<Kept> {
    const { ledger, facilitator, crashPoint } = this.#ports
    let kept = given
    if (kept.record.unclear) return kept
    if (kept.record.state === 'settling') {
      const found = await facilitator.look?.(kept.record)
      if (found && found.state !== 'unsent') return this.#record(kept, found)
    }
    const fee = calculateFee(kept.record.price as unknown as Price, amount)
    const tries = (kept.record.tries ?? 0) + 1
    kept = await ledger.change(kept, {
      state: 'settling',
      open: true,
      amount,
      fee,
      tries,
      ...(usage && { usage }),
    })
    crashPoint('payment-settling')
    if (amount === '0') return this.#record(kept, { state: 'moved', transaction: '' })
    const sending = async (transaction: string): Promise<void> => {
      kept = await ledger.change(kept, { transaction, sent: [...(kept.record.sent ?? []), transaction] })
      crashPoint('payment-sending')
    }
    const moved = await facilitator.settle({ record: kept.record, amount, fee, sending })
    crashPoint('payment-moved')
    if (moved.state !== 'failed' || !facilitator.look) return this.#record(kept, moved)
    // A refusal may mean that an earlier try went through.
    const found = await facilitator.look(kept.record)
    return this.#record(kept, found.state === 'unsent' ? moved : found)
  }

  /**
   * Of a settlement that was begun for a turn that failed. Without a way to look it stays pending: settling it again would
   * charge for what failed. The payer can send the request again, and settle it with an answer.
   */
  async #whatCameOfIt(kept: Kept): Promise<Kept> {
    const { facilitator, ledger, now } = this.#ports
    const { validUntil } = kept.record
    const isOver = validUntil * 1000 + behindMs < now()
    const unclear = { state: 'pending', reason: 'turn_failed_while_settling' } as const
    if (!facilitator.look) return this.#record(kept, { ...unclear, ...(isOver && { unclear: true }) })
    const found = await facilitator.look(kept.record)
    if (found.state !== 'unsent') return this.#record(kept, found)
    return found.mayMove ? kept : ledger.change(kept, { state: 'reserved' })
  }

  // ---- recording its result --------------------------------------------------------------------------------

  async #record(kept: Kept, moved: Moved): Promise<Kept> {
    const { ledger, now, crashPoint, log, source } = this.#ports
    const { record } = kept
    if (moved.state === 'pending') return this.#stillPending(kept, moved)
    if (moved.state === 'failed') {
      log('warn', 'A payment could not be settled.', { payment: record.id, reason: moved.reason })
      const known = record.unclear ? { unclear: false } : {}
      return ledger.change(kept, { state: 'failed', open: false, reason: moved.reason, ...known })
    }
    const { transaction } = moved
    const known = { transaction, settledAt: now(), ...(record.unclear && { unclear: false }) }
    // The money has moved: this is recorded even if another node has changed the record meanwhile.
    const settled = await ledger.changeNow(kept, current =>
      settlementOutcome(current) === 'settled' ? undefined : { state: 'settled', ...known },
    )
    crashPoint('payment-settled')
    source.paid?.(makeReceipt(settled.record))
    return settled
  }

  async #stillPending(
    kept: Kept,
    { reason, transaction, unclear }: Extract<Moved, { state: 'pending' }>,
  ): Promise<Kept> {
    const { ledger, log } = this.#ports
    const { record } = kept
    log(
      'warn',
      unclear
        ? 'Nobody can find out whether a payment has moved. Look at the chain, then say so: turnwire payments resolve.'
        : 'A settlement is pending.',
      { payment: record.id, reason },
    )
    if (unclear) return ledger.change(kept, { unclear, reason })
    return transaction === undefined || transaction === record.transaction
      ? kept
      : ledger.change(kept, { transaction })
  }

  // ---- going on --------------------------------------------------------------------------------------------

  /**
   * Goes on with every payment that has something left to be done. Turns are not waited for: one that does not end keeps
   * no other payment from being settled.
   */
  async reconcile(): Promise<void> {
    for await (const kept of this.#ports.ledger.list({ open: true })) {
      if (this.#stopped) return
      if (this.#drives.has(kept.record.id)) continue
      try {
        await this.#resume(kept)
      } catch (error) {
        if (isBusy(error)) continue
        this.#ports.log('warn', 'A payment could not be looked at.', {
          payment: kept.record.id,
          error: wordsOf(error),
        })
      }
    }
  }

  async #resume(kept: Kept): Promise<void> {
    const { record } = kept
    const { engine, ledger } = this.#ports
    if (record.unclear) return
    if (record.state === 'refunding') await this.#refunds.resume(kept)
    else if (record.work) this.drive(kept, turnJob(engine, ledger, record.work), false)
    else if (record.worker !== undefined) await this.#resumeOnce(record.id)
    // Its request never began: it can pay for it until it expires.
    else if (record.validUntil * 1000 <= this.#ports.now())
      await this.#ports.ledger.change(kept, { state: 'released', open: false, reason: 'expired' })
  }

  /** The list has neither its request nor its answer. */
  async #resumeOnce(id: string): Promise<void> {
    const { engine, ledger, workers } = this.#ports
    const kept = await ledger.find(id)
    if (!kept || isHeld(kept.record, workers)) return
    const job = new OnceJob(ledger, workers, (request, signal) => engine.answerOnce(request, signal))
    this.drive(kept, job, false)
  }

  /** An operator says what the chain shows of a payment that is unclear. `transaction`: the one that moved it, if any. */
  async resolve(kept: Kept, transaction: string | undefined): Promise<Kept> {
    if (!kept.record.unclear)
      throw new TurnwireError('bad_request', 'This payment is not unclear: there is nothing to resolve.')
    return this.#record(
      kept,
      transaction === undefined
        ? { state: 'failed', reason: 'not_moved' }
        : { state: 'moved', transaction: transaction.toLowerCase() },
    )
  }

  /** Pays back up to what was settled. */
  refund(given: Kept, amount: string, by: string): Promise<Kept> {
    return this.#refunds.refund(given, amount, by)
  }
}

function driven({ record }: Kept): Driven {
  return { outcome: settlementOutcome(record), record }
}

function settlementOutcome({ state }: PaymentRecord): Outcome {
  if (state === 'settled' || state === 'refunding' || state === 'refunded') return 'settled'
  if (state === 'failed' || state === 'released') return state
  return 'pending'
}

export function makeReceipt(record: PaymentRecord): Receipt {
  const { id, payer, payTo, network, asset, amount = '0', transaction = '', agent, provider } = record
  return {
    payment: id,
    ...{ payer, payTo, network, asset, amount, transaction, agent },
    ...(provider !== undefined && { provider }),
    usage: record.usage ?? { input: 0, output: 0 },
    at: record.settledAt ?? 0,
  }
}

/** Its session is there no more. */
function isDeleted(turn: TurnResult): turn is Extract<TurnResult, { result: 'gone' }> {
  return turn.result === 'gone' && (turn.reason === 'session_not_found' || turn.reason === 'not_found')
}

/** A settlement was begun, and its result can be looked up. */
function isUnknown({ state, unclear }: PaymentRecord): boolean {
  return state === 'settling' && !unclear
}

/** Nothing is left to wait for. Of a request without a session the answer is recorded too. */
function isDone(record: PaymentRecord): boolean {
  const outcome = settlementOutcome(record)
  return record.worker !== undefined && outcome === 'settled' ? !record.open : outcome !== 'pending'
}
