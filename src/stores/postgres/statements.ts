// Every SQL statement of the store but its schema, and what their rows are. This is the only file that knows the columns;
// what is written together, and when, is decided elsewhere. Each statement is one transaction, unless it says that it
// needs the session's row to be locked. Statements for many sessions take one array for each column.
import type { SessionRow, SessionStatus } from '../../engine/ports/index.ts'
import { sessionRow as rowOf, type SessionColumns } from '../session-rows.ts'
import { isFree, lives, nodeStatements } from './node-statements.ts'
import { fromText } from './text.ts'

export type Statements = ReturnType<typeof makeStatements>

export const SESSION_COLUMNS = [
  'position',
  'id',
  'owner',
  'agent',
  'status',
  'created_at',
  'updated_at',
  'head',
  'bytes',
  'blob_bytes',
  'recoveries',
  'facts',
]
  .map(name => `s.${name}`)
  .join(', ')

export type ListedColumns = [summary: string | null, ...SessionColumns]

export function sessionRow(columns: SessionColumns): SessionRow {
  const row = rowOf(columns)
  return { ...row, id: fromText(row.id), owner: fromText(row.owner), agent: fromText(row.agent) }
}

/** `schema` is a quoted name. */
export function makeStatements(schema: string) {
  return {
    ...metaStatements(schema),
    ...creationStatements(schema),
    ...appendStatements(schema),
    ...sessionStatements(schema),
    ...listStatements(schema),
    ...blobStatements(schema),
    ...nodeStatements(schema),
    ...paymentStatements(schema),
    ...recordStatements(schema),
  }
}

function metaStatements(schema: string) {
  return {
    putMeta: `INSERT INTO ${schema}.meta (key, value) VALUES ($1, $2) ON CONFLICT (key) DO NOTHING`,
    selectMeta: `SELECT value FROM ${schema}.meta WHERE key = $1`,
    /** Shows whether the database takes writes. Nothing reads what it writes. */
    touch: `INSERT INTO ${schema}.meta (key, value) VALUES ('touched', $1)
      ON CONFLICT (key) DO UPDATE SET value = excluded.value`,
    /** Events of no session, in one transaction: whether the database has room. */
    takeRoom: `INSERT INTO ${schema}.events (session, first_seq, epoch, body)
      SELECT $1::text, seq, 0, CASE seq WHEN 0 THEN $3::text ELSE $2::text END FROM generate_series(0, 20) AS seq`,
    freeRoom: `DELETE FROM ${schema}.events WHERE session = $1`,
  }
}

function creationStatements(schema: string) {
  return {
    /**
     * Creates sessions with their first events. Gives those that were made: the others' request keys were used before. An
     * id that exists fails the statement. `$12`: positions are above it. `$18`: the node that has them; without a lease it
     * makes none.
     */
    createSessions: `
      WITH given AS (
        SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::bigint[], $6::bigint[], $7::bigint[],
          $8::bigint[], $9::boolean[], $10::text[], $11::text[]) WITH ORDINALITY
          AS g (id, owner, agent, status, created_at, updated_at, head, bytes, at_work, request_key, request_hash, place)
        WHERE $18::text IS NULL OR ${lives(schema, '$18::text')}
      ), keyed AS (
        INSERT INTO ${schema}.requests (owner, key, session, hash)
        SELECT owner, request_key, id, request_hash FROM given WHERE request_key IS NOT NULL ORDER BY place
        ON CONFLICT (owner, key) DO NOTHING
        RETURNING session
      ), made AS (
        INSERT INTO ${schema}.sessions (id, owner, agent, status, epoch, head, bytes, blob_bytes, recoveries, created_at,
          updated_at, position, resumes, at_work, request_key, node)
        SELECT id, owner, agent, status, 1, head, bytes, 0, 0, created_at, updated_at,
          greatest((extract(epoch FROM statement_timestamp()) * 1000000)::bigint, $12::bigint) + place, false, at_work,
          request_key, $18::text
        FROM given WHERE request_key IS NULL OR id IN (SELECT session FROM keyed)
        RETURNING id, position
      ), logged AS (
        INSERT INTO ${schema}.events (session, first_seq, epoch, body)
        SELECT made.id, e.first_seq, 1, e.body
        FROM unnest($13::text[], $14::bigint[], $15::text[]) AS e (session, first_seq, body)
        JOIN made ON made.id = e.session
      ), summarised AS (
        INSERT INTO ${schema}.summaries (session, body)
        SELECT made.id, u.body FROM unnest($16::text[], $17::text[]) AS u (session, body) JOIN made ON made.id = u.session
      )
      SELECT id, position FROM made`,
    selectRequest: `SELECT session, hash FROM ${schema}.requests WHERE owner = $1 AND key = $2`,
  }
}

