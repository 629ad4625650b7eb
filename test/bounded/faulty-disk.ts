// A disk whose syncs are slow or fail, and whose writes fail, for a real server process: faulty-disk.c, compiled here and
// preloaded there. What happens can be changed while the server runs.
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { constants, tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'

const { EIO, ENOSPC, EROFS } = constants.errno

export const broken = { syncError: EIO }
export const full = { writeError: ENOSPC }
export const readOnly = { writeError: EROFS }

export type Faults = { syncMs?: number; syncError?: number; writeError?: number }

export type FaultyDisk = {
  /** For the server process. */
  env: Record<string, string>
  /** From now on. */
  set(faults: Faults): void
  /** How many syncs of the database were asked for. */
  syncs(): number
}

/** Skips the test, and says why, where there is none. */
export function faultyDisk(t: TestContext): FaultyDisk | undefined {
  const disk = tryFaultyDisk(t)
  if (typeof disk !== 'string') return disk
  t.skip(disk)
  return undefined
}

/** A text says why there is none: no compiler, or nothing can be preloaded. */
export function tryFaultyDisk(t: TestContext): FaultyDisk | string {
  if (process.platform !== 'linux') return 'a disk with faults is preloaded, as only Linux allows'
  const folder = mkdtempSync(join(tmpdir(), 'turnwire-disk-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  const library = join(folder, 'faulty-disk.so')
  const source = join(import.meta.dirname, 'faulty-disk.c')
  const compiled = spawnSync('cc', ['-shared', '-fPIC', '-o', library, source, '-ldl'], { encoding: 'utf8' })
  if (compiled.status !== 0)
    return `a disk with faults needs a C compiler: ${compiled.error?.message ?? compiled.stderr}`
  const control = join(folder, 'control')
  const set = ({ syncMs = 0, syncError = 0, writeError = 0 }: Faults): void =>
    writeFileSync(control, `${syncMs} ${syncError} ${writeError}\n`)
  set({})
  return {
    env: { LD_PRELOAD: library, FAULTY_DISK: control },
    set,
    syncs: () => statSync(`${control}.syncs`, { throwIfNoEntry: false })?.size ?? 0,
  }
}
