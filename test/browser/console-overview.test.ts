// The overview in a real Chromium: what it counts, how its charts are read, what waits and what failed. And a server whose store
// keeps no index: the console does without one, and complains of nothing.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Page } from 'playwright-core'
import { OperatorClient } from '../../src/client/index.ts'
import { scripted, startServer, Turnwire, tool } from '../../src/index.ts'
import { memoryStore } from '../../src/stores/memory.ts'
import { open, said, skip, suite } from './console-rig.ts'

describe('the overview', { skip }, () => {
  const { browser, rig } = suite()

  test('counts turns, failures, tokens and cost, and its charts are read by keys, by model and by agent', async t => {
    const { url, operator } = rig()
    for (const agent of ['poet', 'poet', 'named', 'faulty']) await said(operator, 'A poem', agent)
    const { page, problems } = await open(t, browser(), `${url}/overview`)
    const tile = (name: string) => page.locator('.tile', { has: page.getByText(name, { exact: true }) })
    await tile('Turns').getByText(/^4$/).waitFor()
    assert.match(await tile('Failed turns').innerText(), /\n1\n25\.0 % of turns$/)
    assert.match(await tile('Cost').innerText(), /\n\$0\.50/)
    const chart = (name: string) => page.locator('.chart', { has: page.getByRole('heading', { name }) })
    /** What the chart says of its last day. */
    const read = async (name: string): Promise<string> => {
      await chart(name).getByRole('img').focus()
      await page.keyboard.press('ArrowLeft')
      return chart(name).getByRole('status').innerText()
    }
    const today = new Date().toLocaleDateString('en', { weekday: 'short', day: 'numeric', month: 'short' })
    assert.equal(await read('Turns'), `${today}: ended well 3, failed 1`)
    assert.match(await read('Times, p95'), / turn \d.*, step \d/)
    assert.equal(await read('Cost'), `${today}: verse-1 $0.50`)
    await page.getByRole('button', { name: 'agent', exact: true }).click()
    assert.equal(await read('Cost'), `${today}: poet $0.50`)
    assert.match(await read('Tokens'), /: poet 120\b/)
    // The axis begins at zero, ends above the largest value, and names the first day.
    const marks = await chart('Turns').locator('svg text').allTextContents()
    assert.ok(marks.includes('0') && marks.some(text => Number(text) >= 4), marks.join(' '))
    await page.getByRole('link', { name: '24 hours' }).click()
    await page.waitForURL(/days=1/)
    await page.waitForFunction(() => document.querySelectorAll('.chart svg').length === 4)
    assert.match(await read('Turns'), /^\w+,? \d\d:00: ended well 3, failed 1$/)
    assert.deepEqual(problems, [])
  })

  test('lists what waits longest and what failed last, and leads to all of them in that order', async t => {
    const { url, operator } = rig()
    const waiting: string[] = []
    for (const name of ['ana', 'bob']) waiting.push(await said(operator, `Mail ${name}@example.org a word`))
    const failed: string[] = []
    for (let count = 0; count < 7; count += 1) failed.push(await said(operator, `Try ${count}`, 'faulty'))
    const { page, problems } = await open(t, browser(), `${url}/overview`)
    const addresses = async (name: string): Promise<(string | null)[]> =>
      page
        .getByRole('region', { name })
        .locator('.lately-row')
        .evaluateAll(rows => rows.map(row => row.getAttribute('href')))
    await page.getByRole('region', { name: 'Failed last' }).getByText('Try 6').waitFor()
    assert.deepEqual(
      await addresses('Waits longest'),
      waiting.map(id => `/sessions/${id}`),
    )
    const newest = failed.toReversed().map(id => `/sessions/${id}`)
    assert.deepEqual(await addresses('Failed last'), newest.slice(0, 4))
    await page
      .getByRole('region', { name: 'Failed last' })
      .getByRole('link', { name: /^all \d+$/ })
      .click()
    await page.waitForURL(/\/sessions\?status=failed&sort=changed$/)
    await page.locator('.sort-by', { hasText: '↓ Changed' }).waitFor()
    await page.locator('.session-row').first().waitFor()
    const rows = await page
      .locator('.session-row')
      .evaluateAll(all => all.map(row => row.getAttribute('href')))
    assert.deepEqual(rows.slice(0, newest.length), newest)
    assert.deepEqual(problems, [])
  })
})

