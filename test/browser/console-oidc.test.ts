// A person signs in to the console at a real identity provider, in a real browser: back to where they were, out again, and with
// what goes wrong in words. Attacks without a browser are in test/server/oidc.test.ts.
import assert from 'node:assert/strict'
import { before, describe, type TestContext, test } from 'node:test'
import type { Browser, Page } from 'playwright-core'
import { identityProvider } from '../server/identity-provider.ts'
import { consoleServer, launch, type Opened, open, skip, violationsInThemes } from './console-rig.ts'

const people = { ana: { roles: ['admin'] }, ben: { roles: ['sales'] } }
const config = 'test/browser/console-oidc-config.ts'

async function rig(t: TestContext, env: Record<string, string> = {}) {
  const provider = await identityProvider(t, people)
  const server = await consoleServer(t, { config, env: { TEST_ISSUER: provider.issuer, ...env } })
  provider.register([
    { id: 'console', secret: 's', pages: [`${server.url}/sign-in`], out: [`${server.url}/sign-in`] },
  ])
  return { ...server, provider }
}

/** The provider's own pages, as the package has them for development, until the console is there again. */
async function passProvider(page: Page, issuer: string, name: string): Promise<void> {
  await page.waitForURL(`${issuer}/**`)
  await page.locator('input[name="login"]').fill(name)
  await page.locator('input[name="password"]').fill('x')
  await page.getByRole('button').click()
  await page.getByRole('button', { name: 'Continue' }).click()
  await page.locator('#main').waitFor()
}

/** A browser in which the provider's pages load no fonts from elsewhere. */
async function visit(t: TestContext, browser: Browser, address: string): Promise<Opened> {
  const opened = await open(t, browser, address)
  await opened.context.route(/fonts\.googleapis\.com/, route => route.abort())
  return opened
}

describe('a person at the console', { skip }, () => {
  let browser: Browser
  before(async () => {
    browser = await launch()
  })

  test('signs in with the provider, is back where they were, and signs out', async t => {
    const { url, provider } = await rig(t)
    const { page, problems, context } = await visit(t, browser, `${url}/sessions?q=x#top`)
    const button = page.getByRole('button', { name: 'Sign in with Acme' })
    await button.waitFor()
    assert.deepEqual(await violationsInThemes(page), [])
    await button.click()
    await passProvider(page, provider.issuer, 'ana')
    await page.getByRole('heading', { name: 'Sessions' }).waitFor()
    assert.equal(page.url(), `${url}/sessions?q=x#top`)
    // The code and the state are in no address that the page can go back to.
    await page.goto(`${url}/overview`)
    await page.getByRole('button', { name: 'Sign out ana' }).waitFor()
    const cookies = await context.cookies(url)
    const console = cookies.find(({ name }) => name === 'turnwire_console')
    assert.deepEqual([console?.httpOnly, console?.sameSite], [true, 'Strict'])
    assert.ok(!cookies.some(({ name }) => name === 'turnwire_oidc'), 'the cookie of the way is gone')
    await page.reload()
    await page.getByRole('button', { name: 'Sign out ana' }).click()
    await button.waitFor()
    const elsewhere = [`requested ${provider.issuer}/`, 'requested https://fonts.googleapis.com/']
    const ours = problems.filter(each => !elsewhere.some(start => each.startsWith(start)))
    assert.deepEqual(ours, [], 'the console itself asks nobody else')
  })

  test('who has no role of an operator sees their own sessions only', async t => {
    const { url, provider } = await rig(t)
    const { page } = await visit(t, browser, url)
    await page.getByRole('button', { name: 'Sign in with Acme' }).click()
    await passProvider(page, provider.issuer, 'ben')
    await page.goto(`${url}/overview`)
    await page.getByText('This page needs an operator key').waitFor()
  })

  test('who comes under another name of the server is led to the one that the provider knows', async t => {
    const { url, provider } = await rig(t)
    const other = url.replace('127.0.0.1', 'localhost')
    const { page } = await visit(t, browser, other)
    await page.getByRole('button', { name: 'Sign in with Acme' }).click()
    await passProvider(page, provider.issuer, 'ana')
    assert.equal(page.url(), `${url}/`)
  })

  test('is told why they were not let in, and an answer that nobody asked for changes nothing', async t => {
    const { url, provider } = await rig(t)
    const { page } = await open(
      t,
      browser,
      `${url}/sign-in?state=x&code=y&iss=${encodeURIComponent(provider.issuer)}`,
    )
    await page.getByText('This sign-in was not begun in this browser').waitFor()
    assert.equal(page.url(), `${url}/sign-in`, 'the answer is gone from the address')
    await page.getByRole('button', { name: 'Sign in with Acme' }).click()
    await page.waitForURL(`${provider.issuer}/**`)
    await page.getByRole('link', { name: /cancel/i }).click()
    await page.getByText('Acme did not let you in, or the sign-in was cancelled').waitFor()
    await provider.stop()
    await page.goto(`${url}/sign-in?to=https://evil.example`)
    await page.getByRole('button', { name: 'Sign in with Acme' }).waitFor()
    assert.equal(new URL(page.url()).origin, url)
  })

  test('signs out at the provider too where the operator wants that', async t => {
    const { url, provider } = await rig(t, { TEST_END_SESSION: 'yes' })
    const { page } = await visit(t, browser, `${url}/overview`)
    await page.getByRole('button', { name: 'Sign in with Acme' }).click()
    await passProvider(page, provider.issuer, 'ana')
    await page.getByRole('button', { name: 'Sign out ana' }).click()
    await page.waitForURL(`${provider.issuer}/session/end**`)
    await page.getByRole('button', { name: /sign me out/i }).click()
    await page.waitForURL(`${url}/sign-in`)
    await page.getByRole('button', { name: 'Sign in with Acme' }).waitFor()
  })
})
