// Keeps a folder to its owner: the folder has mode 0700, and the files in it that are named 0600.
import { chmodSync, mkdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { errorMessage } from '../text/error-message.ts'

const OTHERS = 0o077
const STICKY = 0o1000

/** Makes the folder, or closes it to others if it is there. `words`: how a failure names it. */
export function closeFolder(folder: string, words: string, names: readonly string[] = []): void {
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 })
  } catch (cause) {
    throw new Error(`${words} cannot be made: ${errorMessage(cause)}`, { cause })
  }
  if (process.platform === 'win32') return
  const { mode } = statSync(folder)
  const shown = (mode & 0o7777).toString(8)
  if (mode & STICKY)
    throw new Error(`${words} is shared by all users (mode ${shown}). Name a folder inside it.`)
  try {
    if (mode & OTHERS) chmodSync(folder, 0o700)
    for (const name of names) closeFile(join(folder, name))
  } catch (cause) {
    throw new Error(
      `${words} can be used by others (mode ${shown}), and this cannot be changed: ${errorMessage(cause)}. Make the user that runs this its owner, or name another folder.`,
      { cause },
    )
  }
}

function closeFile(file: string): void {
  const found = statSync(file, { throwIfNoEntry: false })
  if (found && found.mode & OTHERS) chmodSync(file, 0o600)
}
