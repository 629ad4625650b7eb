// The inbox: questions of running calls beside calls that need a decision, what a call would change, and the message that led to it.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { consoleServer, open, restart, said, skip, suite, violationsInThemes } from './console-rig.ts'

describe('the inbox', { skip }, () => {
  const { browser, rig } = suite()

  test('shows calls and questions together, answers both, and says that nothing waits once that is known', async t => {
    const { url, operator } = rig()
    const id = await said(operator, 'Order A-1 was billed wrongly', 'clerk')
    const { page, problems } = await open(t, browser(), `${url}/approvals`)
    await page.locator('.badge', { hasText: '2' }).waitFor()
    const rows = page.locator('.inbox-item')
    assert.equal(await rows.count(), 2)
    const patch = rows.filter({ hasText: 'Change a file' })
    assert.match(await patch.innerText(), /^Change a file\n[\s\S]*src\/cart\.ts\nclerk/)
    await patch.click()
    const box = page.locator('.tw-approval')
    await box.getByRole('heading', { name: 'Change a file: path “src/cart.ts”' }).waitFor()
    assert.match(await box.innerText(), /Message\s+Order A-1 was billed wrongly/)
    const diff = box.getByRole('region', { name: 'Changes in src/cart.ts' })
    assert.match(await diff.innerText(), /\+1[\s\S]*−1/)
    await diff.locator('.tw-word-keyword', { hasText: 'let' }).first().waitFor()
    const [first] = await box.locator('.tw-given > *').evaluateAll(all => all.map(each => each.className))
    assert.equal(first, 'tw-report', 'the diff is first')
    assert.deepEqual(await violationsInThemes(page), [])
    await box.getByRole('button', { name: 'Allow once' }).click()
    await page.getByRole('heading', { name: 'Refund an order: order “A-1”' }).waitFor()
    await page.getByLabel('Amount').fill('12')
    await page.getByRole('button', { name: 'Send the answer' }).click()
    await page.getByRole('heading', { name: 'Nothing waits for you' }).waitFor()
    // One rendering of a result that is structured and text, and the cause of a failure.
    await page.goto(`${url}/sessions/${id}`)
    const failed = page.locator('[data-status="error"]')
    await page.locator('.state', { hasText: 'Done' }).waitFor()
    await failed.getByText(/It failed: .*The disk is full.*ENOSPC/).waitFor()
    await page.locator('[data-status="ok"] .tw-call-line').click()
    const result = page
      .locator('[data-status="ok"]')
      .getByRole('region', { name: 'Result', exact: true })
      .first()
    assert.equal(await result.getByText('accept').count(), 1)
    await failed.getByRole('button', { name: 'Try again' }).click()
    await page.locator('.tw-item-user', { hasText: 'Try apply_patch again' }).waitFor()
    assert.deepEqual(problems, [])
  })

  test('says nothing about what waits while the server does not answer', async t => {
    const { url } = rig()
    const { page } = await open(t, browser(), `${url}/sessions`)
    await page.route('**/operator/approvals*', route => route.abort())
    await page.goto(`${url}/approvals`)
    await page.getByRole('alert').waitFor()
    assert.equal(await page.getByText(/Nothing waits/).count(), 0)
  })
})

describe('a message', { skip }, () => {
  const { browser } = suite()

  test('that could not be sent is kept, and its error goes when the server is back', async t => {
    const first = await consoleServer(t)
    const id = await said(first.operator, 'Hello')
    const { page } = await open(t, browser(), `${first.url}/sessions/${id}`)
    const field = page.getByRole('textbox', { name: 'Send a message to this session' })
    await field.waitFor()
    first.server.child.kill('SIGKILL')
    await page.getByText('The server does not answer').waitFor()
    await field.fill('Are you there?')
    await field.press('Enter')
    const problem = page.locator('.tw-composer').getByRole('alert')
    await problem.waitFor()
    await restart(t, first)
    await problem.waitFor({ state: 'detached' })
    assert.equal(await field.inputValue(), 'Are you there?')
    await field.press('Enter')
    await page.locator('.tw-user', { hasText: 'Are you there?' }).waitFor()
  })
})

describe('the playground', { skip }, () => {
  const { browser, rig } = suite()

  test('has its settings in a sheet on a phone', async t => {
    const phone = { viewport: { width: 390, height: 800 } }
    const { page } = await open(t, browser(), rig().url, phone)
    await page.getByRole('button', { name: 'Settings' }).click()
    const sheet = page.getByRole('dialog', { name: 'Settings' })
    await sheet.getByLabel('Agent').selectOption('poet')
    await page.waitForURL(/agent=poet/)
    assert.deepEqual(await violationsInThemes(page), [])
    await page.keyboard.press('Escape')
    await sheet.waitFor({ state: 'detached' })
  })

  test('sends the same message to two models, side by side with tokens, cost and time, also after a reload', async t => {
    const { page, problems } = await open(t, browser(), `${rig().url}/?agent=poet`)
    await page.getByLabel('Compare with another model').selectOption('spare')
    await page.getByLabel('Say something to both models').fill('Hello')
    await page.keyboard.press('Enter')
    const own = page.getByRole('region', { name: 'Conversation with verse-1' })
    const other = page.getByRole('region', { name: 'Conversation with spare' })
    await other.getByText('The spare model speaks.').waitFor()
    await own.getByText(/60 tokens · \$0\.25 · /).waitFor()
    await other.getByText(/tokens · .* · \d/).waitFor()
    await page.reload()
    await other.getByText('The spare model speaks.').waitFor()
    await own.getByText(/60 tokens/).waitFor()
    assert.deepEqual(problems, [])
  })
})
