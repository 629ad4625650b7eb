// Opens the database: checks that it keeps what it acknowledges, and brings its schema up to date. Several nodes may do
// this at once: every step can be repeated, and one that meets another's is tried again.
import { randomBytes } from 'node:crypto'
import { TurnwireError } from '../../language/errors.ts'
import type { Database } from './database.ts'
import { DatabaseFault, toDatabaseFault } from './faults.ts'
import { migrations, PAYMENTS_MIGRATION } from './migrations.ts'
import { movePayments } from './payments.ts'
import type { Statements } from './statements.ts'

const OLDEST = 15
/** Two nodes create the same object: duplicate key in a catalog, duplicate table, schema or object, tuple changed. */
const MEETINGS = new Set(['23505', '42P07', '42P06', '42710', 'XX000', '55006'])
const MOST_MEETINGS = 100

/** `schema` is a quoted name. Gives the secret of list cursors, which all nodes share. */
export async function openDatabase(
  db: Database,
  sql: Statements,
  schema: string,
): Promise<{ cursorSecret: string }> {
  await checkPostgres(db)
  if (await db.isDirect()) db.nameStatements()
  await migrate(db, sql, schema)
  await db.run(sql.putMeta, ['cursor_secret', randomBytes(32).toString('hex')])
  const [row] = await db.run<[value: string]>(sql.selectMeta, ['cursor_secret'])
  return { cursorSecret: row![0] }
}

async function checkPostgres(db: Database): Promise<void> {
  const [row] = await db.run<[version: string, fsync: string | null, commit: string | null]>(
    `SELECT version(), current_setting('fsync', true), current_setting('synchronous_commit', true)`,
    [],
  )
  const [version, fsync, commit] = row!
  // Engines that only speak its protocol have versions of their own.
  const major = /^PostgreSQL (\d+)/.exec(version)?.[1]
  if (major !== undefined && Number(major) < OLDEST)
    throw new TurnwireError('store_failed', `PostgreSQL ${OLDEST} or newer is needed; this is ${version}.`)
  if (fsync !== 'off' && commit !== 'off') return
  const setting = fsync === 'off' ? 'fsync' : 'synchronous_commit'
  throw new TurnwireError(
    'store_failed',
    `The database may lose what it has acknowledged: ${setting} is off. Set it to on, for instance with ALTER ROLE … SET synchronous_commit = on.`,
  )
}

async function migrate(db: Database, sql: Statements, schema: string): Promise<void> {
  const table = `${schema}.migrations`
  const [found] = await db.run<[schema: boolean, table: boolean]>(
    'SELECT to_regnamespace($1) IS NOT NULL, to_regclass($2) IS NOT NULL',
    [schema, table],
  )
  const [hasSchema, hasTable] = found!
  if (!hasSchema) await create(db, `CREATE SCHEMA IF NOT EXISTS ${schema}`)
  if (!hasTable) await create(db, `CREATE TABLE IF NOT EXISTS ${table} (number bigint PRIMARY KEY)`)
  const [newest] = await db.run<[number: number]>(`SELECT coalesce(max(number), 0) FROM ${table}`, [])
  const before = newest![0]
  if (before > migrations.length)
    throw new TurnwireError(
      'store_newer',
      `The database was written by a newer version (schema ${before}, this one knows ${migrations.length}). Update Turnwire.`,
    )
  for (const statements of migrations.slice(before))
    for (const statement of statements(schema)) await create(db, statement)
  // Its statements are those of today, so it needs every table. It is noted as done only after it.
  if (before > 0 && before < PAYMENTS_MIGRATION) await movePayments(db, sql)
  for (let number = before + 1; number <= migrations.length; number++)
    await db.run(`INSERT INTO ${table} (number) VALUES ($1) ON CONFLICT (number) DO NOTHING`, [number])
}

/** Several nodes may define the same at once. */
export async function create(db: Database, statement: string): Promise<void> {
  for (let meetings = 0; ; meetings++) {
    try {
      await db.define(statement)
      return
    } catch (thrown) {
      const fault = thrown instanceof DatabaseFault ? thrown : toDatabaseFault(thrown)
      if (!MEETINGS.has(fault.state) || meetings >= MOST_MEETINGS) throw fault
      await new Promise(resolve => setTimeout(resolve, Math.random() * 50))
    }
  }
}
