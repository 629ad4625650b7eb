// What lists and tables of the console say, in a real Chromium: every column, filters in the address, and that a list never
// says anything else than the page of the thing itself.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Page } from 'playwright-core'
import type { OperatorClient } from '../../src/client/index.ts'
import { poem } from './console-config.ts'
import { consoleServer, open, restart, said, skip, suite, tab } from './console-rig.ts'
import { seed, seededId, seededOpening } from './seeded-store.ts'

/** Sessions that stand in every way that a session can, by what was done to each. */
async function sessionsOfEveryKind(operator: OperatorClient): Promise<Record<string, string>> {
  const begun = async (agent: string, text: string): Promise<string> => {
    const { id } = await operator.create({ agent })
    await operator.command(id, { do: 'say', text })
    return id
  }
  const stopped = await begun('sleeper', 'Wait')
  await operator.command(stopped, { do: 'cancel' })
  return {
    new: (await operator.create({ agent: 'helper' })).id,
    done: await said(operator, 'What is the weather in Oslo?'),
    waiting: await said(operator, 'Mail wanda@example.org that I am late'),
    failed: await said(operator, 'Try', 'faulty'),
    running: await begun('sleeper', 'Wait for long'),
    stopped,
    priced: await said(operator, 'A poem', 'poet'),
  }
}

