// Builds JavaScript and types into dist/, since Node does not run TypeScript from inside node_modules, and the web console
// into dist/console.
import { execFileSync } from 'node:child_process'
import { cpSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
rmSync(`${root}dist`, { recursive: true, force: true })
execFileSync(process.execPath, [`${root}node_modules/typescript/bin/tsc`, '-p', 'tsconfig.build.json'], {
  cwd: root,
  stdio: ['ignore', 2, 2],
})
// One file, with the parts that it imports.
const style = readFileSync(`${root}src/react/style.css`, 'utf8')
writeFileSync(
  `${root}dist/react/style.css`,
  style.replace(/^@import "\.\/(.+)";$/gm, (_, part) => readFileSync(`${root}src/react/${part}`, 'utf8')),
)
execFileSync(process.execPath, [`${root}scripts/build-console.mjs`], { cwd: root, stdio: ['ignore', 2, 2] })
cpSync(`${root}console/dist`, `${root}dist/console`, { recursive: true })
