// The page of policy: rules in order with what they did, the rule that would decide a call, and a draft of other rules.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, test } from 'node:test'
import { verifyReceipt } from '../../src/index.ts'
import { open, said, skip, suite, violationsInThemes } from './console-rig.ts'

describe('policy', { skip }, () => {
  const { browser, rig } = suite({ config: 'test/browser/console-policy-config.ts' })

  test('rules stand in order with what each decided, and the draft with what it would have', async t => {
    const { url, operator } = rig()
    const id = await said(operator, 'Pay Ana', 'bank')
    const { page, problems } = await open(t, browser(), url)
    await page.getByRole('link', { name: 'Policy' }).click()
    const rules = page.getByRole('region', { name: 'Rules in order' })
    await rules.getByText('never-wipe').waitFor()
    assert.deepEqual(await rules.locator('.rule-name').allInnerTexts(), [
      'never-wipe',
      'big',
      'colleagues',
      'odd-hours',
    ])
    const big = rules.getByRole('row').filter({ hasText: 'amount: above 10000' })
    assert.match(await big.innerText(), /never runs[\s\S]*the configuration[\s\S]*\b1\b/)
    assert.match(await rules.getByRole('row').filter({ hasText: 'colleagues' }).innerText(), /never\s+–$/)
    await rules.getByRole('row').filter({ hasText: 'The trust of the tool' }).waitFor()
    await rules.getByText('when is a function').click()
    await rules.getByText(/'urgent' in input/).waitFor()
    const shadow = page.getByRole('region', { name: 'Shadow rules' })
    const difference = shadow.getByRole('row').filter({ hasText: 'all-transfers' })
    assert.match(await difference.innerText(), /never runs[\s\S]*asks first/)
    assert.equal(await difference.getByRole('link').getAttribute('href'), `/sessions/${id}`)
    assert.deepEqual(await violationsInThemes(page), [])
    await page.getByRole('link', { name: 'Free' }).click()
    await page.getByText(/^Rules in order/).waitFor()
    assert.deepEqual(problems, [])
  })

  test('a call that a person types in is judged, its rule is marked, and a link shows the same', async t => {
    const { url, operator } = rig()
    const { page, problems } = await open(t, browser(), `${url}/policy?agent=bank&tool=transfer_money`)
    const judge = page.getByRole('complementary', { name: 'Judge a call' })
    await judge.getByLabel('amount').fill('20000')
    await judge.getByRole('textbox', { name: /^to\b/ }).fill('Ana')
    const before = await operator.sessions({})
    await judge.getByRole('button', { name: 'Judge it' }).click()
    const answer = judge.locator('.judge-answer')
    await answer.getByText('never runs').waitFor()
    assert.match(
      await answer.innerText(),
      /by big[\s\S]*Amounts above 10,000[\s\S]*asks first\s+by all-transfers/,
    )
    const marked = page.locator('.rules tr[aria-current]')
    assert.match(await marked.innerText(), /big/)
    assert.equal((await operator.sessions({})).sessions.length, before.sessions.length)
    await page.reload()
    await answer.getByText('never runs').waitFor()
    await judge.getByLabel('amount').fill('5')
    await judge.getByRole('button', { name: 'Judge it' }).click()
    await answer.getByText('the trust of the tool').waitFor()
    await judge.getByLabel('amount').fill('')
    await judge.getByRole('button', { name: 'Judge it' }).click()
    await answer.getByText('refuses it before any rule is asked').waitFor()
    assert.deepEqual(problems, [])
  })

  test('the page of tools says what the rules decide, not what the tool alone would', async t => {
    const { url } = rig()
    const { page, problems } = await open(t, browser(), `${url}/tools?agent=bank`)
    const row = page.locator('.tool-link', { hasText: 'wipe_disk' })
    assert.match(await row.innerText(), /never runs/)
    await row.click()
    await page.getByText('Nobody wipes disks here.').waitFor()
    await page.getByRole('link', { name: 'Judge a call of it' }).click()
    await page.waitForURL(/\/policy\?agent=bank&tool=wipe_disk/)
    assert.deepEqual(problems, [])
  })

  test('the receipt of a call is saved from the inspector, and names the rule', async t => {
    const { url, operator } = rig()
    const id = await said(operator, 'Pay Ana', 'bank')
    const { page, problems } = await open(t, browser(), `${url}/sessions/${id}`)
    await page.locator('.tw-call', { hasText: 'transfer_money' }).locator('.tw-call-line').click()
    const saved = page.waitForEvent('download')
    await page.getByRole('button', { name: 'Download the receipt' }).click()
    const receipt = JSON.parse(readFileSync(await (await saved).path(), 'utf8'))
    const answer = await fetch(`${new URL(url).origin}/.well-known/turnwire-receipts.json`)
    assert.equal(verifyReceipt(receipt, await answer.json()), undefined)
    const { tool, decision } = receipt.call
    assert.deepEqual([tool, decision.verdict, decision.rule], ['transfer_money', 'denied', 'big'])
    assert.deepEqual(problems, [])
  })
})
