// What all pages of the console share: its typeface, menus, and what is shown while something loads.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { open, said, skip, suite } from './console-rig.ts'

describe('the look of the console', { skip }, () => {
  const { browser, rig } = suite()

  test('its typeface comes from this server, with figures of one width, and its licence is named', async t => {
    const { url } = rig()
    const { page, problems } = await open(t, browser(), `${url}/sessions`)
    await page.getByRole('heading', { name: 'Sessions', exact: true }).waitFor()
    const fonts = await page.evaluate<string[]>(
      `document.fonts.ready.then(fonts => [...fonts].filter(each => each.status === 'loaded').map(each => each.family))`,
    )
    assert.deepEqual(
      fonts.map(family => family.replaceAll('"', '')),
      ['Inter Variable'],
    )
    const widths = await page.evaluate<number[]>(`['1111111111', '0000000000'].map(text => {
      const span = document.body.appendChild(document.createElement('span'))
      span.textContent = text
      const { width } = span.getBoundingClientRect()
      span.remove()
      return width
    })`)
    assert.equal(widths[0], widths[1])
    const licences = await (await fetch(`${url}/console/licences.txt`)).text()
    assert.match(licences, /@fontsource-variable\/inter .*\nLicence: OFL-1\.1\n[\s\S]*SIL OPEN FONT LICENSE/)
    for (const name of ['react', 'react-dom']) assert.match(licences, new RegExp(`^${name} \\d`, 'm'))
    await page.keyboard.press('?')
    await page.getByRole('link', { name: /Licences/ }).waitFor()
    assert.deepEqual(problems, [])
  })

  test('a menu closes by Escape, by a click elsewhere and by a choice; arrow keys walk through it', async t => {
    const { url, operator } = rig()
    const id = await said(operator, 'hello')
    const { page } = await open(t, browser(), `${url}/sessions/${id}`)
    const more = page.locator('summary', { hasText: 'More' })
    const choice = page.getByRole('button', { name: 'Export the log' })
    await more.click()
    await choice.waitFor()
    await page.keyboard.press('Escape')
    await choice.waitFor({ state: 'detached' })
    assert.equal(await more.evaluate(element => element === document.activeElement), true)
    await page.keyboard.press('Enter')
    await choice.waitFor()
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('ArrowDown')
    assert.equal(await page.evaluate('document.activeElement.textContent'), 'Export the log')
    await page.locator('.session-title h1').click()
    await choice.waitFor({ state: 'detached' })
    await more.click()
    await page.getByRole('link', { name: 'Compare…' }).click()
    await page.waitForURL(/\/compare/)
  })

  test('a page that loads shows where its rows will be, and says so to screen readers', async t => {
    const { url } = rig()
    const { page } = await open(t, browser(), `${url}/sessions`)
    let release = (): void => {}
    const held = new Promise<void>(resolve => {
      release = resolve
    })
    await page.route('**/operator/approvals*', async route => {
      await held
      await route.continue()
    })
    await page.goto(`${url}/approvals`)
    await page.getByRole('status').filter({ hasText: 'Loading the approvals' }).waitFor()
    assert.ok((await page.locator('.loading .skeleton').count()) > 2)
    release()
    await page.locator('.loading').waitFor({ state: 'detached' })
    await page.getByRole('heading', { name: 'Nothing waits for you' }).waitFor()
  })
})
