// Whoever has a session. Each step leaps over all sessions of one owner, so that it reads no more than the owners.
import type { DatabaseSync } from 'node:sqlite'
import { fromColumn } from '../text.ts'
import { type Column, prepareQuery } from './rows.ts'

const SQL = `
WITH RECURSIVE found (owner) AS (
  SELECT min(owner) FROM sessions
  UNION ALL
  SELECT (SELECT min(owner) FROM sessions WHERE owner > found.owner) FROM found WHERE found.owner IS NOT NULL
)
SELECT owner FROM found WHERE owner IS NOT NULL`

export function prepareListOwners(db: DatabaseSync): () => string[] {
  const query = prepareQuery<[owner: Column]>(db, SQL)
  return () => query.all().map(([owner]) => fromColumn(owner))
}
