// The store on one SQLite file, the default: durable when it resolves, on one machine. Several processes may
// have the file open; epochs fence them from one another. Writes go through group commit; reads are made at
// once, on the same connection.
import type { Store } from '../../engine/ports.ts'
import { checkLimit, decodeCursor, encodeCursor } from '../cursor.ts'
import { decodeBatches } from './batches.ts'
import { connect } from './connection.ts'
import { type GroupOptions, groupCommit } from './group.ts'
import { joinedAppends } from './joined-appends.ts'
import type { OpenOptions } from './open.ts'
import type { Statements } from './statements/index.ts'
import { claimWrite, createWrite, putBlobWrite, removeWrite } from './writes.ts'

export type SqliteOptions = OpenOptions & { group?: GroupOptions }

/** Far less than anyone notices, and enough for what comes of the same event, or of a call beside it, to share its sync. */
const LINGER_MS = 2

/** Throws a TurnwireError when the file cannot be opened, is not ours, or would not keep what it acknowledges. */
export function sqliteStore(options: SqliteOptions): Store {
  const connection = connect(options)
  const group = groupCommit<Statements>(
    {
      begin() {
        const sql = connection.writing()
        sql.transaction.begin()
        return sql
      },
      commit: () => connection.writing().transaction.commit(),
      fail: connection.fail,
    },
    options.group,
  )

  const appends = joinedAppends(group)

  async function read<T>(query: (sql: Statements) => T): Promise<T> {
    try {
      return query(connection.reading())
    } catch (thrown) {
      throw connection.fail(thrown).error
    }
  }

  return {
    create(session) {
      appends.part(session.row.id)
      return group.ask(createWrite(session))
    },
    claim(session) {
      appends.part(session)
      return group.ask(claimWrite(session))
    },
    append: batch => appends.append(batch),
    lingerMs: LINGER_MS,
    remove(session) {
      appends.part(session)
      return group.ask(removeWrite(session))
    },
    putBlob(session, name, body) {
      appends.part(session)
      return group.ask(putBlobWrite(session, name, body))
    },
    row: session => read(sql => sql.selectSession(session)),
    requested: (owner, key) => read(sql => sql.findRequest(owner, key)?.existing),
    read: (session, after = 0) => read(sql => decodeBatches(sql.selectBatches(session, after), after)),
    list: (owner, page) => read(sql => listPage(sql, owner, page)),
    owners: () => read(sql => sql.listOwners()),
    unfinished: () => read(sql => sql.listRunning()),
    blob: (session, name) => read(sql => sql.selectBlob(session, name)),
    async close() {
      group.flush()
      connection.close()
    },
  }
}

function listPage(sql: Statements, owner: string, { after, limit }: { after?: string; limit: number }) {
  checkLimit(limit)
  const secret = sql.selectCursorSecret()
  const below = after === undefined ? Number.MAX_SAFE_INTEGER : decodeCursor(secret, owner, after)
  // One more than asked for tells whether there is a next page.
  const found = sql.listSessions(owner, below, limit + 1)
  const page = found.slice(0, limit)
  const next = found.length > limit ? encodeCursor(secret, owner, page.at(-1)!.position) : undefined
  return { rows: page.map(one => one.row), ...(next !== undefined && { next }) }
}
