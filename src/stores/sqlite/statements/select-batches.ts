// The batches that hold a session's events after a number, from its newest back. The last may begin before that number:
// a batch is whole.
import type { DatabaseSync } from 'node:sqlite'
import { prepareQuery } from './rows.ts'

const SQL = `
WITH RECURSIVE batches (previous, seq, body) AS (
  SELECT previous, seq, body FROM log WHERE id = ?1
  UNION ALL
  SELECT log.previous, log.seq, log.body FROM batches JOIN log ON log.id = batches.previous WHERE batches.seq > ?2
)
SELECT seq, body FROM batches`

export type Batch = [seq: number, body: string]
export type SelectBatches = (newest: number, after: number) => Batch[]

export function prepareSelectBatches(db: DatabaseSync): SelectBatches {
  const query = prepareQuery<Batch>(db, SQL)
  return (newest, after) => query.all(newest, after + 1)
}
