// A batch that was appended to a session which does not stand where it was thought to.
import type { DatabaseSync } from 'node:sqlite'

const SQL = 'DELETE FROM batches WHERE id = ?'

export function prepareDeleteBatch(db: DatabaseSync): (batch: number) => void {
  const statement = db.prepare(SQL)
  return batch => void statement.run(batch)
}
