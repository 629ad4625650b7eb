// Decides which process has a data folder. The lock is an open transaction on a file of its own: the system drops it when
// the process dies, however it dies.
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { makePrivateFile } from '../../lib/files/private-file.ts'

export type FolderLock = { release(): void }

/** Undefined: another process has the folder. */
export function takeFolderLock(folder: string): FolderLock | undefined {
  const file = join(folder, 'writer.lock')
  makePrivateFile(file)
  const database = new DatabaseSync(file, { timeout: 0 })
  try {
    database.exec('BEGIN EXCLUSIVE')
  } catch {
    database.close()
    return undefined
  }
  return { release: () => database.close() }
}
