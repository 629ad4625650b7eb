// Makes the pictures in docs/screenshots anew: a server with fresh data, a few sessions, a real Chromium.
// npm run screenshots, or some by name: npm run screenshots -- session fork
import { spawn, spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { chromium } from 'playwright-core'
import { findChromium } from './install-chromium.mjs'

const root = fileURLToPath(new URL('..', import.meta.url))
const folder = join(root, 'docs/screenshots')
const data = mkdtempSync(join(tmpdir(), 'turnwire-screenshots-'))
mkdirSync(folder, { recursive: true })
spawnSync(process.execPath, [join(root, 'scripts/build-console.mjs')], { stdio: 'inherit' })

/** A server with fresh data, and its address. */
async function serve(name, ...more) {
  const child = spawn(
    process.execPath,
    [join(root, 'bin/turnwire.mjs'), 'serve', '--port', '0', '--data', join(data, name), ...more],
    { cwd: data, stdio: ['ignore', 'pipe', 'inherit'] },
  )
  const address = await new Promise(resolve => {
    let text = ''
    child.stdout.setEncoding('utf8').on('data', piece => {
      text += piece
      const found = /listens on (http:\S+)/.exec(text)?.[1]
      if (found && text.includes('Ctrl-C')) resolve(found)
    })
  })
  return { child, address }
}

// Two weeks of work, for lists and charts.
spawnSync(process.execPath, [join(root, 'scripts/showcase/past.ts'), join(data, 'showcase')], {
  stdio: 'inherit',
})
const { child: server, address: url } = await serve(
  'showcase',
  '--config',
  join(root, 'scripts/showcase/config.ts'),
)
// What a newcomer sees.
const demonstration = await serve('demonstration')

async function api(path, body) {
  const init = body && {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  }
  const answer = await fetch(`${url}/operator${path}`, init)
  return answer.json()
}

/** Allows the first `allowed` calls that ask, and leaves the others. */
async function session(agent, text, allowed = 0) {
  const { id } = await api('/sessions', { agent })
  await api(`/sessions/${id}/commands`, { do: 'say', text })
  for (let left = allowed; ; ) {
    const { status, calls } = await api(`/sessions/${id}`)
    const waits = calls.find(call => call.stage === 'asking')
    if (waits && left-- > 0)
      await api(`/sessions/${id}/commands`, { do: 'decide', callId: waits.part.id, granted: true })
    else if (status !== 'running') return id
    await new Promise(resolve => setTimeout(resolve, 100))
  }
}

await session('broken', 'Draw the orders of last week')
await session('helper', 'Read the file src/cart.ts')
await session('helper', 'Deploy 2.4.0')
await session('clerk', 'Order A-1042 was billed wrongly. Mend it.')
const main = await session(
  'engineer',
  'Customers say that their totals are too low. Find out why, mend it, and roll it out.',
  1,
)
/** One result of the session is changed, and both sides are shown. */
async function tryAnotherResult(page) {
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('Result of').selectOption({ index: 1 })
  await dialog.getByLabel('Result, edited').fill('Error: the file is not there.')
  await dialog.getByRole('button', { name: 'Try it' }).click()
  const sides = page.getByRole('region', { name: 'Both sides' })
  await sides.waitFor()
  await sides.scrollIntoViewIfNeeded()
}

const wanted = process.argv.slice(2)
const shots = [
  { name: 'playground', path: '/', width: 1200, theme: 'light', at: demonstration.address },
  { name: 'session', path: `/sessions/${main}`, width: 1200, theme: 'light' },
  { name: 'session-dark', path: `/sessions/${main}?view=log`, width: 1200, theme: 'dark' },
  { name: 'fork', path: `/sessions/${main}?fork=2`, width: 1200, theme: 'light', act: tryAnotherResult },
  { name: 'vendors', path: `/sessions/${main}?view=vendors`, width: 1200, theme: 'light' },
  { name: 'sessions', path: '/sessions', width: 1200, theme: 'light' },
  { name: 'approvals', path: '/approvals', width: 1200, theme: 'dark', keys: 'j' },
  { name: 'usage', path: `/sessions/${main}?view=usage`, width: 1200, theme: 'light' },
  { name: 'tools', path: '/tools?agent=engineer&tool=deploy', width: 1200, theme: 'light' },
  {
    name: 'policy',
    path: '/policy?agent=engineer&tool=deploy&input=%7B%22version%22%3A%222.4.1%22%2C%22region%22%3A%22all%22%7D',
    width: 1200,
    theme: 'light',
  },
  { name: 'overview', path: '/overview', width: 1200, theme: 'light' },
  { name: 'search', path: '/sessions?q=warehouse', width: 1200, theme: 'dark' },
  { name: 'overview-phone', path: '/overview', width: 390, theme: 'dark' },
  { name: 'approvals-phone', path: '/approvals', width: 390, theme: 'light' },
  { name: 'session-phone', path: `/sessions/${main}`, width: 390, theme: 'dark' },
]
const browser = await chromium.launch({
  executablePath: findChromium(),
  args: ['--no-sandbox', '--disable-quic'],
})
try {
  for (const { name, path, width, theme, keys, act, at = url } of shots) {
    if (wanted.length > 0 && !wanted.includes(name)) continue
    const page = await browser.newPage({
      viewport: { width, height: 760 },
      colorScheme: theme,
      reducedMotion: 'reduce',
    })
    await page.goto(at + path)
    await page.locator('#main h1, #main h2').first().waitFor()
    await page.waitForFunction(() => !document.querySelector('.loading'))
    if (keys) await page.keyboard.press(keys)
    await act?.(page)
    await page.waitForTimeout(1500)
    await page.screenshot({ path: join(folder, `${name}.png`) })
    await page.close()
  }
} finally {
  await browser.close()
  server.kill()
  demonstration.child.kill()
  rmSync(data, { recursive: true, force: true })
}
// The last sight of each walk.
spawnSync(process.execPath, [join(root, 'scripts/test.mjs'), 'console-walks'], {
  stdio: 'inherit',
  env: { ...process.env, WALK_PICTURES: '1' },
})
