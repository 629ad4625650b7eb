// One appended batch: the number of its first event, how many there are, and their JSON array.
import type { DatabaseSync } from 'node:sqlite'

const SQL = 'INSERT INTO log (session, seq, count, body) VALUES (?, ?, ?, ?)'

export type InsertBatch = (session: number, seq: number, count: number, body: string) => void

export function prepareInsertBatch(db: DatabaseSync): InsertBatch {
  const statement = db.prepare(SQL)
  return (session, seq, count, body) => {
    statement.run(session, seq, count, body)
  }
}
