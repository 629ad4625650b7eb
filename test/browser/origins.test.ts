// Web pages in a real Chromium: the vendors' own SDKs from an origin that is allowed, and what our client says on a page
// whose origin is not.
import assert from 'node:assert/strict'
import { after, before, describe, type TestContext, test } from 'node:test'
import { type Browser, chromium, type Page } from 'playwright-core'
import { findChromium } from '../../scripts/install-chromium.mjs'
import { newKey } from '../../src/callers/keys.ts'
import { Turnwire } from '../../src/library/turnwire.ts'
import { scripted } from '../../src/models/scripted/index.ts'
import { startServer } from '../../src/server/server.ts'
import { memoryStore } from '../../src/stores/memory.ts'
import { servePage } from './page-server.ts'

const executablePath = findChromium()
const skip = executablePath === undefined && 'There is no Chromium: install it, or set CHROMIUM_PATH.'
const key = newKey('page')

async function serverFor(t: TestContext, origins: string[]): Promise<{ url: string; logs: string[] }> {
  const logs: string[] = []
  const turnwire = await Turnwire.open(
    {
      data: memoryStore(),
      agents: [{ name: 'helper', model: scripted([{ text: 'Hello, page.' }], { whenOver: 'repeat-last' }) }],
      server: { keys: [key.entry], origins },
    },
    { log: (level, message, fields) => void logs.push(`${level} ${message} ${JSON.stringify(fields)}`) },
  )
  const server = await startServer(turnwire, { port: 0 })
  t.after(() => server.stop())
  return { url: server.url, logs }
}

describe('web pages', { skip }, () => {
  let browser: Browser
  before(async () => {
    // As root there is no sandbox for it. It loads nothing but the pages of these tests.
    browser = await chromium.launch({
      executablePath: executablePath!,
      args: ['--no-sandbox', '--disable-quic'],
    })
  })
  after(() => browser.close())

  async function open(t: TestContext, origin: string): Promise<Page> {
    const page = await browser.newPage()
    t.after(() => page.close())
    await page.goto(`${origin}/`)
    return page
  }

  test('the vendors’ SDKs speak to the server from an allowed origin', async t => {
    const origin = await servePage(t)
    const { url } = await serverFor(t, [origin])
    const page = await open(t, origin)
    // Imports of a page: the map of its origin leads to the packages.
    const said = await page.evaluate(`(async () => {
      const [url, apiKey] = ${JSON.stringify([url, key.key])}
      const { default: OpenAI } = await import('openai')
      const { default: Anthropic } = await import('@anthropic-ai/sdk')
      const { GoogleGenAI } = await import('@google/genai')
      const openai = new OpenAI({ baseURL: url + '/v1', apiKey, dangerouslyAllowBrowser: true, maxRetries: 0 })
      const anthropic = new Anthropic({ baseURL: url, apiKey, dangerouslyAllowBrowser: true, maxRetries: 0 })
      const google = new GoogleGenAI({ apiKey, httpOptions: { baseUrl: url } })
      const message = { role: 'user', content: 'Hi' }
      const response = await openai.responses.create({ model: 'helper', input: 'Hi' })
      const chat = await openai.chat.completions.create({ model: 'helper', messages: [message] })
      const answer = await anthropic.messages.create({ model: 'helper', max_tokens: 100, messages: [message] })
      const content = await google.models.generateContent({ model: 'helper', contents: 'Hi' })
      return {
        responses: response.output_text,
        chat: chat.choices[0].message.content,
        messages: answer.content[0].text,
        gemini: content.text,
      }
    })()`)
    const text = 'Hello, page.'
    assert.deepEqual(said, { responses: text, chat: text, messages: text, gemini: text })
  })

  /** What the client's first request fails with on a page. */
  async function refusal(page: Page, url: string): Promise<{ code: string; message: string }> {
    return page.evaluate(`(async () => {
      const { AapClient } = await import('turnwire/client')
      const client = new AapClient({ baseUrl: ${JSON.stringify(url)}, apiKey: ${JSON.stringify(key.key)}, retries: 0 })
      return client.getMeta().then(() => ({}), ({ code, message }) => ({ code, message }))
    })()`)
  }

  test('our client says that the server refuses the page, and the server logs it', async t => {
    const origin = await servePage(t)
    const { url, logs } = await serverFor(t, [])
    const { code, message } = await refusal(await open(t, origin), url)
    assert.equal(code, 'forbidden_origin')
    assert.equal(
      message,
      `${url} does not let pages of ${origin} call it. Add "${origin}" to server.origins in its configuration.`,
    )
    assert.ok(
      logs.some(line => line.startsWith('warn') && line.includes(origin)),
      logs.join('\n'),
    )
  })

  test('a server that is away is told apart from one that refuses', async t => {
    const origin = await servePage(t)
    const { code, message } = await refusal(await open(t, origin), 'http://127.0.0.1:9')
    assert.equal(code, 'connection_failed')
    assert.match(message, /is the server running/)
  })
})
