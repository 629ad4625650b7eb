// A session's step to its next head. False, and nothing is changed, if it does not stand where it was thought to: another
// process may have written, claimed or deleted it, and given its number to a new one.
import type { DatabaseSync } from 'node:sqlite'
import type { SessionStatus } from '../../../engine/ports.ts'
import { toColumn } from '../text.ts'
import type { Place } from './find-session.ts'

const SQL = `
UPDATE sessions SET head = ?, last_batch = ?, status = ?, updated_at = coalesce(?, updated_at)
WHERE id = ? AND name = ? AND epoch = ? AND head = ? AND last_batch IS ?`

export type Step = {
  head: number
  lastBatch: number | null
  status: SessionStatus
  updatedAt: number | null
}
export type AdvanceSession = (session: string, from: Place, to: Step) => boolean

export function prepareAdvanceSession(db: DatabaseSync): AdvanceSession {
  const statement = db.prepare(SQL)
  return (session, from, to) => {
    const { id, epoch, head, lastBatch } = from
    const name = toColumn(session)
    const set = [to.head, to.lastBatch, to.status, to.updatedAt]
    return statement.run(...set, id, name, epoch, head, lastBatch).changes > 0
  }
}
