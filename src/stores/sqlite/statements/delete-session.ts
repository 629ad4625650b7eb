// A session and its log and, by cascade, its blobs and its card. True when there was one.
import type { DatabaseSync } from 'node:sqlite'
import { toColumn } from '../text.ts'

const LOG = `
WITH RECURSIVE chain (id) AS (
  SELECT last_batch FROM sessions WHERE name = ?
  UNION ALL
  SELECT previous FROM chain JOIN batches ON batches.id = chain.id WHERE previous IS NOT NULL
)
DELETE FROM batches WHERE id IN chain`
const SESSION = 'DELETE FROM sessions WHERE name = ?'

export function prepareDeleteSession(db: DatabaseSync): (session: string) => boolean {
  const log = db.prepare(LOG)
  const row = db.prepare(SESSION)
  return session => {
    const name = toColumn(session)
    log.run(name)
    return row.run(name).changes > 0
  }
}
