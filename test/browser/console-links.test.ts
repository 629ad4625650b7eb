// Where a session opens: at the event that a link names, at the question if it is over, at its end if it is at work. In sessions of
// 1,000 and 10,000 calls. What a person reads stays in its place while more comes.
import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import type { Page } from 'playwright-core'
import { open, said, skip, suite } from './console-rig.ts'
import { seed } from './seeded-store.ts'

const sessions = { sess_thousand: 1000, sess_tenthousand: 10_000 } as const
const box = '.tw-transcript .tw-scroll'

/** Resolves with the place of an element in the list's box once it has not moved for 20 frames. */
function restingPlace(
  page: Page,
  selector: string,
): Promise<{ top: number; bottom: number; height: number }> {
  return page.evaluate(`(async () => {
    for (let still = 0, last; still < 20; ) {
      await new Promise(resolve => requestAnimationFrame(resolve))
      const element = document.querySelector(${JSON.stringify(selector)})
      const top = element?.getBoundingClientRect().top
      still = top !== undefined && top === last ? still + 1 : 0
      last = top
    }
    const around = document.querySelector(${JSON.stringify(box)}).getBoundingClientRect()
    const { top, bottom } = document.querySelector(${JSON.stringify(selector)}).getBoundingClientRect()
    return { top: top - around.top, bottom: bottom - around.top, height: around.height }
  })()`)
}

describe('where a session opens', { skip }, () => {
  const { browser, rig } = suite({ prepare: data => seed(data, { sessions: 0, calls: sessions }) })

  async function opened(t: TestContext, path: string): Promise<Page> {
    const { page } = await open(t, browser(), `${rig().url}${path}`)
    page.setDefaultTimeout(120_000)
    await page.locator(box).waitFor()
    return page
  }

  for (const [id, calls] of Object.entries(sessions))
    test(`a link to an event hits it in a session of ${calls} calls`, async t => {
      const last = 2 + (calls / 10) * 21
      const page = await opened(t, `/sessions/${id}`)
      for (const seq of [24, 45, 60, last >> 1, last]) {
        await page.goto('about:blank')
        await page.goto(`${rig().url}/sessions/${id}#seq=${seq}`)
        await page.locator('.tw-item.tw-selected').waitFor()
        const { top, bottom, height } = await restingPlace(page, '.tw-item.tw-selected')
        assert.ok(top >= 0 && bottom <= height, `#seq=${seq} is at ${top} to ${bottom} of ${height}`)
        const middle = (top + bottom) / 2
        if (seq > 60 && seq < last - 100)
          assert.ok(Math.abs(middle - height / 2) < 24, `#seq=${seq} is at ${middle} of ${height}`)
      }
    })

  test('a link hits although the timeline above the transcript comes late', async t => {
    const { page } = await open(t, browser(), `${rig().url}/sessions`)
    let late = 0
    await page.route(/\/timeline-[^/]*\.js$/, async route => {
      late += 1
      await new Promise(resolve => setTimeout(resolve, 1_000))
      await route.continue()
    })
    await page.goto(`${rig().url}/sessions/sess_thousand#seq=1000`)
    await page.locator('.tw-item.tw-selected').waitFor()
    await page.locator('section.timeline').waitFor()
    const { top, bottom, height } = await restingPlace(page, '.tw-item.tw-selected')
    assert.equal(late, 1)
    assert.ok(Math.abs((top + bottom) / 2 - height / 2) < 24, `it is at ${top} to ${bottom} of ${height}`)
  })

  test('a session that is over opens at its question, one that works at its end', async t => {
    const page = await opened(t, '/sessions/sess_tenthousand')
    const { top } = await restingPlace(page, '.tw-item-user')
    assert.ok(top >= 0 && top < 80, `the question is at ${top}`)
    const id = await said(rig().operator, 'Send a mail to ana@example.org')
    await page.goto(`${rig().url}/sessions/${id}`)
    await page.getByRole('button', { name: 'Allow once' }).waitFor()
    const left = await page
      .locator(box)
      .evaluate(element => element.scrollHeight - element.scrollTop - element.clientHeight)
    assert.ok(left < 48, `${left} pixels above its end`)
  })

  test('what a person reads stays where it is while more comes and rows above it get their heights', async t => {
    const page = await opened(t, '/sessions/sess_thousand#seq=1000')
    await page.locator('.tw-item.tw-selected').waitFor()
    const before = await restingPlace(page, '.tw-item.tw-selected')
    await rig().operator.command('sess_thousand', { do: 'say', text: 'Weather in Oslo?' })
    await page.locator('.state', { hasText: 'Done' }).waitFor()
    const after = await restingPlace(page, '.tw-item.tw-selected')
    assert.ok(Math.abs(after.top - before.top) <= 1, `from ${before.top} to ${after.top}`)
    await page.getByRole('button', { name: 'Go to the newest' }).click()
    await page.locator('.tw-item-user', { hasText: 'Weather in Oslo?' }).waitFor()
  })
})
