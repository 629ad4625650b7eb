// The tarball that a plain `npm pack` makes of this checkout, and what is in it. It is packed in a copy, because npm changes
// package.json while it packs.
import { execFileSync } from 'node:child_process'
import { cpSync, mkdtempSync, readdirSync, realpathSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { environment } from './cli/rig.ts'

const left = new Set(['node_modules', 'test', 'bench', '.git', '.turnwire'])

export type Packed = {
  /** To be removed by the caller; everything else is in it. */
  home: string
  tarball: string
  /** The tarball, unpacked. */
  folder: string
}

/** As a build of the repository names itself. */
export const packedFrom = { GITHUB_REPOSITORY: 'example/turnwire' }

export function packed(): Packed {
  const home = realpathSync(mkdtempSync(join(tmpdir(), 'turnwire-packed-')))
  const copy = join(home, 'checkout')
  // The console that is built is taken along: it is not built again unless its sources have changed.
  const isTaken = (path: string) => path !== 'dist' && !left.has(path.split(/[\\/]/).at(-1) ?? '')
  cpSync('.', copy, { recursive: true, filter: isTaken })
  symlinkSync(resolve('node_modules'), join(copy, 'node_modules'))
  execFileSync('npm', ['pack', '--pack-destination', home], {
    cwd: copy,
    env: environment(packedFrom),
    stdio: 'pipe',
  })
  const tarball = join(home, readdirSync(home).find(name => name.endsWith('.tgz')) ?? '')
  execFileSync('tar', ['-xzf', tarball], { cwd: home })
  return { home, tarball, folder: join(home, 'package') }
}
