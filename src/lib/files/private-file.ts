// Makes files that only their owner can read.
import { closeSync, openSync } from 'node:fs'

/**
 * Makes an empty file with mode 0600 if there is none. A file that is there is not opened: closing it again would drop
 * the locks that this process has on it.
 */
export function makePrivateFile(file: string): void {
  try {
    closeSync(openSync(file, 'ax', 0o600))
  } catch {
    // It exists, or the code that opens it next reports why it cannot be opened.
    return
  }
}
