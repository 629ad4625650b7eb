// Flows of the console in a real Chromium that the other files do not have: results of every kind, exports, tools that are tried,
// keys, changed definitions, a phone, keys alone, notifications, and every page under a restart.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, test } from 'node:test'
import { consoleServer, copiedBy, open, restart, said, skip, suite, tab } from './console-rig.ts'

describe('a session with results of every kind', { skip }, () => {
  const { browser, rig } = suite({ config: 'scripts/showcase/config.ts' })

  test('shows diffs, terminals and images, what agents used that worked for it, and agrees with the list', async t => {
    const { url, operator } = rig()
    const id = await said(operator, 'The totals are too low.', 'engineer')
    const { page, problems } = await open(t, browser(), `${url}/sessions/${id}`)
    await page.locator('.tw-transcript .tw-scroll').evaluate(element => element.scrollTo({ top: 0 }))
    await page.locator('.tw-terminal .tw-fg-red', { hasText: 'totals of many lines' }).first().waitFor()
    await page.getByText('exit 1').first().waitFor()
    const call = (name: string) => page.locator('.tw-call', { hasText: name }).first()
    await call('ask_analyst').locator('.tw-call-line').click()
    await call('ask_analyst').getByText('the agent analyst, 1,608 tokens').waitFor()
    await call('edit_file').locator('.tw-call-line').click()
    await page.locator('.tw-diff-added', { hasText: 'sum += price * count' }).first().waitFor()
    await page.reload()
    await page.locator('.session-facts', { hasText: 'claude-sonnet-4-6' }).waitFor()
    await page.goto(`${url}/sessions/${id}?view=usage`)
    await page.getByRole('row', { name: /Agent analyst, for calls/ }).waitFor()
    const total = await page.locator('tr.sum td').allInnerTexts()
    const number = (text: string | undefined): number => Number((text ?? '').replaceAll(',', ''))
    const { sessions } = await operator.sessions({ agent: 'engineer' })
    assert.equal(number(total[1]) + number(total[2]), sessions[0]?.tokens)
    await page.goto(`${url}/sessions/${id}`)
    await page.locator('.tw-transcript .tw-scroll').evaluate(element => element.scrollTo({ top: 0 }))
    await call('ask_analyst').locator('.tw-call-line').click()
    await page.getByRole('link', { name: /Session of the agent analyst/ }).click()
    await page.locator('.tw-call', { hasText: 'plot' }).locator('.tw-call-line').click()
    const width = await page.locator('.tw-image').evaluate(image => (image as HTMLImageElement).naturalWidth)
    assert.equal(width, 280)
    assert.deepEqual(problems, [])
  })

  test('is exported whole, and its start can be copied as curl', async t => {
    const { url, operator } = rig()
    const id = await said(operator, 'Read the file src/cart.ts')
    const { page } = await open(t, browser(), `${url}/sessions/${id}`)
    await page.locator('summary', { hasText: 'More' }).click()
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Export the log' }).click(),
    ])
    const lines = readFileSync(await download.path(), 'utf8')
      .trim()
      .split('\n')
    assert.equal(lines.length, (await operator.session(id)).seq)
    await page.locator('summary', { hasText: 'More' }).click()
    const copied = await copiedBy(page.getByRole('button', { name: 'Copy as curl' }))
    assert.match(copied, /^curl .*\/session /m)
    assert.ok(copied.includes('src/cart.ts'))
  })
})

