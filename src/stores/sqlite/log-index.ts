// The index of a database file, in a file beside it. It has a file of its own so that its writes never wait for the store's, nor
// the store's for them; and because it can be removed at any time: it is made anew from the logs. Only its thread opens it
// (index-worker.ts).
import { rmSync } from 'node:fs'
import { DatabaseSync, type SQLInputValue } from 'node:sqlite'
import type { ActivityQuery, FindQuery, FoundSessions } from '../../engine/ports/index.ts'
import type { ActivityReport, SessionOrder } from '../../language/activity.ts'
import type { Recorded } from '../../language/events.ts'
import { makePrivateFile } from '../../lib/files/private-file.ts'
import { searchPhrases } from '../../lib/text/search-words.ts'
import { checkLimit } from '../cursor.ts'
import {
  type ActivityRow,
  activityReport,
  type BehindSession,
  type Digest,
  type LogIndex,
} from '../log-index/log-index.ts'
import { decodePlace } from '../log-index/place.ts'
import {
  activityColumns,
  activityKey,
  type BehindColumns,
  behindSession,
  type FoundColumns,
  foundPage,
  listedFailures,
} from '../log-index/rows.ts'
import { sessionRow } from '../session-rows.ts'
import { indexFile, openForReading } from './open.ts'
import { prepareStatements, SESSION_COLUMNS, type Statements } from './statements.ts'
import { readEvents } from './writes.ts'

/** Of the index alone. A file of another version is made anew. */
const indexVersion = 1
const pageBytes = 128 * 1024

const schema = `
CREATE TABLE indexed (
  id INTEGER PRIMARY KEY,
  session TEXT NOT NULL UNIQUE,
  head INTEGER NOT NULL,
  state TEXT NOT NULL
);
CREATE TABLE places (
  id INTEGER PRIMARY KEY,
  session INTEGER NOT NULL,
  seq INTEGER NOT NULL
);
CREATE INDEX places_by_session ON places (session);
-- The words are folded already. What is removed is overwritten.
CREATE VIRTUAL TABLE words USING fts5 (body, tokenize = 'unicode61 remove_diacritics 0');
INSERT INTO words (words, rank) VALUES ('secure-delete', 1);
CREATE TABLE activity (
  hour INTEGER NOT NULL,
  kind TEXT NOT NULL,
  agent TEXT NOT NULL,
  name TEXT NOT NULL,
  outcome TEXT NOT NULL,
  bucket INTEGER NOT NULL,
  n INTEGER NOT NULL,
  input INTEGER NOT NULL,
  output INTEGER NOT NULL,
  cost REAL NOT NULL,
  unpriced INTEGER NOT NULL,
  PRIMARY KEY (${activityKey})
) WITHOUT ROWID;
PRAGMA user_version = ${indexVersion};
`

export class SqliteLogIndex implements LogIndex {
  readonly #db: DatabaseSync
  readonly #log: Statements

  /** `file`: of the store. It is only read. */
  constructor(file: string) {
    this.#db = openIndex(indexFile(file))
    this.#db.prepare('ATTACH ? AS log').run(file)
    this.#log = prepareStatements(openForReading(file))
  }