describe('the list of sessions', { skip }, () => {
  const { browser, rig } = suite()

  test('keeps what happens while it is read: the answer to a list may be older', async t => {
    const { url, operator } = rig()
    const earlier = await said(operator, 'Say something early')
    const { page, problems } = await open(t, browser(), url)
    const asked = Promise.withResolvers<void>()
    const late = Promise.withResolvers<void>()
    await page.route('**/operator/sessions?*', async route => {
      const response = await route.fetch()
      asked.resolve()
      await late.promise
      await route.fulfill({ response })
    })
    await page.getByRole('link', { name: 'Sessions' }).click()
    await asked.promise
    const row = page.locator(`a[href="/sessions/${await said(operator, 'Say something late')}"]`)
    await row.waitFor()
    late.resolve()
    await page.locator(`a[href="/sessions/${earlier}"]`).waitFor()
    await row.waitFor()
    assert.deepEqual(problems, [])
  })

  test('leaves the width to the opening message, and j, k and Enter lead to a session', async t => {
    const { url, operator } = rig()
    const opening = 'A long question about the weather in Oslo, Bergen and Tromsø in the coming week'
    const first = await said(operator, opening)
    const second = await said(operator, 'A later one')
    const { page, problems } = await open(t, browser(), `${url}/sessions`)
    const row = page.locator(`a[href="/sessions/${first}"]`)
    for (const width of [1440, 1280, 1024, 390]) {
      await page.setViewportSize({ width, height: 900 })
      const box = await row.locator('.opening-text').boundingBox()
      assert.ok(box && box.width >= 230, `${box?.width} of ${width} pixels`)
    }
    await page.keyboard.press('j')
    const focused = (): Promise<string> => page.evaluate('document.activeElement.getAttribute("href")')
    assert.equal(await focused(), `/sessions/${second}`)
    await page.keyboard.press('j')
    assert.equal(await focused(), `/sessions/${first}`)
    await page.keyboard.press('k')
    assert.equal(await focused(), `/sessions/${second}`)
    await page.keyboard.press('Enter')
    await page.waitForURL(`${url}/sessions/${second}`)
    assert.deepEqual(problems, [])
  })

  test('says the same of a session as its own page, whatever its state, also after a restart', async t => {
    const own = await consoleServer(t)
    const { url, operator } = own
    const kinds = await sessionsOfEveryKind(operator)
    const { page, problems } = await open(t, browser(), `${url}/sessions`, {
      viewport: { width: 1680, height: 900 },
    })
    const compare = async (): Promise<void> => {
      await page.goto(`${url}/sessions`)
      for (const [name, id] of Object.entries(kinds)) {
        const row = page.locator(`a[href="/sessions/${id}"]`)
        await row.waitFor()
        const cell = (column: string): Promise<string> => row.locator(`.cell-${column}`).innerText()
        const inList = {
          kind: await row.locator('.state').getAttribute('class'),
          tokens: await cell('tokens'),
          agent: await cell('agent'),
          wire: await cell('wire'),
          opening: await row.locator('.opening-text').innerText(),
        }
        const cost = await cell('cost')
        await row.click()
        await page.locator('.session-head .state').waitFor()
        // What is not known, or not used yet, is left out there.
        const fact = async (of: string, unless = ''): Promise<string> => {
          const found = page.locator('.session-facts .facts > div', { hasText: of })
          return (await found.count()) === 0 ? unless : found.locator('dd').innerText()
        }
        assert.deepEqual(
          {
            kind: await page.locator('.session-head .state').getAttribute('class'),
            tokens: await fact('Tokens', '0'),
            agent: await fact('Agent'),
            wire: await fact('Wire'),
            opening: await page.locator('.session-head h1').innerText(),
          },
          inList,
          name,
        )
        const costInside = await fact('Cost', '–')
        assert.ok(
          cost === costInside || (cost === '–' && costInside === 'no price set'),
          `${cost}, ${costInside}`,
        )
        await page.locator('.crumb').click()
      }
    }
    await compare()
    await operator.command(kinds['running']!, { do: 'cancel' })
    await restart(t, own)
    await compare()
    assert.deepEqual(problems, [])
  })

  test('has status, what it waits for, agent, model, wire, tokens, cost and age of each', async t => {
    const { url, operator } = rig()
    const waiting = await said(operator, 'Mail xenia@example.org that I am late')
    const priced = await said(operator, 'Another poem', 'poet')
    const named = await said(operator, 'Say something', 'named')
    const { page } = await open(t, browser(), `${url}/sessions`, { viewport: { width: 1680, height: 900 } })
    const words = async (id: string): Promise<string> => {
      const row = page.locator(`a[href="/sessions/${id}"]`)
      await row.waitFor()
      return (await row.innerText()).replaceAll(/\s+/g, ' ')
    }
    assert.match(
      await words(waiting),
      /^waits for send_mail Mail xenia@example\.org that I am late sess?_\S+… helper local rehearsal operator [\d,]+ – [\d.]+ m?s (just now|\d+ s ago)$/,
    )
    assert.match(await words(priced), /^done Another poem \S+ poet local verse-1 operator 60 \$0\.25 /)
    assert.match(await words(named), /^done Say something \S+ named local spare operator /)
  })

  test('is filtered by status, agent, model and words, which the address keeps', async t => {
    const { url, operator } = rig()
    const needle = await said(operator, 'What is the weather in Uppsala?', 'named')
    await said(operator, 'What is the weather in Uppsala again?')
    const { page } = await open(t, browser(), `${url}/sessions`)
    await page.getByLabel('Agent').selectOption('named')
    await page.getByLabel('Model').selectOption('spare')
    await page.getByLabel('Status').selectOption('idle')
    await page.getByLabel('Search sessions').fill('UPPSALA')
    await page.waitForURL(/q=UPPSALA/)
    const foot = page.locator('.list-foot')
    await foot.filter({ hasText: /^1 session$/ }).waitFor()
    await page.reload()
    await foot.filter({ hasText: /^1 session$/ }).waitFor()
    assert.equal(await page.getByLabel('Agent').inputValue(), 'named')
    assert.equal(await page.getByLabel('Search sessions').inputValue(), 'UPPSALA')
    await page.locator(`a[href^="/sessions/${needle}"]`).click()
    await page.locator('.session-head').waitFor()
    await page.goBack()
    assert.match(page.url(), /agent=named.*model=spare.*status=idle.*q=UPPSALA/)
    // A session that does not pass the filter stays away, and one that does comes by itself.
    await said(operator, 'Something else', 'named')
    await said(operator, 'From Uppsala with love', 'named')
    await foot.filter({ hasText: /^2 sessions$/ }).waitFor()
  })
})

