// For processes that a test starts and kills.
import { flushCompileCache } from 'node:module'

/** Tells the test that this process is ready. Node saves compiled code when a process ends by itself, which these do not. */
export function announce(line: string): void {
  flushCompileCache()
  process.stdout.write(`${line}\n`)
}
