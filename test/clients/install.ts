// Installs client programs outside the lock, each into a folder of its own under the user's cache, once per version.
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'

const cache = join(process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'turnwire-clients')

/**
 * Gives the folder that has them. Throws with npm's own words. Peers that a package does not name as its own dependencies
 * are left out: CopilotKit's would be every LangChain package. `overrides`: versions in place of what packages ask for.
 */
export function install(
  packages: readonly string[],
  overrides: Readonly<Record<string, string>> = {},
): string {
  const folder = join(cache, packages.join('+').replaceAll('/', '-'))
  const stamp = join(folder, 'installed')
  if (existsSync(stamp)) return folder
  mkdirSync(folder, { recursive: true })
  const about = { private: true, type: 'module', overrides }
  writeFileSync(join(folder, 'package.json'), `${JSON.stringify(about)}\n`)
  const { status, stderr } = spawnSync(
    'npm',
    [
      'install',
      '--no-audit',
      '--no-fund',
      '--loglevel=error',
      '--legacy-peer-deps',
      '--save-exact',
      ...packages,
    ],
    { cwd: folder, encoding: 'utf8' },
  )
  if (status !== 0)
    throw new Error(`npm could not install ${packages.join(' ')}: ${stderr.trim().slice(0, 500)}`)
  writeFileSync(stamp, '')
  return folder
}
