// One transaction for a group of writes. A refused write fails alone, with the later writes of its session; a failed
// commit fails every write in it. Results are plain data: they cross from the thread that writes. It knows no SQL.
import { type ErrorCode, TurnwireError } from '../../language/errors.ts'
import { FailedSessions, type SessionWrite } from '../failures.ts'
import type { SqliteFault } from './faults.ts'

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
  const before = failed.errorFor(write)
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
