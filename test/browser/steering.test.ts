// What a person does while a turn is under way, in a real Chromium: on a page made of the React parts, and in the console.
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import type { Page } from 'playwright-core'
import { createServer } from 'vite'
import { AapClient, OperatorClient } from '../../src/client/index.ts'
import { startServer, Turnwire } from '../../src/index.ts'
import { joinText } from '../../src/language/content.ts'
import { folder, root } from '../cli/rig.ts'
import { open, skip, suite } from './console-rig.ts'
import config from './console-steer-config.ts'

type Place = { page: Page; history: () => Promise<string[]> }

/** What was said, in order, and how calls ended. */
async function spoken(operator: OperatorClient, id: string): Promise<string[]> {
  const { events } = await operator.events(id)
  return events.flatMap(({ event }) => {
    if (event.type === 'call.settled') return [event.outcome.kind]
    if (event.type === 'message.delivered') return event.parts ? [joinText(event.parts)] : []
    return event.type === 'turn.started' || event.type === 'model.answered' ? [joinText(event.parts)] : []
  })
}

const choose = (page: Page, words: string) =>
  page.getByLabel('While the turn is under way').selectOption({ label: words })

async function say(page: Page, words: string): Promise<void> {
  await page.locator('.tw-composer textarea').fill(words)
  await page.getByRole('button', { name: 'Send', exact: true }).click()
}

const waiting = (page: Page) => page.getByRole('list', { name: 'Messages that wait' }).getByRole('listitem')

/** While `slow` runs: a message waits and is withdrawn, one waits, one steers, and the call is stopped. */
async function steers({ page, history }: Place): Promise<void> {
  await say(page, 'Go')
  await page.locator('[data-status="running"]').waitFor()
  await choose(page, 'Queue')
  await say(page, 'Never mind')
  await waiting(page).filter({ hasText: 'Never mind' }).getByText('Queued').waitFor()
  await waiting(page).filter({ hasText: 'Never mind' }).getByRole('button', { name: 'Withdraw' }).click()
  await waiting(page).waitFor({ state: 'detached' })
  await say(page, 'And then?')
  await choose(page, 'Steer')
  await say(page, 'In blue')
  await waiting(page).filter({ hasText: 'In blue' }).getByText('Steers').waitFor()
  assert.equal(await waiting(page).count(), 2)
  await page.getByRole('button', { name: 'Stop this call' }).click()
  await page.locator('[data-status="cancelled"]').waitFor()
  await page.getByText('heard And then?').waitFor()
  await waiting(page).first().waitFor({ state: 'detached' })
  assert.equal(await page.getByRole('button', { name: 'Stop this call' }).count(), 0)
  assert.deepEqual(await history(), [
    'Go',
    '',
    'cancelled',
    'In blue',
    'heard In blue',
    'And then?',
    'heard And then?',
  ])
}

/** A message that interrupts stops the call that may be stopped, and is read at once. */
async function interrupts({ page, history }: Place): Promise<void> {
  await say(page, 'Go')
  await page.locator('[data-status="running"]').waitFor()
  await choose(page, 'Interrupt')
  await say(page, 'Stop it')
  await page.getByText('heard Stop it').waitFor()
  assert.deepEqual(await history(), ['Go', '', 'cancelled', 'Stop it', 'heard Stop it'])
}

describe('a page of React parts', { skip }, () => {
  const { browser } = suite()

  async function openPage(t: TestContext): Promise<Place> {
    const turnwire = await Turnwire.open({ ...config, data: 'memory', server: { log: 'error' } })
    const server = await startServer(turnwire, { port: 0 })
    t.after(() => server.stop())
    const client = new AapClient({ baseUrl: `${server.url}/aap/v3` })
    const tools = [{ name: 'slow', trust: true }]
    const sessionId = await client.createSession({ agent: { name: 'listener', tools } })
    const vite = await createServer({
      configFile: false,
      root: join(root, 'test/browser/steer-page'),
      cacheDir: join(folder(t), 'cache'),
      server: {
        ...{ port: 0, host: '127.0.0.1', hmr: false, ws: false, fs: { allow: [root] } },
        proxy: { '/aap': { target: server.url, changeOrigin: true, headers: { origin: server.url } } },
      },
      logLevel: 'error',
    })
    await vite.listen()
    t.after(() => vite.close())
    const url = vite.resolvedUrls?.local[0] ?? ''
    const { page, problems } = await open(t, browser(), `${url}?session=${sessionId}`)
    // Vite's own page wants a socket for changes of its sources, which this server does not have.
    t.after(() =>
      assert.deepEqual(
        problems.filter(each => !/vite|WebSocket/.test(each)),
        [],
      ),
    )
    return { page, history: () => spoken(new OperatorClient({ baseUrl: server.url }), sessionId) }
  }

  test('queues, withdraws, steers, and stops one call', async t => steers(await openPage(t)))
  test('interrupts', async t => interrupts(await openPage(t)))
})

describe('the console', { skip }, () => {
  const { browser, rig } = suite({ config: 'test/browser/console-steer-config.ts' })

  async function openPage(t: TestContext): Promise<Place> {
    const { url, operator } = rig()
    const { id } = await operator.create({ agent: 'listener' })
    const { page, problems } = await open(t, browser(), `${url}/sessions/${id}`)
    t.after(() => assert.deepEqual(problems, []))
    return { page, history: () => spoken(operator, id) }
  }

  test('queues, withdraws, steers, and stops one call', async t => steers(await openPage(t)))
  test('interrupts', async t => interrupts(await openPage(t)))
})
