// Group commit: all writes requested in one turn of the event loop share one transaction, and so one fsync. A refused
// write fails alone, with the later writes of its session; a failed commit fails every write in it. It knows no SQL.
import { TurnwireError } from '../../language/errors.ts'
import { failsWith, type WriteFailure, type WriteRequest } from '../failures.ts'
import type { SqliteFault } from './faults.ts'

export type Transactions<Sql> = {
  /** Writes are made with what it returns. */
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

type Pending<Sql> = GroupWrite<Sql, unknown> & {
  resolve: (value: unknown) => void
  reject: (error: TurnwireError) => void
}
type WriteResult = { value: unknown } | { error: TurnwireError }

export class GroupCommit<Sql> {
  readonly #transactions: Transactions<Sql>
  readonly #options: GroupOptions
  #queue: Pending<Sql>[] = []
  #scheduled: NodeJS.Immediate | undefined

  constructor(transactions: Transactions<Sql>, options: GroupOptions = {}) {
    this.#transactions = transactions
    this.#options = options
  }

  write<Result>(write: GroupWrite<Sql, Result>): Promise<Result> {
    return new Promise<Result>((resolve, reject) => {
      // Sound: the promise is resolved only with what this write's own `run` returned.
      this.#queue.push({ ...write, resolve: resolve as (value: unknown) => void, reject })
      this.#schedule()
    })
  }

  /** Commits all requested writes now. */
  flush(): void {
    clearImmediate(this.#scheduled)
    this.#scheduled = undefined
    while (this.#queue.length > 0) this.#commitNext()
  }

  #schedule(): void {
    this.#scheduled ??= setImmediate(() => {
      this.#scheduled = undefined
      this.#commitNext()
      if (this.#queue.length > 0) this.#schedule()
    })
  }

  #commitNext(): void {
    const { maxWrites = 128, onCommit } = this.#options
    const group = this.#queue.splice(0, maxWrites)
    const failed = new FailedSessions()
    const results = this.#writeGroup(group, failed)
    let written = 0
    for (const [index, result] of results.entries()) {
      const { resolve, reject } = group[index]!
      if ('error' in result) reject(result.error)
      else {
        resolve(result.value)
        written++
      }
    }
    // The rest of the queue was requested before its callers could know of a failure.
    this.#queue = this.#queue.filter(pending => {
      const error = failed.errorFor(pending)
      if (error) pending.reject(error)
      return error === undefined
    })
    if (written > 0) onCommit?.(written)
  }

  /** One result per write, in order. */
  #writeGroup(group: readonly Pending<Sql>[], failed: FailedSessions): WriteResult[] {
    for (;;) {
      failed.clear()
      let current: Pending<Sql> | undefined
      try {
        const sql = this.#transactions.begin()
        const results: WriteResult[] = []
        for (current of group) results.push(writeOne(sql, current, failed))
        current = undefined
        this.#transactions.commit()
        return results
      } catch (thrown) {
        const { error, affects } = this.#transactions.fail(thrown)
        if (current === undefined || affects !== 'write') {
          for (const { session } of group) failed.set(session, { error })
          return group.map(() => ({ error }))
        }
        // The write can never succeed: refuse it, and write the group again without it.
        current.run = () => {
          throw error
        }
      }
    }
  }
}

class FailedSessions extends Map<string, WriteFailure> {
  errorFor(write: GroupWrite<never, unknown>): TurnwireError | undefined {
    const failure = this.get(write.session)
    return failure && failsWith(failure, write) ? failure.error : undefined
  }
}

function writeOne<Sql>(sql: Sql, write: GroupWrite<Sql, unknown>, failed: FailedSessions): WriteResult {
  const error = failed.errorFor(write)
  if (error) return { error }
  try {
    return { value: write.run(sql) }
  } catch (thrown) {
    if (!(thrown instanceof TurnwireError)) throw thrown
    failed.set(write.session, { error: thrown, epoch: write.epoch })
    return { error: thrown }
  }
}
