// Every SQL statement of the store, prepared once for each connection. This is the only file that knows the columns;
// what is written together, and when, is decided elsewhere.
import type { DatabaseSync, SQLInputValue, SQLOutputValue } from 'node:sqlite'
import type { RecordColumns } from '../record-rows.ts'
import type { SessionColumns } from '../session-rows.ts'
import { IS_LANDMARK } from './migrations.ts'

export type Statements = ReturnType<typeof prepareStatements>

export const SESSION_COLUMNS =
  'id, name, owner, agent, status, created_at, updated_at, head, bytes, blob_bytes, recoveries, facts'

const RECORD_COLUMNS = 'kind, name, session, at, due_at, version, body'

export function prepareStatements(db: DatabaseSync) {
  const query = <Row extends readonly (string | number | null)[]>(sql: string) => prepareQuery<Row>(db, sql)
  const change = (sql: string) => prepareChange(db, sql)
  const [begin, commit, rollback] = [
    db.prepare('BEGIN IMMEDIATE'),
    db.prepare('COMMIT'),
    db.prepare('ROLLBACK'),
  ]
  return {
    // IMMEDIATE takes the write lock at once: a transaction that reads first cannot wait for another writer.
    begin: () => void begin.run(),
    commit: () => void commit.run(),
    // Some failures have ended the transaction already.
    rollback: () => void (db.isTransaction && rollback.run()),
    close: () => db.close(),
    checkpoint: () => db.exec('PRAGMA wal_checkpoint(PASSIVE)'),

    touch: change("UPDATE meta SET value = value + 1 WHERE key = 'opened'"),
    takeRoom: change("INSERT OR REPLACE INTO meta (key, value) VALUES ('room', zeroblob(65536))"),
    freeRoom: change("DELETE FROM meta WHERE key = 'room'"),
    cursorSecret: query<[value: string]>("SELECT value FROM meta WHERE key = 'cursor_secret'"),

    insertSession: change(`
      INSERT INTO sessions (name, owner, agent, status, epoch, head, created_at, updated_at, request_key, request_hash)
      VALUES (?, ?, ?, ?, 1, 0, ?, ?, ?, ?)`),
    advanceSession: change(`
      UPDATE sessions SET head = ?, last_batch = ?, bytes = bytes + ?, recoveries = 0, status = ?,
        facts = coalesce(?, facts), updated_at = coalesce(?, updated_at) WHERE id = ?`),
    claimSession: query<[epoch: number, ...SessionColumns]>(
      `UPDATE sessions SET epoch = epoch + 1, recoveries = recoveries + ?2 WHERE name = ?1
      RETURNING epoch, ${SESSION_COLUMNS}`,
    ),
    // Summaries and blobs go with it by cascade.
    deleteSession: change('DELETE FROM sessions WHERE name = ?'),
    sessionHead: query<[id: number, epoch: number, head: number, lastBatch: number | null]>(
      'SELECT id, epoch, head, last_batch FROM sessions WHERE name = ?',
    ),
    selectSession: query<SessionColumns>(`SELECT ${SESSION_COLUMNS} FROM sessions WHERE name = ?`),
    selectRequest: query<[name: string, hash: string]>(
      'SELECT name, request_hash FROM sessions WHERE owner = ? AND request_key = ?',
    ),
    listSessions: query<[summary: string | null, ...SessionColumns]>(`
      SELECT summaries.body, ${SESSION_COLUMNS}
      FROM sessions LEFT JOIN summaries ON summaries.session = sessions.id
      WHERE owner = ? AND id < ? ORDER BY id DESC LIMIT ?`),
    listAllSessions: query<[summary: string | null, ...SessionColumns]>(`
      SELECT summaries.body, ${SESSION_COLUMNS}
      FROM sessions LEFT JOIN summaries ON summaries.session = sessions.id
      WHERE id < ? ORDER BY id DESC LIMIT ?`),
    // The index of those that wait is used only if the status is written out.
    listWaiting: query<[summary: string | null, ...SessionColumns]>(`
      SELECT summaries.body, ${SESSION_COLUMNS}
      FROM sessions INDEXED BY sessions_that_wait LEFT JOIN summaries ON summaries.session = sessions.id
      WHERE status = 'waiting' AND id < ?2 AND owner = coalesce(?1, owner) ORDER BY id DESC LIMIT ?3`),
    listByStatus: query<[summary: string | null, ...SessionColumns]>(`
      SELECT summaries.body, ${SESSION_COLUMNS}
      FROM sessions LEFT JOIN summaries ON summaries.session = sessions.id
      WHERE status = ?4 AND id < ?2 AND id >= ?5 AND owner = coalesce(?1, owner) ORDER BY id DESC LIMIT ?3`),
    /** Another value after each write of a log. */
    newestBatch: query<[id: number | null]>('SELECT max(id) FROM batches'),
    lastSession: query<[id: number | null]>('SELECT max(id) FROM sessions'),
    // Looks up one owner after the other in the index, so that it does not scan all sessions.
    listOwners: query<[owner: string]>(`
      WITH RECURSIVE found (owner) AS (
        SELECT min(owner) FROM sessions
        UNION ALL
        SELECT (SELECT min(owner) FROM sessions WHERE owner > found.owner) FROM found WHERE found.owner IS NOT NULL
      )
      SELECT owner FROM found WHERE owner IS NOT NULL`),
    /** Of up to 2,000 sessions after ?2. `last` is null when there were fewer. */
    selectUsage: query<[sessions: number, bytes: number, last: number | null]>(`
      SELECT count(*), coalesce(sum(bytes), 0), iif(count(*) < 2000, NULL, max(id)) FROM (
        SELECT id, bytes + blob_bytes AS bytes FROM sessions WHERE owner = ?1 AND id > ?2 ORDER BY id LIMIT 2000)`),
    addSpending: change(`
      INSERT INTO spending (kind, name, day, tokens, money, calls) VALUES (?, ?, ?, ?, ?, ?)
      ON CONFLICT (kind, name, day) DO UPDATE
      SET tokens = tokens + excluded.tokens, money = money + excluded.money, calls = calls + excluded.calls`),
    /** ?3: a day or a month. */
    selectSpent: query<[tokens: number, money: number, calls: number]>(`
      SELECT coalesce(sum(tokens), 0), coalesce(sum(money), 0), coalesce(sum(calls), 0) FROM spending
      WHERE kind = ?1 AND name = ?2 AND substr(day, 1, length(?3)) = ?3`),
    listUnfinished: query<[name: string]>(`
      SELECT name FROM sessions WHERE status = 'running'
      UNION ALL
      SELECT name FROM sessions INDEXED BY sessions_that_wait
      WHERE status = 'waiting' AND (facts ->> '$.atWork' OR facts ->> '$.dueAt')`),

    insertBatch: change(
      'INSERT INTO batches (session, previous, first_seq, last_seq, body) VALUES (?, ?, ?, ?, ?)',
    ),
    /**
     * The batches with events after ?2, oldest first, up to the next landmark or else to the newest. It walks back from
     * there without the bodies, which are read one by one. The first batch may begin before ?2. Ids grow within a
     * session, so their order is the order of events.
     */
    selectBatches: query<[firstSeq: number, body: string]>(`
      WITH RECURSIVE
      stretch_end (id) AS (
        SELECT coalesce((
          SELECT id FROM batches
          WHERE session = sessions.id AND first_seq > ?2 AND ${IS_LANDMARK} ORDER BY first_seq LIMIT 1
        ), last_batch)
        FROM sessions WHERE name = ?1
      ),
      chain (id, previous, first_seq) AS (
        SELECT id, previous, first_seq FROM batches WHERE id IN stretch_end AND last_seq > ?2
        UNION ALL
        SELECT batches.id, batches.previous, batches.first_seq
        FROM chain JOIN batches ON batches.id = chain.previous WHERE chain.first_seq > ?2 + 1
      )
      SELECT first_seq, body FROM batches WHERE id IN (SELECT id FROM chain) ORDER BY id`),
    deleteBatches: change(`
      WITH RECURSIVE chain (id) AS (
        SELECT last_batch FROM sessions WHERE name = ?
        UNION ALL
        SELECT previous FROM chain JOIN batches ON batches.id = chain.id WHERE previous IS NOT NULL
      )
      DELETE FROM batches WHERE id IN chain`),

    insertPayment: change(`
      INSERT INTO payments (id, payer, session, open, version, body, request, answer) VALUES (?, ?, ?, ?, 1, ?, ?, ?)`),
    updatePayment: change(`
      UPDATE payments SET session = ?1, open = ?2, body = ?3, request = coalesce(?4, request),
        answer = coalesce(?5, answer), version = version + 1
      WHERE id = ?6 AND version = ?7`),
    selectPayment: query<[version: number, body: string, request: string | null, answer: string | null]>(
      'SELECT version, body, request, answer FROM payments WHERE id = ?',
    ),
    listPayments: query<[position: number, version: number, body: string]>(
      'SELECT position, version, body FROM payments WHERE position < ?1 ORDER BY position DESC LIMIT ?2',
    ),
    listOpenPayments: query<[position: number, version: number, body: string]>(
      'SELECT position, version, body FROM payments WHERE open AND position < ?1 ORDER BY position DESC LIMIT ?2',
    ),
    listPaymentsBy: query<[position: number, version: number, body: string]>(`
      SELECT position, version, body FROM payments
      WHERE payer = ?3 AND position < ?1 AND open >= ?4 ORDER BY position DESC LIMIT ?2`),
    listPaymentsFor: query<[position: number, version: number, body: string]>(`
      SELECT position, version, body FROM payments
      WHERE session = ?3 AND position < ?1 AND open >= ?4 ORDER BY position DESC LIMIT ?2`),

    insertRecord: change(`
      INSERT INTO records (kind, name, session, at, due_at, version, body) VALUES (?, ?, ?, ?, ?, ?, ?)
      ON CONFLICT (kind, name) DO NOTHING`),
    updateRecord: change(`
      UPDATE records SET body = ?1, due_at = ?2, version = version + 1
      WHERE kind = ?3 AND name = ?4 AND version = ?5`),
    deleteRecord: change('DELETE FROM records WHERE kind = ? AND name = ? AND version = ?'),
    deleteRecordsOf: change('DELETE FROM records WHERE session = ?'),
    selectRecord: query<RecordColumns>(`SELECT ${RECORD_COLUMNS} FROM records WHERE kind = ? AND name = ?`),
    /** Before the time ?2 and the name ?3. */
    listRecords: query<RecordColumns>(`
      SELECT ${RECORD_COLUMNS} FROM records WHERE kind = ?1 AND (at, name) < (?2, ?3)
      ORDER BY at DESC, name DESC LIMIT ?4`),
    listDueRecords: query<RecordColumns>(`
      SELECT ${RECORD_COLUMNS} FROM records WHERE kind = ? AND due_at IS NOT NULL ORDER BY due_at, name LIMIT ?`),

    upsertSummary: change(`
      INSERT INTO summaries (session, body) VALUES (?, ?)
      ON CONFLICT (session) DO UPDATE SET body = excluded.body`),
    countBlob: change(`
      UPDATE sessions SET blob_bytes = blob_bytes + ?3
        - coalesce((SELECT length(body) FROM blobs WHERE session = ?1 AND name = ?2), 0)
      WHERE id = ?1`),
    upsertBlob: change(`
      INSERT INTO blobs (session, name, body) VALUES (?, ?, ?)
      ON CONFLICT (session, name) DO UPDATE SET body = excluded.body`),
    selectBlob: query<[body: string]>(`
      SELECT blobs.body FROM blobs JOIN sessions ON sessions.id = blobs.session
      WHERE sessions.name = ? AND blobs.name = ?`),

    selectBlobNames: query<[name: string, inPieces: number]>(`
      SELECT blobs.name, 0 FROM blobs JOIN sessions ON sessions.id = blobs.session WHERE sessions.name = ?1
      UNION ALL
      SELECT pieced.name, 1 FROM blobs_in_pieces pieced JOIN sessions ON sessions.id = pieced.session
      WHERE sessions.name = ?1 AND pieced.whole = 1`),

    selectPieced: query<[id: number, size: number, whole: number]>(
      'SELECT id, size, whole FROM blobs_in_pieces WHERE session = ? AND name = ?',
    ),
    selectWhole: query<[id: number, size: number]>(`
      SELECT pieced.id, pieced.size FROM blobs_in_pieces AS pieced JOIN sessions ON sessions.id = pieced.session
      WHERE sessions.name = ? AND pieced.name = ? AND pieced.whole = 1`),
    insertPieced: change('INSERT INTO blobs_in_pieces (session, name, size, whole) VALUES (?, ?, ?, ?)'),
    extendPieced: change('UPDATE blobs_in_pieces SET size = ?, whole = ? WHERE id = ?'),
    // Its pieces go with it by cascade.
    deletePieced: change('DELETE FROM blobs_in_pieces WHERE id = ?'),
    insertPiece: preparePiece(db),
    selectPieces: preparePieces(db),
    countPiece: change('UPDATE sessions SET blob_bytes = blob_bytes + ? WHERE id = ?'),
  }
}