describe('tools and keys', { skip }, () => {
  const { browser, rig } = suite()

  test('a tool is tried through a form of its schema and through the gate, also across a reload', async t => {
    const { url } = rig()
    const { page, problems } = await open(t, browser(), `${url}/tools?agent=helper&tool=send_mail`)
    await page.getByRole('button', { name: 'Run it through the gate' }).click()
    await page.getByText('is required').or(page.getByText('is missing')).first().waitFor()
    await page.getByRole('textbox', { name: /^to/ }).fill('ana@example.org')
    await page.getByRole('textbox', { name: /^body/ }).fill('Hi')
    await page.getByRole('button', { name: 'Run it through the gate' }).click()
    await page.getByRole('button', { name: 'Allow once' }).waitFor()
    await page.reload()
    await page.getByRole('button', { name: 'Allow once' }).click()
    await page.getByText('Sent to ana@example.org').first().waitFor()
    assert.deepEqual(problems, [])
  })

  test('the first key closes the server and the page goes on; a revoked key ends its pages', async t => {
    const own = await consoleServer(t)
    const { page } = await open(t, browser(), `${own.url}/overview`)
    await page.getByText('There are none').waitFor()
    assert.equal(await page.getByLabel('operator').isChecked(), true, 'or this page would be closed too')
    await page.getByLabel('New key for').fill('boss')
    await page.getByRole('button', { name: 'Add' }).click()
    await page.getByText('Signed in as boss').waitFor()
    const key = await page.locator('.made-key code').innerText()
    assert.equal(await page.getByLabel('operator').isChecked(), false)
    await page.getByLabel('New key for').fill('guest')
    await page.getByRole('button', { name: 'Add' }).click()
    await page.getByRole('button', { name: 'Revoke guest' }).waitFor()
    await page.getByText('Signed in as boss').waitFor()
    const guestKey = await page.locator('.made-key code').innerText()
    const guest = await open(t, browser(), `${own.url}/sessions`)
    await guest.page.getByLabel('API key').fill(guestKey)
    await guest.page.getByRole('button', { name: 'Sign in' }).click()
    await guest.page.getByRole('heading', { name: 'Sessions', exact: true }).waitFor()
    page.on('dialog', dialog => void dialog.accept())
    await page.getByRole('button', { name: 'Revoke guest' }).click()
    await page.getByRole('button', { name: 'Revoke guest' }).waitFor({ state: 'detached' })
    await guest.page.reload()
    await guest.page.getByLabel('API key').waitFor()
    // A restart ends the streams; the page of a good key goes on, without a question.
    await restart(t, own)
    await page.getByText('Signed in as boss').waitFor()
    await page.reload()
    await page.getByText('Signed in as boss').waitFor()
    assert.ok(key.startsWith('tw_'))
  })

  test('a tool whose definition has changed is shown with the difference, and its server with its health', async t => {
    const config = 'test/browser/console-mcp-config.ts'
    const first = await consoleServer(t, { config })
    const id = await said(first.operator, 'Go')
    assert.equal((await first.operator.session(id)).status, 'idle', 'the tool is trusted')
    const { operator, url } = await restart(t, first, { config, env: { STUB_VERSION: '2' } })
    await said(operator, 'Go')
    const { page, problems } = await open(t, browser(), `${url}/approvals`)
    await page.getByText('The definition of this tool has changed since it was accepted').waitFor()
    await page.locator('.tw-diff-removed', { hasText: 'One, version 1.' }).waitFor()
    await page.locator('.tw-diff-added', { hasText: 'One, version 2.' }).waitFor()
    await page.goto(`${url}/tools?agent=helper&tool=stub__one`)
    await page.locator('.tw-diff-added', { hasText: 'One, version 2.' }).waitFor()
    await page.locator('.facts', { hasText: 'on the MCP server stub' }).waitFor()
    const server = (name: string) => page.locator('.server', { has: page.getByText(name, { exact: true }) })
    await server('stub').locator('.state-done', { hasText: 'connected' }).waitFor()
    await server('stub')
      .getByText(/stdio, speaks MCP 20\d\d-\d\d-\d\d, \d tools?, [1-9] changed since accepted, since /)
      .waitFor()
    await server('gone').locator('.state-failed', { hasText: 'unavailable' }).waitFor()
    await server('gone').locator('.tw-problem').waitFor()
    assert.deepEqual(problems, [])
  })
})

