// Makes the pictures in docs/screenshots anew: a server with fresh data, a few sessions, a real Chromium.
// npm run screenshots
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

const server = spawn(
  process.execPath,
  [join(root, 'bin/turnwire.mjs'), 'serve', '--port', '0', '--data', join(data, 'data')],
  {
    cwd: data,
    stdio: ['ignore', 'pipe', 'inherit'],
  },
)
const url = await new Promise(resolve => {
  let text = ''
  server.stdout.setEncoding('utf8').on('data', piece => {
    text += piece
    const found = /listens on (http:\S+)/.exec(text)?.[1]
    if (found && text.includes('Ctrl-C')) resolve(found)
  })
})

async function api(path, body) {
  const init = body && {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  }
  const answer = await fetch(`${url}/operator${path}`, init)
  return answer.json()
}

async function session(...messages) {
  const { id } = await api('/sessions', { agent: 'helper' })
  for (const text of messages) {
    await api(`/sessions/${id}/commands`, { do: 'say', text })
    for (;;) {
      const { status, calls } = await api(`/sessions/${id}`)
      const waits = calls.find(call => call.stage === 'asking')
      if (waits && text !== messages.at(-1))
        await api(`/sessions/${id}/commands`, { do: 'decide', callId: waits.part.id, granted: true })
      else if (status !== 'running') break
      await new Promise(resolve => setTimeout(resolve, 100))
    }
  }
  return id
}

await session('What is the weather in Lisbon?')
await session('What is (17 + 3) * 2.5?')
await session('Note that the meeting moved to Friday')
const main = await session(
  'What is the weather in Oslo, and what do my notes say about the train?',
  'Mail ana@example.org that I am late',
  'Mail bob@example.org that I am late, and what is 12 * 12?',
)
const shots = [
  { name: 'playground', path: '/', width: 1200, theme: 'light' },
  { name: 'session', path: `/sessions/${main}`, width: 1200, theme: 'light' },
  { name: 'session-dark', path: `/sessions/${main}?view=log`, width: 1200, theme: 'dark' },
  { name: 'vendors', path: `/sessions/${main}?view=vendors`, width: 1200, theme: 'light' },
  { name: 'sessions', path: '/sessions', width: 1200, theme: 'light' },
  { name: 'approvals', path: '/approvals', width: 1200, theme: 'dark' },
  { name: 'tools', path: '/tools?agent=helper&tool=send_mail', width: 1200, theme: 'light' },
  { name: 'system', path: '/system', width: 1200, theme: 'light' },
  { name: 'approvals-phone', path: '/approvals', width: 390, theme: 'light' },
]
const browser = await chromium.launch({
  executablePath: findChromium(),
  args: ['--no-sandbox', '--disable-quic'],
})
try {
  for (const { name, path, width, theme } of shots) {
    const page = await browser.newPage({
      viewport: { width, height: 760 },
      colorScheme: theme,
      reducedMotion: 'reduce',
    })
    await page.goto(url + path)
    await page.locator('#main h1, #main h2').first().waitFor()
    await page.locator('.loading').waitFor({ state: 'detached' })
    await page.waitForTimeout(1500)
    await page.screenshot({ path: join(folder, `${name}.png`) })
    await page.close()
  }
} finally {
  await browser.close()
  server.kill()
  rmSync(data, { recursive: true, force: true })
}
