// Installs the locked dependencies when they are missing or stale, and says so when this machine's Node cannot run the
// rest. Plain JavaScript with no imports from npm, because it must run on whatever Node the machine came with.
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { nodeComplaint } from '../bin/supported-node.mjs'

const root = fileURLToPath(new URL('..', import.meta.url))
const stamp = `${root}node_modules/.turnwire-lock`
const wanted = createHash('sha256')
  .update(readFileSync(`${root}package-lock.json`))
  .digest('hex')

if (!existsSync(stamp) || readFileSync(stamp, 'utf8') !== wanted) {
  console.error('Installing dependencies (once per change of package-lock.json) …')
  // npm says where it is itself; on Windows it cannot be started by its name.
  const npm = process.env.npm_execpath
  const [program, first] = npm ? [process.execPath, [npm]] : ['npm', []]
  const flags = ['--prefer-offline', '--no-audit', '--no-fund', '--loglevel=error']
  const done = spawnSync(program, [...first, 'ci', ...flags], { cwd: root, stdio: ['ignore', 2, 2] })
  if (done.status !== 0) {
    console.error('npm ci failed. Turnwire needs npm 10 or newer and a reachable npm registry.')
    process.exit(done.status ?? 1)
  }
  writeFileSync(stamp, wanted)
}

// npm puts the Node that was installed first in PATH. Where there is none for this machine, this Node runs everything.
const carried = `${root}node_modules/node-${process.platform}-${process.arch}`
const complaint = existsSync(carried) ? undefined : nodeComplaint(process.versions, false)
if (complaint !== undefined) {
  console.error(complaint)
  process.exit(1)
}
