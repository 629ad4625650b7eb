// Which version this is. The package is asked by its name: the way from here to its package.json is another one in a
// checkout than in the package as it is published.
import { createRequire } from 'node:module'

export function ownVersion(): string {
  const { version } = createRequire(import.meta.url)('turnwire/package.json') as { version: string } // Our own file.
  return version
}
