// Opens a database file: checks that it is ours, applies missing migrations, and checks that commits will be durable. A
// file that is not ours is left unchanged.
import { statSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { TurnwireError } from '../../language/errors.ts'
import { makePrivateFile } from '../../lib/files/private-file.ts'
import { sqliteFault } from './faults.ts'
import { migrations, PAYMENTS_MIGRATION } from './migrations.ts'
import { movePayments } from './move-payments.ts'

export type DatabaseOptions = {
  file: string
  /** How long a write waits for another process's lock, in ms. Default 2000. */
  busyMs?: number
  /** How large the database file may grow. */
  maxBytes?: number
  /** True: a commit also copies the WAL into the database when it has become long. Otherwise `checkpoint` does it. */
  checkpoints?: boolean
}

/** "Twir": marks a SQLite file as one of ours. */
const APPLICATION_ID = 0x54776972
/** Older versions can corrupt a WAL file that two connections write to. */
const OLDEST_SQLITE = '3.51.3'
const SMALLEST_DATABASE = 512
const SYNCHRONOUS_FULL = 2

/** The file of a database's index, beside it. */
export function indexFile(file: string): string {
  return `${file.replace(/\.db$/, '')}.index.db`
}

/** Throws a TurnwireError that says what to do. */
export function openDatabase(options: DatabaseOptions): DatabaseSync {
  let db: DatabaseSync | undefined
  try {
    // SQLite gives the WAL files the same mode.
    makePrivateFile(options.file)
    db = new DatabaseSync(options.file, {
      timeout: options.busyMs ?? 2_000,
      enableForeignKeyConstraints: true,
    })
    checkVersion(String(firstValue(db, 'SELECT sqlite_version()')))
    checkText(db)
    checkOwnership(db, options.file)
    configure(db, options)
    migrate(db)
    // Also overwrites what an earlier connection could not sync; see connection.ts.
    db.exec("UPDATE meta SET value = value + 1 WHERE key = 'opened'")
    checkDurable(db, options.file)
    return db
  } catch (thrown) {
    if (db?.isOpen) db.close()
    throw sqliteFault(thrown, options.file).error
  }
}

/** A connection that only reads a file which is open already. */
export function openForReading(file: string): DatabaseSync {
  return new DatabaseSync(file, { readOnly: true })
}

export function checkVersion(version: string): void {
  if (version.localeCompare(OLDEST_SQLITE, 'en', { numeric: true }) >= 0) return
  throw new TurnwireError(
    'store_failed',
    `This Node carries SQLite ${version}, which can damage its files. Use a Node with SQLite ${OLDEST_SQLITE} or newer.`,
  )
}

/** Some versions of Node cut a text at its first NUL when they read it. */
export function checkText(db: Pick<DatabaseSync, 'prepare'>): void {
  const text = 'a\0b'
  if (db.prepare('SELECT ? AS text').get(text)?.['text'] === text) return
  throw new TurnwireError(
    'store_failed',
    `This Node (${process.version}) cuts texts short when it reads them from SQLite. Use Node 24.16 or newer.`,
  )
}

function checkOwnership(db: DatabaseSync, file: string): void {
  const foreign = (why: string) =>
    new TurnwireError('store_foreign', `${file} ${why}. Name another file, or move this one away.`)
  const { size } = statSync(file)
  // SQLite treats such a small file as an empty database and would overwrite it.
  if (size > 0 && size < SMALLEST_DATABASE) throw foreign('is not a database')
  const application = firstValue(db, 'PRAGMA application_id')
  const version = Number(firstValue(db, 'PRAGMA user_version'))
  const blank =
    application === 0 && version === 0 && firstValue(db, 'SELECT count(*) FROM sqlite_schema') === 0
  if (!blank && application !== APPLICATION_ID) throw foreign("is another application's database")
  if (version > migrations.length)
    throw new TurnwireError(
      'store_newer',
      `${file} has schema ${version} and this version reads up to ${migrations.length}. Upgrade, or name another file.`,
    )
}

function configure(db: DatabaseSync, { maxBytes, checkpoints = false }: DatabaseOptions): void {
  db.exec('PRAGMA journal_mode = WAL')
  db.exec('PRAGMA synchronous = FULL')
  db.exec('PRAGMA foreign_keys = ON')
  // With a memory-mapped file an I/O error kills the process instead of being reported.
  db.exec('PRAGMA mmap_size = 0')
  // Without it the WAL file keeps the size of the largest burst.
  db.exec('PRAGMA journal_size_limit = 67108864')
  if (!checkpoints) db.exec('PRAGMA wal_autocheckpoint = 0')
  if (maxBytes === undefined) return
  const pages = Math.max(1, Math.floor(maxBytes / Number(firstValue(db, 'PRAGMA page_size'))))
  db.exec(`PRAGMA max_page_count = ${pages}`)
}

function migrate(db: DatabaseSync): void {
  const version = () => Number(firstValue(db, 'PRAGMA user_version'))
  if (version() === migrations.length) return
  db.exec('BEGIN IMMEDIATE')
  try {
    // Read again under the lock: another process may have migrated the file.
    const before = version()
    for (const migration of migrations.slice(before)) db.exec(migration)
    if (before > 0 && before < PAYMENTS_MIGRATION) movePayments(db)
    db.exec(`PRAGMA application_id = ${APPLICATION_ID}`)
    db.exec(`PRAGMA user_version = ${migrations.length}`)
    db.exec('COMMIT')
  } catch (thrown) {
    if (db.isTransaction) db.exec('ROLLBACK')
    throw thrown
  }
}

/** Call it after a write: some builds report FULL until the first write and sync less from then on. */
export function checkDurable(db: DatabaseSync, file: string): void {
  const journal = String(firstValue(db, 'PRAGMA journal_mode'))
  const synchronous = Number(firstValue(db, 'PRAGMA synchronous'))
  if (journal === 'wal' && synchronous === SYNCHRONOUS_FULL) return
  throw new TurnwireError(
    'store_failed',
    `${file} would not keep what it acknowledges: its journal is "${journal}" and synchronous is ${synchronous}, where "wal" and ${SYNCHRONOUS_FULL} are needed. Put it on a local disk.`,
  )
}

function firstValue(db: DatabaseSync, sql: string): unknown {
  return Object.values(db.prepare(sql).get() ?? {})[0]
}