const mail = tool({
  name: 'send_mail',
  description: 'Sends a mail.',
  input: { type: 'object', properties: { to: { type: 'string' } } },
  run: () => 'sent',
})

describe('a store without an index', { skip }, () => {
  const { browser } = suite()

  test('has an overview without counts, and a list in one order, searched by openings', async t => {
    const { finder: _, ...store } = memoryStore()
    const turnwire = await Turnwire.open({
      data: store,
      agents: [
        {
          name: 'helper',
          tools: [mail],
          model: scripted(({ history }) => {
            const words = JSON.stringify(history.at(-1))
            if (words.includes('Fail')) return { fail: { code: 'model_failed', message: 'Overloaded.' } }
            if (words.includes('Mail')) return { calls: [{ name: 'send_mail', input: { to: 'ana' } }] }
            return { text: 'Well.' }
          }),
        },
      ],
      server: { log: 'silent', graceMs: 1 },
    })
    const server = await startServer(turnwire, { port: 0 })
    t.after(() => server.stop())
    const operator = new OperatorClient({ baseUrl: server.url, retries: 0 })
    const first = await said(operator, 'Mail the first')
    const second = await said(operator, 'Mail the second')
    const failed = await said(operator, 'Fail')
    // The first one waits anew, so that the second waits longest.
    await operator.command(first, { do: 'cancel' })
    await operator.command(first, { do: 'say', text: 'Mail it again' })
    while ((await operator.session(first)).status !== 'waiting') await new Promise(setImmediate)

    const { page, problems } = await open(t, browser(), `${server.url}/overview`)
    const rows = (name: string) => page.getByRole('region', { name }).locator('.lately-row')
    const hrefs = (name: string): Promise<(string | null)[]> =>
      rows(name).evaluateAll(all => all.map(row => row.getAttribute('href')))
    await rows('Waits longest').nth(1).waitFor()
    assert.deepEqual(await hrefs('Waits longest'), [`/sessions/${second}`, `/sessions/${first}`])
    assert.deepEqual(await hrefs('Failed last'), [`/sessions/${failed}`])
    await complainsOfNothing(page)
    const note = await page.getByText('The store of this server keeps no counts.').boundingBox()
    const title = await page.getByRole('heading', { name: 'Overview' }).boundingBox()
    assert.equal(note?.x, title?.x, 'it stands under the title')

    await page.getByRole('link', { name: 'Sessions', exact: true }).click()
    await page.locator('.list-foot', { hasText: /^3 sessions$/ }).waitFor()
    assert.equal(await page.locator('.sort-by').count(), 0, 'no order is offered')
    assert.equal(await page.locator('.session-columns .cell-tokens').innerText(), 'Tokens')
    await page.getByPlaceholder('Search openings and ids').fill('SECOND')
    await page.locator('.list-foot', { hasText: /^1 session$/ }).waitFor()
    await page.locator(`a[href="/sessions/${second}"]`).waitFor()
    await complainsOfNothing(page)

    // A link from a server that has an index.
    await page.goto(`${server.url}/sessions?sort=cost`)
    await page
      .getByRole('alert')
      .getByText(/keeps no index/)
      .waitFor()
    await page.getByRole('link', { name: 'Show the newest first' }).click()
    await page.locator('.list-foot', { hasText: /^3 sessions$/ }).waitFor()
    await complainsOfNothing(page)
    assert.deepEqual(problems, [])
  })
})

async function complainsOfNothing(page: Page): Promise<void> {
  assert.deepEqual(await page.getByRole('alert').allInnerTexts(), [])
}
