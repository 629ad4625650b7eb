// What the console shows of a tool that threw: operators see where, owners do not.
import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import type { Browser } from 'playwright-core'
import { newKey } from '../../src/callers/keys.ts'
import { scripted, startServer, Turnwire, tool } from '../../src/index.ts'
import { launch, open, skip } from './console-rig.ts'

const broken = tool({
  name: 'broken',
  description: 'Breaks.',
  input: { type: 'object' },
  trust: 'trusted',
  run: () => {
    throw new Error('the cable is cut')
  },
})

describe('a tool that threw', { skip }, () => {
  let browser: Browser
  before(async () => {
    browser = await launch()
  })

  test('an operator sees where it was thrown, and its owner only that it failed', async t => {
    const [owner, operator] = [newKey('ana'), newKey('ops', true)]
    const turnwire = await Turnwire.open({
      agents: [
        { name: 'a', model: scripted([{ calls: [{ name: 'broken' }] }, { text: 'Done.' }]), tools: [broken] },
      ],
      data: 'memory',
      server: { keys: [owner.entry, operator.entry], log: 'silent' },
    })
    const server = await startServer(turnwire, { port: 0 })
    t.after(() => server.stop())
    const session = await turnwire.session('a', { owner: 'ana' })
    await session.send('Go.')

    const facts = async ({ key }: { key: string }): Promise<string> => {
      const { page, problems } = await open(t, browser, `${server.url}/sessions/${session.id}`)
      await page.getByLabel('API key').fill(key)
      await page.keyboard.press('Enter')
      const call = page.locator('.tw-call', { hasText: 'broken' }).first()
      await call.getByText('Result from').waitFor()
      assert.deepEqual(problems, [])
      return call.innerText()
    }
    assert.match(await facts(operator), /Thrown at\s+.*console-thrown\.test\.ts/)
    const shown = await facts(owner)
    assert.match(shown, /The tool failed: the cable is cut/)
    assert.doesNotMatch(shown, /Thrown at|console-thrown\.test\.ts/)
  })
})