function appendStatements(schema: string) {
  return {
    /**
     * The fence and the order of a log: the row moves only from this epoch and this head. Gives how many moved, and, if not
     * all did, one more row for each that moved. Most appends have one row of events and no summary. Only groups that
     * need them pay for `further` rows and for summaries.
     */
    appendEvents: forms(
      ({ further, summarises, spends, notes }) => `
      WITH advanced AS (
        UPDATE ${schema}.sessions AS s SET
          head = s.head + g.count,
          bytes = s.bytes + g.bytes,
          recoveries = 0,
          status = g.status,
          updated_at = coalesce(g.updated_at, s.updated_at),
          facts = coalesce(g.facts, s.facts),
          resumes = coalesce(g.resumes, s.resumes),
          at_work = g.status = 'running' OR (g.status = 'waiting' AND coalesce(g.resumes, s.resumes))
        FROM unnest($1::text[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::text[], $7::bigint[],
          $8::text[], $9::boolean[], $10::text[])
          AS g (session, epoch, seq, count, bytes, status, updated_at, facts, resumes, body)
        WHERE s.id = g.session AND s.epoch = g.epoch AND s.head = g.seq - 1
        RETURNING s.id, s.epoch, g.seq, g.body
      ), logged AS (
        INSERT INTO ${schema}.events (session, first_seq, epoch, body)
        SELECT id, seq, epoch, body FROM advanced WHERE body IS NOT NULL
      )${summarises ? summaryRows(schema, 11) : ''}${further ? furtherRows(schema, summarises ? 13 : 11) : ''}${spends ? spendingRows(schema, 11 + (summarises ? 2 : 0) + (further ? 3 : 0)) : ''}${notes ? noteRows(schema, 11 + (summarises ? 2 : 0) + (further ? 3 : 0) + (spends ? 7 : 0)) : ''}
      SELECT count(*), NULL FROM advanced
      UNION ALL
      SELECT 0, id FROM advanced WHERE (SELECT count(*) FROM advanced) < cardinality($1::text[])`,
    ),
    /** How sessions stand that an append was for, and whether its first event is there, written in this epoch. */
    rereadAppends: `
      SELECT s.id, s.epoch, s.head, EXISTS (
        SELECT 1 FROM ${schema}.events AS e WHERE e.session = g.session AND e.first_seq = g.seq AND e.epoch = g.epoch)
      FROM unnest($1::text[], $2::bigint[], $3::bigint[]) AS g (session, epoch, seq)
      JOIN ${schema}.sessions AS s ON s.id = g.session`,
  }
}

/** `notes`: with records. */
export type AppendForm = { further: boolean; summarises: boolean; spends: boolean; notes: boolean }

/** A statement in its sixteen forms, each made once. */
function forms(make: (form: AppendForm) => string): (form: AppendForm) => string {
  const made = Array.from({ length: 16 }, (_, bits) =>
    make({
      further: (bits & 1) > 0,
      summarises: (bits & 2) > 0,
      spends: (bits & 4) > 0,
      notes: (bits & 8) > 0,
    }),
  )
  return ({ further, summarises, spends, notes }) =>
    made[Number(further) + 2 * Number(summarises) + 4 * Number(spends) + 8 * Number(notes)]!
}

