// Group commit: all writes requested in one turn of the event loop share one transaction, and so one fsync. A refused
// write fails alone, with the later writes of its session; a failed commit fails every write in it. It knows no SQL.
import { TurnwireError } from '../../language/errors.ts'
import { failsWith, type WriteFailure, type WriteRequest, writeFailure } from '../failures.ts'
import type { SqliteFault } from './faults.ts'

/** What writes share: `Sql` is given to each of them. */
export type Transactions<Sql> = {
  begin(): Sql
  /** Makes the transaction durable. */
  commit(): void
  /** Ends the transaction, whatever happened, and says what the error means. Never throws. */
  fail(thrown: unknown): SqliteFault
}

/**
 * `run` throws a TurnwireError only if it has written nothing: then it alone is refused. For any other error the fault
 * says what it affects.
 */
export type GroupWrite<Sql, Result> = WriteRequest & { session: string; run(sql: Sql): Result }

export type GroupOptions = {
  /** How many writes one transaction may hold. It bounds how long the event loop is blocked. Default 128. */
  maxWrites?: number
  /** Called after each commit with the number of writes in it. */
  onCommit?: (writes: number) => void
}

export type WriteGroup<Sql> = {
  write<Result>(write: GroupWrite<Sql, Result>): Promise<Result>
  /** Commits all requested writes now. */
  flush(): void
}

type Pending<Sql> = {
  write: GroupWrite<Sql, unknown>
  resolve: (value: unknown) => void
  reject: (error: TurnwireError) => void
}
type WriteResult = { value: unknown } | { error: TurnwireError }
type FailedSessions = Map<string, WriteFailure>

export function groupCommit<Sql>(
  transactions: Transactions<Sql>,
  { maxWrites = 128, onCommit }: GroupOptions = {},
): WriteGroup<Sql> {
  let queue: Pending<Sql>[] = []
  let scheduled: NodeJS.Immediate | undefined

  function schedule(): void {
    scheduled ??= setImmediate(() => {
      scheduled = undefined
      commitNext()
      if (queue.length > 0) schedule()
    })
  }

  function commitNext(): void {
    const group = queue.slice(0, maxWrites)
    queue = queue.slice(maxWrites)
    const failed: FailedSessions = new Map()
    const results = writeGroup(transactions, group, failed)
    let written = 0
    for (const [index, result] of results.entries()) {
      const { resolve, reject } = group[index]!
      if ('error' in result) reject(result.error)
      else {
        resolve(result.value)
        written++
      }
    }
    // These were requested before their caller could know of the failure.
    if (failed.size > 0) queue = queue.filter(pending => !rejectFailed(pending, failed))
    if (written > 0) onCommit?.(written)
  }

  return {
    write: <Result>(write: GroupWrite<Sql, Result>) =>
      new Promise<Result>((resolve, reject) => {
        // Sound: the promise is resolved only with what this write's own `run` returned.
        queue.push({ write, resolve: resolve as (value: unknown) => void, reject })
        schedule()
      }),
    flush() {
      clearImmediate(scheduled)
      scheduled = undefined
      while (queue.length > 0) commitNext()
    },
  }
}

function rejectFailed<Sql>({ write, reject }: Pending<Sql>, failed: FailedSessions): boolean {
  const failure = failed.get(write.session)
  if (failure === undefined || !failsWith(failure, write)) return false
  reject(failure.error)
  return true
}

/** One result per write, in order. Fills `failed`. */
function writeGroup<Sql>(
  transactions: Transactions<Sql>,
  group: readonly Pending<Sql>[],
  failed: FailedSessions,
): WriteResult[] {
  // Writes that can never succeed. When one is found, the rest of the group is written again without it.
  const impossible = new Map<Pending<Sql>, TurnwireError>()
  for (;;) {
    failed.clear()
    let current: Pending<Sql> | undefined
    try {
      const sql = transactions.begin()
      const results: WriteResult[] = []
      for (current of group) results.push(writeOne(sql, current.write, impossible.get(current), failed))
      current = undefined
      transactions.commit()
      return results
    } catch (thrown) {
      const { error, affects } = transactions.fail(thrown)
      if (current !== undefined && affects === 'write') impossible.set(current, error)
      else {
        for (const { write } of group) failed.set(write.session, { error })
        return group.map(() => ({ error }))
      }
    }
  }
}

function writeOne<Sql>(
  sql: Sql,
  write: GroupWrite<Sql, unknown>,
  impossible: TurnwireError | undefined,
  failed: FailedSessions,
): WriteResult {
  const before = failed.get(write.session)
  if (before !== undefined && failsWith(before, write)) return { error: before.error }
  try {
    if (impossible !== undefined) throw impossible
    return { value: write.run(sql) }
  } catch (thrown) {
    if (!(thrown instanceof TurnwireError)) throw thrown
    failed.set(write.session, writeFailure(write, thrown))
    return { error: thrown }
  }
}
