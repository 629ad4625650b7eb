// Calls as people meet them: of an agent that works for another, with the message that led to them, in a terminal that goes on, on
// a phone; a session that is shared by its link; what a session used, as charts.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { longWord } from './console-calls-config.ts'
import { copiedBy, open, said, skip, suite } from './console-rig.ts'

const longAgent = 'an_agent_with_a_name_that_is_much_longer_than_a_column'

describe('a call', { skip }, () => {
  const { browser, rig } = suite({ config: 'test/browser/console-calls-config.ts' })

  test('of an agent that works for another has its title, icon, warning and agent in the inbox', async t => {
    const { url, operator } = rig()
    const id = await said(operator, 'The parcel is late', 'manager')
    const { page, problems } = await open(t, browser(), `${url}/approvals`)
    const row = page.locator('.inbox-item')
    await row.waitFor()
    assert.match(
      (await row.innerText()).replaceAll('\n', ' '),
      /^Send a mail .* ana@example\.org courier · cannot be undone$/,
    )
    const box = page.locator('.tw-approval')
    await box
      .getByRole('heading', { name: 'Send a mail: to “ana@example.org”, body “It is late.”' })
      .waitFor()
    await box.getByText('This tool may destroy or send something that cannot be taken back.').waitFor()
    const drawn = (of: string): Promise<string> =>
      page
        .locator(`${of} svg`)
        .first()
        .evaluate(icon => icon.innerHTML)
    assert.equal(await drawn('.tw-approval-title'), await drawn('.inbox-item'))
    assert.match(await box.innerText(), /of local, agent manager, for whom courier works/)
    await box.getByRole('button', { name: 'Allow once' }).click()
    await page.getByRole('button', { name: 'Send now' }).click()
    await page.getByRole('link', { name: 'See what came of it' }).click()
    await page.getByText('The courier has told her.').waitFor()
    assert.equal((await operator.session(id)).status, 'idle')
    assert.deepEqual(problems, [])
  })

  test('is shown with the message that caused it, though others came before and after', async t => {
    const { url, operator } = rig()
    const id = await said(operator, 'Say nothing yet', 'courier')
    const [first] = (await operator.approvals()).approvals
    await operator.command(id, { do: 'decide', callId: first!.callId, granted: true })
    await operator.command(id, { do: 'take-control' })
    await operator.command(id, { do: 'say', text: 'Now tell Ana' })
    await operator.command(id, {
      do: 'answer-model',
      calls: [{ tool: 'send_mail', input: { to: 'ana@example.org', body: 'Now' } }],
    })
    await operator.command(id, { do: 'perform' })
    await operator.command(id, { do: 'say', text: 'And tell Bob later', during: 'queue' })
    const { page } = await open(t, browser(), `${url}/approvals`)
    const box = page.locator('.tw-approval', { hasText: 'body “Now”' })
    await box.waitFor()
    const message = box.locator('.tw-facts > div', { hasText: /^Message/ })
    assert.match(await message.innerText(), /^Message\s+Now tell Ana$/)
    await box.getByRole('link').click()
    await page.locator('.tw-item-user.tw-selected', { hasText: 'Now tell Ana' }).waitFor()
    await operator.remove(id)
  })

  test('has a terminal that follows its end, stays where a person reads, and is copied without colours', async t => {
    const { url, operator } = rig()
    const id = await said(operator, 'Build', 'builder')
    const { page, problems } = await open(t, browser(), `${url}/sessions/${id}`)
    const terminal = page.getByRole('region', { name: 'Terminal output' })
    await terminal.getByText('test 59', { exact: false }).waitFor()
    const below = (): Promise<number> =>
      terminal.evaluate(box => box.scrollHeight - box.scrollTop - box.clientHeight)
    const goOn = (after: number) =>
      page
        .getByRole('region', { name: `Go on after ${after}?` })
        .getByRole('button', { name: 'Send the answer' })
        .click()
    assert.ok((await below()) < 2, 'it begins at its end')
    await goOn(60)
    await terminal.getByText('test 119', { exact: false }).waitFor()
    assert.ok((await below()) < 2, 'it follows its end')
    await terminal.evaluate(box => box.scrollTo({ top: 40 }))
    await goOn(120)
    await terminal.getByText('test 179', { exact: false }).waitFor()
    assert.equal(await terminal.evaluate(box => box.scrollTop), 40, 'what is read stays')
    assert.equal(await terminal.locator('.tw-fg-green').first().innerText(), '✔')
    const copy = page.locator('.tw-terminal').getByRole('button', { name: 'Copy' })
    const paint = await copy.evaluate(button => getComputedStyle(button).opacity)
    assert.equal(paint, '1', 'it is in sight without a pointer over it')
    const copied = await copiedBy(copy)
    assert.match(copied, /^✔ test 0\n✔ test 1\n/)
    assert.ok(copied.includes('test 179') && !copied.includes('\u001b'))
    await goOn(180)
    await page.getByText('It is built.').waitFor()
    assert.deepEqual(problems, [])
  })

  test('has its arguments in its row and in full width on a phone', async t => {
    const { url, operator } = rig()
    const id = await said(operator, 'Change it', longAgent)
    await said(operator, 'Build', 'builder')
    const phone = { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true }
    const { page } = await open(t, browser(), `${url}/sessions/${id}`, phone)
    const row = page.locator('.tw-call-line').first()
    const argument = await row.locator('.tw-call-argument').boundingBox()
    assert.ok(argument && argument.width >= 60, `the row gives its argument ${argument?.width} pixels`)
    assert.ok((await row.locator('.tw-call-argument').innerText()).startsWith('/srv/Donau'))
    const inside = page.locator('.tw-approval .tw-given').first()
    const given = await inside.boundingBox()
    assert.ok(given && given.width >= 300, `the arguments have ${given?.width} pixels`)
    assert.ok((await inside.innerText()).includes(longWord.slice(0, 100)), 'long words are all there')
    await page.goto(`${url}/approvals`)
    const listed = page.locator('.inbox-item', { hasText: 'Change the whole configuration' })
    await listed.locator('.inbox-argument', { hasText: '/srv/Donau' }).waitFor()
    await listed.tap()
    const wide = await page.locator('.tw-approval').boundingBox()
    assert.ok(wide && wide.width >= 340, `the approval has ${wide?.width} pixels`)
    assert.equal(await page.evaluate('document.documentElement.scrollWidth > innerWidth'), false)
  })
})

