// Installs what is missing, then runs the server on the Node that was installed, and stops it when npm is stopped. Plain
// JavaScript, for whatever Node the machine came with.
import './install.mjs'
import { spawn, spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { isConsoleBuilt } from './build-console.mjs'

const command = fileURLToPath(new URL('../bin/turnwire.mjs', import.meta.url))
if (!isConsoleBuilt()) {
  const build = fileURLToPath(new URL('build-console.mjs', import.meta.url))
  if (spawnSync('node', [build], { stdio: ['ignore', 2, 2] }).status !== 0)
    console.error('The web console could not be built. The server starts without it.')
}
// By its name: npm has put the installed one first in PATH.
const server = spawn('node', [command, 'serve', ...process.argv.slice(2)], { stdio: 'inherit' })
server.on('exit', code => process.exit(code ?? 1))
for (const signal of ['SIGTERM', 'SIGHUP']) process.on(signal, () => server.kill(signal))
// A terminal sends it to the server as well.
process.on('SIGINT', () => {})
// npm stops its shell, and the shell tells nobody: that there is another parent is all that can be seen of it.
const parent = process.ppid
const watch = setInterval(() => {
  if (process.ppid === parent) return
  clearInterval(watch)
  server.kill('SIGTERM')
}, 250)