type Parameter = string | number | null

function prepareChange(db: DatabaseSync, sql: string) {
  const statement = db.prepare(sql)
  return (...parameters: Parameter[]): { rows: number; id: number } => {
    const { changes, lastInsertRowid } = statement.run(...toColumns(parameters))
    return { rows: Number(changes), id: Number(lastInsertRowid) }
  }
}

/** Rows come as arrays, which node:sqlite builds faster than objects. `Row` is what the statement selects. */
function prepareQuery<Row extends readonly Parameter[]>(db: DatabaseSync, sql: string) {
  const statement = db.prepare(sql)
  statement.setReturnArrays(true)
  // node:sqlite types rows as objects even when it returns arrays.
  const listedRow = (row: unknown) => fromColumns(row as SQLOutputValue[]) as unknown as Row
  return {
    one(...parameters: Parameter[]): Row | undefined {
      const row: unknown = statement.get(...toColumns(parameters))
      return row === undefined ? undefined : listedRow(row)
    },
    all: (...parameters: Parameter[]): Row[] => statement.all(...toColumns(parameters)).map(listedRow),
    /** One row at a time. It must be used up or left by `return` or `break` before the next use. */
    each: (...parameters: Parameter[]): IteratorObject<Row> =>
      statement.iterate(...toColumns(parameters)).map(listedRow),
  }
}