  async behind(limit: number): Promise<BehindSession[]> {
    const rows = this.#all<BehindColumns>(
      `SELECT s.name, s.agent, i.head, i.state FROM log.sessions AS s LEFT JOIN indexed AS i ON i.session = s.name
      WHERE s.head > coalesce(i.head, 0) LIMIT :limit`,
      { limit },
    )
    return rows.map(behindSession)
  }

  async read(session: string, from: number): Promise<Recorded[]> {
    return readEvents(this.#log, session, from, pageBytes)
  }

  async add(
    { session, from }: BehindSession,
    upTo: number,
    { words, activity, state }: Digest,
  ): Promise<void> {
    this.#inTransaction(() => {
      const [moved] = this.#all<[id: number]>(
        `INSERT INTO indexed (session, head, state) VALUES (:session, :upTo, :state)
        ON CONFLICT (session) DO UPDATE SET head = excluded.head, state = excluded.state WHERE head = :from RETURNING id`,
        { session, upTo, state: JSON.stringify(state), from },
      )
      if (!moved) return
      const insertPlace = this.#db.prepare('INSERT INTO places (session, seq) VALUES (?, ?)')
      const insertWords = this.#db.prepare('INSERT INTO words (rowid, body) VALUES (?, ?)')
      for (const each of words)
        insertWords.run(insertPlace.run(moved[0], each.seq).lastInsertRowid, each.words)
      const count = this.#db.prepare(
        `INSERT INTO activity (${activityColumns.join(', ')})
        VALUES (${activityColumns.map(name => `:${name}`).join(', ')})
        ON CONFLICT (${activityKey}) DO UPDATE SET n = n + excluded.n, input = input + excluded.input,
          output = output + excluded.output, cost = cost + excluded.cost, unpriced = unpriced + excluded.unpriced`,
      )
      for (const row of activity) count.run(row)
    })
  }

  async purge(): Promise<void> {
    const gone = this.#all<[id: number]>(
      // A log that is shorter than what was read of it is another one: a backup was put back.
      `SELECT i.id FROM indexed AS i LEFT JOIN log.sessions AS s ON s.name = i.session
      WHERE s.name IS NULL OR s.head < i.head`,
    )
    for (const [id] of gone)
      this.#inTransaction(() => {
        for (const sql of [
          'DELETE FROM words WHERE rowid IN (SELECT id FROM places WHERE session = ?)',
          'DELETE FROM places WHERE session = ?',
          'DELETE FROM indexed WHERE id = ?',
        ])
          this.#db.prepare(sql).run(id)
      })
  }

  async find(query: FindQuery): Promise<FoundSessions> {
    checkLimit(query.limit)
    const { where, parameters, hits } = conditions(query)
    const [key, direction] = [orders[query.order], query.ascending ? 'ASC' : 'DESC']
    const from = `FROM log.sessions AS s LEFT JOIN log.summaries AS u ON u.session = s.id
      ${hits ? 'LEFT JOIN hits AS h ON h.name = s.name' : ''} WHERE ${where}`
    const place = query.after === undefined ? undefined : decodePlace(query.after)
    const beyond = place ? ` AND (${key}, s.id) ${query.ascending ? '>' : '<'} (:key, :position)` : ''
    const found = this.#all<FoundColumns>(
      `${hits}SELECT ${key}, ${hits ? 'h.seq, h.places' : 'NULL, NULL'}, u.body, ${columns} ${from}${beyond}
      ORDER BY ${key} ${direction}, s.id ${direction} LIMIT :limit`,
      // One more than the limit tells whether there is a next page.
      { ...parameters, ...(place && { key: place.key, position: place.position }), limit: query.limit + 1 },
    )
    const page = foundPage(found, query.limit, sessionRow)
    if (place) return page
    const [total] = this.#all<[number]>(`${hits}SELECT count(*) ${from}`, parameters)
    return { ...page, ...(total && { total: total[0] }), behind: this.#behind() }
  }

  async activity(query: ActivityQuery): Promise<ActivityReport> {
    const rows = this.#db
      .prepare('SELECT * FROM activity WHERE hour >= ? AND hour < ?')
      .all(query.since, query.until)
    // The columns have the names of the members.
    return activityReport(query, rows as unknown as ActivityRow[], this.#behind())
  }

  async close(): Promise<void> {
    this.#log.close()
    this.#db.close()
  }

  #behind(): number {
    const [row] = this.#all<[number]>(
      `SELECT count(*) FROM log.sessions AS s LEFT JOIN indexed AS i ON i.session = s.name
      WHERE s.head > coalesce(i.head, 0)`,
    )
    return row?.[0] ?? 0
  }

  #all<Row extends readonly unknown[]>(sql: string, parameters: Record<string, SQLInputValue> = {}): Row[] {
    const statement = this.#db.prepare(sql)
    statement.setReturnArrays(true)
    return statement.all(parameters) as unknown as Row[] // as the statement says
  }

  #inTransaction(work: () => void): void {
    this.#db.exec('BEGIN IMMEDIATE')
    try {
      work()
      this.#db.exec('COMMIT')
    } catch (thrown) {
      if (this.#db.isTransaction) this.#db.exec('ROLLBACK')
      throw thrown
    }
  }
}

