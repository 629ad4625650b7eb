// The fork in a real Chromium: a result, a rule or the model is changed at an event, and both sides are shown; a case for evaluations is
// saved with one click.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, test } from 'node:test'
import type { Page } from 'playwright-core'
import { open, said, skip, suite, violationsInThemes } from './console-rig.ts'

describe('a fork that is tried', { skip }, () => {
  const { browser, rig } = suite()

  const side = (page: Page, name: string) => page.getByRole('region', { name, exact: true })

  test('another result: both sides, nothing runs, nothing is recorded, and the fork has it too', async t => {
    const { url, operator } = rig()
    const id = await said(operator, 'What is the weather in Oslo?')
    const { seq } = await operator.session(id)
    const { page, problems } = await open(t, browser(), `${url}/sessions/${id}?fork=2`)
    const dialog = page.getByRole('dialog')
    assert.equal(await dialog.getByRole('button', { name: 'Try it' }).isDisabled(), true)
    const calls = dialog.getByLabel('Result of')
    await calls.selectOption({ index: 1 })
    const result = dialog.getByLabel('Result, edited')
    assert.equal(await result.inputValue(), 'Oslo: 18 °C')
    await result.fill('Oslo: a storm')
    await dialog.getByRole('button', { name: 'Try it' }).click()
    await dialog.getByText('The result of get_weather was changed.').waitFor()
    await side(page, 'As it was').getByText('answered: Oslo: 18 °C').waitFor()
    await side(page, 'As it would have been').getByText('answered: Oslo: a storm').waitFor()
    assert.equal((await operator.session(id)).seq, seq)
    assert.deepEqual(await violationsInThemes(page), [])
    await dialog.getByLabel(/Message/).fill('And now?')
    await dialog.getByRole('button', { name: 'Fork', exact: true }).click()
    await page.waitForURL(address => !address.pathname.endsWith(id))
    const fork = new URL(page.url()).pathname.split('/').at(-1) ?? ''
    const [created] = (await operator.events(fork)).events
    assert.match(JSON.stringify(created), /Oslo: a storm/)
    assert.deepEqual(problems, [])
  })

  test('a rule: the call would have been asked about, and what a mistake in it is', async t => {
    const { url, operator } = rig()
    const id = await said(operator, 'What is the weather in Oslo?')
    const { page } = await open(t, browser(), `${url}/sessions/${id}?fork=2`)
    const dialog = page.getByRole('dialog')
    await dialog.getByText('A rule before all others').click()
    const rules = dialog.getByLabel('Rules in YAML')
    await rules.fill('- { tool: get_weather, then: perhaps }')
    await dialog.getByRole('button', { name: 'Try it' }).click()
    await dialog.getByRole('alert').getByText('"allow", "ask" or "deny"').waitFor()
    await rules.fill('- { tool: get_weather, then: ask }')
    await dialog.getByRole('button', { name: 'Try it' }).click()
    const different = dialog.getByRole('list', { name: 'What is different' })
    await different.getByText('get_weather ran unasked (operator-trust). Now: asked (tried[0]).').waitFor()
    await side(page, 'As it would have been').getByText('1 asked').waitFor()
    await side(page, 'As it was').getByText('0 asked').waitFor()
  })

  test('another model is asked from the event on', async t => {
    const { url, operator } = rig()
    const id = await said(operator, 'What is the weather in Oslo?')
    const { page } = await open(t, browser(), `${url}/sessions/${id}?fork=2`)
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Model').selectOption('spare')
    await dialog.getByRole('button', { name: 'Try it' }).click()
    await side(page, 'As it would have been').getByText('The spare model speaks.').waitFor()
    await side(page, 'As it was').getByText('answered: Oslo: 18 °C').waitFor()
  })

  test('a session is made into an eval case with one click', async t => {
    const { url, operator } = rig()
    const id = await said(operator, 'What is the weather in Oslo?')
    const { page } = await open(t, browser(), `${url}/sessions/${id}`)
    await page.locator('summary', { hasText: 'More' }).click()
    const saved = page.waitForEvent('download')
    await page.getByRole('button', { name: 'Make an eval case' }).click()
    const download = await saved
    assert.equal(download.suggestedFilename(), `${id}.eval.ts`)
    const text = readFileSync(await download.path(), 'utf8')
    assert.match(text, /defineEvals/)
    assert.match(text, /"prompt": \[\s*"What is the weather in Oslo\?"/)
    assert.match(text, /"returns": "Oslo: 18 °C"/)
  })
})
