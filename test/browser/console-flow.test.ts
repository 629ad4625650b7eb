// Flow control in the console: where the arguments of a waiting call came from, and what an agent's tools can do together.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { open, said, skip, suite } from './console-rig.ts'

describe('flow', { skip }, () => {
  const { browser, rig } = suite({ config: 'test/browser/console-flow-config.ts' })

  test('the inbox shows where each argument came from, with a link to the call that read it', async t => {
    const { url, operator } = rig()
    await said(operator, 'Is there anything new?', 'careful')
    const { page, problems } = await open(t, browser(), `${url}/approvals`)
    const origins = page.getByLabel('Where the arguments came from')
    await origins.getByText('anna@evil.test', { exact: true }).waitFor()
    const fact = origins.locator('li', { hasText: 'anna@evil.test' }).first()
    assert.equal(await fact.getAttribute('data-warranted'), 'false')
    assert.match((await fact.textContent()) ?? '', /read_mail/)
    await fact.getByRole('link', { name: 'Show it' }).click()
    await page.locator('.tw-item.tw-selected', { hasText: 'read_mail' }).waitFor()
    assert.deepEqual(problems, [])
  })

  test('an agent without flow control shows its paths and the rule that closes them', async t => {
    const { url } = rig()
    const { page, problems } = await open(t, browser(), `${url}/tools?agent=open`)
    await page.getByText('Flow: off, 1 path with nobody asked').click()
    await page.getByText('read_mail → send_mail').waitFor()
    await page.getByText(/flow: 'warrants' for this agent/).waitFor()
    await page.goto(`${url}/tools?agent=careful`)
    await page.getByText('Flow: warrants, no path with nobody asked').waitFor()
    assert.deepEqual(problems, [])
  })
})
