// A connection that writes. It is replaced after the disk has failed.
//
// After a failed fsync the kernel may have dropped the pages it could not write, so a later fsync that succeeds proves
// nothing. The refused transaction is still in the WAL file, and a process that opens the file alone would recover it
// as committed. So the new connection is opened while another one is still open (the old one, or the reader's), which
// prevents that recovery, and the write that every opening makes overwrites the refused transaction.
import { TurnwireError } from '../../language/errors.ts'
import { type SqliteFault, sqliteFault } from './faults.ts'
import type { Transactions } from './group-commit.ts'
import { type DatabaseOptions, openDatabase } from './open.ts'
import { checkFilePlaces, type FilePlaces } from './places.ts'
import { prepareStatements, type Statements } from './statements.ts'
import { carryOut, type SentWrite } from './writes.ts'

/**
 * How long a commit may rely on the last check of the file's place. Removing the file also removes what was
 * committed just before, and a check takes a fifth of a commit on a quick disk.
 */
const PLACE_CHECK_MS = 10

export class Connection implements Transactions<SentWrite> {
  readonly #options: DatabaseOptions
  readonly #places: FilePlaces
  #current: Statements | undefined
  /** False after a disk failure, until the connection is replaced. */
  #trusted = true
  #commitMs = 0
  #placeCheckedAt = -Infinity

  constructor(options: DatabaseOptions, places: FilePlaces) {
    this.#options = options
    this.#places = places
  }

  /** Opens the connection if it can be opened now. If not, the next write tries again and reports it. */
  open(): void {
    succeeds(() => this.#replace())
  }

  /** Throws a TurnwireError when a failed connection cannot be replaced. */
  begin(): void {
    const sql = this.#current !== undefined && this.#trusted ? this.#current : this.#replace()
    sql.begin()
  }

  write(write: SentWrite): unknown {
    return carryOut(this.#current ?? notOpen(this.#options.file), write)
  }

  /** Throws a TurnwireError, with nothing recorded, if the file was not where it was opened at the last check. */
  commit(): void {
    const begun = performance.now()
    if (begun - this.#placeCheckedAt > PLACE_CHECK_MS) {
      checkFilePlaces(this.#places)
      this.#placeCheckedAt = begun
    }
    try {
      ;(this.#current ?? notOpen(this.#options.file)).commit()
    } finally {
      this.#commitMs = performance.now() - begun
    }
  }

  /** How long the last commit took, most of it for the disk. 0 if there was none since the last call. */
  takeCommitMs(): number {
    const ms = this.#commitMs
    this.#commitMs = 0
    return ms
  }

  /** The disk has failed elsewhere: the next write replaces the connection. */
  distrust(): void {
    this.#trusted = false
  }

  /** Copies the WAL into the database. It waits for nobody, and may be left undone. */
  checkpoint(): void {
    succeeds(() => this.#current?.checkpoint())
  }

  /** Ends the transaction that `thrown` interrupted, and says what the error means. Never throws. */
  fail(thrown: unknown): SqliteFault {
    const fault = sqliteFault(thrown, this.#options.file)
    const ended = succeeds(() => this.#current?.rollback())
    // A connection whose transaction is still open may hold the lock that its replacement needs.
    if (!ended) this.close()
    if (!ended || fault.affects === 'connection') {
      this.#trusted = false
      this.open()
    }
    return fault
  }

  /** If closing fails, nothing is lost: everything acknowledged is on disk, and SQLite repairs the rest on opening. */
  close(): void {
    succeeds(() => this.#current?.close())
    this.#current = undefined
  }

  /** Checks the place first: another file at this path is not the one that sessions were read from. */
  #replace(): Statements {
    checkFilePlaces(this.#places)
    const fresh = prepareStatements(openDatabase(this.#options))
    this.close()
    this.#current = fresh
    this.#trusted = true
    return fresh
  }
}

function notOpen(file: string): never {
  throw new TurnwireError('store_failed', `The database ${file} is not open.`)
}

function succeeds(run: () => unknown): boolean {
  try {
    run()
    return true
  } catch {
    return false
  }
}
