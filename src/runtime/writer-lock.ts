// Which of several processes on one data folder takes up unfinished sessions: the one that holds this lock, for as long
// as it lives. The lock is a transaction on a file of its own, which the system drops when the process dies, however
// it dies. Processes without it work on sessions of their own and leave those that are at work alone.
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'

export type WriterLock = { release(): void }

/** Undefined: another process holds it. */
export function takeWriterLock(folder: string): WriterLock | undefined {
  const database = new DatabaseSync(join(folder, 'writer.lock'), { timeout: 0 })
  try {
    database.exec('BEGIN EXCLUSIVE')
  } catch {
    database.close()
    return undefined
  }
  return { release: () => database.close() }
}
