// Faults of system calls by strace: it counts the calls of each thread of a process and makes one of them, or all from one
// on, fail or kill the process.
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

export const noStrace =
  spawnSync('strace', ['-f', '-qq', '-o', '/dev/null', '-e', 'trace=pwrite64', 'true']).status === 0
    ? false
    : 'strace is not installed, or may not trace here'

export type SystemCall = 'pwrite64' | 'fsync'

/**
 * The command that a program is run with. Only calls on the files of the database count, so that what tools and models of
 * a test write stays whole. `inject`: as strace takes it, such as `signal=KILL:when=3`.
 */
export function tracing(folder: string, call: SystemCall, inject?: string): string[] {
  const fault = inject === undefined ? [] : ['-e', `inject=${call}:${inject}`]
  const files = ['', '-wal', '-shm', '-journal'].flatMap(end => ['-P', join(folder, `sessions.db${end}`)])
  return ['strace', '-f', '-qq', '-o', join(folder, 'strace'), ...files, '-e', `trace=${call}`, ...fault]
}

/** How many of these calls the thread made that made most of them. */
export function callsTraced(folder: string, call: SystemCall): number {
  const calls = new Map<string, number>()
  const trace = readFileSync(join(folder, 'strace'), 'utf8')
  for (const [, thread = ''] of trace.matchAll(new RegExp(`^(\\d+) +${call}\\(`, 'gm')))
    calls.set(thread, (calls.get(thread) ?? 0) + 1)
  return Math.max(0, ...calls.values())
}
