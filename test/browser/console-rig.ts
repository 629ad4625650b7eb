// A real Chromium on the console of a real server process. Every page is watched: an error in its console, a request to
// another origin, or a refused inline script fails the test.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, type TestContext } from 'node:test'
import { type Browser, type BrowserContext, chromium, type Locator, type Page } from 'playwright-core'
import { findChromium } from '../../scripts/install-chromium.mjs'
import { OperatorClient } from '../../src/client/index.ts'
import { folder, root, type Served, serve } from '../cli/rig.ts'

export const executablePath = findChromium()
export const skip = executablePath === undefined && 'There is no Chromium: install it, or set CHROMIUM_PATH.'

let launched: Promise<Browser> | undefined

/** One browser for all tests of a process. Each has contexts of its own. */
export function launch(): Promise<Browser> {
  launched ??= launchAnew()
  return launched
}

after(async () => (await launched)?.close())

function launchAnew(): Promise<Browser> {
  const built = spawnSync(process.execPath, [join(root, 'scripts/build-console.mjs')], { encoding: 'utf8' })
  assert.equal(built.status, 0, built.stderr)
  // As root there is no sandbox for it. It loads nothing but the console.
  return chromium.launch({ executablePath: executablePath!, args: ['--no-sandbox', '--disable-quic'] })
}

export type Rig = { server: Served; url: string; data: string; operator: OperatorClient }

/** `prepare` gets the data folder before the server is started on it. */
export type ServerOptions = {
  config?: string
  env?: Record<string, string>
  prepare?: (data: string) => Promise<void>
}

const usualConfig = 'test/browser/console-config.ts'

export async function consoleServer(t: TestContext, options: ServerOptions = {}): Promise<Rig> {
  const cwd = folder(t)
  const { config = usualConfig, env, prepare } = options
  await prepare?.(join(cwd, 'data'))
  const args = ['--config', join(root, config), '--data', join(cwd, 'data')]
  const server = await serve(t, { cwd, args, ...(env && { env }) })
  return { server, url: server.url, data: cwd, operator: new OperatorClient({ baseUrl: server.url }) }
}

/** The same data on the same port, after the old process was killed. */
export async function restart(t: TestContext, rig: Rig, options: ServerOptions = {}): Promise<Rig> {
  rig.server.child.kill('SIGKILL')
  await rig.server.exit
  const { config = usualConfig, env } = options
  const args = ['--config', join(root, config), '--data', join(rig.data, 'data')]
  const port = ['--port', new URL(rig.url).port]
  const server = await serve(t, { cwd: rig.data, args: [...args, ...port], ...(env && { env }) })
  return { ...rig, server }
}

/** The browser, and one server for all tests of a suite. */
export function suite(options: ServerOptions = {}): { browser: () => Browser; rig: () => Rig } {
  let browser: Browser | undefined
  let rig: Rig | undefined
  const ends: (() => unknown)[] = []
  before(async () => {
    browser = await launch()
    // Only `after` of a test is used.
    const context = { after: (end: () => unknown) => void ends.push(end) } as unknown as TestContext
    rig = await consoleServer(context, options)
  })
  after(async () => {
    for (const end of ends.reverse()) await end()
  })
  return { browser: () => browser!, rig: () => rig! }
}

/** A session in which something was said, once it rests or waits. */
export async function said(operator: OperatorClient, text: string, agent = 'helper'): Promise<string> {
  const { id } = await operator.create({ agent })
  await operator.command(id, { do: 'say', text })
  for await (const item of operator.follow(id))
    if (item.type === 'status' && item.status !== 'running') {
      const { seq, status } = await operator.session(id)
      if (seq > 2 && status !== 'running') break
    }
  return id
}

export type Opened = { page: Page; context: BrowserContext; problems: string[] }

/** A browser of its own: no cookies, nothing stored. */
export async function open(
  t: TestContext,
  browser: Browser,
  address: string,
  options: object = {},
): Promise<Opened> {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...options })
  t.after(() => context.close())
  return tab(context, address)
}

export async function tab(context: BrowserContext, address: string): Promise<Opened> {
  const page = await context.newPage()
  const problems: string[] = []
  page.setDefaultTimeout(30_000)
  page.on('pageerror', error => void problems.push(error.message))
  page.on('console', message => {
    // A server that is away is told by the page itself.
    if (message.type() === 'error' && !/Failed to load resource|ERR_/.test(message.text()))
      problems.push(message.text())
  })
  page.on('request', request => {
    const { origin, protocol } = new URL(request.url())
    if (protocol !== 'data:' && origin !== new URL(address).origin)
      problems.push(`requested ${request.url()}`)
  })
  await page.goto(address)
  return { page, context, problems }
}

/** What a button copies. Its word "Copied" is gone again after a moment, which a busy machine may miss: the clipboard tells. */
export async function copiedBy(button: Locator): Promise<string> {
  const page = button.page()
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
  await page.evaluate(`navigator.clipboard.writeText('')`)
  await button.click()
  const copied = await page.waitForFunction<string>(`navigator.clipboard.readText()`)
  return copied.jsonValue()
}

const axe = readFileSync(join(root, 'node_modules/axe-core/axe.min.js'), 'utf8')

const everyRule = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa']
const colourRules = ['color-contrast', 'link-in-text-block']

/** The rules of WCAG 2.2 A and AA that the page breaks. */
async function violations(page: Page, rules = everyRule): Promise<string[]> {
  // Debuggers may run scripts that the page's own policy forbids.
  const session = await page.context().newCDPSession(page)
  await session.send('Runtime.evaluate', { expression: axe })
  await session.detach()
  return broken(page, rules)
}

/** The same in both themes. A theme changes colours only, so the second one is asked for the rules about them. */
export async function violationsInThemes(page: Page, rules = everyRule): Promise<string[]> {
  const ink = `getComputedStyle(document.body).color`
  // Without motion the colours change at once.
  await page.emulateMedia({ colorScheme: 'light', reducedMotion: 'reduce' })
  const light = await violations(page, rules)
  const before = await page.evaluate(ink)
  await page.emulateMedia({ colorScheme: 'dark', reducedMotion: 'reduce' })
  assert.notEqual(await page.evaluate(ink), before, 'the theme has changed')
  const dark = await broken(page, colourRules)
  return [...light.map(each => `light ${each}`), ...dark.map(each => `dark ${each}`)]
}

/** Only the rules about colours, in both themes. */
export function contrastInThemes(page: Page): Promise<string[]> {
  return violationsInThemes(page, colourRules)
}

function broken(page: Page, runOnly: readonly string[]): Promise<string[]> {
  return page.evaluate(`axe.run({ runOnly: ${JSON.stringify(runOnly)} })
    .then(({ violations }) => violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => id + ': ' + html.slice(0, 160))))`)
}
