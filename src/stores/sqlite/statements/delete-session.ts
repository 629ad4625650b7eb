// A session and its log and, by cascade, its blobs and its card. True when there was one.
import type { DatabaseSync } from 'node:sqlite'
import { toColumn } from '../text.ts'

const LOG = `
WITH RECURSIVE batches (id) AS (
  SELECT last_batch FROM sessions WHERE name = ?
  UNION ALL
  SELECT log.previous FROM batches JOIN log ON log.id = batches.id WHERE log.previous IS NOT NULL
)
DELETE FROM log WHERE id IN batches`
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
