// Group commit: the writes that were requested while the last transaction was under way share the next one, and so one
// fsync. One transaction is under way at a time. A write that is refused fails alone, with the later writes of its session;
// a failed commit fails every write in it. Results are plain data: they cross from the thread that writes. It knows neither
// SQL nor threads.
import { type ErrorCode, TurnwireError, wordsOf } from '../../language/errors.ts'
import { FailedSessions, type SessionWrite } from '../failures.ts'
import type { SqliteFault } from './faults.ts'

// ---- the queue -----------------------------------------------------------------------------------------------

export type GroupOptions = {
  /** How many writes one transaction may hold. Default 256. */
  maxWrites?: number
  /** Called after each commit with the number of writes in it. */
  onCommit?: (writes: number) => void
  /** Called when a transaction fails as a whole, unless the one before did, too. */
  onFailure?: (failure: SentError) => void
  /** Called when a transaction shows that writing works again. */
  onRecovery?: () => void
}

/** How writes are made durable. */
export type Commit<Write, Sent> = {
  /** Called once for each write, right before it is committed: until then only what the caller holds is in memory. */
  encode(write: Write): { sent: Sent; size: number }
  /** If it rejects, all its writes do. `size` is the sum of their sizes. */
  commit(writes: readonly Sent[], size: number): Promise<GroupResult>
}

/** A transaction of this size takes no further write. */
const FULL_GROUP = 4 * 1024 * 1024

type Pending<Write> = {
  write: Write
  resolve: (value: unknown) => void
  reject: (error: TurnwireError) => void
}

export class GroupCommit<Write extends SessionWrite, Sent> {
  readonly #target: Commit<Write, Sent>
  readonly #options: GroupOptions
  #queue: Pending<Write>[] = []
  #busy = false
  #idle = Promise.withResolvers<void>()
  /**
   * Why transactions fail as a whole, until one shows that they do not any more. A full store commits some that happen to
   * fit: there only a probe shows it.
   */
  failure: SentError | undefined

  constructor(target: Commit<Write, Sent>, options: GroupOptions = {}) {
    this.#target = target
    this.#options = options
    this.#idle.resolve()
  }

  /** `first`: before those that wait. */
  write(write: Write, place: 'first' | 'last' = 'last'): Promise<unknown> {
    return new Promise((resolve, reject) => {
      const pending = { write, resolve, reject }
      if (place === 'first') this.#queue.unshift(pending)
      else this.#queue.push(pending)
      if (this.#busy) return
      this.#busy = true
      this.#idle = Promise.withResolvers()
      this.#sendSoon()
    })
  }

  /** Resolves once every requested write is committed or refused. */
  idle(): Promise<void> {
    return this.#idle.promise
  }

  /** Writes that are requested in one turn of the event loop go together. */
  #sendSoon(): void {
    setImmediate(() => {
      const failed = new FailedSessions()
      const { group, sent, size } = this.#encodeNext(failed)
      if (failed.size > 0) this.#refuseWaiting(failed)
      if (sent.length === 0) {
        this.#goOn()
        return
      }
      this.#target.commit(sent, size).then(
        result => this.#deliver(group, result),
        (thrown: unknown) => this.#deliver(group, asSent(thrown)),
      )
    })
  }

  /** A write that cannot be encoded is refused, with those of its session that follow; the others are recorded. */
  #encodeNext(failed: FailedSessions): { group: Pending<Write>[]; sent: Sent[]; size: number } {
    const group: Pending<Write>[] = []
    const sent: Sent[] = []
    let [total, taken] = [0, 0]
    for (const pending of this.#queue) {
      if (sent.length === (this.#options.maxWrites ?? 256) || total >= FULL_GROUP) break
      const { write, reject } = pending
      // It goes alone: if it fails, no other write fails with it.
      if (taken > 0 && (write.kind === 'probe' || isProbe(group[0]?.write))) break
      taken += 1
      try {
        const before = failed.size > 0 && failed.errorFor(write)
        if (before) throw before
        const encoded = this.#target.encode(write)
        sent.push(encoded.sent)
        group.push(pending)
        total += encoded.size
      } catch (thrown) {
        const { code, message } = asSent(thrown)
        const error = new TurnwireError(code, message, { cause: thrown })
        failed.set(write.session, { error, epoch: write.epoch })
        reject(error)
      }
    }
    this.#queue.splice(0, taken)
    return { group, sent, size: total }
  }

  #deliver(group: readonly Pending<Write>[], result: GroupResult): void {
    const failed = new FailedSessions()
    const written = Array.isArray(result)
      ? settleEach(group, result, failed)
      : refuseAll(group, new TurnwireError(result.code, result.message), failed)
    if (!Array.isArray(result)) this.#note(result)
    else if (this.failure && (this.failure.code !== 'store_full' || isProbe(group[0]?.write)))
      this.#note(undefined)
    if (failed.size > 0) this.#refuseWaiting(failed)
    if (written > 0) this.#options.onCommit?.(written)
    this.#goOn()
  }

  /** The rest of the queue was requested before its callers could know of a failure. */
  #refuseWaiting(failed: FailedSessions): void {
    this.#queue = this.#queue.filter(({ write, reject }) => {
      const error = failed.errorFor(write)
      if (error) reject(error)
      return error === undefined
    })
  }

  #goOn(): void {
    if (this.#queue.length > 0) this.#sendSoon()
    else {
      this.#busy = false
      this.#idle.resolve()
    }
  }

  #note(failure: SentError | undefined): void {
    const before = this.failure
    this.failure = failure
    if (failure && !before) this.#options.onFailure?.(failure)
    if (before && !failure) this.#options.onRecovery?.()
  }
}

