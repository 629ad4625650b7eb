// Where a session stands: its number in this file, its epoch, its last event and the batch that holds it.
import type { DatabaseSync } from 'node:sqlite'
import { toColumn } from '../text.ts'
import { prepareQuery } from './rows.ts'

const SQL = 'SELECT id, epoch, head, last_batch FROM sessions WHERE name = ?'

export type Place = { id: number; epoch: number; head: number; lastBatch: number | null }

export function prepareFindSession(db: DatabaseSync): (session: string) => Place | undefined {
  const query = prepareQuery<[id: number, epoch: number, head: number, lastBatch: number | null]>(db, SQL)
  return session => {
    const row = query.one(toColumn(session))
    return row && { id: row[0], epoch: row[1], head: row[2], lastBatch: row[3] }
  }
}
