// A reload in the middle of a flow, and pages that stay open while the server starts again, in a real Chromium.
import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import type { Page } from 'playwright-core'
import { scripted, startServer, Turnwire } from '../../src/index.ts'
import { sharedMemory } from '../../src/stores/memory.ts'
import { secret } from '../cluster/rig.ts'
import { consoleServer, open, restart, said, skip, suite, violationsInThemes } from './console-rig.ts'

describe('a reload in the middle', { skip }, () => {
  const { browser, rig } = suite()

  test('of a fork asks again for the same event, and Back does not', async t => {
    const { url, operator } = rig()
    const id = await said(operator, 'What is the weather in Oslo?')
    const { seq } = await operator.session(id)
    const { page, problems } = await open(t, browser(), `${url}/sessions/${id}`)
    await page.getByRole('button', { name: 'Fork…' }).click()
    await page.getByRole('heading', { name: `Fork from event ${seq}` }).waitFor()
    await page.reload()
    const dialog = page.getByRole('dialog')
    await dialog.getByRole('heading', { name: `Fork from event ${seq}` }).waitFor()
    await page.keyboard.press('Escape')
    await dialog.waitFor({ state: 'detached' })
    await page.reload()
    await page.getByRole('button', { name: 'Fork…' }).click()
    await dialog.getByLabel(/Message to say at once/).fill('What is the weather in Rome?')
    await dialog.getByRole('button', { name: 'Fork' }).click()
    await page.getByText('answered: Rome: 18 °C').waitFor()
    // The fork itself is a session like any other.
    await page.reload()
    await page.getByText('answered: Rome: 18 °C').waitFor()
    await page.goBack()
    await page.waitForURL(`${url}/sessions/${id}`)
    await page.getByRole('button', { name: 'Fork…' }).waitFor()
    assert.equal(await dialog.count(), 0)
    assert.equal((await operator.sessions({ q: 'Oslo' })).sessions.length, 2, 'one session and one fork')
    assert.deepEqual(problems, [])
  })

  test('of manual control leaves the person in control, before the same action', async t => {
    const { url, operator } = rig()
    const id = await said(operator, 'What is the weather in Bern?')
    const { page, problems } = await open(t, browser(), `${url}/sessions/${id}`)
    await page.locator('summary', { hasText: 'More' }).click()
    await page.getByRole('button', { name: 'Take manual control' }).click()
    await page.getByRole('region', { name: 'Manual control' }).waitFor()
    await page.reload()
    await page.getByText('Next: Nothing: no turn is under way').waitFor()
    await page.getByLabel('Send a message').fill('What is the weather in Lima?')
    await page.keyboard.press('Enter')
    await page.getByText('Next: Ask the model').waitFor()
    await page.reload()
    await page.getByText('Next: Ask the model').waitFor()
    await page.getByRole('button', { name: 'Do it' }).click()
    await page.getByText('Next: Judge the calls').waitFor()
    await page.reload()
    await page.getByText('Next: Judge the calls').waitFor()
    await page.getByRole('button', { name: 'Do it' }).click()
    await page.getByText('Next: Run the calls').waitFor()
    const started = async (): Promise<number> => {
      const { events } = await operator.events(id)
      return events.filter(({ event }) => event.type === 'call.started').length
    }
    assert.equal(await started(), 1, 'only the call of the first turn has run')
    await page.reload()
    await page.getByText('Next: Run the calls').waitFor()
    assert.equal(await started(), 1, 'a reload does nothing')
    await page.getByRole('button', { name: 'Give control back' }).click()
    await page.getByText('answered: Lima: 18 °C').waitFor()
    assert.equal(await started(), 2)
    assert.deepEqual(problems, [])
  })

  test('of a decision sends nothing: the call waits as it was, with nothing left of the form', async t => {
    const { url, operator } = rig()
    const id = await said(operator, 'Mail walt@example.org that I am late')
    const { seq } = await operator.session(id)
    const { page, problems } = await open(t, browser(), `${url}/sessions/${id}`)
    const approval = page.locator('.tw-approval')
    for (const [button, fill] of [
      ['Edit…', () => page.getByRole('textbox', { name: /^to/ }).fill('other@example.org')],
      ['Always…', () => page.getByLabel('Which arguments').selectOption({ label: 'with any arguments' })],
      ['Reject…', () => page.getByLabel('Why not?').fill('Not like that')],
    ] as const) {
      await approval.getByRole('button', { name: button }).click()
      await fill()
      await page.reload()
      await approval.getByRole('button', { name: 'Allow once' }).waitFor()
      assert.match(await approval.locator('.tw-given').innerText(), /walt@example\.org/)
    }
    const after = await operator.session(id)
    assert.deepEqual([after.seq, after.grants], [seq, []])
    await operator.command(id, { do: 'cancel' })
    assert.deepEqual(problems, [])
  })

  test('of a script keeps it, and leaves the session under manual control, which can be given back', async t => {
    const { url, operator } = rig()
    const { page, problems } = await open(t, browser(), url)
    await page.getByText('Script the model').click()
    await page.getByLabel('Use a script').check()
    const script =
      '[{"call":"send_mail","input":{"to":"xaver@example.org","body":"Hi"}},{"text":"Scripted end."}]'
    await page.getByLabel('Script', { exact: true }).fill(script)
    await page.getByLabel(/Say something/).fill('Go')
    await page.keyboard.press('Enter')
    await page.getByRole('button', { name: 'Allow once' }).waitFor()
    assert.equal(
      await page.getByRole('region', { name: 'Manual control' }).count(),
      0,
      'the script is played',
    )
    await page.reload()
    assert.equal(await page.getByLabel('Script', { exact: true }).inputValue(), script)
    // Nobody plays it any more: a person goes on.
    const manual = page.getByRole('region', { name: 'Manual control' })
    await manual.waitFor()
    await page.getByRole('button', { name: 'Allow once' }).click()
    await manual.getByText('Run the calls').waitFor()
    await manual.getByRole('button', { name: 'Give control back' }).click()
    await page
      .getByText(/Sent to xaver@example\.org/)
      .first()
      .waitFor()
    const session = new URL(page.url()).searchParams.get('session') ?? ''
    const { events } = await operator.events(session)
    assert.equal(events.filter(({ event }) => event.type === 'call.started').length, 1)
    assert.deepEqual(problems, [])
  })

  test('of the tools of a page keeps them, and of the vendors’ view its vendor', async t => {
    const { url, operator } = rig()
    const { page, problems } = await open(t, browser(), url)
    await page.getByRole('button', { name: 'Define a tool' }).click()
    await page.getByLabel('Name', { exact: true }).fill('my_shoe_size')
    await page.getByLabel('What it is for').fill('The shoe size of the user.')
    await page.getByLabel('It answers with').selectOption('text')
    await page.getByLabel('The text').fill('44')
    await page.getByRole('button', { name: 'Add the tool' }).click()
    await page.reload()
    await page.getByRole('button', { name: 'Remove my_shoe_size' }).waitFor()
    const id = await said(operator, 'What is the weather in Riga?')
    await page.goto(`${url}/sessions/${id}?view=vendors`)
    await page.getByRole('tab', { name: 'Gemini Interactions' }).click()
    await page.reload()
    await page.getByText('finds nothing that Gemini Interactions would reject').waitFor()
    assert.deepEqual(problems, [])
  })

  test('of a comparison shows the same two sessions, live', async t => {
    const { url, operator } = rig()
    const a = await said(operator, 'What is the weather in Kyiv?')
    const b = await said(operator, 'Mail vera@example.org that I am late')
    const { page, problems } = await open(t, browser(), `${url}/compare`)
    const side = (name: 'A' | 'B') => page.getByRole('region', { name: `Session ${name}`, exact: true })
    await page.getByLabel('Session A', { exact: true }).and(page.locator('select')).selectOption(a)
    await page.getByLabel('Session B', { exact: true }).and(page.locator('select')).selectOption(b)
    await side('A').getByText('answered: Kyiv').waitFor()
    await page.reload()
    await side('A').getByText('answered: Kyiv').waitFor()
    await side('B').locator('[data-status="awaiting_approval"], .state-waiting').first().waitFor()
    const { calls } = await operator.session(b)
    await operator.command(b, { do: 'decide', callId: calls[0]!.part.id, granted: true })
    await side('B').getByText('Sent to vera@example.org').first().waitFor()
    assert.deepEqual(problems, [])
  })
})

