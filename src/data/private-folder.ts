// Keeps a data folder to its owner, with every file of ours in it. Another user who could read the lock file could hold a lock
// on it and keep everyone waiting.
import { TurnwireError, wordsOf } from '../language/errors.ts'
import { closeFolder } from '../lib/files/close-folder.ts'

const names = [
  'sessions.db',
  'sessions.db-wal',
  'sessions.db-shm',
  'sessions.index.db',
  'sessions.index.db-wal',
  'sessions.index.db-shm',
  'keys.json',
  'vault.key',
  'receipts.json',
  'writer.lock',
  'engine.secret',
]

/** Makes the folder, or closes it to others if it is there. Throws `config_invalid` if that cannot be done. */
export function makePrivateFolder(folder: string): void {
  try {
    closeFolder(folder, `The data folder ${folder}`, names)
  } catch (cause) {
    throw new TurnwireError('config_invalid', wordsOf(cause), { cause })
  }
}
