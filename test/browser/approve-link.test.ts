// The page behind a one-time link, on a phone in a real browser: everything that a person decides about can be read without
// scrolling sideways, a button decides, and the link is used up then.
import assert from 'node:assert/strict'
import { before, describe, type TestContext, test } from 'node:test'
import type { Browser, Page } from 'playwright-core'
import { tool } from '../../src/tools/index.ts'
import { type Receiver, receive, type Served, secret, serveHooks } from '../webhooks/rig.ts'
import { launch, type Opened, open, skip, violationsInThemes } from './console-rig.ts'

const phone = { viewport: { width: 390, height: 844 }, deviceScaleFactor: 2, isMobile: true, hasTouch: true }
const input = {
  account: 'DE02120300000000202051'.repeat(6),
  person: 'Ana <b>Ruiz</b>',
  lines: [{ order: 17, amount: 59.97, words: 'Two boxes of pens and a very long line of words about them' }],
}

/** A call with long arguments and a preview that waits, and the page of its link. */
async function asked(
  t: TestContext,
  browser: Browser,
): Promise<Opened & { served: Served; hooks: Receiver; runs: unknown[]; link: string }> {
  const runs: unknown[] = []
  const transfer = tool({
    name: 'transfer_money',
    title: 'Transfer money',
    description:
      'Moves money from the account of the company to the account of a person or of another company.',
    input: { type: 'object', properties: {} },
    trust: 'ask',
    preview: () => ({
      rows: {
        columns: ['from the account', 'to the account', 'amount', 'left over'],
        rows: [['Company, current account', 'Ana Ruiz, savings', '59.97 EUR', '1,204,331.18 EUR']],
      },
      diffs: [
        { path: `books/${'2026-'.repeat(20)}.csv`, oldText: 'a\n', newText: `a\n${'59.97;'.repeat(40)}\n` },
      ],
    }),
    run: given => {
      runs.push(given)
      return 'Transferred.'
    },
  })
  const hooks = await receive(t)
  const webhooks = { phone: { url: hooks.url, secret, links: { approver: 'grace' } } }
  const script = [{ calls: [{ name: 'transfer_money', input }] }, { text: 'done' }]
  const served = await serveHooks(t, script, webhooks, { agent: { tools: [transfer] } })
  const session = await served.turnwire.session('helper')
  await session.send('Pay Ana what we owe her.')
  const link = (await hooks.next('approval.requested')).data.link!.url
  return { ...(await open(t, browser, link, phone)), served, hooks, runs, link }
}

/** The page, or a part of it, has to be scrolled sideways. */
const isWide = (page: Page): Promise<boolean> =>
  page.evaluate(`document.documentElement.scrollWidth > innerWidth
    || [...document.querySelectorAll('main, main div, main pre, main table, main code')].some(each => each.clientWidth > 0 && each.scrollWidth > each.clientWidth)`)

describe('the page of a link, on a phone', { skip }, () => {
  let browser: Browser
  before(async () => {
    browser = await launch()
  })

  test('shows the whole approval, is used by one press, and says so when it is opened again', async t => {
    const { page, problems, hooks, runs, link } = await asked(t, browser)
    await page.getByRole('heading', { name: 'Run Transfer money?' }).waitFor()
    const text = await page.locator('main').innerText()
    for (const part of [
      input.account,
      input.person,
      'pens and a very long line',
      '1,204,331.18 EUR',
      '59.97;',
    ])
      assert.ok(text.includes(part), `${part} in ${text}`)
    assert.equal(await isWide(page), false)
    assert.deepEqual(await violationsInThemes(page), [])
    assert.deepEqual(runs, [])

    await page.getByRole('button', { name: 'Allow once' }).tap()
    await page.getByRole('heading', { name: 'You allowed this call' }).waitFor()
    assert.equal(await isWide(page), false)
    await hooks.next('turn.ended')
    assert.deepEqual(runs, [input])

    await page.goto(link)
    await page.getByRole('heading', { name: 'You allowed this call' }).waitFor()
    await page.getByText('This link is used up.').waitFor()
    assert.equal(await page.getByRole('button').count(), 0)
    assert.deepEqual(problems, [])
  })
})
