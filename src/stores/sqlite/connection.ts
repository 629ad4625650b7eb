// The one connection of a store: opened at once, so that a bad file is known at the start, and replaced after the
// disk has failed. It decides nothing about writes.
//
// After a failed fsync the kernel may have dropped what it could not write, so a second one that succeeds proves
// nothing. What was refused still lies in the write-ahead log, though, and whoever opens the file alone would
// find it and take it for recorded. So a new connection is opened beside the old one, which keeps it out of
// sight, and the write that opening makes goes over it.
import { TurnwireError } from '../../language/errors.ts'
import { type Fault, faultOf } from './faults.ts'
import { type OpenOptions, openDatabase } from './open.ts'
import { prepareStatements, type Statements } from './statements/index.ts'

export type Connection = {
  /** Throws a TurnwireError when it was closed. After a failure it goes on reading, if it can. */
  reading(): Statements
  /** Throws a TurnwireError when it was closed, or failed and cannot be replaced. */
  writing(): Statements
  /** Ends the transaction that `thrown` interrupted, and says what happened. */
  fail: (thrown: unknown) => Fault
  close(): void
}

type Open = { sql: Statements; close(): void }

export function connect(options: OpenOptions): Connection {
  let open: Open | undefined = openOne(options)
  let trusted = true
  let closed = false

  function replace(): Open {
    const fresh = openOne(options)
    letGo(open)
    open = fresh
    trusted = true
    return fresh
  }

  function checkOpen(): void {
    if (closed) throw new TurnwireError('store_failed', `The store on ${options.file} was closed.`)
  }

  function distrust(): void {
    trusted = false
    if (!rolledBack(open)) {
      // It may hold the lock that its replacement needs.
      letGo(open)
      open = undefined
    }
    try {
      replace()
    } catch {
      // The disk is failing still: the next write tries again, and reports it.
      return
    }
  }

  return {
    reading() {
      checkOpen()
      return (open ?? replace()).sql
    },
    writing() {
      checkOpen()
      return (open !== undefined && trusted ? open : replace()).sql
    },
    fail(thrown) {
      const fault = faultOf(thrown, options.file)
      if (closed) return fault
      if (fault.blame === 'connection' || !rolledBack(open)) distrust()
      return fault
    },
    close() {
      closed = true
      letGo(open)
      open = undefined
    },
  }
}

function openOne(options: OpenOptions): Open {
  const db = openDatabase(options)
  return { sql: prepareStatements(db), close: () => db.close() }
}

function rolledBack(open: Open | undefined): boolean {
  try {
    open?.sql.transaction.rollback()
    return true
  } catch {
    return false
  }
}

function letGo(open: Open | undefined): void {
  try {
    open?.close()
  } catch {
    // All that was acknowledged is on disk; what SQLite could not tidy up it tidies up when the file is opened.
    return
  }
}
