// A session and, by cascade, its log and its blobs. True when there was one.
import type { DatabaseSync } from 'node:sqlite'
import { toColumn } from '../text.ts'

const SQL = 'DELETE FROM sessions WHERE name = ?'

export function prepareDeleteSession(db: DatabaseSync): (session: string) => boolean {
  const statement = db.prepare(SQL)
  return session => statement.run(toColumn(session)).changes > 0
}
