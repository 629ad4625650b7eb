// Copies a data folder while a server may be at work in it. SQLite copies the database itself: a plain copy of the file
// would miss the write-ahead log.
import { copyFileSync, existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { TurnwireError, wordsOf } from '../language/errors.ts'

/** Small files that are always written whole. */
const smallFiles = ['keys.json', 'vault.key', 'receipts.json']

/** Makes the folder `to`, which must be empty if it exists. Gives the names of the files. */
export async function backUp(from: string, to: string): Promise<string[]> {
  try {
    mkdirSync(to, { recursive: true, mode: 0o700 })
    if (readdirSync(to).length > 0) throw new Error('it is not empty')
    // SQLite alone would make a file that everyone can read.
    writeFileSync(join(to, 'sessions.db'), '', { mode: 0o600 })
    const { backup, DatabaseSync } = await import('node:sqlite')
    const source = new DatabaseSync(join(from, 'sessions.db'), { readOnly: true })
    try {
      await backup(source, join(to, 'sessions.db'))
    } finally {
      source.close()
    }
    const others = smallFiles.filter(name => existsSync(join(from, name)))
    for (const name of others) copyFileSync(join(from, name), join(to, name))
    return ['sessions.db', ...others]
  } catch (cause) {
    const why = wordsOf(cause)
    throw new TurnwireError('config_invalid', `${from} cannot be backed up to ${to}: ${why}.`, { cause })
  }
}
