// The session that an owner's request key has created.
import type { DatabaseSync } from 'node:sqlite'
import { fromColumn, toColumn } from '../text.ts'
import { type Column, prepareQuery } from './rows.ts'

const SQL = 'SELECT name, request_hash FROM sessions WHERE owner = ? AND request_key = ?'

export type FindRequest = (owner: string, key: string) => { existing: string; hash: string } | undefined

export function prepareFindRequest(db: DatabaseSync): FindRequest {
  const query = prepareQuery<[name: Column, hash: Column]>(db, SQL)
  return (owner, key) => {
    const row = query.one(toColumn(owner), toColumn(key))
    return row && { existing: fromColumn(row[0]), hash: fromColumn(row[1]) }
  }
}
