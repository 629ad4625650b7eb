// The batches that hold a session's events after a number, from its newest back. The last may begin before that number:
// a batch is whole. One statement, so one state of the file: between two, another process may delete the session and give
// the number of its newest batch to one of another session.
import type { DatabaseSync } from 'node:sqlite'
import { toColumn } from '../text.ts'
import { prepareQuery } from './rows.ts'

const SQL = `
WITH RECURSIVE chain (previous, seq, body) AS (
  SELECT previous, seq, body FROM batches WHERE id = (SELECT last_batch FROM sessions WHERE name = ?1)
  UNION ALL
  SELECT before.previous, before.seq, before.body
  FROM chain JOIN batches AS before ON before.id = chain.previous WHERE chain.seq > ?2
)
SELECT seq, body FROM chain`

export type Batch = [seq: number, body: string]
export type SelectBatches = (session: string, after: number) => Batch[]

export function prepareSelectBatches(db: DatabaseSync): SelectBatches {
  const query = prepareQuery<Batch>(db, SQL)
  return (session, after) => query.all(toColumn(session), after + 1)
}