describe('a list of a thousand sessions', { skip }, () => {
  const day = 24 * 3_600_000
  const begun = new Date(2026, 2, 10, 12).getTime()
  // Each begins a second after the one before: they are a quarter of an hour of one day.
  const { browser, rig } = suite({ prepare: data => seed(data, { sessions: 1016, at: begun }) })
  const rowsOf = (page: Page) => page.locator('.session-row')
  const openingOf = (page: Page): Promise<string> => rowsOf(page).first().locator('.opening-text').innerText()

  test('says how many there are, and is sorted by its heads: down, up, as it was', async t => {
    const { url } = rig()
    const { page, problems } = await open(t, browser(), `${url}/sessions`)
    const foot = page.locator('.list-foot')
    await foot.filter({ hasText: /^200 of 1,016 sessions$/ }).waitFor()
    const head = page.getByRole('button', { name: /^Sort by tokens/ })
    await head.click()
    await page.waitForURL(/\?sort=tokens$/)
    await page.locator('.sort-by[aria-pressed="true"]', { hasText: '↓ Tokens' }).waitFor()
    const tokens = (at: number) => rowsOf(page).nth(at).locator('.cell-tokens')
    await tokens(0).filter({ hasText: '899' }).waitFor()
    await head.click()
    await page.waitForURL(/\?sort=tokens&order=up$/)
    await page.locator('.sort-by', { hasText: '↑ Tokens' }).waitFor()
    await tokens(0).filter({ hasText: '800' }).waitFor()
    assert.deepEqual(await Promise.all([0, 5, 10].map(at => tokens(at).innerText())), ['800', '800', '800'])
    await head.click()
    await page.waitForURL(`${url}/sessions`)
    await foot.filter({ hasText: /^200 of 1,016 sessions$/ }).waitFor()
    assert.equal(await page.locator('.sort-by[aria-pressed="true"]').count(), 0)
    await rowsOf(page)
      .first()
      .filter({ hasText: seededOpening(1015) })
      .waitFor()
    assert.deepEqual(problems, [])
  })

  test('is limited to the last hours, or to days of the calendar', async t => {
    const { url, operator } = rig()
    const today = await said(operator, 'Say something today')
    const { page } = await open(t, browser(), `${url}/sessions`)
    const foot = page.locator('.list-foot')
    await page.getByLabel('Time').selectOption({ label: 'The last 7 days' })
    await foot.filter({ hasText: /^1 session$/ }).waitFor()
    await page.locator(`a[href="/sessions/${today}"]`).waitFor()
    await page.getByLabel('Time').selectOption({ label: 'Between days…' })
    await page.getByLabel('From the day').fill('2026-03-10')
    await page.waitForURL(/since=2026-03-10/)
    await page.getByLabel('To the day').fill('2026-03-10')
    await page.waitForURL(/until=2026-03-10/)
    await foot.filter({ hasText: /^200 of 1,016 sessions$/ }).waitFor()
    await page.reload()
    await foot.filter({ hasText: /^200 of 1,016 sessions$/ }).waitFor()
    assert.equal(await page.getByLabel('To the day').inputValue(), '2026-03-10')
    const [before, after] = [begun - day, begun + day].map(at => new Date(at).toLocaleDateString('en-CA'))
    await page.getByLabel('From the day').fill(after!)
    await page.getByLabel('To the day').fill(after!)
    await page.getByRole('heading', { name: 'No session matches' }).waitFor()
    await page.getByLabel('From the day').fill(before!)
    await page.getByLabel('To the day').fill(before!)
    await page.waitForURL(new RegExp(`since=${before}&until=${before}`))
    await page.getByRole('heading', { name: 'No session matches' }).waitFor()
    await page.getByLabel('Time').selectOption({ label: 'Any time' })
    await foot.filter({ hasText: /^200 of 1,017 sessions$/ }).waitFor()
  })

  test('shows where a search found its words, the last changed first, and leads to the event', async t => {
    const { url, operator } = rig()
    const { page, problems } = await open(t, browser(), `${url}/sessions?q=overloaded`)
    const foot = page.locator('.list-foot')
    // The index reads a thousand logs meanwhile.
    await foot.filter({ hasText: /^10 sessions$/ }).waitFor()
    await page.locator('.list-foot-more').waitFor({ state: 'detached' })
    await page.locator('.sort-by[aria-pressed="true"]', { hasText: '↓ Changed' }).waitFor()
    const found = rowsOf(page).first().locator('.cell-found')
    assert.match(await found.innerText(), /^error.*529: overloaded/)
    assert.equal(await found.locator('mark').innerText(), 'overloaded')
    assert.equal(await openingOf(page), seededOpening(999))
    // An old session in which the words are said now is the first one.
    await operator.command(seededId(0), { do: 'say', text: 'Is it overloaded?' })
    await page.goto(`${url}/sessions?q=overloaded`)
    await foot.filter({ hasText: /^11 sessions$/ }).waitFor()
    assert.equal(await openingOf(page), seededOpening(0))
    await page.getByRole('button', { name: /^Sort by changed/ }).click()
    await page.waitForURL(/sort=changed&order=up/)
    await page.locator('.sort-by', { hasText: '↑ Changed' }).waitFor()
    await rowsOf(page)
      .first()
      .locator('.opening-text', { hasText: seededOpening(99) })
      .waitFor()
    const address = await rowsOf(page).first().getAttribute('href')
    assert.match(address ?? '', /^\/sessions\/sess_seeded0000099#seq=\d+$/)
    await rowsOf(page).first().click()
    await page.locator('.tw-selected', { hasText: 'overloaded' }).waitFor()
    assert.deepEqual(problems, [])
  })
})

describe('tables', { skip }, () => {
  const { browser, rig } = suite()

  test('of models and agents have requests, failures, times, tokens and cost, and the last error of each model', async t => {
    const { url, operator } = rig()
    await said(operator, 'A poem', 'poet')
    await said(operator, 'Try', 'faulty')
    const { page } = await open(t, browser(), `${url}/overview`)
    await page.getByRole('row', { name: /^verse-1 1 0 .*s .*s 60 \$0\.25$/ }).waitFor()
    await page.getByRole('row', { name: /^poet 1 0 .*s .*s 60 \$0\.25$/ }).waitFor()
    await page.getByRole('row', { name: /^faulty 1 1 / }).waitFor()
    await page.getByRole('row', { name: /^\S+ [1-9]\d* [1-9]\d* .*answered 529: overloaded/ }).waitFor()
    const failed = page.getByRole('region', { name: 'Failed last' })
    await failed.getByRole('link', { name: /^Try faulty/ }).waitFor()
    const { version } = await operator.me()
    const health = page.getByRole('region', { name: 'Health' })
    await health.getByText('can be written').waitFor()
    await health.getByText(version, { exact: true }).waitFor()
    await health.getByText(/^\d[\d.]* (MB|GB)$/).waitFor()
  })

  test('of tools say where each runs, whether it asks, what it changes, and its schema', async t => {
    const { url } = rig()
    const { page } = await open(t, browser(), `${url}/tools?agent=helper`)
    const row = (name: string) => page.locator('.tool-link', { hasText: name })
    assert.match(await row('send_mail').innerText(), /asks first/)
    assert.match(await row('get_weather').innerText(), /runs/)
    await row('send_mail').click()
    const one = page.getByRole('region', { name: 'Tool send_mail' })
    const facts = (await one.locator('.facts').first().innerText()).replaceAll(/\s+/g, ' ')
    assert.match(
      facts,
      /Runs on this server Trust asks first Kind other Changes things yes, and it may destroy/,
    )
    await one.getByText('Definition').click()
    await one.getByText('additionalProperties').waitFor()
    await page.getByLabel('Search tools').fill('weather')
    await row('send_mail').waitFor({ state: 'detached' })
    await row('get_weather').waitFor()
  })
})

describe('a transcript', { skip }, () => {
  const { browser, rig } = suite()

  test('grows as the model speaks, also in a tab that came later, before anything is in the log', async t => {
    const { url, operator } = rig()
    const { id } = await operator.create({ agent: 'endless' })
    const first = await open(t, browser(), `${url}/sessions/${id}`)
    await first.page.getByLabel('Send a message').fill('A poem')
    await first.page.keyboard.press('Enter')
    const live = (page: Page) => page.locator('.tw-answer[aria-busy="true"] .tw-prose')
    await live(first.page).filter({ hasText: poem }).waitFor()
    const second = await tab(first.context, `${url}/sessions/${id}`)
    await live(second.page).filter({ hasText: poem }).waitFor()
    const { events } = await operator.events(id)
    assert.ok(!events.some(({ event }) => event.type === 'model.answered'))
    await second.page.getByRole('button', { name: 'Stop' }).first().click()
    for (const { page, problems } of [first, second]) {
      await page.locator('.session-head .state-stopped').waitFor()
      assert.deepEqual(problems, [])
    }
  })

  test('says each word once, though the stream of the answer started over', async t => {
    const { url, operator } = rig()
    const { id } = await operator.create({ agent: 'poet' })
    const { page, problems } = await open(t, browser(), `${url}/sessions/${id}`)
    await page.getByLabel('Send a message').fill('A poem')
    await page.keyboard.press('Enter')
    await page.locator('.session-head .state', { hasText: 'Done' }).waitFor()
    assert.deepEqual(await page.locator('.tw-answer .tw-prose').allInnerTexts(), [poem])
    assert.deepEqual(problems, [])
  })
})
