// Opening a database file: prove that it is ours, bring it to the present shape, and prove that what is
// committed to it will be durable. A file that is not ours is left as it was found.
import { closeSync, openSync, statSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { TurnwireError } from '../../language/errors.ts'
import { faultOf } from './faults.ts'
import { migrations } from './migrations/index.ts'

export type OpenOptions = {
  file: string
  /** How long a write waits for another process's lock; the event loop waits with it. */
  busyMs?: number
  /** The most that the database file may grow to. */
  maxBytes?: number
}

/** "Twir": marks a SQLite file as one of ours. */
export const APPLICATION_ID = 0x54776972
/** Older ones can corrupt a file in WAL mode that two connections write to. */
const OLDEST_SQLITE = [3, 51, 3] as const
const SMALLEST_DATABASE = 512
const FULL = 2

/** Throws a TurnwireError that says what to do. */
export function openDatabase(options: OpenOptions): DatabaseSync {
  let db: DatabaseSync | undefined
  try {
    makePrivate(options.file)
    db = new DatabaseSync(options.file, {
      timeout: options.busyMs ?? 2_000,
      enableForeignKeyConstraints: true,
    })
    checkVersion(text(db, 'SELECT sqlite_version()'))
    identify(db, options.file)
    setUp(db, options.maxBytes)
    migrate(db)
    db.exec("UPDATE meta SET value = value + 1 WHERE key = 'opened'")
    checkDurable(db, options.file)
    return db
  } catch (thrown) {
    if (db?.isOpen) db.close()
    throw faultOf(thrown, options.file).error
  }
}

/** The log holds what people said: a new file is its owner's alone, and SQLite gives its companions the same mode. */
function makePrivate(file: string): void {
  try {
    closeSync(openSync(file, 'ax', 0o600))
  } catch {
    // It exists, or SQLite will say why it cannot.
    return
  }
}

export function checkVersion(version: string): void {
  const parts = version.split('.').map(Number)
  for (const [index, least] of OLDEST_SQLITE.entries()) {
    const part = parts[index] ?? 0
    if (part > least) return
    if (part < least)
      throw new TurnwireError(
        'store_failed',
        `This Node carries SQLite ${version}, which can damage its files. Use a Node with SQLite ${OLDEST_SQLITE.join('.')} or newer.`,
      )
  }
}

function identify(db: DatabaseSync, file: string): void {
  const foreign = (why: string) =>
    new TurnwireError('store_foreign', `${file} ${why}. Name another file, or move this one away.`)
  const { size } = statSync(file)
  // SQLite takes so small a file for an empty database and would write over it.
  if (size > 0 && size < SMALLEST_DATABASE) throw foreign('is not a database')
  const application = number(db, 'PRAGMA application_id')
  const version = number(db, 'PRAGMA user_version')
  const blank = application === 0 && version === 0 && number(db, 'SELECT count(*) FROM sqlite_schema') === 0
  if (!blank && application !== APPLICATION_ID) throw foreign("is another application's database")
  if (version > migrations.length)
    throw new TurnwireError(
      'store_newer',
      `${file} has shape ${version} and this version reads up to ${migrations.length}. Upgrade, or name another file.`,
    )
}

function setUp(db: DatabaseSync, maxBytes: number | undefined): void {
  db.exec('PRAGMA journal_mode = WAL')
  db.exec('PRAGMA synchronous = FULL')
  db.exec('PRAGMA foreign_keys = ON')
  // Two processes that map one file amplify whatever goes wrong between them.
  db.exec('PRAGMA mmap_size = 0')
  // Without it a burst's write-ahead log keeps its size for ever.
  db.exec('PRAGMA journal_size_limit = 67108864')
  if (maxBytes === undefined) return
  const pages = Math.max(1, Math.floor(maxBytes / number(db, 'PRAGMA page_size')))
  db.exec(`PRAGMA max_page_count = ${pages}`)
}

function migrate(db: DatabaseSync): void {
  if (number(db, 'PRAGMA user_version') === migrations.length) return
  db.exec('BEGIN IMMEDIATE')
  try {
    // Asked again under the lock: another process may have been here meanwhile.
    for (let version = number(db, 'PRAGMA user_version'); version < migrations.length; version++)
      db.exec(migrations[version]!)
    db.exec(`PRAGMA application_id = ${APPLICATION_ID}`)
    db.exec(`PRAGMA user_version = ${migrations.length}`)
    db.exec('COMMIT')
  } catch (thrown) {
    if (db.isTransaction) db.exec('ROLLBACK')
    throw thrown
  }
}

/** Asked after a write: some builds answer FULL until the first one and sync less from then on. */
export function checkDurable(db: DatabaseSync, file: string): void {
  const journal = text(db, 'PRAGMA journal_mode')
  const synchronous = number(db, 'PRAGMA synchronous')
  if (journal === 'wal' && synchronous === FULL) return
  throw new TurnwireError(
    'store_failed',
    `${file} would not keep what it acknowledges: its journal is "${journal}" and synchronous is ${synchronous}, where "wal" and ${FULL} are needed. Put it on a local disk.`,
  )
}

function value(db: DatabaseSync, sql: string): unknown {
  return Object.values(db.prepare(sql).get() ?? {})[0]
}

function number(db: DatabaseSync, sql: string): number {
  return Number(value(db, sql))
}

function text(db: DatabaseSync, sql: string): string {
  return String(value(db, sql))
}
