// The version of this package. It is found by the package's name, since the path to package.json differs between a
// checkout and the published package.
import { createRequire } from 'node:module'

export function ownVersion(): string {
  const { version } = createRequire(import.meta.url)('turnwire/package.json') as { version: string } // Our own file.
  return version
}
