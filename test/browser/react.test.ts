// The React parts in a real Chromium, with React 18 and 19, and the application that `turnwire init --app react` writes.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { stripVTControlCharacters } from 'node:util'
import { type Browser, chromium } from 'playwright-core'
import { createServer } from 'vite'
import { environment, folder, root, turnwire, watched } from '../cli/rig.ts'
import { executablePath, open, skip } from './console-rig.ts'

describe('React parts', { skip }, () => {
  let browser: Browser
  before(async () => {
    browser = await chromium.launch({
      executablePath: executablePath!,
      args: ['--no-sandbox', '--disable-quic'],
    })
  })
  after(() => browser.close())

  for (const [major, alias] of [
    ['18', { react: 'react-18', 'react-dom': 'react-dom-18' }],
    ['19', {}],
  ] as const)
    test(`every state of a call has its shape and its word, with React ${major}`, async t => {
      const vite = await createServer({
        configFile: false,
        root: join(root, 'test/browser/react-page'),
        cacheDir: join(folder(t), 'cache'),
        resolve: { alias },
        server: { port: 0, host: '127.0.0.1', hmr: false, ws: false, fs: { allow: [root] } },
        logLevel: 'error',
      })
      await vite.listen()
      t.after(() => vite.close())
      const { page } = await open(t, browser, vite.resolvedUrls?.local[0] ?? '')
      await page.getByRole('heading', { name: `React ${major}` }).waitFor()
      assert.equal(await page.locator('.tw-call .tw-call-line svg').count(), 28, 'a kind and a status each')
      for (const words of [
        'arguments arriving',
        'waits for approval',
        'running',
        'failed',
        'denied',
        'unknown',
      ])
        await page.locator('.tw-status', { hasText: words }).first().waitFor()
      await page.getByText('This may have happened.').waitFor()
      await page.getByRole('button', { name: 'Allow once' }).click()
      await page.getByRole('alert').filter({ hasText: 'The server refuses.' }).waitFor()
      await page.getByRole('button', { name: 'Say hi' }).click()
      await page.getByText('[{"type":"text","text":"Look: "},{"type":"tool_call"').waitFor()
      await page.getByText('"result":"found"').waitFor()
    })

  test('the application that init writes talks to its agent, asks, and survives a reload', async t => {
    const cwd = folder(t)
    const made = turnwire(['init', 'shop', '--app', 'react'], { cwd })
    assert.equal(made.code, 0, made.stderr)
    assert.match(made.stdout, /npm start/)
    const shop = join(cwd, 'shop')
    // As if it were installed.
    mkdirSync(join(shop, 'node_modules'))
    mkdirSync(join(shop, 'node_modules/@fontsource-variable'))
    for (const name of ['react', 'react-dom', 'vite', '@fontsource-variable/inter'])
      symlinkSync(join(root, 'node_modules', name), join(shop, 'node_modules', name))
    symlinkSync(root, join(shop, 'node_modules/turnwire'))
    const child = spawn(process.execPath, ['start.mjs'], { cwd: shop, env: environment() })
    const started = watched(t, child)
    await started.until(/Local:/)
    const address = /Local:\s+(http:\S+)/.exec(stripVTControlCharacters(started.stdout()))?.[1] ?? ''
    const { page } = await open(t, browser, address)
    await page.getByRole('button', { name: 'Where is my order 7?' }).click()
    await page.getByText('Order 7 was packed this morning').last().waitFor()
    await page.getByLabel('Message').fill('Cancel order 12')
    await page.keyboard.press('Enter')
    await page.getByText('Cancelling cannot be undone.').first().waitFor()
    await page.reload()
    await page.getByRole('button', { name: 'Allow once' }).click()
    await page.getByText('Order 12 is cancelled').last().waitFor()
    await page.getByRole('status').filter({ hasText: 'Connected' }).waitFor()
    await page.goto(`${address}?session=sess_none`)
    await page.getByLabel('Message').fill('Where is order 9?')
    await page.keyboard.press('Enter')
    await page.getByRole('alert').filter({ hasText: 'Session not found' }).first().waitFor()
    await page.getByRole('button', { name: 'New session' }).click()
    await page.getByRole('alert').first().waitFor({ state: 'detached' })
    assert.equal(await page.getByLabel('Message').inputValue(), 'Where is order 9?', 'what was typed is kept')
    await page.getByRole('button', { name: 'Send' }).click()
    await page.getByText('Order 9 was packed this morning').last().waitFor()
    // The server starts again with what changed, at its address, and the session goes on.
    const [, agent = ''] = await started.until(/agent\s+(http:\S+)/)
    const config = join(shop, 'turnwire.config.ts')
    writeFileSync(config, readFileSync(config, 'utf8').replace('was packed this morning', 'is on its way'))
    while (started.stderr().split('"Listening."').length < 3) await pause(20)
    await page.getByLabel('Message').fill('Where is order 8?')
    await page.keyboard.press('Enter')
    await page.getByText('Order 8 is on its way').last().waitFor()
    child.kill('SIGTERM')
    await started.exit
    while (
      await fetch(agent).then(
        () => true,
        () => false,
      )
    )
      await pause(20)
  })
})
