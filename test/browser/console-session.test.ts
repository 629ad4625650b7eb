// One session, the list of sessions and the inbox in a real Chromium: links, views, forks, control, two tabs, restarts.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { consoleServer, open, restart, said, skip, suite, tab } from './console-rig.ts'

async function waitFor(holds: () => Promise<boolean>): Promise<void> {
  while (!(await holds())) await new Promise(resolve => setTimeout(resolve, 100))
}

describe('one session', { skip }, () => {
  const { browser, rig } = suite()

  test('a link to an event opens it in the middle, in the transcript and in the log', async t => {
    const { url, operator } = rig()
    const id = await said(operator, 'What is the weather in Oslo?')
    const { page, problems } = await open(t, browser(), `${url}/sessions/${id}#seq=3`)
    await page.locator('.tw-item.tw-selected').waitFor()
    await page.goto(`${url}/sessions/${id}?view=log#seq=3`)
    await page.locator('.log-row.tw-selected', { hasText: 'model.answered' }).waitFor()
    await page.getByLabel('Search in this session').fill('Oslo')
    await page.waitForURL(/q=Oslo/)
    await page.reload()
    assert.equal(await page.getByLabel('Search in this session').inputValue(), 'Oslo')
    assert.deepEqual(problems, [])
  })

  test('details that a tool gave for people stand beside its result', async t => {
    const { url, operator } = rig()
    const id = await said(operator, 'What is the weather in Oslo?')
    const { page, problems } = await open(t, browser(), `${url}/sessions/${id}`)
    const call = page.locator('.tw-call', { hasText: 'get_weather' }).first()
    await call.locator('.tw-call-line').click()
    await call.getByText('Details. No model was shown them.').click()
    await call.getByRole('region', { name: 'Details' }).getByText('roof 7').waitFor()
    assert.deepEqual(problems, [])
  })

  test('the timeline is walked by keys, and is there as a list', async t => {
    const { url, operator } = rig()
    const id = await said(operator, 'What is the weather in Oslo?')
    const { page } = await open(t, browser(), `${url}/sessions/${id}`)
    await page.getByRole('application').focus()
    await page.keyboard.press('ArrowRight')
    await page.keyboard.press('ArrowRight')
    await page.getByText(/get_weather.*: .*% of its turn’s work, ok/).waitFor()
    await page.keyboard.press('Enter')
    await page.waitForURL(/#seq=\d+/)
    await page.getByRole('complementary', { name: 'Inspector' }).waitFor()
    await page.getByRole('button', { name: 'As a list' }).click()
    await page
      .getByRole('list')
      .getByRole('button', { name: /get_weather/ })
      .waitFor()
  })

  test('the history as each vendor would receive it, with what the doctor finds', async t => {
    const { url, operator } = rig()
    const id = await said(operator, 'What is the weather in Oslo?')
    const { page, problems } = await open(t, browser(), `${url}/sessions/${id}?view=vendors`)
    for (const name of [
      'OpenAI Responses',
      'Chat Completions',
      'Gemini generateContent',
      'Gemini Interactions',
      'Anthropic Messages',
    ]) {
      await page.getByRole('tab', { name }).click()
      await page.getByText(`finds nothing that ${name} would reject`).waitFor()
    }
    await page.getByRole('button', { name: 'Raw' }).click()
    await page.getByText('What is the weather in Oslo?').first().waitFor()
    assert.deepEqual(problems, [])
  })

  test('what a vendor would reject stands beside the request, with the reason', async t => {
    const { url, operator } = rig()
    const id = await said(operator, 'What is the weather in Oslo?')
    const { page } = await open(t, browser(), 'about:blank')
    // No history that this server makes breaks a rule, so the answer is given one here.
    await page.route('**/request?*', async route => {
      const answer = (await (await route.fetch()).json()) as object
      const finding = { rule: 'A-12', message: 'A result has no call.', why: 'The API answers 400.' }
      await route.fulfill({ json: { ...answer, findings: [finding], warnings: ['The image was left out.'] } })
    })
    await page.goto(`${url}/sessions/${id}?view=vendors&vendor=openai-chat`)
    await page
      .getByRole('listitem')
      .filter({ hasText: 'A-12 A result has no call. The API answers 400.' })
      .waitFor()
    await page.getByText('The image was left out.').waitFor()
    await page.getByRole('tab', { name: 'Chat Completions', selected: true }).waitFor()
  })

  test('a fork takes another model and an edited message', async t => {
    const { url, operator } = rig()
    const id = await said(operator, 'What is the weather in Oslo?')
    const { page, problems } = await open(t, browser(), `${url}/sessions/${id}`)
    await page.locator('.tw-item-user').hover()
    await page.getByRole('button', { name: 'Fork from event 2' }).click()
    const dialog = page.getByRole('dialog')
    const message = dialog.getByLabel('Message, edited')
    assert.equal(await message.inputValue(), 'What is the weather in Oslo?', 'the message can be edited')
    await message.fill('What is the weather in Rome?')
    await dialog.getByLabel('Model').selectOption('spare')
    await dialog.getByRole('button', { name: 'Fork' }).click()
    await page.getByText('The spare model speaks.').waitFor()
    assert.equal(await page.locator('.tw-user').count(), 1, 'it is said in place of the other one')
    const fork = new URL(page.url()).pathname.split('/').at(-1)!
    assert.equal((await operator.session(fork)).model, 'spare')
    assert.deepEqual(problems, [])
  })

  test('a fork continues with another message and runs nothing again', async t => {
    const { url, operator } = rig()
    const id = await said(operator, 'What is the weather in Oslo?')
    const { page } = await open(t, browser(), `${url}/sessions/${id}`)
    await page.getByRole('button', { name: 'Fork…' }).click()
    await page.getByLabel(/Message to say at once/).fill('What is the weather in Rome?')
    await page.getByRole('dialog').getByRole('button', { name: 'Fork' }).click()
    await page.waitForURL(
      address => address.pathname.startsWith('/sessions/') && !address.pathname.endsWith(id),
    )
    await page.getByText('answered: Rome: 18 °C').waitFor()
    const fork = new URL(page.url()).pathname.split('/').at(-1)!
    const { events } = await operator.events(fork)
    assert.equal(events.filter(({ event }) => event.type === 'call.started').length, 1)
    await page.goto(`${url}/compare?a=${id}&b=${fork}`)
    await page.getByRole('region', { name: 'Session B' }).getByText('answered: Rome').waitFor()
  })

  test('a running turn is stopped, and a person in control does one action at a time', async t => {
    const { url, operator } = rig()
    const { id } = await operator.create({ agent: 'sleeper' })
    const { page } = await open(t, browser(), `${url}/sessions/${id}`)
    await page.getByLabel('Send a message').fill('Go')
    await page.keyboard.press('Enter')
    await page.locator('[data-status="running"]').waitFor()
    await page.getByText('half').waitFor()
    await page.getByRole('button', { name: 'Stop' }).first().click()
    await page.locator('[data-status="cancelled"]').waitFor()
    await page.locator('summary', { hasText: 'More' }).click()
    await page.getByRole('button', { name: 'Take manual control' }).click()
    await page.getByLabel('Send a message').fill('Again')
    await page.keyboard.press('Enter')
    await page.getByText('Next: Ask the model').waitFor()
    await page.getByLabel('Or answer in place of the model').fill('I am a person.')
    await page.getByRole('button', { name: 'Answer', exact: true }).click()
    await page.getByText('I am a person.').last().waitFor()
    await page.getByRole('button', { name: 'Give control back' }).click()
    await page.getByText('returned control to the loop').waitFor()
  })

  test('the list is live, filtered by its address, and agrees with the session', async t => {
    const { url, operator } = rig()
    const { page } = await open(t, browser(), `${url}/sessions?status=waiting`)
    const id = await said(operator, 'Mail carla@example.org that I am late')
    const row = page.locator(`a[href="/sessions/${id}"]`)
    await row.getByText('waits for send_mail').waitFor()
    await row.click()
    await page.getByText('Waiting for approval of send_mail').waitFor()
    await page.getByRole('button', { name: 'Allow once' }).click()
    await page.locator('.state', { hasText: 'Done' }).waitFor()
    await page.goBack()
    assert.equal(new URL(page.url()).search, '?status=waiting')
    await page.getByText('sessions', { exact: false }).first().waitFor()
    await row.waitFor({ state: 'detached' })
  })
})

describe('the inbox', { skip }, () => {
  const { browser, rig } = suite()

  test('is worked through by keys alone, and shows the decisions of others', async t => {
    const { url, operator } = rig()
    for (const name of ['ana', 'bob', 'eve']) await said(operator, `Mail ${name}@example.org that I am late`)
    const { page, context, problems } = await open(t, browser(), `${url}/approvals`)
    await page.getByRole('status').filter({ hasText: '3 waiting' }).waitFor()
    await page.waitForFunction(() => document.title.startsWith('(3)'))
    await page.locator('.tw-approval:focus').waitFor()
    await page.keyboard.press('j')
    await page.locator('.inbox-item[aria-current]', { hasText: 'bob' }).waitFor()
    await page.keyboard.press('k')
    await page.locator('.tw-approval-title', { hasText: 'ana@example.org' }).waitFor()
    await page.keyboard.press('a')
    await page.getByRole('status').filter({ hasText: '2 waiting' }).waitFor()
    await page.locator('.tw-approval-title', { hasText: 'bob@example.org' }).waitFor()
    await page.keyboard.press('r')
    await page.keyboard.type('No')
    await page.keyboard.press('Enter')
    await page.getByRole('status').filter({ hasText: '1 waiting' }).waitFor()
    await page.getByText('See what came of it').waitFor()
    const other = await tab(context, `${url}/approvals`)
    await other.page.locator('.tw-approval:focus').waitFor()
    await other.page.keyboard.press('a')
    await other.page.getByText('Nothing waits for you').waitFor()
    await page.bringToFront()
    await page.getByText('Nothing waits for you').waitFor()
    assert.deepEqual(problems, [])
  })

  test('takes a decision back while it is not sent, and sends it when the page is left', async t => {
    const { url, operator } = rig()
    const id = await said(operator, 'Mail fred@example.org that I am late')
    const asked = async (): Promise<number> =>
      (await operator.approvals()).approvals.filter(({ session }) => session === id).length
    const { page, problems } = await open(t, browser(), `${url}/approvals`)
    await page.locator('.tw-approval:focus').waitFor()
    await page.keyboard.press('a')
    await page.getByRole('button', { name: /Undo/ }).waitFor()
    await page.getByText('Nothing waits for you').waitFor()
    assert.equal(await asked(), 1, 'nothing was sent')
    await page.keyboard.press('z')
    await page.locator('.tw-approval-title', { hasText: 'fred@example.org' }).waitFor()
    assert.equal(await page.locator('.undo').count(), 0)
    // A reload in the middle: what was decided is sent.
    await page.locator('.tw-approval').focus()
    await page.keyboard.press('a')
    await page.getByRole('button', { name: /Undo/ }).waitFor()
    await page.reload()
    await page.getByText('Nothing waits for you').waitFor()
    await waitFor(async () => (await asked()) === 0 && (await operator.session(id)).status === 'idle')
    const { events } = await operator.events(id)
    assert.equal(events.filter(({ event }) => event.type === 'call.started').length, 1)
    assert.deepEqual(problems, [])
  })

  test('gives a grant by patterns of arguments, which then decides', async t => {
    const { url, operator } = rig()
    const id = await said(operator, 'Mail gina@example.org that I am late')
    const { page, problems } = await open(t, browser(), `${url}/sessions/${id}`)
    await page.getByRole('button', { name: 'Always…' }).click()
    await page.getByLabel('Which arguments').selectOption({ label: 'with arguments like these' })
    assert.equal(await page.getByRole('textbox', { name: 'to', exact: true }).inputValue(), '*@example.org')
    await page.getByRole('textbox', { name: 'to', exact: true }).fill('*@example.com')
    await page.getByText('They do not cover this call').waitFor()
    await page.getByRole('textbox', { name: 'to', exact: true }).fill('*@example.org')
    await page.getByRole('textbox', { name: 'body' }).fill('**')
    await page.getByRole('textbox', { name: 'subject' }).fill('**')
    await page.getByText('They cover this call').waitFor()
    await page.getByRole('button', { name: 'Allow always' }).click()
    await page.locator('.state', { hasText: 'Done' }).waitFor()
    await page.getByText(/may always with .*to \*@example\.org/).waitFor()
    await operator.command(id, { do: 'say', text: 'Mail hugo@example.org that I am here' })
    await page
      .getByText(/Sent to hugo@example\.org/)
      .last()
      .waitFor()
    await operator.command(id, { do: 'say', text: 'Mail mallory@evil.example that I am here' })
    await page.locator('.tw-approval-title', { hasText: 'mallory@evil.example' }).waitFor()
    await operator.command(id, { do: 'cancel' })
    assert.deepEqual(problems, [])
  })

  test('shows what changed since the last approved call', async t => {
    const { url, operator } = rig()
    const id = await said(operator, 'Mail ana@example.org that I am late')
    const [first] = (await operator.approvals()).approvals.filter(({ session }) => session === id)
    await operator.command(id, { do: 'decide', callId: first!.callId, granted: true })
    await operator.command(id, { do: 'say', text: 'Mail mallory@example.org that I am late' })
    const { page } = await open(t, browser(), `${url}/approvals`)
    await page.getByText(/Changed since the last approved call/).waitFor()
    await page.locator('.tw-diff-removed', { hasText: 'ana@example.org' }).waitFor()
    await page.locator('.tw-diff-added', { hasText: 'mallory@example.org' }).waitFor()
  })
})

describe('a server that restarts', { skip }, () => {
  const { browser } = suite()

  test('is noticed by open pages, which go on by themselves', async t => {
    const first = await consoleServer(t)
    const { page } = await open(t, browser(), first.url)
    await page.getByRole('button', { name: /Mail ana/ }).click()
    await page.getByRole('button', { name: 'Allow once' }).waitFor()
    first.server.child.kill('SIGKILL')
    await page.getByText('The server does not answer').waitFor()
    await restart(t, first)
    await page.getByText('The server does not answer').waitFor({ state: 'detached' })
    await page.getByRole('button', { name: 'Allow once' }).click()
    await page
      .getByText(/Sent to ana@example\.org/)
      .last()
      .waitFor()
  })
})
