// The tarball that a plain `npm pack` makes of this checkout, and what is in it. It is packed in a copy, because npm changes
// package.json while it packs.
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { cpSync, mkdtempSync, readdirSync, readFileSync, realpathSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { environment, root } from './cli/rig.ts'

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

/** The tarball of the package behind `npm create turnwire`, in the folder. Also packed in a copy. */
export function packedCreate(home: string): string {
  const copy = mkdtempSync(join(home, 'create-'))
  for (const path of ['create-turnwire', 'scripts/pack.mjs'])
    cpSync(join(root, path), join(copy, path), { recursive: true })
  const [report] = JSON.parse(
    execFileSync('npm', ['pack', '--json', '--pack-destination', home], {
      cwd: join(copy, 'create-turnwire'),
      env: environment(packedFrom),
      encoding: 'utf8',
      stdio: 'pipe',
    }),
  ) as { filename: string }[] // npm's own report
  const [after, before] = [copy, root].map(each =>
    readFileSync(join(each, 'create-turnwire/package.json'), 'utf8'),
  )
  assert.equal(after, before, 'npm has put package.json back')
  return join(home, report?.filename ?? '')
}
