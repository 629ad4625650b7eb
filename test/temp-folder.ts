// A folder that goes with its test. Hooks run in the order in which they were added, so a server that the test started there may still
// write while its folder is removed. That must not fail: a hook that fails skips the ones behind it, and the server would stay.
import { mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

type Lifetime = { after(end: () => unknown): void }

const remove = (folder: string): void => rmSync(folder, { recursive: true, force: true, maxRetries: 3 })

export function tempFolder(t: Lifetime, prefix: string): string {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), prefix)))
  t.after(() => {
    try {
      remove(folder)
    } catch {
      process.once('exit', () => remove(folder))
    }
  })
  return folder
}
