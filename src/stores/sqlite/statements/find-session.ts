// Where a session stands: its number in this file, its epoch and its last event.
import type { DatabaseSync } from 'node:sqlite'
import { toColumn } from '../text.ts'
import { prepareQuery } from './rows.ts'

const SQL = 'SELECT id, epoch, head FROM sessions WHERE name = ?'

export type Found = { id: number; epoch: number; head: number }

export function prepareFindSession(db: DatabaseSync): (session: string) => Found | undefined {
  const query = prepareQuery<[id: number, epoch: number, head: number]>(db, SQL)
  return session => {
    const row = query.one(toColumn(session))
    return row && { id: row[0], epoch: row[1], head: row[2] }
  }
}
