// What this file's list cursors are signed with, so that they outlive the process.
import type { DatabaseSync } from 'node:sqlite'
import { prepareQuery } from './rows.ts'

const SQL = "SELECT value FROM meta WHERE key = 'cursor_secret'"

export function prepareSelectCursorSecret(db: DatabaseSync): () => Uint8Array {
  const query = prepareQuery<[value: Uint8Array]>(db, SQL)
  return () => query.one()?.[0] ?? new Uint8Array()
}
