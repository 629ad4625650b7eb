// Gives the space of deleted sessions back to the file system. SQLite uses that space again by itself, so this is for a file
// that stays too large. The file is rewritten, so no process may use the folder meanwhile.
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { takeFolderLock } from '../engines/folder/folder-lock.ts'
import { TurnwireError, wordsOf } from '../language/errors.ts'

/** Bytes of the file before and after. */
export type Vacuumed = { before: number; after: number }

export async function vacuum(folder: string): Promise<Vacuumed> {
  const file = join(folder, 'sessions.db')
  const lock = takeFolderLock(folder)
  if (!lock)
    throw new TurnwireError('store_locked', `A process uses the data folder ${folder}. Stop it first.`)
  try {
    const before = statSync(file).size
    const { DatabaseSync } = await import('node:sqlite')
    const db = new DatabaseSync(file, { timeout: 0 })
    try {
      db.exec('PRAGMA synchronous = FULL; VACUUM; PRAGMA wal_checkpoint(TRUNCATE)')
    } finally {
      db.close()
    }
    return { before, after: statSync(file).size }
  } catch (cause) {
    throw new TurnwireError(
      'store_failed',
      `${file} cannot be vacuumed: ${wordsOf(cause)}. It is as it was; it needs as much free space as it has bytes.`,
      { cause },
    )
  } finally {
    lock.release()
  }
}
