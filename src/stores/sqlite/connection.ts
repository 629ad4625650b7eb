// The one connection of a store: opened at once, so that a bad file is known at the start, and opened anew after
// it could no longer be trusted. It decides nothing about writes.
import { TurnwireError } from '../../language/errors.ts'
import { type Fault, faultOf } from './faults.ts'
import { type OpenOptions, openDatabase } from './open.ts'
import { prepareStatements, type Statements } from './statements/index.ts'

export type Connection = {
  /** Throws a TurnwireError when it was closed, or cannot be opened again. */
  statements(): Statements
  /**
   * Ends the transaction that `thrown` interrupted and says what happened. When it is not known what reached the
   * disk, the connection goes too: the kernel may have dropped what it failed to write, so a second fsync that
   * succeeds proves nothing, and only a new reading of the file tells what is there.
   */
  fail: (thrown: unknown) => Fault
  close(): void
}

export function connect(options: OpenOptions): Connection {
  let open: Open | undefined = openOne(options)
  let closed = false

  function drop(): void {
    try {
      open?.close()
    } catch {
      // The disk is failing already, and has been reported: SQLite's own complaint while it lets go adds nothing.
    }
    open = undefined
  }

  return {
    statements() {
      if (closed) throw new TurnwireError('store_failed', `The store on ${options.file} was closed.`)
      open ??= openOne(options)
      return open.sql
    },
    fail(thrown) {
      const fault = faultOf(thrown, options.file)
      if (fault.blame === 'connection' || !rolledBack(open)) drop()
      return fault
    },
    close() {
      closed = true
      drop()
    },
  }
}

type Open = { sql: Statements; close(): void }

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
