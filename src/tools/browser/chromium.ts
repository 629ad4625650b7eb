// Finds and starts a Chromium of the system. It is started with little of our environment and with all of its traffic led
// through a proxy of ours, so that the hosts it may reach are decided outside of it.
import { delimiter, join } from 'node:path'
import type { Browser } from 'playwright-core'
import { isExecutable } from '../../lib/files/is-executable.ts'
import type { BrowserSettings } from './options.ts'

const names = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable']

function findChromium(): string | undefined {
  const { CHROMIUM_PATH: given, PATH = '' } = process.env
  const paths = PATH.split(delimiter).flatMap(folder => names.map(name => join(folder, name)))
  return [...(given ? [given] : []), ...paths].find(isExecutable)
}

/** Only pages make requests, and no request goes around the proxy. */
const flags = [
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  '--no-first-run',
  '--disable-quic',
  '--dns-prefetch-disable',
  // Chromium would ask Google what the fields of a form mean.
  '--autofill-server-url=http://127.0.0.1:9/',
  '--webrtc-ip-handling-policy=disable_non_proxied_udp',
]

const passedVariables = [
  'PATH',
  'HOME',
  'TMPDIR',
  'LANG',
  'LC_ALL',
  'TZ',
  'FONTCONFIG_PATH',
  'XDG_RUNTIME_DIR',
]

export async function launchChromium(settings: BrowserSettings, proxy: string): Promise<Browser> {
  const { chromium } = await loadPlaywright()
  const executablePath = settings.executablePath ?? findChromium()
  if (executablePath === undefined)
    throw new Error(
      'There is no Chromium here. Install one (on Debian: apt-get install chromium), or set CHROMIUM_PATH or executablePath.',
    )
  const isRoot = process.getuid?.() === 0
  const sandbox = settings.sandbox ?? !isRoot
  if (!sandbox && settings.sandbox === undefined)
    settings.onWarning(
      'Chromium runs without its own sandbox, because it is started by root: a page that breaks out of Chromium has the ' +
        'rights of root. Run Turnwire as another user, or set sandbox: false to accept that.',
    )
  return chromium.launch({
    executablePath,
    chromiumSandbox: sandbox,
    args: [...flags, '--proxy-bypass-list=<-loopback>'],
    proxy: { server: proxy },
    env: Object.fromEntries(
      passedVariables.flatMap(name => {
        const value = process.env[name]
        return value === undefined ? [] : [[name, value]]
      }),
    ),
    // The process that embeds us decides what a signal means.
    handleSIGINT: false,
    handleSIGTERM: false,
    handleSIGHUP: false,
  })
}

async function loadPlaywright(): Promise<typeof import('playwright-core')> {
  try {
    return await import('playwright-core')
  } catch (cause) {
    throw new Error('The browser needs the package playwright-core. Install it: npm i playwright-core', {
      cause,
    })
  }
}
