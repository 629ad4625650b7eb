// The store on one SQLite file, the default. A write that resolves is synced to disk. Several processes may open the
// file: epochs keep them apart. Writes go through group commit; reads run at once on the same connection.
import type { ListSummary, Store } from '../../engine/ports.ts'
import { checkLimit, decodeCursor, encodeCursor } from '../cursor.ts'
import { Connection } from './connection.ts'
import { GroupCommit, type GroupOptions } from './group-commit.ts'
import type { DatabaseOptions } from './open.ts'
import { type Statements, sessionRow } from './statements.ts'
import { appendEvents, claimSession, createSession, putBlob, readEvents, removeSession } from './writes.ts'

export type SqliteOptions = DatabaseOptions & { group?: GroupOptions }

/** Too short to notice, and long enough for parallel calls that end together to share one fsync. */
const LINGER_MS = 2

/** Throws a TurnwireError if the file cannot be opened, is not ours, or would not keep what it acknowledges. */
export function sqliteStore(options: SqliteOptions): Store {
  const connection = new Connection(options)
  const group = new GroupCommit(connection, options.group)

  async function read<T>(query: (sql: Statements) => T): Promise<T> {
    try {
      return query(connection.reading())
    } catch (thrown) {
      throw connection.fail(thrown).error
    }
  }

  return {
    lingerMs: LINGER_MS,
    create: session =>
      group.write({ kind: 'create', session: session.row.id, run: sql => createSession(sql, session) }),
    claim: session => group.write({ kind: 'claim', session, run: sql => claimSession(sql, session) }),
    append(batch) {
      const { session, epoch } = batch
      return group.write({ kind: 'append', session, epoch, run: sql => appendEvents(sql, batch) })
    },
    remove: session => group.write({ kind: 'remove', session, run: sql => removeSession(sql, session) }),
    putBlob: (session, name, body) =>
      group.write({ kind: 'putBlob', session, run: sql => putBlob(sql, session, name, body) }),
    async row(session) {
      const columns = await read(sql => sql.selectSession.one(session))
      return columns && sessionRow(columns)
    },
    requested: (owner, key) => read(sql => sql.selectRequest.one(owner, key)?.[0]),
    read: (session, after = 0, { maxBytes = Infinity } = {}) =>
      read(sql => readEvents(sql, session, after, maxBytes)),
    list: (owner, page) => read(sql => listSessions(sql, owner, page)),
    owners: () => read(sql => sql.listOwners.all().map(([owner]) => owner)),
    unfinished: () => read(sql => sql.listRunning.all().map(([name]) => name)),
    blob: (session, name) => read(sql => sql.selectBlob.one(session, name)?.[0]),
    async close() {
      group.flush()
      connection.close()
    },
  }
}

function listSessions(
  sql: Statements,
  owner: string,
  { after, limit }: { after?: string; limit: number },
): Awaited<ReturnType<Store['list']>> {
  checkLimit(limit)
  const [secret] = sql.cursorSecret.one()!
  const below = after === undefined ? Number.MAX_SAFE_INTEGER : decodeCursor(secret, owner, after)
  // One more than the limit tells whether there is a next page.
  const found = sql.listSessions.all(owner, below, limit + 1)
  const rows = found.slice(0, limit).map(([summary, ...columns]) => {
    const row = sessionRow(columns)
    // It was written from a ListSummary.
    return summary === null ? row : { ...row, summary: JSON.parse(summary) as ListSummary }
  })
  const next = found.length > limit ? encodeCursor(secret, owner, found[limit - 1]![1]) : undefined
  return { rows, ...(next !== undefined && { next }) }
}
