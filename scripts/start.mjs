// Installs what is missing, then runs the server on the Node that was installed, and stops it when npm is stopped. Plain
// JavaScript, for whatever Node the machine came with.
import './install.mjs'
import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'

const command = fileURLToPath(new URL('../bin/turnwire.mjs', import.meta.url))
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
