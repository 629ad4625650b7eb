// The index of a database, in tables of its own beside the store's. All nodes read and add to the same one. Its tables are not
// among the migrations: a database that cannot have them still keeps sessions. Only the index's thread uses it
// (index-worker.ts), with connections of its own.
import type { ActivityQuery, FindQuery, FoundSessions } from '../../engine/ports/index.ts'
import type { ActivityReport, SessionOrder } from '../../language/activity.ts'
import type { Recorded } from '../../language/events.ts'
import { searchPhrases } from '../../lib/text/search-words.ts'
import { checkLimit } from '../cursor.ts'
import { EventPage } from '../encoded-log.ts'
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
import type { Database, Parameter } from './database.ts'
import { create } from './open.ts'
import { makeStatements, SESSION_COLUMNS, sessionRow } from './statements.ts'
import { arrayLiteral, fromText, toText } from './text.ts'

const pageBytes = 128 * 1024

function tables(schema: string): string[] {
  return [
    `CREATE TABLE IF NOT EXISTS ${schema}.index_heads (
      session text PRIMARY KEY,
      head bigint NOT NULL,
      state text NOT NULL
    )`,
    `CREATE TABLE IF NOT EXISTS ${schema}.index_words (
      session text NOT NULL,
      seq bigint NOT NULL,
      words tsvector NOT NULL,
      PRIMARY KEY (session, seq)
    )`,
    `CREATE INDEX IF NOT EXISTS index_words_by_word ON ${schema}.index_words USING gin (words)`,
    `CREATE TABLE IF NOT EXISTS ${schema}.activity (
      hour bigint NOT NULL,
      kind text NOT NULL,
      agent text NOT NULL,
      name text NOT NULL,
      outcome text NOT NULL,
      bucket bigint NOT NULL,
      n bigint NOT NULL,
      input bigint NOT NULL,
      output bigint NOT NULL,
      cost double precision NOT NULL,
      unpriced bigint NOT NULL,
      PRIMARY KEY (${activityKey})
    )`,
  ]
}

type ActivityColumns = [
  number,
  string,
  string,
  string,
  string,
  number,
  number,
  number,
  number,
  string,
  number,
]

export class PostgresLogIndex implements LogIndex {
  readonly #db: Database
  readonly #schema: string
  readonly #selectEvents: string
  #made: Promise<void> | undefined

  /** `schema`: quoted. */
  constructor(db: Database, schema: string) {
    this.#db = db
    this.#schema = schema
    this.#selectEvents = makeStatements(schema).selectEvents
  }

