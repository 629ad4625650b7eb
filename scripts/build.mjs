// Builds JavaScript and types into dist/, since Node does not run TypeScript from inside node_modules, and the web console
// into dist/console.
import { execFileSync } from 'node:child_process'
import { cpSync, globSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { licenceText, packageOf } from './licences.mjs'

const root = fileURLToPath(new URL('..', import.meta.url))
rmSync(`${root}dist`, { recursive: true, force: true })
execFileSync(process.execPath, [`${root}node_modules/typescript/bin/tsc`, '-p', 'tsconfig.build.json'], {
  cwd: root,
  stdio: ['ignore', 2, 2],
})
removeUnreachedTypes()
// One file, with the parts that it imports.
const style = readFileSync(`${root}src/react/style.css`, 'utf8')
writeFileSync(
  `${root}dist/react/style.css`,
  style.replace(/^@import "\.\/(.+)";$/gm, (_, part) => readFileSync(`${root}src/react/${part}`, 'utf8')),
)
execFileSync(process.execPath, [`${root}scripts/build-console.mjs`], { cwd: root, stdio: ['ignore', 2, 2] })
cpSync(`${root}console/dist`, `${root}dist/console`, { recursive: true })
await bundleReactLibraries()

/** Types that no door of the package leads to are used by nobody. */
function removeUnreachedTypes() {
  const { exports } = JSON.parse(readFileSync(`${root}package.json`, 'utf8'))
  const dist = join(root, 'dist')
  const reached = new Set()
  const visit = file => {
    if (reached.has(file)) return
    reached.add(file)
    for (const [, path] of readFileSync(file, 'utf8').matchAll(/(?:from|import\(?) ?['"](\.[^'"]+)['"]/g))
      visit(join(dirname(file), path.replace(/\.[jt]sx?$/, '.d.ts')))
  }
  for (const door of Object.values(exports))
    if (door.endsWith('.ts')) visit(join(root, door.replace('./src/', 'dist/').replace(/\.ts$/, '.d.ts')))
  for (const file of globSync('**/*.d.ts', { cwd: dist }))
    if (!reached.has(join(dist, file))) rmSync(join(dist, file))
}

/** The libraries that only the React parts use go into the package as files, so that a server installs none of them. */
async function bundleReactLibraries() {
  const names = ['marked', '@tanstack/virtual-core', 'sugar-high/core', 'sugar-high/lang']
  const folder = `${root}dist/react/npm`
  const { build } = await import('vite')
  await build({
    root,
    configFile: false,
    logLevel: 'warn',
    build: {
      outDir: folder,
      target: 'es2023',
      minify: false,
      lib: {
        entry: Object.fromEntries(
          names.map(name => [fileOf(name), fileURLToPath(import.meta.resolve(name))]),
        ),
        formats: ['es'],
      },
    },
  })
  writeFileSync(`${folder}/licences.txt`, licenceText(names.map(name => packageOf(`node_modules/${name}/`))))
  for (const file of readdirSync(`${root}dist/react`).filter(each => each.endsWith('.js'))) {
    const path = `${root}dist/react/${file}`
    const code = readFileSync(path, 'utf8')
    writeFileSync(
      path,
      names.reduce((text, name) => text.replaceAll(`'${name}'`, `'./npm/${fileOf(name)}.js'`), code),
    )
  }
}

function fileOf(name) {
  return name.replace(/^@/, '').replace('/', '-')
}
