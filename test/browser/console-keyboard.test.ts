// The whole console with keys alone, in a real Chromium: Tab reaches everything that can be used, and what has the focus can be
// seen. Then flows from beginning to end without a pointer.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Page } from 'playwright-core'
import { open, said, skip, suite } from './console-rig.ts'

type Stop = { what: string; seen: boolean }

/** Everything that a pointer could press or fill in. What is behind an open dialog is out of reach for everybody. */
const usable = `[...(document.querySelector('dialog[open]') ?? document).querySelectorAll('a[href], button, input, select, textarea, summary, [role="application"]')]
  .filter(element => element.checkVisibility({ visibilityProperty: true }) && !element.disabled && element.tabIndex >= 0)`
const wordsOf = `element => element.tagName.toLowerCase() + ' '
  + (element.getAttribute('aria-label') || element.textContent || element.id || '').trim().replace(/\\s+/g, ' ').slice(0, 60)`

type Walked = { stops: Stop[]; missed: string[] }

const unseen = ({ stops }: Walked): string[] => stops.filter(({ seen }) => !seen).map(({ what }) => what)
const isComplete = (walked: Walked): boolean => walked.missed.length === 0 && unseen(walked).length === 0

/** Presses Tab until the focus has gone round once. */
async function walk(page: Page): Promise<Walked> {
  await page.evaluate(
    `for (const element of document.querySelectorAll('[data-walked]')) delete element.dataset.walked`,
  )
  await page.evaluate(`document.activeElement?.blur()`)
  const stops: Stop[] = []
  // A page may begin in its middle. After the last stop the focus is nowhere, then on the first one.
  for (let presses = 0; presses < 400; presses += 1) {
    await page.keyboard.press('Tab')
    const stop = await page.evaluate<Stop | 'nowhere' | undefined>(`(() => {
      const element = document.activeElement
      if (!element || element === document.body) return 'nowhere'
      if (element.dataset.walked) return undefined
      element.dataset.walked = '1'
      const { outlineStyle, outlineWidth } = getComputedStyle(element)
      const box = element.getBoundingClientRect()
      return {
        what: (${wordsOf})(element),
        seen: outlineStyle !== 'none' && parseFloat(outlineWidth) >= 1 && box.width > 0 && box.height > 0
          && box.bottom > 0 && box.top < innerHeight && box.right > 0 && box.left < innerWidth,
      }
    })()`)
    if (stop === undefined) break
    if (stop !== 'nowhere') stops.push(stop)
  }
  const missed = await page.evaluate<string[]>(
    `${usable}.filter(element => !element.dataset.walked).map(${wordsOf})`,
  )
  return { stops, missed }
}

describe('with keys alone', { skip }, () => {
  const { browser, rig } = suite()

  test('Tab reaches everything on every page, and the focus can be seen', async t => {
    const { url, operator } = rig()
    const id = await said(operator, 'Mail yara@example.org that I am late')
    const { page, problems } = await open(t, browser(), url)
    for (const address of [
      '/',
      `/?session=${id}`,
      '/sessions',
      '/approvals',
      '/tools?agent=helper&tool=send_mail',
      '/policy?agent=helper&tool=send_mail',
      '/overview',
      `/sessions/${id}`,
      `/sessions/${id}?view=log`,
      `/sessions/${id}?view=vendors`,
      `/sessions/${id}?view=usage`,
      `/sessions/${id}?fork=2`,
      `/compare?a=${id}&b=${id}`,
      '/nothing/here',
    ]) {
      await page.goto(url + address)
      await page.locator('#main h1, #main h2').first().waitFor()
      await page.waitForFunction(() => !document.querySelector('.loading'))
      // Rows that come while the focus goes round are found by the next walk.
      let walked = await walk(page)
      for (let more = 0; more < 2 && !isComplete(walked); more += 1) walked = await walk(page)
      const { stops, missed } = walked
      assert.deepEqual(missed, [], `${address}: out of reach`)
      assert.deepEqual(unseen(walked), [], `${address}: not to be seen`)
      t.diagnostic(`${address}: ${stops.length} stops`)
    }
    assert.deepEqual(problems, [])
  })

  test('a person begins a session, allows a call, reads its log, forks it and comes back', async t => {
    const { url } = rig()
    const { page, problems } = await open(t, browser(), url)
    const { keyboard } = page
    /** To a part of the page, as Tab would, and pressed. */
    const press = async (
      role: 'button' | 'link' | 'tab',
      name: string | RegExp,
      key = 'Enter',
    ): Promise<void> => {
      const part = page.getByRole(role, { name }).first()
      await part.waitFor()
      for (let presses = 0; presses < 200; presses += 1) {
        if (await part.evaluate(element => element === document.activeElement)) return keyboard.press(key)
        await keyboard.press('Tab')
      }
      assert.fail(`Tab does not reach ${name}`)
    }
    await press('button', /Mail ana/)
    await press('button', 'Allow once')
    await page
      .getByText(/Sent to ana@example\.org/)
      .last()
      .waitFor()
    await press('link', /^Open/)
    await press('link', 'Log')
    await page.locator('.log-row', { hasText: 'approval.decided' }).waitFor()
    await press('link', 'As vendors see it')
    await press('tab', 'Chat Completions')
    await page.getByText('finds nothing that Chat Completions would reject').waitFor()
    await press('link', 'Transcript')
    await press('button', 'Fork…')
    await page.getByRole('dialog').waitFor()
    await keyboard.press('Escape')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    await keyboard.press('/')
    await keyboard.type('Sent')
    await page.getByText('1 of ').waitFor()
    await keyboard.press('Escape')
    await press('link', 'Overview')
    await page.getByRole('heading', { name: 'Overview' }).waitFor()
    await page.getByLabel('New key for').focus()
    await keyboard.type('keyboard')
    // No key is made here: the server would close.
    await press('link', 'Approvals')
    await page.getByRole('heading', { name: 'Approvals' }).waitFor()
    assert.deepEqual(problems, [])
  })
})
