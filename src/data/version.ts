// The version of this package, and where npm gets it. Both are found by the package's name, since the path to package.json
// differs between a checkout and the published package.
import { createRequire } from 'node:module'
import { dirname } from 'node:path'

const own = createRequire(import.meta.url)

export function ownVersion(): string {
  const { version } = own('turnwire/package.json') as { version: string } // Our own file.
  return version
}

/** As a dependency in a package.json. A checkout is not what the registry has, so its folder is named. */
export function ownPackage(): string {
  const manifest = own('turnwire/package.json') as { private?: boolean } // Our own file.
  return manifest.private ? `file:${dirname(own.resolve('turnwire/package.json'))}` : `^${ownVersion()}`
}
