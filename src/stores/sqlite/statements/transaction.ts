// The ends of a transaction. It takes the write lock at once: one that read first and then met another writer
// could not be waited for, only lost.
import type { DatabaseSync } from 'node:sqlite'

export type Transaction = { begin(): void; commit(): void; rollback(): void }

export function prepareTransaction(db: DatabaseSync): Transaction {
  const begin = db.prepare('BEGIN IMMEDIATE')
  const commit = db.prepare('COMMIT')
  const rollback = db.prepare('ROLLBACK')
  return {
    begin: () => void begin.run(),
    commit: () => void commit.run(),
    // Some failures have ended the transaction by themselves.
    rollback: () => void (db.isTransaction && rollback.run()),
  }
}
