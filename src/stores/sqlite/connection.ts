// The connection of a store. It is opened at once, so that a bad file is reported at the start, and replaced after the
// disk has failed.
//
// After a failed fsync the kernel may have dropped the pages it could not write, so a later fsync that succeeds proves
// nothing. The refused transaction is still in the WAL file, and a process that opens the file alone would recover it
// as committed. So the new connection is opened while the old one is still open, which prevents that recovery, and the
// write that every opening makes overwrites the refused transaction.
import { TurnwireError } from '../../language/errors.ts'
import { type SqliteFault, sqliteFault } from './faults.ts'
import { type DatabaseOptions, openDatabase } from './open.ts'
import { prepareStatements, type Statements } from './statements.ts'

type OpenFile = { sql: Statements; close(): void }

export class Connection {
  readonly #options: DatabaseOptions
  #current: OpenFile | undefined
  /** False after a disk failure, until the connection is replaced. */
  #trusted = true
  #closed = false

  constructor(options: DatabaseOptions) {
    this.#options = options
    this.#current = openFile(options)
  }

  /** Reading goes on after a disk failure, if it can. Throws a TurnwireError when closed. */
  reading(): Statements {
    this.#checkOpen()
    return (this.#current ?? this.#replace()).sql
  }

  /** Throws a TurnwireError when closed, or when a failed connection cannot be replaced. */
  writing(): Statements {
    this.#checkOpen()
    return (this.#current !== undefined && this.#trusted ? this.#current : this.#replace()).sql
  }

  /** Ends the transaction that `thrown` interrupted, and says what the error means. */
  fail(thrown: unknown): SqliteFault {
    const fault = sqliteFault(thrown, this.#options.file)
    if (this.#closed) return fault
    const ended = rollBack(this.#current)
    if (fault.affects === 'connection' || !ended) this.#recover(ended)
    return fault
  }

  close(): void {
    this.#closed = true
    closeFile(this.#current)
    this.#current = undefined
  }

  #recover(ended: boolean): void {
    this.#trusted = false
    if (!ended) {
      // It may hold the lock that its replacement needs.
      closeFile(this.#current)
      this.#current = undefined
    }
    try {
      this.#replace()
    } catch {
      // The disk still fails: the next write tries again and reports it.
      return
    }
  }

  #replace(): OpenFile {
    const fresh = openFile(this.#options)
    closeFile(this.#current)
    this.#current = fresh
    this.#trusted = true
    return fresh
  }

  #checkOpen(): void {
    if (this.#closed)
      throw new TurnwireError('store_failed', `The store on ${this.#options.file} was closed.`)
  }
}

function openFile(options: DatabaseOptions): OpenFile {
  const db = openDatabase(options)
  return { sql: prepareStatements(db), close: () => db.close() }
}

function rollBack(file: OpenFile | undefined): boolean {
  try {
    file?.sql.rollback()
    return true
  } catch {
    return false
  }
}

function closeFile(file: OpenFile | undefined): void {
  try {
    file?.close()
  } catch {
    // Everything acknowledged is on disk. SQLite repairs the rest when the file is opened.
    return
  }
}