describe('a session', { skip }, () => {
  const { browser, rig } = suite({ config: 'test/browser/console-calls-config.ts' })

  test('shows what it used along its steps, as charts that are read by keys', async t => {
    const { url, operator } = rig()
    const id = await said(operator, 'Build', 'builder')
    for await (const item of operator.follow(id)) {
      if (item.type !== 'event') continue
      if (item.event.type === 'turn.ended') break
      if (item.event.type === 'question.asked')
        await operator.command(id, {
          do: 'answer',
          question: item.event.question,
          action: 'accept',
          content: {},
        })
    }
    const { page, problems } = await open(t, browser(), `${url}/sessions/${id}?view=usage`)
    const chart = (name: string) => page.locator('.chart', { has: page.getByRole('heading', { name }) })
    const read = async (name: string, key: string): Promise<string> => {
      await chart(name).getByRole('img').focus()
      await page.keyboard.press(key)
      return chart(name).getByRole('status').innerText()
    }
    assert.equal(await read('Tokens by step', 'ArrowRight'), 'Step 1: input 20, output 40')
    assert.equal(await read('Tokens by step', 'ArrowRight'), 'Step 2: input 80, output 10')
    assert.equal(await read('Cost so far', 'ArrowRight'), 'Step 1: cost $0.25')
    assert.equal(await read('Cost so far', 'ArrowRight'), 'Step 2: cost $0.75')
    assert.match(await read('Time by step', 'ArrowRight'), /^Step 1: (took [\d.]+ m?s|nothing)$/)
    const tile = page.locator('.tile', { has: page.getByText('Cost', { exact: true }) })
    assert.match(await tile.innerText(), /\$0\.75/)
    // A session in which nothing was used has words in place of zeros.
    const { id: fresh } = await operator.create({ agent: 'courier' })
    await page.goto(`${url}/sessions/${fresh}?view=usage`)
    await page.getByRole('heading', { name: 'No model has answered yet' }).waitFor()
    assert.equal(await page.locator('.chart').count(), 0)
    assert.deepEqual(problems, [])
  })

  test('is shared by a link, which another operator opens after signing in', async t => {
    const { url, operator } = rig()
    const id = await said(operator, 'Tell Ana', 'courier')
    const mine = await open(t, browser(), `${url}/?agent=courier&session=${id}`)
    await mine.page.locator('summary', { hasText: 'More' }).click()
    const link = await copiedBy(mine.page.getByRole('button', { name: 'Copy a link for another operator' }))
    assert.equal(link, `${url}/sessions/${id}`)
    // The last test of this server: from here on it asks for a key.
    const { key } = await operator.addKey('boss', true)
    const theirs = await open(t, browser(), link)
    await theirs.page.getByLabel('API key').fill(key)
    await theirs.page.getByRole('button', { name: 'Sign in' }).click()
    await theirs.page.locator('.session-head h1', { hasText: 'Tell Ana' }).waitFor()
    assert.equal(theirs.page.url(), link)
    await theirs.page.getByRole('button', { name: 'Allow once' }).waitFor()
    assert.deepEqual(theirs.problems, [])
  })
})