const columns = SESSION_COLUMNS.split(', ')
  .map(column => `s.${column}`)
  .join(', ')

const orders: Readonly<Record<SessionOrder, string>> = {
  // It grows with each creation.
  created: 's.id',
  changed: 's.updated_at',
  cost: "coalesce(s.facts ->> '$.cost', -1)",
  tokens: "coalesce(s.facts ->> '$.tokens', 0)",
  lasted: '(s.updated_at - s.created_at)',
}

type Conditions = { where: string; parameters: Record<string, SQLInputValue>; hits: string }

function conditions({ owner, status, agent, model, words, from, to }: FindQuery): Conditions {
  // Sessions that work for calls are found through those.
  const where = ["u.body ->> '$.parent' IS NULL"]
  const parameters: Conditions['parameters'] = {}
  const also = (condition: string, given: Conditions['parameters']): void => {
    where.push(condition)
    Object.assign(parameters, given)
  }
  if (owner !== null) also('s.owner = :owner', { owner })
  if (status !== undefined) also('s.status = :status', { status: status === 'failed' ? 'idle' : status })
  if (status === 'failed') also(`s.facts ->> '$.stop' IN (${listedFailures})`, {})
  if (agent !== undefined) also(`${agentNow} = :agent`, { agent })
  if (from !== undefined) also('s.updated_at >= :from', { from })
  if (to !== undefined) also('s.created_at < :to', { to })
  if (model)
    also(
      `coalesce(u.body ->> '$.settings.model', CASE WHEN ${agentNow} IN (SELECT value FROM json_each(:agents)) THEN :model END) = :model`,
      { model: model.name, agents: JSON.stringify(model.agents) },
    )
  if (words === undefined) return { where: where.join(' AND '), parameters, hits: '' }
  const phrases = searchPhrases(words)
  also(
    `(h.seq IS NOT NULL OR instr(lower(s.name), :part) > 0 OR instr(lower(u.body ->> '$.opening'), :part) > 0)`,
    { part: words.toLowerCase() },
  )
  // Nothing has an empty phrase.
  parameters['match'] =
    phrases.map(({ words, open }) => `"${words.join(' ')}"${open ? ' *' : ''}`).join(' AND ') || '""'
  return { where: where.join(' AND '), parameters, hits: hitsOfWords }
}

const agentNow = "coalesce(u.body ->> '$.agent', s.agent)"

const hitsOfWords = `WITH hits AS MATERIALIZED (
  SELECT i.session AS name, max(p.seq) AS seq, count(*) AS places
  FROM words JOIN places AS p ON p.id = words.rowid JOIN indexed AS i ON i.id = p.session
  WHERE words MATCH :match GROUP BY p.session)
`

/** A file that is damaged, or of another version, is made anew. */
function openIndex(file: string): DatabaseSync {
  try {
    return tryIndex(file)
  } catch {
    for (const each of [file, `${file}-wal`, `${file}-shm`]) rmSync(each, { force: true })
    return tryIndex(file)
  }
}

function tryIndex(file: string): DatabaseSync {
  makePrivateFile(file)
  const db = new DatabaseSync(file, { timeout: 5_000 })
  try {
    db.exec('PRAGMA journal_mode = WAL')
    // What is lost by a power cut is read again.
    db.exec('PRAGMA synchronous = NORMAL')
    db.exec('PRAGMA secure_delete = ON')
    const version = Object.values(db.prepare('PRAGMA user_version').get() ?? {})[0]
    const isNew =
      version === 0 && Object.values(db.prepare('SELECT count(*) FROM sqlite_schema').get() ?? {})[0] === 0
    if (isNew) db.exec(`BEGIN IMMEDIATE; ${schema} COMMIT`)
    else if (version !== indexVersion) throw new Error('It is of another version.')
    return db
  } catch (thrown) {
    db.close()
    throw thrown
  }
}
