// Long lists in a real Chromium, on a real server whose store was filled before it started: a transcript of 10,000 calls, its
// timeline, and a list of 100,000 sessions. What is measured is work, as a ratio against a short list in the same run: the
// time on a clock depends on the machine. TURNWIRE_SCALE_ROWS=100000 makes the page read all of them (a minute) instead of 20,000.
import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import type { CDPSession, Page } from 'playwright-core'
import type { SessionQuery } from '../../src/client/index.ts'
import { open, skip, suite } from './console-rig.ts'
import { seed, seededId, seededOpening } from './seeded-store.ts'

const sessions = 100_000
/** Rows that the page reads. The API is asked for all. */
const pageRows = Number(process.env['TURNWIRE_SCALE_ROWS'] ?? 20_000)
const longId = 'sess_long'
const shortId = 'sess_short'
const seeded = { sessions, calls: { [shortId]: 300, [longId]: 10_000 } }
/** What lists have. */
const listed = sessions + 2

async function taskSeconds(session: CDPSession): Promise<number> {
  const { metrics } = await session.send('Performance.getMetrics')
  return metrics.find(({ name }) => name === 'TaskDuration')?.value ?? Number.NaN
}

/** The main thread's work while something happens, in seconds of the processor, so that other programs do not count. */
async function workOf(page: Page, act: () => Promise<unknown>): Promise<number> {
  const session = await page.context().newCDPSession(page)
  await session.send('Performance.enable', { timeDomain: 'threadTicks' })
  const before = await taskSeconds(session)
  await act()
  return (await taskSeconds(session)) - before
}

type Scrolled = { msPerFrame: number; rows: number }

/** Scrolls in equal steps, one a frame, and gives the main thread's work for a frame. */
async function scrolled(page: Page, selector: string, frames = 60): Promise<Scrolled> {
  const spent = await workOf(page, () =>
    page.evaluate(`(async () => {
    const box = document.querySelector(${JSON.stringify(selector)})
    const step = 120 * (box.scrollTop > box.scrollHeight / 2 ? -1 : 1)
    for (let frame = 0; frame < ${frames}; frame += 1) {
      box.scrollTop += step
      await new Promise(resolve => requestAnimationFrame(resolve))
    }
  })()`),
  )
  return { msPerFrame: (spent * 1000) / frames, rows: await page.locator(`${selector} .tw-row`).count() }
}

/** The median of several, so that a collection of garbage does not decide. */
/** Drawing every row would be thirty times the work and more; a busy machine alone makes it twice. */
const mostTimes = 4

async function medianScroll(page: Page, selector: string): Promise<Scrolled> {
  const all: Scrolled[] = []
  for (let round = 0; round < 5; round += 1) all.push(await scrolled(page, selector))
  return all.sort((a, b) => a.msPerFrame - b.msPerFrame)[2]!
}

function report(t: TestContext, name: string, short: Scrolled, long: Scrolled): void {
  const words = ({ msPerFrame, rows }: Scrolled): string =>
    `${msPerFrame.toFixed(1)} ms a frame, ${rows} rows`
  t.diagnostic(`${name}: short ${words(short)}; long ${words(long)}`)
}

const median = (numbers: readonly number[]): number =>
  numbers.toSorted((a, b) => a - b)[numbers.length >> 1] ?? Number.NaN

