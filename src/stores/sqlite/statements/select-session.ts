// One session's row.
import type { DatabaseSync } from 'node:sqlite'
import type { SessionRow } from '../../../engine/ports.ts'
import { toColumn } from '../text.ts'
import { prepareQuery } from './rows.ts'
import { SESSION_COLUMNS, type SessionColumns, sessionRow } from './session-row.ts'

const SQL = `SELECT ${SESSION_COLUMNS} FROM sessions WHERE name = ?`

export function prepareSelectSession(db: DatabaseSync): (session: string) => SessionRow | undefined {
  const query = prepareQuery<SessionColumns>(db, SQL)
  return session => {
    const columns = query.one(toColumn(session))
    return columns && sessionRow(columns)
  }
}
