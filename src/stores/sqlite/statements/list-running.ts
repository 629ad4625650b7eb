// The sessions in which work was under way. The literal status lets the partial index answer.
import type { DatabaseSync } from 'node:sqlite'
import { fromColumn } from '../text.ts'
import { type Column, prepareQuery } from './rows.ts'

const SQL = "SELECT name FROM sessions WHERE status = 'running' ORDER BY id"

export function prepareListRunning(db: DatabaseSync): () => string[] {
  const query = prepareQuery<[name: Column]>(db, SQL)
  return () => query.all().map(([name]) => fromColumn(name))
}
