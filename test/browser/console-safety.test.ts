// What attacks the console, and who can use it: markup and control codes from models and tools, sign-in, the content security
// policy, accessibility in both themes, and how much is loaded at first.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { createServer, type IncomingHttpHeaders, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { gzipSync } from 'node:zlib'
import type { Page } from 'playwright-core'
import { WebSocket } from 'ws'
import { root, turnwire } from '../cli/rig.ts'
import { attacks } from './console-config.ts'
import {
  consoleServer,
  open,
  type Rig,
  restart,
  said,
  skip,
  suite,
  violationsInThemes,
} from './console-rig.ts'

/** Control and format characters in the page, but for lines and tabs. */
async function controlsIn(page: Page): Promise<string[]> {
  const shown = (await page.locator('#main').textContent()) ?? ''
  const found = Array.from(shown).filter(char => /[\p{Cc}\p{Cf}]/u.test(char) && !'\n\t'.includes(char))
  return found.map(char => `U+${char.codePointAt(0)?.toString(16)}`)
}

describe('what a model or a tool says', { skip }, () => {
  const { browser, rig } = suite()

  test('is never markup, and never a control code', async t => {
    const { url, operator } = rig()
    const { id } = await operator.create({ agent: 'attacker' })
    await operator.command(id, { do: 'say', text: attacks.html })
    const { page, problems } = await open(t, browser(), `${url}/sessions/${id}`)
    await page.getByRole('button', { name: 'Allow once' }).waitFor()
    // The transcript holds only what is near the viewport.
    await page.locator('.tw-transcript .tw-scroll').evaluate(element => element.scrollTo({ top: 0 }))
    await page.locator('[data-status="ok"] .tw-call-line').click()
    const table = page.getByRole('region', { name: 'Table' }).getByRole('table')
    await table.getByRole('columnheader', { name: 'note' }).waitFor()
    const cells = await table.getByRole('cell').allTextContents()
    assert.deepEqual(cells, [attacks.html, attacks.bidi.replace('\u202e', '\\u202e')])
    const invalid = page.locator('[data-status="invalid"]')
    await invalid.waitFor()
    assert.match(
      await invalid.locator('.tw-call-name').innerText(),
      /\\x1b\[2J|\\u001b\[2J/,
      'a name is text',
    )
    const text = (await page.locator('#main').innerText()) ?? ''
    assert.ok(text.includes('<script>window.hacked=1</script>'))
    const views = ['', '?view=log', '?view=vendors', '?view=usage', '?view=timeline']
    const pages = [
      ...views.map(view => `/sessions/${id}${view}`),
      '/sessions',
      '/approvals',
      `/compare?a=${id}`,
    ]
    for (const address of pages) {
      await page.goto(url + address)
      await page.locator('#main h1').first().waitFor()
      await page.waitForFunction(() => !document.querySelector('.loading'))
      assert.equal(
        await page
          .locator(
            '#main img, #main script, #main a[href^="javascript:"], #main a[href^="data:"], #main svg[onload]',
          )
          .count(),
        0,
      )
      assert.deepEqual(await controlsIn(page), [], address)
      assert.equal(await page.evaluate('window.hacked'), undefined)
    }
    await page.goto(`${url}/tools?agent=attacker&tool=hostile`)
    await page.getByRole('heading', { name: /hostile/ }).waitFor()
    assert.equal(await page.evaluate('window.hacked'), undefined)
    assert.deepEqual(await controlsIn(page), [])
    assert.match(await page.title(), /Turnwire$/)
    assert.deepEqual(problems, [])
  })

  test('cannot deceive a person who approves', async t => {
    const { url, operator } = rig()
    const { id } = await operator.create({ agent: 'attacker' })
    await operator.command(id, { do: 'say', text: 'go' })
    const { page } = await open(t, browser(), `${url}/approvals`)
    const box = page.locator('.tw-approval')
    await box.waitFor()
    const text = await box.innerText()
    assert.ok(text.includes('invoice\\u202efdp.exe'), 'the override is spelled out')
    assert.match(text, /mixes letters of several alphabets/)
    assert.match(text, /note has 1,000,0\d\d characters/)
    assert.ok(text.includes('DELETE EVERYTHING'), 'the end of a long value is in sight')
    assert.match(text, /Arguments hash\s+\S{10,}/)
    // A value with line ends is a block of its own: nothing in it passes for a line of the approval.
    const lines = box.locator('.tw-given pre', { hasText: 'Allowed by: the operator' }).first()
    assert.match(await lines.innerText(), /^harmless\nAllowed by: the operator/)
    await box.getByRole('button', { name: /between the beginning and the end/ }).click()
    assert.ok((await box.innerText()).length > 1_000_000, 'the full value can be reached')
  })
})

function addKey({ data }: Rig): string {
  const { stdout } = turnwire(['keys', 'add', 'boss', '--operator', '--data', join(data, 'data')], {
    cwd: data,
  })
  return /tw_\S+/.exec(stdout)?.[0] ?? ''
}

describe('keys', { skip }, () => {
  const { browser } = suite()

  test('a page signs in with a key, keeps it in no script’s reach, and is refused elsewhere', async t => {
    const started = await consoleServer(t)
    const key = addKey(started)
    const rig = await restart(t, started)
    const { page, context } = await open(t, browser(), `${rig.url}/sessions`)
    assert.deepEqual(await violationsInThemes(page), [], 'sign-in')
    await page.getByLabel('API key').fill('tw_wrong')
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByRole('alert').waitFor()
    await page.getByLabel('API key').fill(key)
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByRole('heading', { name: 'Sessions', exact: true }).waitFor()
    assert.equal(await page.evaluate('document.cookie'), '')
    const [cookie] = await context.cookies()
    assert.deepEqual([cookie?.httpOnly, cookie?.sameSite], [true, 'Strict'])
    assert.ok(!JSON.stringify(await context.storageState()).includes(key))
    const forged =
      await page.evaluate(`fetch('/operator/sessions', { method: 'POST', body: '{"agent":"helper"}',
      headers: { 'content-type': 'application/json' } }).then(answer => answer.status)`)
    assert.equal(forged, 401)
    await page.reload()
    await page.getByRole('heading', { name: 'Sessions', exact: true }).waitFor()
    await page.getByRole('link', { name: 'Overview' }).click()
    await page.getByText('boss').first().waitFor()
  })

  test('a page of another origin changes nothing, with a form, a script or an image, though it has the cookie', async t => {
    const started = await consoleServer(t)
    const id = await said(started.operator, 'Mail zoe@example.org that I am late')
    const { calls } = await started.operator.session(id)
    const callId = calls[0]!.part.id
    const key = addKey(started)
    const rig = await restart(t, started)
    const { page, context } = await open(t, browser(), `${rig.url}/sessions`)
    await page.getByLabel('API key').fill(key)
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.locator(`a[href="/sessions/${id}"]`).waitFor()
    // Another port of the same machine is the same site: the browser sends the cookie along.
    const command = JSON.stringify({ do: 'decide', callId, granted: true })
    const target = `${rig.url}/operator/sessions/${id}/commands`
    const evil = createServer((_request, response) =>
      response.setHeader('content-type', 'text/html').end(`<!doctype html>
        <form id="f" method="post" enctype="text/plain" action="${target}">
          <input name='${command.slice(0, -1)},"reason":"' value='"}'></form>
        <img src="${target}?do=decide&callId=${callId}&granted=true">`),
    )
    t.after(() => void evil.close())
    await new Promise<void>(resolve => void evil.listen(0, '127.0.0.1', resolve))
    const { port } = evil.address() as AddressInfo // it listens on TCP
    const other = await context.newPage()
    await other.goto(`http://127.0.0.1:${port}/`)
    const sent = other.waitForResponse(
      answer => answer.url() === target && answer.request().method() === 'POST',
    )
    const fetched =
      await other.evaluate<string>(`fetch(${JSON.stringify(target)}, { method: 'POST', credentials: 'include',
      headers: { 'content-type': 'application/json', 'x-turnwire-console': '1' }, body: ${JSON.stringify(command)} })
      .then(answer => String(answer.status), error => error.name)`)
    assert.equal(fetched, 'TypeError', 'the browser is not allowed to send it')
    await other.locator('#f').evaluate(form => (form as HTMLFormElement).submit())
    const refused = await sent
    assert.ok([401, 403].includes(refused.status()))
    // The console's own page reads what became of it: the call still waits.
    await page.reload()
    await page.locator(`a[href="/sessions/${id}"]`).getByText('waits for send_mail').waitFor()
    const stage = await page.evaluate(
      `fetch('/operator/sessions/${id}', { headers: { 'X-Turnwire-Console': localStorage.getItem('turnwire-sign-in') } })
        .then(answer => answer.json()).then(({ calls }) => calls[0].stage)`,
    )
    assert.equal(stage, 'asking')
  })

  test('another server on the host gets the cookie and can do nothing with it', async t => {
    const started = await consoleServer(t)
    const id = await said(started.operator, 'Mail zoe@example.org that I am late')
    const key = addKey(started)
    const { url } = await restart(t, started)
    const { page, context } = await open(t, browser(), `${url}/sessions`)
    await page.getByLabel('API key').fill(key)
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.locator(`a[href="/sessions/${id}"]`).waitFor()
    // It keeps what browsers send it.
    const seen: IncomingHttpHeaders[] = []
    const thief = createServer((request, response) => {
      seen.push(request.headers)
      response.setHeader('content-type', 'text/html').end('<!doctype html><p>Hello')
    })
    t.after(() => void thief.close())
    await new Promise<void>(resolve => void thief.listen(0, '127.0.0.1', resolve))
    const { port } = thief.address() as AddressInfo // it listens on TCP
    const other = await context.newPage()
    await other.goto(`http://127.0.0.1:${port}/`)
    await other.evaluate(`localStorage.getItem('turnwire-sign-in')`).then(kept => assert.equal(kept, null))
    const { cookie = '' } = seen[0] ?? {}
    assert.match(cookie, /turnwire_console=/, 'the browser sends it to every port')
    for (const secret of [undefined, '1', '']) {
      const headers = { cookie, ...(secret !== undefined && { 'x-turnwire-console': secret }) }
      for (const path of [
        '/operator/me',
        '/operator/keys',
        '/operator/sessions',
        '/operator/changes',
        `/operator/sessions/${id}/follow`,
        `/operator/sessions/${id}/export`,
        `/sessions/${id}/events`,
        '/meta',
        '/metrics',
      ])
        assert.equal((await fetch(url + path, { headers })).status, 401, path)
      const posted = await fetch(`${url}/operator/keys`, {
        method: 'POST',
        headers: { ...headers, 'content-type': 'application/json' },
        body: '{"name":"thief","operator":true}',
      })
      assert.equal(posted.status, 401)
      for (const path of ['/api/ws', '/v1/responses']) {
        const socket = new WebSocket(url.replace('http', 'ws') + path, { headers })
        const [, answer] = (await once(socket, 'unexpected-response')) as [unknown, IncomingMessage]
        assert.equal(answer.statusCode, 401, path)
        answer.destroy()
      }
    }
    // A page of that server asks with the browser's own means: with an event stream, a socket and a read.
    const tried = await other.evaluate<string[]>(`Promise.all([
      new Promise(resolve => {
        const stream = new EventSource(${JSON.stringify(`${url}/operator/changes`)}, { withCredentials: true })
        stream.onopen = () => resolve('open')
        stream.onerror = () => resolve('refused')
      }),
      new Promise(resolve => {
        const socket = new WebSocket(${JSON.stringify(`${url.replace('http', 'ws')}/api/ws`)})
        socket.onopen = () => resolve('open')
        socket.onerror = () => resolve('refused')
      }),
      fetch(${JSON.stringify(`${url}/operator/keys`)}, { credentials: 'include' })
        .then(answer => 'open ' + answer.status, () => 'refused'),
    ])`)
    assert.deepEqual(tried, ['refused', 'refused', 'refused'])
    // The console itself goes on, also after a reload and in another tab.
    await page.reload()
    await page.locator(`a[href="/sessions/${id}"]`).waitFor()
    const again = await context.newPage()
    await again.goto(`${url}/sessions/${id}`)
    await again.getByRole('button', { name: 'Allow once' }).waitFor()
    await again.getByText('More', { exact: true }).click()
    const download = again.waitForEvent('download')
    await again.getByRole('button', { name: 'Export the log' }).click()
    assert.equal((await download).suggestedFilename(), `${id}.jsonl`)
  })
})

describe('everybody', { skip }, () => {
  const { browser, rig } = suite()

  test('can use every page: no rule of WCAG 2.2 AA is broken, in both themes, wide and narrow', async t => {
    const { url, operator } = rig()
    const { id } = await operator.create({ agent: 'helper' })
    await operator.command(id, {
      do: 'say',
      text: 'What is the weather in Oslo, and mail ana@example.org that I am late',
    })
    const pages = [
      '/',
      `/?session=${id}`,
      '/sessions',
      '/sessions?q=nothing+matches',
      '/approvals',
      '/tools?agent=helper&tool=send_mail',
      '/policy?agent=attacker&tool=hostile&input=%7B%7D',
      '/overview',
      '/payments',
      `/sessions/${id}`,
      `/sessions/${id}?view=log`,
      `/sessions/${id}?view=timeline`,
      `/sessions/${id}?view=vendors`,
      `/sessions/${id}?view=usage`,
      `/sessions/${id}?fork=2`,
      '/sessions/sess_unknown',
      `/compare?a=${id}`,
      '/nothing/here',
    ]
    for (const width of [1280, 390]) {
      const { page, problems } = await open(t, browser(), url, { viewport: { width, height: 900 } })
      for (const address of pages) {
        await page.goto(url + address)
        await page.locator('#main h1, #main h2').first().waitFor()
        await page.waitForFunction(() => !document.querySelector('.loading'))
        assert.deepEqual(await violationsInThemes(page), [], address)
        const wide = await page.evaluate('document.documentElement.scrollWidth > innerWidth')
        assert.equal(wide, false, `${address} fits ${width} pixels`)
      }
      // What opens on demand: the form of a grant, the inspector, the palette.
      await page.goto(`${url}/sessions/${id}`)
      await page.getByRole('button', { name: 'Always…' }).click()
      await page.getByLabel('Which arguments').selectOption({ label: 'with arguments like these' })
      assert.deepEqual(await violationsInThemes(page), [], 'the form of a grant')
      await page
        .getByRole('button', { name: /^Inspect event/ })
        .first()
        .click({ force: true })
      await page.getByRole('complementary', { name: 'Inspector' }).waitFor()
      assert.deepEqual(await violationsInThemes(page), [], 'the inspector')
      await page.keyboard.press('Control+k')
      await page.getByRole('dialog', { name: 'Go to' }).waitFor()
      assert.deepEqual(await violationsInThemes(page), [], 'the palette')
      assert.deepEqual(problems, [])
    }
  })

  test('reaches pages and palette by keys, with a focus that can be seen', async t => {
    const { url } = rig()
    const { page } = await open(t, browser(), url)
    await page.getByRole('button', { name: /weather in Paris/ }).waitFor()
    assert.equal(await page.getByRole('link', { name: 'Payments' }).count(), 0, 'this server takes none')
    await page.keyboard.press('2')
    await page.getByRole('heading', { name: 'Sessions', exact: true }).waitFor()
    await page.keyboard.press('Control+k')
    await page.getByRole('combobox', { name: /Go to/ }).waitFor()
    await page.keyboard.type('send_mail')
    await page
      .getByRole('option', { name: /send_mail/ })
      .first()
      .waitFor()
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: /send_mail/ }).waitFor()
    await page.keyboard.press('?')
    await page.getByRole('dialog', { name: 'Keys' }).waitFor()
    await page.keyboard.press('Escape')
    await page.keyboard.press('Tab')
    const outline = await page.evaluate('getComputedStyle(document.activeElement).outlineStyle')
    assert.notEqual(outline, 'none')
  })

  test('loads no more scripts at first than each page needs, and soon shows something', async t => {
    const { url, operator } = rig()
    const waiting = await said(operator, 'Mail ana@example.org that I am late')
    const { page } = await open(t, browser(), url)
    const scripts = async (): Promise<number> => {
      await page.locator('#main h1').first().waitFor()
      await page.waitForFunction(() => !document.querySelector('.loading'))
      const names = await page.evaluate<string[]>(
        `performance.getEntriesByType('resource').map(entry => entry.name).filter(name => name.endsWith('.js'))`,
      )
      const folder = join(root, 'console/dist/assets')
      const files = readdirSync(folder)
      return (
        names
          .map(name => files.find(file => name.endsWith(file)))
          // As the server sends them.
          .reduce((sum, file) => sum + gzipSync(readFileSync(join(folder, file!)), { level: 9 }).length, 0)
      )
    }
    const session = `/sessions/${waiting}`
    for (const [address, mostBytes, seen = '#main h1'] of [
      ['/', 107_000],
      ['/sessions', 105_000],
      ['/approvals', 111_000],
      ['/overview', 100_000],
      [session, 150_000, '.session:has(.timeline-canvas) .tw-approval'],
      [`${session}?view=timeline`, 119_000, '.timeline-canvas'],
      [`${session}?view=log`, 115_000, '.log-row'],
      [`${session}?view=usage`, 107_000, '.usage'],
      [`${session}?view=vendors`, 105_000, '.vendors'],
    ] as const) {
      await page.goto(url + address)
      await page.locator(seen).first().waitFor()
      const bytes = await scripts()
      t.diagnostic(`${address}: ${bytes} bytes of scripts`)
      assert.ok(bytes < mostBytes, `${address}: ${bytes} bytes`)
    }
    const painted = await page.evaluate<number>(
      `performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? 0`,
    )
    // The machine may be busy: the limit is generous. docs/guide/console.md has what was measured.
    assert.ok(painted < 5000, `${painted} ms`)
  })
})
