// Makes ready what `npm test` needs before its first test: the locked dependencies and, meanwhile, Debian's packages of Chromium
// and bubblewrap; then the web console beside the checks of types and lint. Plain JavaScript with no imports from npm, because
// it runs before they are installed, on whatever Node the machine came with.
import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))

/** Resolves to the exit code. */
function run(program, args) {
  return new Promise(resolve => {
    const child = spawn(program, args, { cwd: root, stdio: ['ignore', 'inherit', 'inherit'] })
    child.once('error', error => {
      console.error(error.message)
      resolve(1)
    })
    child.once('exit', code => resolve(code ?? 1))
  })
}

const script = name => run(process.execPath, [`${root}scripts/${name}.mjs`])

// npm says where it is itself; on Windows it cannot be started by its name. What it runs gets the Node that was installed.
const npm = process.env.npm_execpath
const npmRun = name => run(npm ? process.execPath : 'npm', [...(npm ? [npm] : []), 'run', '--silent', name])

/** Two installations of Debian's packages would wait for each other's lock. Tests are skipped where they fail. */
async function installPrograms() {
  await script('install-chromium')
  await script('install-bubblewrap')
}

/** Waits for all, and ends the process if one of them has failed. */
async function together(...tasks) {
  const failed = (await Promise.all(tasks)).find(code => code)
  if (failed) process.exit(failed)
}

await together(script('install'), installPrograms())
await together(npmRun('console'), npmRun('types'), npmRun('lint'))