  async behind(limit: number): Promise<BehindSession[]> {
    const schema = this.#schema
    // Nodes that look at once begin with different ones.
    const rows = await this.#rows<BehindColumns>(
      `SELECT s.id, s.agent, i.head, i.state FROM ${schema}.sessions AS s
      LEFT JOIN ${schema}.index_heads AS i ON i.session = s.id
      WHERE s.head > coalesce(i.head, 0) ORDER BY random() LIMIT $1`,
      [limit],
    )
    return rows.map(([session, agent, from, state]) =>
      behindSession([fromText(session), fromText(agent), from, state]),
    )
  }

  async read(session: string, from: number): Promise<Recorded[]> {
    const page = new EventPage(from, pageBytes)
    const rows = await this.#rows<[number, string]>(this.#selectEvents, [toText(session), from, pageBytes])
    for (const [firstSeq, body] of rows) if (!page.add(firstSeq, body)) break
    return page.events
  }

  async add(
    { session, from }: BehindSession,
    upTo: number,
    { words, activity, state }: Digest,
  ): Promise<void> {
    const schema = this.#schema
    await this.#made
    await this.#db.transaction(async run => {
      // A session that was removed meanwhile gets no rows: they would only be removed again.
      const moved = await run(
        `INSERT INTO ${schema}.index_heads AS i (session, head, state)
        SELECT id, $2::bigint, $3 FROM ${schema}.sessions WHERE id = $1
        ON CONFLICT (session) DO UPDATE SET head = excluded.head, state = excluded.state WHERE i.head = $4::bigint
        RETURNING head`,
        [toText(session), upTo, JSON.stringify(state), from],
      )
      if (moved.length === 0) return
      if (words.length > 0)
        await run(
          `INSERT INTO ${schema}.index_words (session, seq, words)
          SELECT $1, e.seq, to_tsvector('simple', e.words) FROM unnest($2::bigint[], $3::text[]) AS e (seq, words)
          ON CONFLICT (session, seq) DO NOTHING`,
          [
            toText(session),
            arrayLiteral(words.map(({ seq }) => seq)),
            arrayLiteral(words.map(each => each.words)),
          ],
        )
      if (activity.length > 0) await run(addActivity(schema), activityParameters(activity))
    })
  }

  async purge(): Promise<void> {
    const schema = this.#schema
    for (const table of ['index_words', 'index_heads'])
      await this.#rows(
        `DELETE FROM ${schema}.${table} AS i WHERE i.session IN (
          SELECT h.session FROM ${schema}.index_heads AS h
          WHERE NOT EXISTS (SELECT 1 FROM ${schema}.sessions AS s WHERE s.id = h.session))`,
        [],
      )
  }

  async find(query: FindQuery): Promise<FoundSessions> {
    checkLimit(query.limit)
    const schema = this.#schema
    // First: what the index reads while the rows are looked up may not be in them.
    const behind = query.after === undefined ? await this.#behind() : undefined
    const { where, parameters, hits } = conditions(schema, query)
    const [key, direction] = [orders[query.order], query.ascending ? 'ASC' : 'DESC']
    const from = `FROM ${schema}.sessions AS s LEFT JOIN ${schema}.summaries AS u ON u.session = s.id
      ${hits ? 'LEFT JOIN hits AS h ON h.session = s.id' : ''} WHERE ${where}`
    const place = query.after === undefined ? undefined : decodePlace(query.after)
    const at = parameters.length
    const beyond = place
      ? ` AND (${key}, s.position, s.id) ${query.ascending ? '>' : '<'} ($${at + 2}::${query.order === 'created' ? 'bigint' : 'double precision'}, $${at + 3}::bigint, $${at + 4}::text)`
      : ''
    const found = await this.#rows<FoundColumns>(
      `${hits}SELECT ${key}, ${hits ? 'h.seq, h.places' : 'NULL::bigint, NULL::bigint'}, u.body, ${SESSION_COLUMNS} ${from}${beyond}
      ORDER BY ${key} ${direction}, s.position ${direction}, s.id ${direction} LIMIT $${at + 1}`,
      // One more than the limit tells whether there is a next page.
      [...parameters, query.limit + 1, ...(place ? [place.key, place.position, place.id] : [])],
    )
    const page = foundPage(found, query.limit, sessionRow)
    if (behind === undefined) return page
    const [total] = await this.#rows<[number]>(`${hits}SELECT count(*) ${from}`, parameters)
    return { ...page, ...(total && { total: total[0] }), behind }
  }

  async activity(query: ActivityQuery): Promise<ActivityReport> {
    const behind = await this.#behind()
    const rows = await this.#rows<ActivityColumns>(
      `SELECT ${activityKey}, n, input, output, cost::text, unpriced
      FROM ${this.#schema}.activity WHERE hour >= $1::bigint AND hour < $2::bigint`,
      [query.since, query.until],
    )
    const counted = rows.map(
      ([hour, kind, agent, name, outcome, bucket, n, input, output, cost, unpriced]): ActivityRow => ({
        hour,
        kind: kind as ActivityRow['kind'], // `add` wrote it
        agent: fromText(agent),
        name: fromText(name),
        outcome,
        bucket,
        n,
        input,
        output,
        cost: Number(cost),
        unpriced,
      }),
    )
    return activityReport(query, counted, behind)
  }

  close(): Promise<void> {
    return this.#db.close()
  }

  async #behind(): Promise<number> {
    const schema = this.#schema
    const [row] = await this.#rows<[number]>(
      `SELECT count(*) FROM ${schema}.sessions AS s LEFT JOIN ${schema}.index_heads AS i ON i.session = s.id
      WHERE s.head > coalesce(i.head, 0)`,
      [],
    )
    return row?.[0] ?? 0
  }

  async #rows<Row extends readonly unknown[]>(
    text: string,
    parameters: readonly Parameter[],
  ): Promise<Row[]> {
    this.#made ??= this.#make().catch((error: unknown) => {
      this.#made = undefined
      throw error
    })
    await this.#made
    return this.#db.run<Row>(text, parameters)
  }

  async #make(): Promise<void> {
    for (const statement of tables(this.#schema)) await create(this.#db, statement)
  }
}

