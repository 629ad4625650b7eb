// Keeps a data folder to its owner: the folder has mode 0700, and every file of ours in it 0600. Another user who could
// read the lock file could hold a lock on it and keep everyone waiting.
import { chmodSync, mkdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { TurnwireError, wordsOf } from '../language/errors.ts'

const names = [
  'sessions.db',
  'sessions.db-wal',
  'sessions.db-shm',
  'keys.json',
  'vault.key',
  'writer.lock',
  'engine.secret',
]
const OTHERS = 0o077
const STICKY = 0o1000

/** Makes the folder, or closes it to others if it is there. Throws `config_invalid` if that cannot be done. */
export function makePrivateFolder(folder: string): void {
  const refuse = (why: string, cause?: unknown) =>
    new TurnwireError('config_invalid', `The data folder ${folder} ${why}`, { cause })
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 })
  } catch (cause) {
    throw refuse(`cannot be made: ${wordsOf(cause)}`, cause)
  }
  if (process.platform === 'win32') return
  const { mode } = statSync(folder)
  const shown = (mode & 0o7777).toString(8)
  if (mode & STICKY) throw refuse(`is shared by all users (mode ${shown}). Name a folder inside it.`)
  try {
    if (mode & OTHERS) chmodSync(folder, 0o700)
    for (const name of names) closeToOthers(join(folder, name))
  } catch (cause) {
    throw refuse(
      `can be used by others (mode ${shown}), and this cannot be changed: ${wordsOf(cause)}. Make the user that runs this its owner, or name another folder.`,
      cause,
    )
  }
}

function closeToOthers(file: string): void {
  const found = statSync(file, { throwIfNoEntry: false })
  if (found && found.mode & OTHERS) chmodSync(file, 0o600)
}
