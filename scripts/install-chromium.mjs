// Makes sure that there is a Chromium for the tests that need a browser: installs Debian's package where that is possible,
// and says what to do where it is not. Those tests are skipped without one; nothing else needs it.
import { spawnSync } from 'node:child_process'
import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'

const names = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable']

/** The path of a Chromium: `CHROMIUM_PATH`, or the first one in PATH. */
export function findChromium() {
  const { CHROMIUM_PATH: given, PATH = '' } = process.env
  const paths = PATH.split(delimiter).flatMap(folder => names.map(name => join(folder, name)))
  return [...(given ? [given] : []), ...paths].find(isProgram)
}

function isProgram(path) {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}

function installChromium() {
  if (findChromium() !== undefined) return
  const manual = 'Install Chromium (on Debian: sudo apt-get install chromium) or set CHROMIUM_PATH.'
  if (process.getuid?.() !== 0 || spawnSync('apt-get', ['--version']).status !== 0) {
    console.error(`There is no Chromium, so the tests in a browser are skipped. ${manual}`)
    return
  }
  console.error('Installing chromium with apt-get, for the tests in a browser …')
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' }
  const apt = (...args) =>
    spawnSync('apt-get', ['-qq', ...args], { env, stdio: ['ignore', 2, 2] }).status === 0
  const install = () => apt('install', '-y', '--no-install-recommends', 'chromium')
  if (!install() && !(apt('update') && install()))
    console.error(`apt-get could not install chromium, so the tests in a browser are skipped. ${manual}`)
}

if (import.meta.main ?? process.argv[1]?.endsWith('install-chromium.mjs')) installChromium()
