// DeltaKit's hook in a real Chromium on a real server: its three transports, a reload in the middle of a run, and stop.
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { after, before, describe, type TestContext, test } from 'node:test'
import { type Browser, chromium, type Page } from 'playwright-core'
import { createServer } from 'vite'
import { folder, root } from '../cli/rig.ts'
import { consoleServer, executablePath, open, type Rig, skip } from './console-rig.ts'

/** The page and the server under one origin, as an application has them. */
async function pageOf(t: TestContext, rig: Rig): Promise<string> {
  const vite = await createServer({
    configFile: false,
    root: join(root, 'test/browser/stream-chat-page'),
    cacheDir: join(folder(t), 'cache'),
    server: {
      port: 0,
      host: '127.0.0.1',
      hmr: false,
      fs: { allow: [root] },
      // The server knows its own origin only.
      proxy: { '/api': { target: rig.url, ws: true, changeOrigin: true, headers: { origin: rig.url } } },
    },
    logLevel: 'error',
  })
  await vite.listen()
  t.after(() => vite.close())
  return vite.resolvedUrls?.local[0] ?? ''
}

type Parts = { type: string; text?: string; tool_name?: string; result?: string }[]

async function answerOf(page: Page): Promise<Parts> {
  const messages = JSON.parse((await page.getByLabel('Messages').textContent()) ?? '[]') as { parts: Parts }[]
  return messages.at(-1)?.parts ?? []
}

describe('useStreamChat', { skip }, () => {
  let browser: Browser
  before(async () => {
    browser = await chromium.launch({
      executablePath: executablePath!,
      args: ['--no-sandbox', '--disable-quic'],
    })
  })
  after(() => browser.close())

  for (const transport of ['sse', 'background-sse', 'websocket'])
    test(`${transport}: a call, its result and the answer become parts, and the run is over once`, async t => {
      const address = await pageOf(t, await consoleServer(t))
      const { page, problems } = await open(t, browser, `${address}?transport=${transport}&agent=helper`)
      await page.getByRole('button', { name: 'Send' }).click()
      await page.getByLabel('Messages').filter({ hasText: 'Oslo: 18 °C' }).waitFor()
      await page.getByLabel('Told').filter({ hasText: 'finished' }).waitFor()
      const parts = await answerOf(page)
      assert.deepEqual(
        parts.filter(({ type }) => type === 'tool_call').map(part => [part.tool_name, part.result]),
        [['get_weather', 'Oslo: 18 °C']],
      )
      assert.match(parts.at(-1)?.text ?? '', /Oslo/)
      assert.equal(await page.getByLabel('Told').textContent(), 'starting, onFinish, finished')
      assert.equal(await page.getByLabel('State').textContent(), 'resting')
      assert.equal(await page.getByLabel('Run').textContent(), 'none')
      // Another message in the same page.
      await page.getByRole('button', { name: 'Send' }).click()
      await page
        .getByLabel('Told')
        .filter({ hasText: /finished.*finished/ })
        .waitFor()
      assert.deepEqual(problems, [])
    })

  for (const transport of ['background-sse', 'websocket'])
    test(`${transport}: a reload resumes the run without showing it twice, and stop ends it on the server`, async t => {
      const rig = await consoleServer(t)
      const address = await pageOf(t, rig)
      const { page, problems } = await open(t, browser, `${address}?transport=${transport}&agent=sleeper`)
      await page.getByRole('button', { name: 'Send' }).click()
      await page.getByLabel('Messages').filter({ hasText: '"tool_name":"slow"' }).waitFor()
      await page.getByRole('button', { name: 'Keep' }).click()
      const run = await page.getByLabel('Run').textContent()
      assert.notEqual(run, 'none')
      await page.reload()
      await page.getByLabel('Told').filter({ hasText: 'resuming' }).waitFor()
      await page.getByLabel('Messages').filter({ hasText: '"tool_name":"slow"' }).waitFor()
      assert.equal(await page.getByLabel('Run').textContent(), run)
      assert.equal((await answerOf(page)).filter(({ type }) => type === 'tool_call').length, 1)
      await page.getByRole('button', { name: 'Stop' }).click()
      await page.getByLabel('State').filter({ hasText: 'resting' }).waitFor()
      assert.equal(await page.getByLabel('Told').textContent(), 'resuming, stopped')
      const { sessions } = await rig.operator.sessions({ agent: 'sleeper' })
      for await (const item of rig.operator.follow(sessions[0]!.id))
        if (item.type === 'event' && item.event.type === 'turn.ended') {
          assert.equal(item.event.stop, 'cancelled')
          break
        }
      assert.equal(await page.evaluate("sessionStorage.getItem('run')"), null)
      assert.deepEqual(problems, [])
    })

  test('a transport without its options says what is missing', async t => {
    const address = await pageOf(t, await consoleServer(t))
    const { page } = await open(t, browser, `${address}?transport=websockets&agent=helper`)
    await page.getByRole('button', { name: 'Send' }).click()
    await page.getByLabel('Told').filter({ hasText: 'needs transportOptions.websocket' }).waitFor()
  })
})
