// The sessions in which work was under way. It looks at all of them, so it is asked when a process starts.
import type { DatabaseSync } from 'node:sqlite'
import { fromColumn } from '../text.ts'
import { type Column, prepareQuery } from './rows.ts'

const SQL = "SELECT name FROM sessions WHERE status = 'running' ORDER BY id"

export function prepareListRunning(db: DatabaseSync): () => string[] {
  const query = prepareQuery<[name: Column]>(db, SQL)
  return () => query.all().map(([name]) => fromColumn(name))
}
