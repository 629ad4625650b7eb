// A reload in the middle of a flow, and pages that stay open while the server starts again, in a real Chromium.
import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { scripted, startServer, Turnwire } from '../../src/index.ts'
import { sharedMemory } from '../../src/stores/memory.ts'
import { secret } from '../cluster/rig.ts'
import { consoleServer, open, restart, said, skip, suite } from './console-rig.ts'

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

  test('the page of the system goes on with what is true now', async t => {
    const first = await consoleServer(t)
    await said(first.operator, 'What is the weather in Oslo?')
    const { page, problems } = await open(t, browser(), `${first.url}/system`)
    await page.getByRole('row', { name: /^helper \S+ [1-9]/ }).waitFor()
    first.server.child.kill('SIGKILL')
    await page.getByText('The server does not answer').waitFor()
    await restart(t, first)
    await page.getByText('The server does not answer').waitFor({ state: 'detached' })
    await page.getByRole('row', { name: /^helper \S+ 0 0 / }).waitFor()
    await page.getByLabel('New key for').fill('late')
    await page.getByLabel('operator').check()
    await page.getByRole('button', { name: 'Add' }).click()
    await page.locator('.made-key code').waitFor()
    assert.deepEqual(problems, [])
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
    const { page, problems } = await open(t, browser(), `${a.url}/system`)
    const rows = page.getByRole('region', { name: 'Table of nodes' }).locator('tbody tr')
    await rows.nth(1).waitFor()
    await rows.nth(0).getByText('answers this page').waitFor()
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
    const { page } = await open(t, browser(), `${url}/system`)
    await page.getByRole('region', { name: 'Table of models' }).waitFor()
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
