// Long lists in a real Chromium: a transcript of 10,000 calls, its timeline, and a list of 100,000 sessions. What is measured is the
// work of the page's main thread for the same way of scrolling, as a ratio against a short list in the same run: the time on
// a clock depends on the machine.
import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import type { CDPSession, Page } from 'playwright-core'
import type { OperatorSession } from '../../src/client/index.ts'
import type { Event } from '../../src/language/events.ts'
import { open, skip, suite } from './console-rig.ts'

const at = 1_790_000_000_000

/** The log of a session with this many calls, in steps of ten parallel ones. */
function* logOf(calls: number): Generator<Event> {
  const now = (seq: number): { v: 1; at: number } => ({ v: 1, at: at + seq * 10 })
  let seq = 0
  yield {
    ...now(seq++),
    type: 'session.created',
    owner: 'local',
    agent: 'helper',
    wire: 'test',
    settings: { tools: null, options: {}, clientTools: [] },
    seed: [],
  }
  const parts = [{ type: 'text' as const, text: 'Read everything' }]
  yield { ...now(seq++), type: 'turn.started', turn: 't', parts, wire: 'test' }
  for (let step = 0; step < calls / 10; step += 1) {
    const ids = Array.from({ length: 10 }, (_, index) => `call_${step}_${index}`)
    yield {
      ...now(seq++),
      type: 'model.answered',
      model: 'm',
      stop: 'calls',
      usage: { input: 100, output: 10 },
      parts: [
        { type: 'text', text: `Step ${step}: ten files.` },
        ...ids.map(id => ({
          type: 'call' as const,
          id,
          name: 'read_file',
          form: 'json' as const,
          text: JSON.stringify({ path: `src/${id}.ts` }),
        })),
      ],
    }
    for (const callId of ids)
      yield { ...now(seq++), type: 'call.started', callId, attempt: 1, allowed: { toolHash: 'h', rule: 'r' } }
    for (const callId of ids)
      yield {
        ...now(seq++),
        type: 'call.settled',
        callId,
        outcome: {
          kind: 'ok',
          parts: [{ type: 'text', text: `export const ${callId} = 1` }],
          from: { source: 'tool', tool: 'read_file' },
          ms: 10,
        },
      }
  }
  yield { ...now(seq++), type: 'turn.ended', turn: 't', stop: 'end' }
}

/** The page gets this log in place of a session's own. */
async function serveLog(page: Page, calls: number): Promise<void> {
  const frames = Array.from(logOf(calls), (event, index) => {
    const seq = index + 1
    return `id: ${seq}\nevent: event\ndata: ${JSON.stringify({ seq, event })}\n\n`
  })
  await page.route('**/operator/sessions/*/follow*', route =>
    route.fulfill({ contentType: 'text/event-stream', body: frames.join('') }),
  )
}

const rowOf = (index: number): OperatorSession => ({
  id: `sess_${String(1_000_000 - index)}`,
  owner: 'local',
  agent: 'helper',
  wire: 'aap',
  status: 'idle',
  opening: `What is the weather in city number ${index}?`,
  createdAt: at - index * 1000,
  updatedAt: at - index * 900,
  events: 9,
  bytes: 4096,
  tokens: 800 + (index % 100),
})

/** The page gets a list of this many sessions, in pages as the server gives them. */
async function serveList(page: Page, rows: number): Promise<void> {
  await page.route('**/operator/sessions?*', route => {
    const { searchParams } = new URL(route.request().url())
    const from = Number(searchParams.get('after') ?? 0)
    const to = Math.min(rows, from + Number(searchParams.get('limit') ?? 50))
    const sessions = Array.from({ length: to - from }, (_, index) => rowOf(from + index))
    return route.fulfill({ json: { sessions, ...(to < rows && { next: String(to) }) } })
  })
}

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
async function median(page: Page, selector: string): Promise<Scrolled> {
  const all: Scrolled[] = []
  for (let round = 0; round < 5; round += 1) all.push(await scrolled(page, selector))
  return all.sort((a, b) => a.msPerFrame - b.msPerFrame)[2]!
}

function report(t: TestContext, name: string, short: Scrolled, long: Scrolled): void {
  const words = ({ msPerFrame, rows }: Scrolled): string =>
    `${msPerFrame.toFixed(1)} ms a frame, ${rows} rows`
  t.diagnostic(`${name}: short ${words(short)}; long ${words(long)}`)
}

