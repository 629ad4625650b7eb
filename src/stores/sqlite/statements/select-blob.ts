// The body of a session's named blob.
import type { DatabaseSync } from 'node:sqlite'
import { fromColumn, toColumn } from '../text.ts'
import { type Column, prepareQuery } from './rows.ts'

const SQL = `
SELECT blobs.body FROM blobs JOIN sessions ON sessions.id = blobs.session
WHERE sessions.name = ? AND blobs.name = ?`

export type SelectBlob = (session: string, name: string) => string | undefined

export function prepareSelectBlob(db: DatabaseSync): SelectBlob {
  const query = prepareQuery<[body: Column]>(db, SQL)
  return (session, name) => {
    const row = query.one(toColumn(session), toColumn(name))
    return row && fromColumn(row[0])
  }
}