/** Rows are taken in one order, so that two nodes that add to the same ones never wait for each other. */
function addActivity(schema: string): string {
  const columns = activityColumns.join(', ')
  return `INSERT INTO ${schema}.activity AS a (${columns})
    SELECT * FROM unnest($1::bigint[], $2::text[], $3::text[], $4::text[], $5::text[], $6::bigint[], $7::bigint[],
      $8::bigint[], $9::bigint[], $10::double precision[], $11::bigint[])
      AS e (${columns})
    ORDER BY ${activityKey}
    ON CONFLICT (${activityKey}) DO UPDATE SET n = a.n + excluded.n,
      input = a.input + excluded.input, output = a.output + excluded.output, cost = a.cost + excluded.cost,
      unpriced = a.unpriced + excluded.unpriced`
}

function activityParameters(rows: readonly ActivityRow[]): Parameter[] {
  const stored = (value: string | number): string | number =>
    typeof value === 'string' ? toText(value) : value
  return activityColumns.map(name => arrayLiteral(rows.map(row => stored(row[name]))))
}

/** Numbers, so that a page's end can be compared with them. */
const orders: Readonly<Record<SessionOrder, string>> = {
  // As it is, for its index.
  created: 's.position',
  changed: 's.updated_at::double precision',
  cost: "coalesce((s.facts::json ->> 'cost')::double precision, -1)",
  tokens: "coalesce((s.facts::json ->> 'tokens')::double precision, 0)",
  lasted: '(s.updated_at - s.created_at)::double precision',
}

function conditions(
  schema: string,
  { owner, status, agent, model, words, from, to }: FindQuery,
): { where: string; parameters: Parameter[]; hits: string } {
  // Sessions that work for calls are found through those.
  const where = ["u.body::json -> 'parent' IS NULL"]
  const parameters: Parameter[] = []
  const given = (value: Parameter): string => `$${parameters.push(value)}`
  if (owner !== null) where.push(`s.owner = ${given(toText(owner))}`)
  if (status !== undefined) where.push(`s.status = ${given(status === 'failed' ? 'idle' : status)}`)
  if (status === 'failed') where.push(`s.facts::json ->> 'stop' IN (${listedFailures})`)
  // In a summary names are as in JSON, in a column as text of the store.
  const agentIs = (name: string): string =>
    `(CASE WHEN u.body::json ->> 'agent' IS NULL THEN s.agent = ${given(toText(name))} ELSE u.body::json ->> 'agent' = ${given(name)} END)`
  if (agent !== undefined) where.push(agentIs(agent))
  if (from !== undefined) where.push(`s.updated_at >= ${given(from)}::bigint`)
  if (to !== undefined) where.push(`s.created_at < ${given(to)}::bigint`)
  if (model) {
    const own = model.agents.map(agentIs).join(' OR ') || 'false'
    const chosen = "u.body::json -> 'settings' ->> 'model'"
    where.push(`(${chosen} = ${given(model.name)} OR (${chosen} IS NULL AND (${own})))`)
  }
  if (words === undefined) return { where: where.join(' AND '), parameters, hits: '' }
  const phrases = searchPhrases(words).map(
    ({ words: each, open }) => `(${each.join(' <-> ')}${open ? ':*' : ''})`,
  )
  const hits = `WITH hits AS MATERIALIZED (
    SELECT session, max(seq) AS seq, count(*) AS places FROM ${schema}.index_words
    WHERE words @@ to_tsquery('simple', ${given(phrases.join(' & '))}) GROUP BY session)
  `
  // It is read out of the JSON as text: JSON may have characters that texts of the database cannot.
  const opening = `lower(substring(u.body from '"opening":"((?:[^"\\\\]|\\\\.)*)"'))`
  where.push(
    `(h.seq IS NOT NULL OR strpos(lower(s.id), ${given(toText(words.toLowerCase()))}) > 0
      OR strpos(${opening}, ${given(JSON.stringify(words.toWellFormed().toLowerCase()).slice(1, -1))}) > 0)`,
  )
  return { where: where.join(' AND '), parameters, hits }
}
