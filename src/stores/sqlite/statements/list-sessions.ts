// An owner's sessions, newest first, from below a position on. A position is a session's number in this file.
import type { DatabaseSync } from 'node:sqlite'
import type { SessionRow } from '../../../engine/ports.ts'
import { toColumn } from '../text.ts'
import { prepareQuery } from './rows.ts'
import { SESSION_COLUMNS, type SessionColumns, sessionRow } from './session-row.ts'

const SQL = `SELECT ${SESSION_COLUMNS} FROM sessions WHERE owner = ? AND id < ? ORDER BY id DESC LIMIT ?`

export type Positioned = { position: number; row: SessionRow }
export type ListSessions = (owner: string, below: number, limit: number) => Positioned[]

export function prepareListSessions(db: DatabaseSync): ListSessions {
  const query = prepareQuery<SessionColumns>(db, SQL)
  return (owner, below, limit) =>
    query
      .all(toColumn(owner), below, limit)
      .map(columns => ({ position: columns[0], row: sessionRow(columns) }))
}
