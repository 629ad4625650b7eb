// A session's named blob; a second one of the same name takes its place.
import type { DatabaseSync } from 'node:sqlite'
import { toColumn } from '../text.ts'

const SQL = `
INSERT INTO blobs (session, name, body) VALUES (?, ?, ?)
ON CONFLICT (session, name) DO UPDATE SET body = excluded.body`

export type UpsertBlob = (session: number, name: string, body: string) => void

export function prepareUpsertBlob(db: DatabaseSync): UpsertBlob {
  const statement = db.prepare(SQL)
  return (session, name, body) => {
    statement.run(session, toColumn(name), toColumn(body))
  }
}
