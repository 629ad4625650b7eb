// A sealed file in a real Chromium with the network off: it checks itself, shows the session, and finds what was changed.
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { chromium } from 'playwright-core'
import { findChromium } from '../../scripts/install-chromium.mjs'
import { runCommand } from '../../src/engine/turn/run-command.ts'
import type { Event } from '../../src/language/events.ts'
import type { Receipt } from '../../src/language/make-receipt.ts'
import { readRedaction } from '../../src/proof/redaction.ts'
import { type Sealed, sealLog } from '../../src/proof/sealed-form.ts'
import { sealedPage } from '../../src/proof/sealed-page.ts'
import { memoryStore } from '../../src/stores/memory.ts'
import { begin, makeRig, stopAll } from '../engine/rig.ts'
import { withSealed } from './forge.ts'
import { keys, play, playTurn, script, tools } from './rig.ts'

const executablePath = findChromium()
const skip = executablePath === undefined && 'There is no Chromium: install it, or set CHROMIUM_PATH.'
const folder = mkdtempSync(join(tmpdir(), 'sealed-'))
after(async () => {
  await stopAll()
  rmSync(folder, { recursive: true, force: true })
})

test('a sealed file checks itself without a network, whole or redacted, and finds a change', {
  skip,
}, async () => {
  const { session, log } = await play({}, 2)
  const browser = await chromium.launch({ executablePath: executablePath!, args: ['--no-sandbox'] })
  try {
    const context = await browser.newContext({ offline: true, viewport: { width: 390, height: 800 } })
    const asked: string[] = []
    context.on('request', request => void asked.push(request.url()))
    const page = await context.newPage()
    const problems: string[] = []
    page.on('console', message => void (message.type() === 'error' && problems.push(message.text())))
    const show = async (html: string, name: string) => {
      const file = join(folder, name)
      writeFileSync(file, html)
      const { href } = pathToFileURL(file)
      await page.goto(href)
      await page.locator('html[data-verified]').waitFor({ state: 'attached' })
      assert.deepEqual(asked.splice(0), [href])
      return (await page.locator('html').getAttribute('data-verified')) === 'yes'
    }
    const whole = sealedPage(sealLog(session.id, log))
    assert.equal(await show(whole, 'whole.html'), true)
    assert.match((await page.locator('#decisions').textContent()) ?? '', /payapproved by maria/)
    assert.match((await page.locator('#log').textContent()) ?? '', /paid/)
    assert.equal(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), true)
    const redacted = sealedPage(sealLog(session.id, log, readRedaction('all')))
    assert.equal(await show(redacted, 'redacted.html'), true)
    assert.match((await page.locator('#decisions').textContent()) ?? '', /payapproved by maria/)
    assert.doesNotMatch((await page.locator('#log').textContent()) ?? '', /paid/)
    for (const [from, to] of [
      ['"granted":true', '"granted":false'],
      ['"text":"paid"', '"text":"kept"'],
      ['"verdict":"approved"', '"verdict":"allowed"'],
    ] as const) {
      assert(whole.includes(from))
      assert.equal(await show(whole.replace(from, to), 'changed.html'), false, from)
    }
    const forged: Event = { v: 1, at: 1, type: 'control.taken', by: 'nobody' }
    const changes: ((sealed: Sealed) => void)[] = [
      sealed => {
        sealed.log.push({ seq: sealed.events + 1, event: forged, salt: '' })
        sealed.events += 1
      },
      ({ log }) => void Object.assign(log[2]!, { digest: 'another member' }),
      ({ receipts }) => {
        const call: Receipt['call'] = {
          ...receipts[0]!.call,
          decision: { verdict: 'approved', by: 'the board' },
        }
        receipts.unshift({ ...receipts[0]!, call })
      },
      ({ receipts }) => void receipts.pop(),
      ({ receipts }) => void receipts.reverse(),
    ]
    for (const [index, change] of changes.entries()) {
      assert.equal(await show(withSealed(whole, change), `forged-${index}.html`), false, String(index))
      const claims = await page.locator('#decisions tr', { hasText: 'by the board' }).allTextContents()
      assert.equal(claims.length, index === 2 ? 1 : 0)
      for (const claim of claims) assert.match(claim, /not proved$/)
    }
    assert.match((await page.locator('#badge').textContent()) ?? '', /^Changed/)
    assert.equal(await show(await sealedLate(), 'late.html'), true)
    assert.match((await page.locator('#facts').textContent()) ?? '', /Read back from the store, .*11 events/)
    assert.deepEqual(problems, [])
    await page.addInitScript(() => {
      crypto.subtle.importKey = () => Promise.reject(new Error('Unrecognized name.'))
    })
    assert.equal(await show(whole, 'whole.html'), false)
    assert.match((await page.locator('#badge').textContent()) ?? '', /^Not checked.*cannot check signatures/)
  } finally {
    await browser.close()
  }
})

/** Of a log that was recorded without signatures, and signed when it was opened again. */
async function sealedLate(): Promise<string> {
  const store = memoryStore()
  const before = makeRig({ tools, script, store })
  const { id } = await begin(before)
  await playTurn(await before.engine.open('ana', id))
  await before.engine.stop(0)
  const rig = makeRig({ tools, script, store, receipts: keys })
  await runCommand(await rig.engine.open('ana', id), { do: 'sign' })
  return sealedPage(sealLog(id, await store.read(id)))
}
