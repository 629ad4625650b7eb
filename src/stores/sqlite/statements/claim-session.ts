// The next epoch for a session, and the session as it stands.
import type { DatabaseSync } from 'node:sqlite'
import type { SessionRow } from '../../../engine/ports.ts'
import { toColumn } from '../text.ts'
import { prepareQuery } from './rows.ts'
import { SESSION_COLUMNS, type SessionColumns, sessionRow } from './session-row.ts'

const SQL = `UPDATE sessions SET epoch = epoch + 1 WHERE name = ? RETURNING ${SESSION_COLUMNS}, epoch`

export type ClaimSession = (session: string) => { epoch: number; row: SessionRow } | undefined

export function prepareClaimSession(db: DatabaseSync): ClaimSession {
  const query = prepareQuery<[...SessionColumns, epoch: number]>(db, SQL)
  return session => {
    const columns = query.one(toColumn(session))
    if (columns === undefined) return undefined
    const [epoch] = columns.slice(-1) as [number] // RETURNING puts it last
    const [id, name, owner, agent, status, createdAt, updatedAt, head] = columns
    return { epoch, row: sessionRow([id, name, owner, agent, status, createdAt, updatedAt, head]) }
  }
}