function isProbe(write: SessionWrite | undefined): boolean {
  return write?.kind === 'probe'
}

/** Gives the number of recorded writes. */
function settleEach(
  group: readonly Pending<SessionWrite>[],
  results: readonly SentResult[],
  failed: FailedSessions,
): number {
  let written = 0
  for (const [index, result] of results.entries()) {
    const { write, resolve, reject } = group[index]!
    if ('value' in result) {
      resolve(result.value)
      written++
      continue
    }
    const error = new TurnwireError(result.code, result.message)
    if (!failed.errorFor(write)) failed.set(write.session, { error, epoch: write.epoch })
    reject(error)
  }
  return written
}

function refuseAll(
  group: readonly Pending<SessionWrite>[],
  error: TurnwireError,
  failed: FailedSessions,
): number {
  for (const { write, reject } of group) {
    failed.set(write.session, { error })
    reject(error)
  }
  return 0
}

function asSent(thrown: unknown): SentError {
  const { code, message } =
    thrown instanceof TurnwireError ? thrown : new TurnwireError('store_failed', wordsOf(thrown))
  return { code, message }
}

// ---- one transaction -----------------------------------------------------------------------------------------

export type Transactions<Write> = {
  begin(): void
  /**
   * Makes one write in the transaction. It throws a TurnwireError only if it has written nothing: then the write alone is
   * refused. For any other error the fault says what it affects.
   */
  write(write: Write): unknown
  /** Makes the transaction durable. */
  commit(): void
  /** Ends the transaction, whatever happened, and says what the error means. Never throws. */
  fail(thrown: unknown): SqliteFault
}

export type SentError = { code: ErrorCode; message: string }
export type SentResult = { value: unknown } | SentError
/** One result per write, in order; or why none of them was recorded. */
export type GroupResult = SentResult[] | SentError

/** Never throws. */
export function writeGroup<Write extends SessionWrite>(
  transactions: Transactions<Write>,
  group: readonly Write[],
): GroupResult {
  /** Writes that can never succeed. */
  const impossible = new Map<Write, TurnwireError>()
  for (;;) {
    const failed = new FailedSessions()
    let current: Write | undefined
    try {
      transactions.begin()
      const results: SentResult[] = []
      for (current of group) results.push(writeOne(transactions, current, failed, impossible))
      current = undefined
      transactions.commit()
      return results
    } catch (thrown) {
      const { error, affects } = transactions.fail(thrown)
      if (current === undefined || affects !== 'write') return sentError(error)
      // Write the group again without it.
      impossible.set(current, error)
    }
  }
}

function writeOne<Write extends SessionWrite>(
  transactions: Transactions<Write>,
  write: Write,
  failed: FailedSessions,
  impossible: ReadonlyMap<Write, TurnwireError>,
): SentResult {
  const before = failed.size > 0 && failed.errorFor(write)
  if (before) return sentError(before)
  try {
    const never = impossible.get(write)
    if (never) throw never
    return { value: transactions.write(write) }
  } catch (thrown) {
    if (!(thrown instanceof TurnwireError)) throw thrown
    failed.set(write.session, { error: thrown, epoch: write.epoch })
    return sentError(thrown)
  }
}

function sentError({ code, message }: TurnwireError): SentError {
  return { code, message }
}
