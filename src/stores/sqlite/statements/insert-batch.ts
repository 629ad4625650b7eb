// One appended batch: the one before it in its session, the number of its first event, how many there are, and their
// text. Gives its own number in this file.
import type { DatabaseSync } from 'node:sqlite'

const SQL = 'INSERT INTO batches (session, previous, seq, count, body) VALUES (?, ?, ?, ?, ?)'

export type InsertBatch = (
  session: number,
  previous: number | null,
  seq: number,
  count: number,
  body: string,
) => number

export function prepareInsertBatch(db: DatabaseSync): InsertBatch {
  const statement = db.prepare(SQL)
  return (session, previous, seq, count, body) =>
    Number(statement.run(session, previous, seq, count, body).lastInsertRowid)
}
