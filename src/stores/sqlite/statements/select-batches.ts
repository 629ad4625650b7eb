// The batches that hold a session's events after a number. The first may begin before it: a batch is whole.
import type { DatabaseSync } from 'node:sqlite'
import { prepareQuery } from './rows.ts'

const SQL = `
SELECT seq, body FROM log
WHERE session = ?1 AND seq >= coalesce((SELECT max(seq) FROM log WHERE session = ?1 AND seq <= ?2), 0)
ORDER BY seq`

export type Batch = [seq: number, body: string]
export type SelectBatches = (session: number, after: number) => Batch[]

export function prepareSelectBatches(db: DatabaseSync): SelectBatches {
  const query = prepareQuery<Batch>(db, SQL)
  return (session, after) => query.all(session, after + 1)
}
