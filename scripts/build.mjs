// Builds the package as it is published, whole, in dist/: JavaScript, types, the command and a package.json of its own,
// since TypeScript is not run as it is from inside node_modules. Publish with: npm publish ./dist
import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const out = `${root}dist`
rmSync(out, { recursive: true, force: true })
execFileSync(process.execPath, [`${root}node_modules/typescript/bin/tsc`, '-p', 'tsconfig.build.json'], {
  cwd: root,
  stdio: 'inherit',
})

const {
  scripts: _scripts,
  devDependencies,
  optionalDependencies: _optional,
  private: _private,
  ...kept
} = JSON.parse(readFileSync(`${root}package.json`, 'utf8'))
const built = path => path.replace('./src/', './').replace(/\.ts$/, '.js')
const exports = Object.fromEntries(
  Object.entries(kept.exports).map(([name, path]) => [
    name,
    path.endsWith('.ts') ? { types: built(path).replace(/\.js$/, '.d.ts'), default: built(path) } : path,
  ]),
)
writeFileSync(`${out}/package.json`, `${JSON.stringify({ ...kept, exports }, null, 2)}\n`)
mkdirSync(`${out}/bin`)
const pages = ['README.md', 'ARCHITECTURE.md', 'CONTEXT.md', 'CONTRIBUTING.md', 'CHANGELOG.md', 'LICENSE']
for (const file of ['bin/turnwire.mjs', 'docs', 'examples', ...pages])
  cpSync(`${root}${file}`, `${out}/${file}`, { recursive: true, filter: path => !path.endsWith('.turnwire') })
console.log(
  `Built ${kept.name} ${kept.version} in dist/ (without ${Object.keys(devDependencies).length} packages of development).`,
)
