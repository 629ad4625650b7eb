// Every page at the widths of two desktops, a tablet and a phone, with nothing in it and with words, names and arguments that are
// too long for any column: it never scrolls sideways, nothing covers anything else, and all can be read in both themes.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Page } from 'playwright-core'
import { contrastInThemes, open, said, skip, suite } from './console-rig.ts'
import { layoutFaults } from './layout-faults.ts'

const widths = [1440, 1280, 1024, 390]
const longAgent = 'an_agent_with_a_name_that_is_much_longer_than_a_column'
const longTool = 'change_the_whole_configuration_of_the_shop_in_every_region'
const longWords = `${'What is said here is much longer than any line of any list. '.repeat(6)}${'no-break'.repeat(30)}`

async function checkPages(page: Page, url: string, addresses: readonly string[]): Promise<void> {
  const faults: string[] = []
  for (const address of addresses) {
    await page.goto(url + address)
    await page.locator('#main h1, #main h2').first().waitFor()
    await page.locator('.loading').first().waitFor({ state: 'detached' })
    for (const width of widths) {
      await page.setViewportSize({ width, height: 900 })
      for (const fault of await layoutFaults(page)) faults.push(`${address} at ${width}: ${fault}`)
    }
    for (const fault of await contrastInThemes(page)) faults.push(`${address}: ${fault}`)
  }
  assert.deepEqual(faults, [])
}

describe('the console at every width', { skip }, () => {
  const { browser, rig } = suite({ config: 'test/browser/console-calls-config.ts' })

  test('fits and can be read while there is nothing in it', async t => {
    const { url, operator } = rig()
    const { page, problems } = await open(t, browser(), url)
    const empty = ['/sessions', '/approvals', '/overview']
    await checkPages(page, url, empty)
    const { id } = await operator.create({ agent: 'courier' })
    const session = ['', '?view=timeline', '?view=log', '?view=usage'].map(view => `/sessions/${id}${view}`)
    await checkPages(page, url, ['/', '/sessions?q=nothing', '/policy?agent=manager', ...session])
    assert.deepEqual(problems, [])
  })

  test('fits and can be read with words, names and arguments that are too long for it', async t => {
    const { url, operator } = rig()
    const id = await said(operator, longWords, longAgent)
    await said(operator, longWords, longAgent)
    const { page, problems } = await open(t, browser(), url)
    const session = ['', '?view=timeline', '?view=log', '?view=vendors', '?view=usage', '?fork=2']
    await checkPages(page, url, [
      `/?session=${id}&agent=${longAgent}`,
      '/sessions',
      '/sessions?q=said',
      '/approvals',
      `/tools?agent=${longAgent}&tool=${longTool}`,
      `/policy?agent=${longAgent}&tool=${longTool}`,
      '/overview',
      ...session.map(view => `/sessions/${id}${view}`),
      `/compare?a=${id}&b=${id}`,
    ])
    assert.deepEqual(problems, [])
  })
})
