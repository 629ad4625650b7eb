// Installs the locked dependencies when they are missing or stale. Plain JavaScript with no imports
// from npm, because it is the one file that must run on whatever Node the machine came with.
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const stamp = `${root}node_modules/.turnwire-lock`
const wanted = createHash('sha256')
  .update(readFileSync(`${root}package-lock.json`))
  .digest('hex')

if (!existsSync(stamp) || readFileSync(stamp, 'utf8') !== wanted) {
  console.error('Installing dependencies (once per change of package-lock.json) …')
  const done = spawnSync('npm', ['ci', '--no-audit', '--no-fund', '--loglevel=error'], {
    cwd: root,
    stdio: ['ignore', 2, 2],
  })
  if (done.status !== 0) {
    console.error('npm ci failed. Turnwire needs npm 10 or newer and a reachable npm registry.')
    process.exit(done.status ?? 1)
  }
  writeFileSync(stamp, wanted)
}
