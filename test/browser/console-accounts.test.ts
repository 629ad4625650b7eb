// An account of one's own at an MCP server, in the console: a person connects it where a call asks for it and on the page of tools,
// sees it there, and ends it. The authorization server agrees at once.
import assert from 'node:assert/strict'
import { before, describe, type TestContext, test } from 'node:test'
import type { Browser, Page } from 'playwright-core'
import { memoryStore } from '../../src/stores/memory.ts'
import { type AccountRig, accountServer, keyOf, type Who } from '../tools/mcp/accounts-rig.ts'
import { type AuthRig, startAuthRig } from '../tools/mcp/authorization-server.ts'
import { launch, type Opened, open, skip, violationsInThemes } from './console-rig.ts'

type Rig = { auth: AuthRig; server: AccountRig }

async function rig(t: TestContext): Promise<Rig> {
  const auth = await startAuthRig(t)
  return { auth, server: await accountServer(t, auth, memoryStore()) }
}

async function visit(
  t: TestContext,
  browser: Browser,
  { server }: Rig,
  who: Who,
  path: string,
): Promise<Opened> {
  const opened = await open(t, browser, server.url + path)
  await opened.page.getByLabel('API key').fill(keyOf(who))
  await opened.page.keyboard.press('Enter')
  return opened
}

/** The page to connect in a tab of its own, up to its end. */
async function connect(page: Page, press: () => Promise<void>): Promise<Page> {
  const [tab] = await Promise.all([page.context().waitForEvent('page'), press()])
  await tab.getByRole('button', { name: 'Connect' }).click()
  await tab.getByRole('heading', { name: 'notes is connected' }).waitFor()
  return tab
}

describe('accounts of owners in the console', { skip }, () => {
  let browser: Browser
  before(async () => {
    browser = await launch()
  })

  test('one is connected and ended on the page of tools, and the page shows it', async t => {
    const given = await rig(t)
    given.auth.account = 'ana@notes'
    const { page, problems } = await visit(t, browser, given, 'ana', '/tools?agent=helper')
    await page.getByText('No account is connected').waitFor()
    assert.deepEqual(await violationsInThemes(page), [])
    await page.getByRole('button', { name: 'Connect my account' }).click()
    const link = page.getByRole('link', { name: /Open the page to connect notes/ })
    await link.waitFor()
    const tab = await connect(page, () => link.click())
    await tab.close()
    const end = page.getByRole('button', { name: 'Disconnect ana' })
    await end.waitFor()
    await link.waitFor({ state: 'detached' })
    const operator = await visit(t, browser, given, 'root', '/tools?agent=helper')
    await operator.page.getByRole('button', { name: 'Disconnect ana' }).waitFor()
    await end.click()
    await page.getByText('No account is connected').waitFor()
    assert.deepEqual((await given.server.client('ana').connections()).connections, [])
    assert.deepEqual(problems, [])
  })

  test('a call that waits for one goes on when the person has connected it', async t => {
    const given = await rig(t)
    given.auth.account = 'ana@notes'
    const session = await given.server.say('ana', 'whose')
    const { page, problems } = await visit(t, browser, given, 'ana', '/approvals')
    const link = page.getByRole('link', { name: 'Open it' })
    await link.waitFor()
    await connect(page, () => link.click())
    assert.match(await given.server.answer('ana', session), /the notes of ana@notes/)
    await link.waitFor({ state: 'detached' })
    assert.deepEqual(problems, [])
  })
})
