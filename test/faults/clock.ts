// A wall clock for a real server process that can be set while it runs: clock.c, compiled here and preloaded there.
import { spawnSync } from 'node:child_process'
import { mkdtempSync, openSync, rmSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'

export type WallClock = {
  /** The command that a program is run with. */
  wrap: readonly string[]
  /** Seconds that are added to the time of day, from now on. */
  set(seconds: number): void
}

/** A text says why there is none: no compiler, or nothing can be preloaded. */
export function wallClock(t: TestContext): WallClock | string {
  if (process.platform !== 'linux') return 'a clock that can be set is preloaded, as only Linux allows'
  const folder = mkdtempSync(join(tmpdir(), 'turnwire-clock-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  const library = join(folder, 'clock.so')
  const source = join(import.meta.dirname, 'clock.c')
  const compiled = spawnSync('cc', ['-shared', '-fPIC', '-o', library, source, '-ldl'], { encoding: 'utf8' })
  if (compiled.status !== 0)
    return `a clock that can be set needs a C compiler: ${compiled.error?.message ?? compiled.stderr}`
  const control = join(folder, 'offset')
  const file = openSync(control, 'w+')
  const set = (seconds: number): void => {
    const bytes = Buffer.alloc(8)
    bytes.writeBigInt64LE(BigInt(seconds))
    writeSync(file, bytes, 0, 8, 0)
  }
  set(0)
  return { wrap: ['env', `LD_PRELOAD=${library}`, `CLOCK_OFFSET=${control}`], set }
}