describe('while the server starts again', { skip }, () => {
  const { browser } = suite()

  test('the overview goes on with what is true now', async t => {
    const first = await consoleServer(t)
    await said(first.operator, 'What is the weather in Oslo?')
    const { page, problems } = await open(t, browser(), `${first.url}/overview`)
    await page.getByRole('row', { name: /^helper 1 0 / }).waitFor()
    first.server.child.kill('SIGKILL')
    await page.getByText('The server does not answer').waitFor()
    const { operator } = await restart(t, first)
    await page.getByText('The server does not answer').waitFor({ state: 'detached' })
    await said(operator, 'What is the weather in Rome?')
    await page.getByRole('row', { name: /^helper 2 0 / }).waitFor()
    await page.getByLabel('New key for').fill('late')
    await page.getByLabel('operator').check()
    await page.getByRole('button', { name: 'Add' }).click()
    await page.locator('.made-key code').waitFor()
    assert.deepEqual(problems, [])
  })

  test('every view of a session, two sessions side by side and a form of a decision go on', async t => {
    const first = await consoleServer(t)
    const id = await said(first.operator, 'Mail yuri@example.org that I am late')
    // A browser of its own for each: one browser opens six connections to a server, and pages in sight keep theirs.
    const at = async (path: string): Promise<Page> => (await open(t, browser(), first.url + path)).page
    const compare = await at(`/compare?a=${id}&b=${id}`)
    const log = await at(`/sessions/${id}?view=log`)
    const timeline = await at(`/sessions/${id}?view=timeline`)
    const usage = await at(`/sessions/${id}?view=usage`)
    const vendors = await at(`/sessions/${id}?view=vendors`)
    const form = await at('/approvals')
    const pages = [compare, log, timeline, usage, vendors, form]
    await form.getByRole('button', { name: 'Edit…' }).click()
    await form.getByRole('textbox', { name: /^to/ }).fill('zita@example.org')
    first.server.child.kill('SIGKILL')
    for (const page of pages) await page.getByText('The server does not answer').waitFor()
    const { operator } = await restart(t, first)
    for (const page of pages)
      await page.getByText('The server does not answer').waitFor({ state: 'detached' })
    // What was typed is still there, and counts.
    await form.getByRole('button', { name: 'Allow with these arguments' }).click()
    await form.getByRole('button', { name: 'Send now' }).click()
    await log.locator('.log-row', { hasText: 'turn.ended' }).waitFor()
    await timeline.locator('.bar-row', { hasText: 'send_mail' }).locator('.tw-status-ok').waitFor()
    await usage.locator('tbody tr', { hasText: '#' }).nth(1).waitFor()
    await vendors.getByRole('button', { name: 'Raw' }).click()
    await vendors
      .getByText(/Sent to zita@example\.org/)
      .first()
      .waitFor()
    for (const side of ['A', 'B'])
      await compare
        .getByRole('region', { name: `Session ${side}`, exact: true })
        .getByText(/Sent to zita@example\.org/)
        .last()
        .waitFor()
    assert.equal((await operator.session(id)).status, 'idle')
  })

  test('the page of tools shows the definitions of the new process, and tries one', async t => {
    const config = 'test/browser/console-mcp-config.ts'
    const first = await consoleServer(t, { config })
    await said(first.operator, 'Go')
    const { page, problems } = await open(t, browser(), `${first.url}/tools?agent=helper&tool=stub__one`)
    await page.getByText('One, version 1.').first().waitFor()
    first.server.child.kill('SIGKILL')
    await page.getByText('The server does not answer').waitFor()
    await restart(t, first, { config, env: { STUB_VERSION: '2' } })
    await page.getByText('The server does not answer').waitFor({ state: 'detached' })
    await page.locator('.tw-diff-added', { hasText: 'One, version 2.' }).waitFor()
    await page.getByRole('button', { name: 'Run it through the gate' }).click()
    await page.getByRole('button', { name: 'Allow once' }).waitFor()
    assert.deepEqual(problems, [])
  })
})

