// The connection that reads, on the main thread. It sees a commit once it is synced: SQLite shows a commit in the WAL to
// other connections only after the sync. It is opened at once, with all checks, so that a bad file is reported at the
// start. Reading needs no working disk beyond the file's pages: it goes on when the disk is full, read-only or slow.
import { storeClosed } from '../failures.ts'
import { sqliteFault } from './faults.ts'
import { type DatabaseOptions, openDatabase, openForReading } from './open.ts'
import { checkFilePlaces, type FilePlaces, findPlaces } from './places.ts'
import { prepareStatements, type Statements } from './statements.ts'

export class Reader {
  readonly #file: string
  readonly places: FilePlaces
  #current: Statements
  #closed = false

  /** Throws a TurnwireError if the file cannot be opened, is not ours, or would not keep what it acknowledges. */
  constructor(options: DatabaseOptions) {
    this.#file = options.file
    const db = openDatabase(options)
    db.exec('PRAGMA query_only = ON')
    // A wait would hold the event loop. Readers wait only for another process that opens or closes the file.
    db.exec('PRAGMA busy_timeout = 50')
    this.#current = prepareStatements(db)
    this.places = findPlaces(options.file)
  }

  async read<T>(query: (sql: Statements) => T): Promise<T> {
    if (this.#closed) throw storeClosed()
    try {
      return query(this.#current)
    } catch (thrown) {
      const { error, affects } = sqliteFault(thrown, this.#file)
      if (affects === 'connection') this.#replace()
      throw error
    }
  }

  close(): void {
    if (this.#closed) return
    this.#closed = true
    this.#current.close()
  }

  /** Opens the new connection before it closes the old one: see connection.ts. If it cannot, the old one stays. */
  #replace(): void {
    try {
      checkFilePlaces(this.places)
      const fresh = prepareStatements(openForReading(this.#file))
      const old = this.#current
      this.#current = fresh
      old.close()
    } catch {
      return
    }
  }
}
