// What lists show of a session. It stands in a table of its own: a session's row is rewritten with every append.
import type { DatabaseSync } from 'node:sqlite'

const SQL = `
INSERT INTO cards (session, body) VALUES (?, ?)
ON CONFLICT (session) DO UPDATE SET body = excluded.body`

export function prepareUpsertCard(db: DatabaseSync): (session: number, body: string) => void {
  const statement = db.prepare(SQL)
  return (session, body) => {
    statement.run(session, body)
  }
}
