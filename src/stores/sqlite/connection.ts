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

export class Connection {
  readonly #options: DatabaseOptions
  #current: Statements | undefined
  /** False after a disk failure, until the connection is replaced. */
  #trusted = true
  #closed = false

  constructor(options: DatabaseOptions) {
    this.#options = options
    this.#replace()
  }

  /** For reads, which go on after a disk failure if they can. Throws a TurnwireError when closed. */
  reading(): Statements {
    this.#checkOpen()
    return this.#current ?? this.#replace()
  }

  /** Throws a TurnwireError when closed, or when a failed connection cannot be replaced. */
  begin(): Statements {
    this.#checkOpen()
    const sql = this.#current !== undefined && this.#trusted ? this.#current : this.#replace()
    sql.begin()
    return sql
  }

  commit(): void {
    this.#current?.commit()
  }

  /** Ends the transaction that `thrown` interrupted, and says what the error means. Never throws. */
  fail(thrown: unknown): SqliteFault {
    const fault = sqliteFault(thrown, this.#options.file)
    if (this.#closed) return fault
    const ended = succeeds(() => this.#current?.rollback())
    // A connection whose transaction is still open may hold the lock that its replacement needs.
    if (!ended) this.#close()
    if (!ended || fault.affects === 'connection') {
      this.#trusted = false
      // If the disk still fails, the next write tries again and reports it.
      succeeds(() => this.#replace())
    }
    return fault
  }

  close(): void {
    this.#closed = true
    this.#close()
  }

  #replace(): Statements {
    const fresh = prepareStatements(openDatabase(this.#options))
    this.#close()
    this.#current = fresh
    this.#trusted = true
    return fresh
  }

  /** If closing fails, nothing is lost: everything acknowledged is on disk, and SQLite repairs the rest on opening. */
  #close(): void {
    succeeds(() => this.#current?.close())
    this.#current = undefined
  }

  #checkOpen(): void {
    if (this.#closed)
      throw new TurnwireError('store_failed', `The store on ${this.#options.file} was closed.`)
  }
}

function succeeds(run: () => unknown): boolean {
  try {
    run()
    return true
  } catch {
    return false
  }
}