const addingToSpent = `ON CONFLICT (kind, name, day) DO UPDATE
        SET tokens = p.tokens + excluded.tokens, money = p.money + excluded.money, calls = p.calls + excluded.calls`

/** Rows are taken in one order, so that two statements that add to the same ones never wait for each other. */
function spendingRows(schema: string, at: number): string {
  const types = ['text', 'text', 'text', 'text', 'bigint', 'double precision', 'bigint']
  return `, spent AS (
        INSERT INTO ${schema}.spending AS p (kind, name, day, tokens, money, calls)
        SELECT e.kind, e.name, e.day, sum(e.tokens)::bigint, sum(e.money), sum(e.calls)::bigint
        FROM unnest(${types.map((type, index) => `$${at + index}::${type}[]`).join(', ')})
          AS e (session, kind, name, day, tokens, money, calls)
        JOIN advanced AS a ON a.id = e.session
        GROUP BY e.kind, e.name, e.day ORDER BY e.kind, e.name, e.day
        ${addingToSpent}
      )`
}

/** `at`: the number of its first parameter. The first column is the session of the append. */
function noteRows(schema: string, at: number): string {
  const types = ['text', ...recordTypes]
  return `, noted AS (
        INSERT INTO ${schema}.records (${RECORD_COLUMNS})
        SELECT e.kind, e.name, e.session, e.at, e.due_at, e.version, e.body
        FROM unnest(${types.map((type, index) => `$${at + index}::${type}[]`).join(', ')})
          AS e (appended, kind, name, session, at, due_at, version, body)
        JOIN advanced AS a ON a.id = e.appended ORDER BY e.kind, e.name
        ON CONFLICT (kind, name) DO NOTHING
      )`
}

const RECORD_COLUMNS = 'kind, name, session, at, due_at, version, body'
const recordTypes = ['text', 'text', 'text', 'bigint', 'bigint', 'bigint', 'text']

function recordStatements(schema: string) {
  return {
    insertRecord: `
      INSERT INTO ${schema}.records (${RECORD_COLUMNS})
      VALUES (${recordTypes.map((type, index) => `$${index + 1}::${type}`).join(', ')})
      ON CONFLICT (kind, name) DO NOTHING RETURNING name`,
    updateRecord: `
      UPDATE ${schema}.records SET body = $1, due_at = $2::bigint, version = version + 1
      WHERE kind = $3 AND name = $4 AND version = $5 RETURNING name`,
    deleteRecord: `DELETE FROM ${schema}.records WHERE kind = $1 AND name = $2 AND version = $3 RETURNING name`,
    selectRecord: `SELECT ${RECORD_COLUMNS} FROM ${schema}.records WHERE kind = $1 AND name = $2`,
    /** Before the time `$2` and the name `$3`. */
    listRecords: `
      SELECT ${RECORD_COLUMNS} FROM ${schema}.records WHERE kind = $1 AND (at, name) < ($2::bigint, $3::text)
      ORDER BY at DESC, name DESC LIMIT $4`,
    listDueRecords: `
      SELECT ${RECORD_COLUMNS} FROM ${schema}.records WHERE kind = $1 AND due_at IS NOT NULL
      ORDER BY due_at, name LIMIT $2`,
  }
}

/** `at`: the number of its first parameter. */
function furtherRows(schema: string, at: number): string {
  return `, further AS (
        INSERT INTO ${schema}.events (session, first_seq, epoch, body)
        SELECT a.id, e.first_seq, a.epoch, e.body
        FROM unnest($${at}::text[], $${at + 1}::bigint[], $${at + 2}::text[]) AS e (session, first_seq, body)
        JOIN advanced AS a ON a.id = e.session
      )`
}

/** `at`: the number of its first parameter. */
function summaryRows(schema: string, at: number): string {
  return `, summarised AS (
        INSERT INTO ${schema}.summaries (session, body)
        SELECT a.id, u.body FROM unnest($${at}::text[], $${at + 1}::text[]) AS u (session, body)
        JOIN advanced AS a ON a.id = u.session
        ON CONFLICT (session) DO UPDATE SET body = excluded.body
      )`
}

