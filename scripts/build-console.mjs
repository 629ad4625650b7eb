// Builds the web console into console/dist when it is missing or its sources have changed. The stamp is a hash of every file
// that goes into it, so a build that is there is never made twice. Plain JavaScript, for any Node that Vite runs on.
import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { licenceText, packageOf } from './licences.mjs'

const root = fileURLToPath(new URL('..', import.meta.url))
const stamp = join(root, 'console/dist/.built')
const sources = ['console', 'src/react', 'src/client', 'src/language', 'src/lib', 'package-lock.json']

function filesOf(path) {
  const whole = join(root, path)
  if (path.includes('.')) return [path]
  return readdirSync(whole, { recursive: true, withFileTypes: true })
    .filter(
      entry =>
        entry.isFile() && !entry.name.endsWith('.test.ts') && !entry.parentPath.includes('console/dist'),
    )
    .map(entry => join(entry.parentPath, entry.name).slice(root.length))
}

/** A hash of the names and contents of all sources. */
function wanted() {
  const hash = createHash('sha256')
  for (const file of sources.flatMap(filesOf).sort((a, b) => (a < b ? -1 : 1)))
    hash
      .update(`${file}\0`)
      .update(readFileSync(join(root, file)))
      .update('\0')
  return hash.digest('hex')
}

export function isConsoleBuilt() {
  return existsSync(stamp) && readFileSync(stamp, 'utf8') === wanted()
}

async function buildConsole() {
  if (isConsoleBuilt()) return
  console.error('Building the web console (once per change of its sources) …')
  const hash = wanted()
  // Whatever runs this, the build is the one for production: React's other build is larger and slower.
  process.env.NODE_ENV = 'production'
  const { build } = await import('vite')
  await build({
    configFile: join(root, 'console/vite.config.ts'),
    logLevel: 'warn',
    plugins: [licences()],
  })
  writeFileSync(stamp, hash)
}

/** The style names the typeface's file; the packages of scripts are found by their modules. */
function licences() {
  return {
    name: 'licences',
    generateBundle(_options, bundle) {
      const files = Object.values(bundle).flatMap(each => (each.type === 'chunk' ? each.moduleIds : []))
      const names = ['@fontsource-variable/inter', ...files.flatMap(file => packageOf(file) ?? [])]
      this.emitFile({ type: 'asset', fileName: 'licences.txt', source: licenceText(names) })
    },
  }
}

if (import.meta.main ?? process.argv[1]?.endsWith('build-console.mjs')) await buildConsole()