describe('long lists', { skip }, () => {
  let seedMs = 0
  const { browser, rig } = suite({
    prepare: async data => {
      const began = performance.now()
      await seed(data, seeded)
      seedMs = performance.now() - began
    },
  })

  /** All pages of a list, and how long each answer took. */
  async function pagesOf(query: SessionQuery): Promise<{ ids: string[]; times: number[] }> {
    const ids: string[] = []
    const times: number[] = []
    for (let after: string | undefined; ; ) {
      const began = performance.now()
      const page = await rig().operator.sessions({ ...query, limit: 200, ...(after && { after }) })
      times.push(performance.now() - began)
      ids.push(...page.sessions.map(({ id }) => id))
      after = page.next
      if (after === undefined) return { ids, times }
    }
  }

  test('the list is read page by page, the last as fast as the first, each session once', async t => {
    t.diagnostic(`${sessions} sessions were written in ${(seedMs / 1000).toFixed(1)} s`)
    const { ids, times } = await pagesOf({})
    assert.equal(ids.length, listed)
    assert.equal(new Set(ids).size, listed)
    const tenth = Math.ceil(times.length / 10)
    const [first, last] = [median(times.slice(0, tenth)), median(times.slice(-tenth))]
    t.diagnostic(`a page of 200: ${first.toFixed(1)} ms at the beginning, ${last.toFixed(1)} ms at the end`)
    assert.ok(last < 2 * first + 2, `${last} ms against ${first} ms`)
  })

  test('a filter or a search finds everything in bounded answers, and others are served meanwhile', async t => {
    const { operator } = rig()
    const queries: [SessionQuery, number][] = [
      [{ status: 'failed' }, Math.floor(sessions / 100)],
      [{ status: 'running' }, 0],
      [{ status: 'waiting' }, 0],
      [{ agent: 'sleeper' }, Math.floor(sessions / 3)],
      [{ q: seededOpening(7) }, 1],
      [{ q: seededId(7) }, 1],
      [{ q: 'nothing of the kind' }, 0],
    ]
    for (const [query, expected] of queries) {
      const { ids, times } = await pagesOf(query)
      assert.equal(ids.length, expected, JSON.stringify(query))
      const all = times.reduce((sum, ms) => sum + ms, 0)
      t.diagnostic(
        `${JSON.stringify(query)}: ${all.toFixed(0)} ms in ${times.length} answers, at most ${Math.max(...times).toFixed(0)} ms`,
      )
    }
    // A search that finds nothing looks at many sessions. A request that comes after it is answered first.
    const order: string[] = []
    await Promise.all([
      operator.sessions({ q: 'nothing of the kind', limit: 200 }).then(() => order.push('search')),
      operator.me().then(() => order.push('other')),
    ])
    assert.deepEqual(order, ['other', 'search'])
  })

  async function transcript(
    t: TestContext,
    id: string,
    calls: number,
  ): Promise<{ page: Page; scroll: Scrolled }> {
    const { page } = await open(t, browser(), `${rig().url}/sessions/${id}`)
    page.setDefaultTimeout(120_000)
    await page.locator('.state', { hasText: 'Done' }).waitFor()
    await page.locator('.tw-transcript .tw-row').first().waitFor()
    await page.getByText(`${calls.toLocaleString('en')} calls`).waitFor()
    return { page, scroll: await medianScroll(page, '.tw-transcript .tw-scroll') }
  }

  test('10,000 calls in a transcript scroll with the work of 300, and the timeline is walked as fast', async t => {
    const short = await transcript(t, shortId, 300)
    const long = await transcript(t, longId, 10_000)
    report(t, 'transcript', short.scroll, long.scroll)
    assert.ok(long.scroll.rows < 200, `${long.scroll.rows} rows are in the document`)
    assert.ok(
      long.scroll.msPerFrame < mostTimes * short.scroll.msPerFrame + 2,
      `${long.scroll.msPerFrame} ms against ${short.scroll.msPerFrame} ms`,
    )
    // From one end to the other at once.
    const box = long.page.locator('.tw-transcript .tw-scroll')
    await box.evaluate(element => element.scrollTo({ top: 0 }))
    await long.page.getByText('Read everything').last().waitFor()
    await long.page.getByRole('button', { name: 'Go to the newest' }).click()
    await long.page.getByText('Step 999: ten files.').waitFor()
    await long.page.getByRole('application').focus()
    await long.page.keyboard.press('ArrowRight')
    await long.page.getByText(/Model step: .*ok/).waitFor()
    // A link to an event in the middle of the log opens it there.
    await long.page.goto(`${rig().url}/sessions/${longId}?view=log#seq=10000`)
    await long.page.locator('.log-row.tw-selected').waitFor()
  })

  test('many thousand sessions in the list scroll with the work of 200, also while one of them changes', async t => {
    const { url, operator } = rig()
    const { page: shortPage } = await open(t, browser(), `${url}/sessions?q=city+number+99`)
    await shortPage.locator('.session-row').first().waitFor()
    const short = await medianScroll(shortPage, '.sessions .tw-scroll')
    await shortPage.close()
    const { page, problems } = await open(t, browser(), `${url}/sessions`)
    page.setDefaultTimeout(120_000)
    await page.locator('.session-row').first().waitFor()
    // As someone has them who has scrolled so far.
    const loaded = await workOf(page, () =>
      page.evaluate(`(async () => {
        const box = document.querySelector('.sessions .tw-scroll')
        while (parseInt(document.querySelector('.list-foot').textContent.replace(',', '')) < ${pageRows}) {
          box.scrollTo({ top: box.scrollHeight })
          await new Promise(resolve => setTimeout(resolve, 5))
        }
      })()`),
    )
    const long = await medianScroll(page, '.sessions .tw-scroll')
    report(t, 'sessions', short, long)
    const foot = page.locator('.list-foot')
    const rows = Number.parseInt((await foot.innerText()).replace(',', ''), 10)
    t.diagnostic(`reading ${rows} rows: ${loaded.toFixed(1)} s of the main thread`)
    assert.ok(long.rows < 200, `${long.rows} rows are in the document`)
    assert.ok(
      long.msPerFrame < mostTimes * short.msPerFrame + 2,
      `${long.msPerFrame} ms against ${short.msPerFrame} ms`,
    )
    const changes = await workOf(page, async () => {
      for (let round = 1; round <= 10; round += 1) {
        await operator.create({ agent: 'helper' })
        await foot.filter({ hasText: (rows + round).toLocaleString('en') }).waitFor()
      }
    })
    const sorts = await workOf(page, () =>
      page.evaluate(`for (let round = 0; round < 10; round += 1)
        Array.from({ length: ${sessions} }, (_, at) => ({ key: (at * 7919) % 100_003 })).sort((a, b) => a.key - b.key)`),
    )
    t.diagnostic(
      `10 changes: ${(changes * 1000).toFixed(0)} ms; sorting ${sessions} rows 10 times: ${(sorts * 1000).toFixed(0)} ms`,
    )
    assert.ok(changes < 1.5 * sorts, `${changes} s against ${sorts} s`)
    // The oldest one is found from the page too.
    await page.getByLabel('Search sessions').fill(seededOpening(7))
    await page.locator('.session-row', { hasText: seededOpening(7) }).waitFor()
    await foot.filter({ hasText: /^1 session$/ }).waitFor()
    assert.deepEqual(problems, [])
  })
})