// Pieces are bytes. They are no text in another form, so they do not go through the two functions below.

function preparePiece(db: DatabaseSync) {
  const statement = db.prepare('INSERT INTO pieces (blob, start, body) VALUES (?, ?, ?)')
  return (blob: number, start: number, body: Uint8Array): void => void statement.run(blob, start, body)
}

/** Those with bytes from `from` up to before `to`, in order. */
function preparePieces(db: DatabaseSync) {
  const statement = db.prepare(`
    SELECT start, body FROM pieces WHERE blob = ?1 AND start < ?3
      AND start >= coalesce((SELECT max(start) FROM pieces WHERE blob = ?1 AND start <= ?2), 0)
    ORDER BY start`)
  return (blob: number, from: number, to: number): { start: number; body: Uint8Array }[] =>
    // The columns have these types: see migrations.ts.
    statement.all(blob, from, to) as unknown as { start: number; body: Uint8Array }[]
}

// SQLite's text is UTF-8, which has no lone surrogates. A string that holds one is stored as a blob of UTF-16 instead. A
// blob never equals a text, so lookups stay exact.

function toColumns(parameters: readonly Parameter[]): readonly SQLInputValue[] {
  for (const value of parameters)
    if (typeof value === 'string' && !value.isWellFormed())
      return parameters.map(each =>
        typeof each !== 'string' || each.isWellFormed() ? each : Buffer.from(each, 'utf16le'),
      )
  return parameters
}

/** Changes the row that it is given. */
function fromColumns(row: SQLOutputValue[]): SQLOutputValue[] {
  for (const [at, value] of row.entries())
    if (value instanceof Uint8Array) row[at] = Buffer.from(value).toString('utf16le')
  return row
}