describe('long lists', { skip }, () => {
  const { browser, rig } = suite()

  async function transcript(t: TestContext, calls: number): Promise<{ page: Page; scroll: Scrolled }> {
    const { url, operator } = rig()
    const { id } = await operator.create({ agent: 'helper' })
    const { page } = await open(t, browser(), 'about:blank')
    page.setDefaultTimeout(120_000)
    await serveLog(page, calls)
    await page.goto(`${url}/sessions/${id}`)
    await page.getByText(`Step ${calls / 10 - 1}: ten files.`).waitFor()
    await page.locator('.state', { hasText: 'Done' }).waitFor()
    return { page, scroll: await median(page, '.tw-transcript .tw-scroll') }
  }

  test('10,000 calls in a transcript scroll with the work of 300, and the timeline is walked as fast', async t => {
    const short = await transcript(t, 300)
    const long = await transcript(t, 10_000)
    report(t, 'transcript', short.scroll, long.scroll)
    assert.ok(long.scroll.rows < 200, `${long.scroll.rows} rows are in the document`)
    assert.ok(
      long.scroll.msPerFrame < 2 * short.scroll.msPerFrame + 2,
      `${long.scroll.msPerFrame} ms against ${short.scroll.msPerFrame} ms`,
    )
    // From one end to the other at once.
    const box = long.page.locator('.tw-transcript .tw-scroll')
    await box.evaluate(element => element.scrollTo({ top: 0 }))
    await long.page.getByText('Read everything').waitFor()
    await long.page.getByRole('button', { name: 'Go to the newest' }).click()
    await long.page.getByText('Step 999: ten files.').waitFor()
    await long.page.getByRole('application').focus()
    await long.page.keyboard.press('ArrowRight')
    await long.page.getByText(/Model step: .*ok/).waitFor()
  })

  test('100,000 sessions in the list scroll with the work of 100, also while one of them changes', async t => {
    const { url } = rig()
    const listed = async (rows: number): Promise<Page> => {
      const { page } = await open(t, browser(), 'about:blank')
      page.setDefaultTimeout(120_000)
      await serveList(page, rows)
      await page.goto(`${url}/sessions`)
      await page.getByRole('list', { name: '' }).first().waitFor()
      return page
    }
    const shortPage = await listed(200)
    const short = await median(shortPage, '.sessions .tw-scroll')
    const page = await listed(100_000)
    // All of them, as someone who scrolls to the end has them.
    for (;;) {
      const foot = (await page.locator('.list-foot').textContent()) ?? ''
      if (foot.startsWith('100,000 sessions')) break
      await page
        .locator('.sessions .tw-scroll')
        .evaluate(element => element.scrollTo({ top: element.scrollHeight }))
      await page.waitForTimeout(5)
    }
    const long = await median(page, '.sessions .tw-scroll')
    report(t, 'sessions', short, long)
    assert.ok(long.rows < 200, `${long.rows} rows are in the document`)
    assert.ok(
      long.msPerFrame < 2 * short.msPerFrame + 2,
      `${long.msPerFrame} ms against ${short.msPerFrame} ms`,
    )
    const changes = await workOf(page, async () => {
      for (let round = 0; round < 10; round += 1) {
        await rig().operator.create({ agent: 'helper' })
        await page.locator('.list-foot', { hasText: `${100_001 + round}`.replace(/(...)$/, ',$1') }).waitFor()
      }
    })
    const sorts = await workOf(page, () =>
      page.evaluate(`for (let round = 0; round < 10; round += 1)
        Array.from({ length: 100_000 }, (_, at) => ({ key: (at * 7919) % 100_003 })).sort((a, b) => a.key - b.key)`),
    )
    t.diagnostic(
      `10 changes: ${(changes * 1000).toFixed(0)} ms; sorting 100,000 rows 10 times: ${(sorts * 1000).toFixed(0)} ms`,
    )
    assert.ok(changes < 1.5 * sorts, `${changes} s against ${sorts} s`)
  })

  test('a search goes on through pages in which nothing matches', async t => {
    const { url } = rig()
    const { page } = await open(t, browser(), 'about:blank')
    await page.route('**/operator/sessions?*', route => {
      const from = Number(new URL(route.request().url()).searchParams.get('after') ?? 0)
      const json = from < 3 ? { sessions: [], next: String(from + 1) } : { sessions: [rowOf(7)] }
      return route.fulfill({ json })
    })
    await page.goto(`${url}/sessions?q=number+7`)
    await page.getByText('city number 7?').waitFor()
  })
})
