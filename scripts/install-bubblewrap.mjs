// Makes sure that there is a bubblewrap for the tests of the shell tool: installs Debian's package where that is possible, and
// says what to do where it is not. Those tests are skipped without one.
import { spawnSync } from 'node:child_process'

const hasBubblewrap = () => spawnSync('bwrap', ['--version']).status === 0

function installBubblewrap() {
  if (process.platform !== 'linux' || hasBubblewrap()) return
  const manual = 'Install bubblewrap (on Debian: sudo apt-get install bubblewrap).'
  if (process.getuid?.() !== 0 || spawnSync('apt-get', ['--version']).status !== 0) {
    console.error(`There is no bubblewrap, so the tests of the shell tool are skipped. ${manual}`)
    return
  }
  console.error('Installing bubblewrap with apt-get, for the tests of the shell tool …')
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' }
  const apt = (...args) =>
    spawnSync('apt-get', ['-qq', ...args], { env, stdio: ['ignore', 2, 2] }).status === 0
  const install = () => apt('install', '-y', '--no-install-recommends', 'bubblewrap')
  if (!install() && !(apt('update') && install()))
    console.error(
      `apt-get could not install bubblewrap, so the tests of the shell tool are skipped. ${manual}`,
    )
}

installBubblewrap()
