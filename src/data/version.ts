// The version of this package, and where npm gets it. Both are found by the package's name, since the path to package.json
// differs between a checkout and the published package.
import { existsSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { basename, dirname, join, resolve } from 'node:path'

const own = createRequire(import.meta.url)

export function ownVersion(): string {
  const { version } = own('turnwire/package.json') as { version: string } // Our own file.
  return version
}

/**
 * As a dependency in a package.json. A checkout is not what the registry has, so its folder is named; so is the tarball that this package was
 * installed from.
 */
export function ownPackage(folder = dirname(own.resolve('turnwire/package.json'))): string {
  const { private: isCheckout, version } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as {
    private?: boolean
    version: string
  } // Our own file.
  if (isCheckout) return `file:${folder}`
  return installedTarball(folder) ?? `^${version}`
}

/** npm notes in node_modules where each package came from. */
function installedTarball(folder: string): string | undefined {
  const modules = dirname(folder)
  try {
    const notes = JSON.parse(readFileSync(join(modules, '.package-lock.json'), 'utf8')) as {
      packages?: Record<string, { resolved?: string }>
    } // npm's own file; anything else in it is not used.
    const resolved = notes.packages?.[`node_modules/${basename(folder)}`]?.resolved ?? ''
    const file = resolved.startsWith('file:') ? resolve(dirname(modules), resolved.slice('file:'.length)) : ''
    return file.endsWith('.tgz') && existsSync(file) ? `file:${file}` : undefined
  } catch {
    return undefined
  }
}