describe('people', { skip }, () => {
  const { browser, rig } = suite()

  test('with a phone allow a call by touch, and find transcript, timeline and log as tabs', async t => {
    const { url, operator } = rig()
    const id = await said(operator, 'Mail paula@example.org that I am late')
    const options = { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true }
    const { page, problems } = await open(t, browser(), `${url}/approvals`, options)
    await page.locator('.inbox-item', { hasText: 'paula' }).tap()
    await page.getByRole('button', { name: 'Allow once' }).tap()
    await page.getByRole('button', { name: 'Send now' }).tap()
    await page.getByRole('link', { name: 'See what came of it' }).tap()
    await page.locator('.state', { hasText: 'Done' }).waitFor()
    for (const name of ['Timeline', 'Log', 'Transcript']) {
      await page.getByRole('navigation', { name: 'Views' }).getByRole('link', { name }).tap()
      assert.equal(await page.evaluate('document.documentElement.scrollWidth > innerWidth'), false, name)
    }
    // Nothing is there only for a pointer that hovers.
    const actions = page.locator('.tw-item-actions').first()
    assert.equal(await actions.evaluate(element => getComputedStyle(element).opacity), '1')
    await actions.getByRole('button', { name: /^Inspect/ }).tap()
    const inspector = page.getByRole('complementary', { name: 'Inspector' })
    const box = await inspector.boundingBox()
    assert.ok(box && box.x >= 0 && box.x + box.width <= 390, JSON.stringify(box))
    assert.equal((await operator.session(id)).status, 'idle')
    assert.deepEqual(problems, [])
  })

  test('with keys alone edit, grant and reject, and come back from each with Escape', async t => {
    const { url, operator } = rig()
    await said(operator, 'Mail quinn@example.org that I am late')
    const { page } = await open(t, browser(), `${url}/approvals`)
    await page.locator('.tw-approval:focus').waitFor()
    const { keyboard } = page
    for (const [key, label] of [
      ['e', 'Allow with these arguments'],
      ['A', 'Allow always'],
      ['r', 'Reject'],
    ] as const) {
      await keyboard.press(key)
      await page.getByRole('button', { name: label, exact: true }).waitFor()
      await keyboard.press('Escape')
      await page.getByRole('button', { name: 'Allow once' }).waitFor()
    }
    await keyboard.press('e')
    await page.getByRole('textbox', { name: /^to/ }).focus()
    await keyboard.press('ControlOrMeta+a')
    await keyboard.type('rosa@example.org')
    await page.getByRole('button', { name: 'Allow with these arguments' }).focus()
    await keyboard.press('Enter')
    await page.getByRole('button', { name: /Undo/ }).waitFor()
    await page.getByText('See what came of it').waitFor()
    const { sessions } = await operator.sessions()
    const { events } = await operator.events(sessions[0]!.id)
    assert.ok(events.some(({ event }) => event.type === 'call.edited' && event.text.includes('rosa@')))
  })

  test('are notified of a call that waits while the page is out of sight', async t => {
    const { url, operator } = rig()
    const { page, context } = await open(t, browser(), 'about:blank')
    await context.grantPermissions(['notifications'], { origin: url })
    await page.addInitScript(`
      window.told = []
      window.Notification = class { static permission = 'granted'; constructor(title, { body }) { told.push(title + ': ' + body) } }
      Object.defineProperty(document, 'visibilityState', { get: () => window.isAway ? 'hidden' : 'visible' })
    `)
    await page.goto(`${url}/approvals`)
    await page.getByRole('heading', { name: 'Approvals' }).waitFor()
    await page.evaluate('window.isAway = true')
    const id = await said(operator, 'Mail sven@example.org that I am late')
    await page.waitForFunction(() => (globalThis as unknown as { told: string[] }).told.length > 0)
    assert.deepEqual(await page.evaluate('told'), ['A call waits for approval: helper: send_mail'])
    await operator.command(id, { do: 'cancel' })
  })

  test('who want no motion get none', async t => {
    const { url, operator } = rig()
    const { id } = await operator.create({ agent: 'sleeper' })
    await operator.command(id, { do: 'say', text: 'Go' })
    for (const [reducedMotion, isStill] of [
      ['reduce', true],
      ['no-preference', false],
    ] as const) {
      const { page } = await open(t, browser(), `${url}/sessions/${id}`, { reducedMotion })
      const ring = page.locator('[data-status="running"] .tw-shape-ring').first()
      await ring.waitFor()
      const name = await ring.evaluate(element => getComputedStyle(element).animationName)
      assert.equal(name === 'none', isStill, `${reducedMotion}: ${name}`)
    }
    await operator.command(id, { do: 'cancel' })
  })
})

describe('every page', { skip }, () => {
  const { browser } = suite()

  test('goes on by itself when the server is back', async t => {
    const first = await consoleServer(t)
    const id = await said(first.operator, 'Mail tom@example.org that I am late')
    const { page: list, context } = await open(t, browser(), `${first.url}/sessions`)
    const { page: inbox } = await tab(context, `${first.url}/approvals`)
    const { page: session } = await tab(context, `${first.url}/sessions/${id}`)
    await list.getByText('waits for send_mail').waitFor()
    await inbox.locator('.tw-approval').waitFor()
    await session.getByRole('button', { name: 'Allow once' }).waitFor()
    first.server.child.kill('SIGKILL')
    for (const page of [list, inbox, session]) await page.getByText('The server does not answer').waitFor()
    const { operator } = await restart(t, first)
    for (const page of [list, inbox, session])
      await page.getByText('The server does not answer').waitFor({ state: 'detached' })
    await said(operator, 'Mail ulla@example.org that I am late')
    await list.getByText('Mail ulla@example.org').waitFor()
    await inbox.getByRole('status').filter({ hasText: '2 waiting' }).waitFor()
    await session.getByRole('button', { name: 'Allow once' }).click()
    await session.locator('.state', { hasText: 'Done' }).waitFor()
    await list.locator(`a[href="/sessions/${id}"]`).getByText('done').waitFor()
  })

  test('that does not exist says so, with a way on', async t => {
    const { url } = await consoleServer(t)
    const { page } = await open(t, browser(), `${url}/nothing/here`)
    await page.getByText('There is no such page').waitFor()
    await page.goto(`${url}/sessions/sess_unknown`)
    await page.getByText('Session not found').waitFor()
    await page.getByRole('link', { name: 'Show all sessions' }).click()
    await page.getByText('There are no sessions yet').waitFor()
    const answer = await fetch(`${url}/nothing/here`)
    assert.equal(answer.status, 404)
    assert.match(answer.headers.get('content-type') ?? '', /json/)
  })
})