function sessionStatements(schema: string) {
  return {
    /** For the node `$3`: what it has itself, or nobody with a lease has. Gives those that were claimed. */
    claimSessions: `
      UPDATE ${schema}.sessions AS s SET epoch = s.epoch + 1, recoveries = s.recoveries + g.recovering, node = $3::text
      FROM unnest($1::text[], $2::bigint[]) AS g (session, recovering)
      WHERE s.id = g.session AND ${isFree(schema, '$3::text')}
        AND ($3::text IS NULL OR ${lives(schema, '$3::text')})
      RETURNING s.epoch, ${SESSION_COLUMNS}`,
    /** Locks the row, so that no other writer comes between the statements of a transaction. */
    lockSession: `SELECT epoch, head, owner, request_key FROM ${schema}.sessions WHERE id = $1 FOR UPDATE`,
    selectSession: `SELECT ${SESSION_COLUMNS} FROM ${schema}.sessions AS s WHERE s.id = $1`,
    /** Rows with events after `$2`, until their text is longer than `$3` bytes. The first may begin, or be, before. */
    selectEvents: `
      SELECT first_seq, body FROM (
        SELECT first_seq, body, sum(octet_length(body)) OVER (ORDER BY first_seq) - octet_length(body) AS before
        FROM ${schema}.events WHERE session = $1 AND first_seq >= coalesce(
          (SELECT max(first_seq) FROM ${schema}.events WHERE session = $1 AND first_seq <= $2::bigint + 1), 0)
        ORDER BY first_seq LIMIT 512) AS page
      WHERE before < $3 ORDER BY first_seq`,
    /** All rows of a session, table by table. Needs the session's row to be locked. */
    deleteSession: ['events', 'summaries', 'blobs', 'blobs_in_pieces', 'pieces', 'records']
      .map(table => `DELETE FROM ${schema}.${table} WHERE session = $1`)
      .concat(`DELETE FROM ${schema}.sessions WHERE id = $1`),
    deleteRequest: `DELETE FROM ${schema}.requests WHERE owner = $1 AND key = $2 AND session = $3`,
  }
}

function listStatements(schema: string) {
  return {
    /** Before the position `$1` and the id `$2`. `ofOwner`: of `$4`. The status is written out, as in the indexes. */
    listSessions: (ofOwner: boolean, status: SessionStatus | undefined) => `
      SELECT u.body, ${SESSION_COLUMNS} FROM ${schema}.sessions AS s
      LEFT JOIN ${schema}.summaries AS u ON u.session = s.id
      WHERE (s.position, s.id) < ($1::bigint, $2::text)${ofOwner ? ' AND s.owner = $4' : ''}${status ? ` AND s.status = '${status}'` : ''}
      ORDER BY s.position DESC, s.id DESC LIMIT $3`,
    firstOwner: `SELECT owner FROM ${schema}.sessions ORDER BY owner LIMIT 1`,
    /** The first owner after `$1`. One look into the index for each, instead of a look at every session. */
    nextOwner: `SELECT owner FROM ${schema}.sessions WHERE owner > $1 ORDER BY owner LIMIT 1`,
    selectUsage: `SELECT count(*), coalesce(sum(bytes + blob_bytes), 0)::bigint FROM ${schema}.sessions WHERE owner = $1`,
    /** The rows of one owner and one agent, in the order in which appends take rows. */
    addSpending: `
      INSERT INTO ${schema}.spending AS p (kind, name, day, tokens, money, calls)
      SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::bigint[], $5::double precision[], $6::bigint[])
        AS e (kind, name, day, tokens, money, calls) ORDER BY e.kind, e.name, e.day
      ${addingToSpent}`,
    /** `$3`: a day or a month. */
    selectSpent: `
      SELECT coalesce(sum(tokens), 0)::bigint, coalesce(sum(money), 0)::text, coalesce(sum(calls), 0)::bigint
      FROM ${schema}.spending WHERE kind = $1 AND name = $2 AND left(day, length($3)) = $3`,
    /** Those that the node `$1` could claim. */
    listUnfinished: `SELECT s.id FROM ${schema}.sessions AS s WHERE s.at_work AND ${isFree(schema, '$1::text')}`,
  }
}

