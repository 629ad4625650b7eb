// An owner's sessions, newest first, from below a position on. A position is a session's number in this file.
import type { DatabaseSync } from 'node:sqlite'
import type { Card, ListedRow } from '../../../engine/ports.ts'
import { toColumn } from '../text.ts'
import { prepareQuery } from './rows.ts'
import { SESSION_COLUMNS, type SessionColumns, sessionRow } from './session-row.ts'

const SQL = `
SELECT ${SESSION_COLUMNS}, cards.body
FROM sessions LEFT JOIN cards ON cards.session = sessions.id
WHERE owner = ? AND id < ? ORDER BY id DESC LIMIT ?`

export type Positioned = { position: number; row: ListedRow }
export type ListSessions = (owner: string, below: number, limit: number) => Positioned[]

export function prepareListSessions(db: DatabaseSync): ListSessions {
  const query = prepareQuery<[...SessionColumns, card: string | null]>(db, SQL)
  return (owner, below, limit) =>
    query.all(toColumn(owner), below, limit).map(columns => {
      const [id, name, whose, agent, status, createdAt, updatedAt, head, body] = columns
      const row = sessionRow([id, name, whose, agent, status, createdAt, updatedAt, head])
      if (body === null) return { position: id, row }
      const card = JSON.parse(body) as Card // It was written from one.
      return { position: id, row: { ...row, card } }
    })
}
