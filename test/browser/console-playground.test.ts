// The playground in a real Chromium: a newcomer's first minute, approvals, tools of the page, scripts, reloads.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { open, skip, suite, tab } from './console-rig.ts'

describe('the playground', { skip }, () => {
  const { browser, rig } = suite()

  test('a first visit ends in a working call, with nothing but clicks', async t => {
    const { url } = rig()
    const { page, problems } = await open(t, browser(), url)
    assert.match(
      (await page.locator('.lead').textContent()) ?? '',
      /^[^.]+\.[^.]+\.[^.]+\.$/,
      'three sentences',
    )
    assert.equal(await page.locator('.example').count(), 3)
    await page.getByRole('button', { name: /weather in Paris/ }).click()
    await page.locator('[data-status="ok"]').waitFor()
    await page.getByText('answered: Paris: 18 °C').waitFor()
    assert.deepEqual(problems, [])
  })

  test('an approval survives a reload, and the call runs with what a person made of it', async t => {
    const { url } = rig()
    const { page, problems } = await open(t, browser(), url)
    await page.getByRole('button', { name: /Mail ana/ }).click()
    await page.getByRole('button', { name: 'Allow once' }).waitFor()
    await page.reload()
    await page.getByRole('button', { name: 'Edit…' }).click()
    await page.getByRole('textbox', { name: 'to required' }).fill('x')
    await page.getByText('must have at least 3 characters').waitFor()
    assert.ok(await page.getByRole('button', { name: 'Allow with these arguments' }).isDisabled())
    await page.getByRole('textbox', { name: 'to required' }).fill('bob@example.org')
    await page.getByRole('button', { name: 'Allow with these arguments' }).click()
    await page
      .getByText(/Sent to bob@example\.org/)
      .last()
      .waitFor()
    assert.deepEqual(problems, [])
  })

  test('a rejection reaches the model with its reason', async t => {
    const { url } = rig()
    const { page } = await open(t, browser(), url)
    await page.getByRole('button', { name: /Mail ana/ }).click()
    await page.getByRole('button', { name: 'Reject…' }).click()
    await page.getByLabel('Why not?').fill('Not today')
    await page.getByRole('button', { name: 'Reject', exact: true }).click()
    await page.locator('[data-status="denied"]').waitFor()
    await page.getByText('Not today').first().waitFor()
  })

  test('“always” gives a grant that is listed and revoked', async t => {
    const { url } = rig()
    const { page } = await open(t, browser(), url)
    await page.getByRole('button', { name: /Mail ana/ }).click()
    await page.getByRole('button', { name: 'Always…' }).click()
    await page.getByLabel('Which arguments').selectOption({ label: 'with any arguments' })
    await page.getByRole('button', { name: 'Allow always' }).click()
    await page.locator('[data-status="ok"]').waitFor()
    await page.getByLabel(/Say something/).fill('Mail bob@example.org that I am here')
    await page.keyboard.press('Enter')
    await page.locator('[data-status="ok"]').nth(1).waitFor()
    await page.goto(`${url}/approvals`)
    await page.getByText('Grants').click()
    await page.getByRole('button', { name: 'Revoke' }).click()
    await page.getByText('None of the newest').waitFor()
  })

  test('a tool that is defined in the page runs there, once, also with two tabs', async t => {
    const { url, operator } = rig()
    const { page, context, problems } = await open(t, browser(), url)
    await page.getByRole('button', { name: 'Define a tool' }).click()
    await page.getByLabel('Name', { exact: true }).fill('favourite_colour')
    await page.getByLabel('What it is for').fill('The favourite colour of the user.')
    await page.getByLabel('It answers with').selectOption('text')
    await page.getByLabel('The text').fill('green')
    await page.getByRole('button', { name: 'Add the tool' }).click()
    await page.getByLabel(/Say something/).fill('Hello')
    await page.keyboard.press('Enter')
    await page.waitForURL(/session=/)
    const second = await tab(context, page.url())
    await second.page.getByLabel(/Say something/).fill('What is my favourite colour?')
    await second.page.keyboard.press('Enter')
    for (const { page: each } of [{ page }, second])
      await each
        .getByText(/answered: green/)
        .first()
        .waitFor()
    const session = new URL(page.url()).searchParams.get('session')!
    const { events } = await operator.events(session)
    assert.equal(events.filter(({ event }) => event.type === 'call.settled').length, 1)
    assert.equal(events.filter(({ event }) => event.type === 'call.late').length, 0)
    assert.deepEqual([...problems, ...second.problems], [])
  })

  test('the model can be changed and scripted', async t => {
    const { url } = rig()
    const { page, problems } = await open(t, browser(), url)
    await page.getByText('Script the model').click()
    await page.getByLabel('Use a script').check()
    await page
      .getByLabel('Script', { exact: true })
      .fill('[{"call":"get_weather","input":{"city":"Rome"}},{"text":"It was scripted."}]')
    await page.getByLabel(/Say something/).fill('Go')
    await page.keyboard.press('Enter')
    await page.getByText('It was scripted.').waitFor()
    await page.locator('[data-status="ok"]').waitFor()
    await page.getByLabel('Use a script').uncheck()
    await page.getByLabel('Model', { exact: true }).selectOption('spare')
    await page.getByLabel(/Say something/).fill('And now?')
    await page.keyboard.press('Enter')
    await page.getByText('The spare model speaks.').waitFor()
    assert.deepEqual(problems, [])
  })
})