/** The writes among them need the session's row to be locked. */
function blobStatements(schema: string) {
  return {
    selectBlob: `SELECT body FROM ${schema}.blobs WHERE session = $1 AND name = $2`,
    selectBlobNames: `
      SELECT name, false FROM ${schema}.blobs WHERE session = $1
      UNION ALL
      SELECT name, true FROM ${schema}.blobs_in_pieces WHERE session = $1 AND whole`,
    countBlob: `
      UPDATE ${schema}.sessions SET blob_bytes = blob_bytes + $3::bigint
        - coalesce((SELECT size FROM ${schema}.blobs WHERE session = $1 AND name = $2), 0)
      WHERE id = $1`,
    putBlob: `
      INSERT INTO ${schema}.blobs (session, name, size, body) VALUES ($1, $2, $3, $4)
      ON CONFLICT (session, name) DO UPDATE SET size = excluded.size, body = excluded.body`,
    selectPieced: `SELECT size, whole FROM ${schema}.blobs_in_pieces WHERE session = $1 AND name = $2`,
    deletePieces: `DELETE FROM ${schema}.pieces WHERE session = $1 AND name = $2`,
    deletePieced: `DELETE FROM ${schema}.blobs_in_pieces WHERE session = $1 AND name = $2`,
    putPieced: `
      INSERT INTO ${schema}.blobs_in_pieces (session, name, size, whole) VALUES ($1, $2, $3, $4)
      ON CONFLICT (session, name) DO UPDATE SET size = excluded.size, whole = excluded.whole`,
    insertPiece: `INSERT INTO ${schema}.pieces (session, name, start, body) VALUES ($1, $2, $3, $4)`,
    countPiece: `UPDATE ${schema}.sessions SET blob_bytes = blob_bytes + $2::bigint WHERE id = $1`,
    /** Those with bytes from `$3` up to before `$4`, in order. */
    selectPieces: `
      SELECT start, body FROM ${schema}.pieces WHERE session = $1 AND name = $2 AND start < $4 AND start >= coalesce(
        (SELECT max(start) FROM ${schema}.pieces WHERE session = $1 AND name = $2 AND start <= $3), 0)
      ORDER BY start`,
  }
}

function paymentStatements(schema: string) {
  return {
    insertPayment: `
      INSERT INTO ${schema}.payments (id, payer, session, open, version, position, body, request, answer)
      VALUES ($1, $2, $3, $4, 1, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint, $5, $6, $7)
      ON CONFLICT (id) DO NOTHING`,
    updatePayment: `
      UPDATE ${schema}.payments
      SET session = $1, open = $2, body = $3, request = coalesce($4::text, request),
        answer = coalesce($5::text, answer), version = version + 1
      WHERE id = $6 AND version = $7 RETURNING id`,
    selectPayment: `SELECT version, body, request, answer FROM ${schema}.payments WHERE id = $1`,
    /** Before the position `$1` and the id `$2`. `by`: the column that is `$4`. */
    listPayments: (by: 'payer' | 'session' | null, open: boolean) => `
      SELECT position, id, version, body FROM ${schema}.payments
      WHERE (position, id) < ($1::bigint, $2::text)${by ? ` AND ${by} = $4` : ''}${open ? ' AND open' : ''}
      ORDER BY position DESC, id DESC LIMIT $3`,
    /** Sessions that each held a payment, oldest first. `$1`: what their summaries are like. */
    listOldPayments: `
      SELECT s.id, r.owner, r.key, r.hash FROM ${schema}.sessions AS s
      JOIN ${schema}.summaries AS u ON u.session = s.id JOIN ${schema}.requests AS r ON r.session = s.id
      WHERE u.body LIKE $1 ORDER BY s.position, s.id`,
    selectAllEvents: `SELECT body FROM ${schema}.events WHERE session = $1 ORDER BY first_seq`,
  }
}