describe('nodes', { skip }, () => {
  const { browser } = suite()

  test('are listed with the one that answers, and one that stops is gone or said to have ended', async t => {
    const memory = sharedMemory()
    const a = await nodeOf(t, memory.open())
    const b = await nodeOf(t, memory.open())
    const { page, problems } = await open(t, browser(), `${a.url}/overview`)
    const rows = page.getByRole('region', { name: 'Table of nodes' }).locator('tbody tr')
    await rows.nth(1).waitFor()
    await rows.nth(0).getByText('answers this page').waitFor()
    assert.deepEqual(await violationsInThemes(page), [])
    assert.equal(await rows.getByText('answers this page').count(), 1)
    assert.equal(await rows.locator('.state-done', { hasText: 'works' }).count(), 2)
    assert.equal(await rows.getByText(/^127\.0\.0\.1:\d+$/).count(), 2)
    await b.stop()
    await rows.nth(1).locator('.state-done').waitFor({ state: 'detached' })
    await rows.nth(0).locator('.state-done').waitFor()
    assert.deepEqual(problems, [])
  })

  test('are not spoken of where the store is one server’s own', async t => {
    const { url } = await consoleServer(t)
    const { page } = await open(t, browser(), `${url}/overview`)
    await page.getByRole('region', { name: 'Health' }).waitFor()
    assert.equal(await page.getByRole('region', { name: 'Nodes' }).count(), 0)
  })
})

async function nodeOf(t: TestContext, data: ReturnType<ReturnType<typeof sharedMemory>['open']>) {
  const turnwire = await Turnwire.open({
    data,
    agents: [{ name: 'helper', model: scripted([{ text: 'Hello.' }]) }],
    server: { graceMs: 100, cluster: { secret, leaseMs: 3_000 } },
  })
  const server = await startServer(turnwire, { port: 0 })
  t.after(() => server.stop())
  return server
}
