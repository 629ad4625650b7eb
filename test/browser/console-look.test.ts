// What all pages of the console share: its typeface, menus, and what is shown while something loads.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { open, said, skip, suite, violationsInThemes } from './console-rig.ts'

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
      span.className = 'number'
      span.textContent = text
      const { width } = span.getBoundingClientRect()
      span.remove()
      return width
    })`)
    assert.equal(widths[0], widths[1])
    // With figures of one width a hyphen is as wide as a figure, which tears names apart.
    assert.equal(await page.evaluate('getComputedStyle(document.body).fontVariantNumeric'), 'normal')
    const licences = await (await fetch(`${url}/console/licences.txt`)).text()
    assert.match(licences, /@fontsource-variable\/inter .*\nLicence: OFL-1\.1\n[\s\S]*SIL OPEN FONT LICENSE/)
    for (const name of ['react', 'react-dom', 'marked'])
      assert.match(licences, new RegExp(`^${name} \\d`, 'm'))
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

  test('Markdown of a model is shown as tables, lists and code in colours, and only safe links are links', async t => {
    const { url, operator } = rig()
    const { id } = await operator.create({ agent: 'writer' })
    const { page, problems } = await open(t, browser(), `${url}/sessions/${id}`)
    // While it arrives, no mark of the emphasis, of the table or of the code is ever seen. A busy browser shows several pieces at
    // once; src/react/markdown-blocks.test.ts has every piece.
    await page.evaluate(`window.seen = []; new MutationObserver(() => {
      const shown = document.querySelector('.tw-answer .tw-markdown')
      if (shown) window.seen.push(shown.innerText)
    }).observe(document.body, { subtree: true, childList: true, characterData: true })`)
    await operator.command(id, { do: 'say', text: 'Write' })
    const answer = page.locator('.tw-answer .tw-markdown')
    await answer.getByText('another').waitFor()
    await page.locator('.state', { hasText: 'Done' }).waitFor()
    const seen = await page.evaluate<string[]>('window.seen')
    assert.ok(seen.length > 1, `${seen.length} states`)
    assert.deepEqual(
      seen.filter(text => /\*\*|```|\|/.test(text)),
      [],
    )
    await answer.getByRole('heading', { name: 'What I found' }).waitFor()
    const table = answer.getByRole('table')
    assert.deepEqual(await table.getByRole('columnheader').allInnerTexts(), ['day', 'orders', 'total'])
    assert.equal(await table.getByRole('row').count(), 3)
    await answer.locator('.tw-word-keyword', { hasText: 'export' }).waitFor()
    assert.equal(await answer.locator('.tw-task').count(), 2)
    const links = await answer
      .getByRole('link')
      .evaluateAll(all => all.map(each => each.getAttribute('href')))
    assert.deepEqual(links, ['https://example.org/t/7'])
    assert.equal(await answer.getByRole('link').innerText(), 'the ticket (example.org)')
    assert.equal(await answer.locator('img, b').count(), 0)
    assert.ok((await answer.innerText()).includes('<b>not bold</b>'))
    assert.equal(await page.evaluate('window.hacked'), undefined)
    assert.deepEqual(await violationsInThemes(page), [])
    assert.deepEqual(problems, [])
  })

  test('the inspector is made wider and narrower by keys', async t => {
    const { url, operator } = rig()
    const id = await said(operator, 'Weather in Oslo?')
    const { page } = await open(t, browser(), `${url}/sessions/${id}`)
    await page
      .getByRole('button', { name: /^Inspect event/ })
      .first()
      .click()
    const edge = page.getByRole('separator', { name: 'Width of the inspector' })
    await edge.focus()
    const width = async (): Promise<number> => Number(await edge.getAttribute('aria-valuenow'))
    const before = await width()
    await page.keyboard.press('ArrowLeft')
    await page.keyboard.press('ArrowLeft')
    assert.equal(await width(), before + 48)
    await page.keyboard.press('ArrowRight')
    assert.equal(await width(), before + 24)
    assert.equal((await page.locator('.inspector').boundingBox())?.width, before + 24)
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
