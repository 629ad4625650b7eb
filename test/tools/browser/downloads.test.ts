// Downloads, with a real Chromium: nothing is saved before a person allowed it, and nothing that is too large.
import assert from 'node:assert/strict'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import { gzipSync } from 'node:zlib'
import type { Tool } from '../../../src/engine/ports/index.ts'
import { isJsonObject, type JsonObject } from '../../../src/lib/json/index.ts'
import { Egress } from '../../../src/lib/net/egress.ts'
import { scripted } from '../../../src/models/scripted/index.ts'
import { contextFor } from '../../../src/testing/contracts/tool.ts'
import { fileName } from '../../../src/tools/browser/downloads.ts'
import { type BrowserOptions, browser } from '../../../src/tools/index.ts'
import { openAgent, outcomesOf, quiet, skip, textIn } from './rig.ts'

const place = (top: number): string =>
  `style="position:absolute;left:50px;top:${top}px;width:200px;height:40px"`
const links = `<!doctype html><title>Files</title><body style="margin:0">
<a href="/file.zip" ${place(20)}>report</a>
<a href="/raw" download="raw.txt" ${place(80)}>raw</a>
<a href="/moved" ${place(140)}>moved</a>
<form method=post action="/export"><button ${place(200)}>Export</button></form>
<a href="/bomb" ${place(260)}>bomb</a>
<a href="/endless" ${place(320)}>endless</a>
<a href="/file.zip" target=_blank ${place(380)}>window</a>
<button onclick="location.href='/data.bin'" ${place(440)}>script</button>
<a href="data:text/plain,hello" download="made.txt" ${place(500)}>made</a>`

const attached = (response: ServerResponse, name: string, body: string | Buffer, more = {}): unknown =>
  response.writeHead(200, { 'content-disposition': `attachment; filename="${name}"`, ...more }).end(body)

/** `cut`: both answers without an end have lost their connection. */
type Site = { host: string; url: string; cut: Promise<void> }

async function serveFiles(t: TestContext): Promise<Site> {
  const cut = Promise.withResolvers<void>()
  let endings = 0
  const pages: Record<string, (response: ServerResponse) => unknown> = {
    '/file.zip': response => attached(response, '../../report.zip', 'zipped'),
    '/raw': response => response.writeHead(200, { 'content-type': 'text/plain' }).end('raw text'),
    '/moved': response => response.writeHead(302, { location: '/file.zip' }).end(),
    '/export': response => attached(response, 'export.csv', 'a,b'),
    '/bomb': response =>
      attached(response, 'bomb', gzipSync(Buffer.alloc(5_000_000)), { 'content-encoding': 'gzip' }),
    '/data.bin': response =>
      response.writeHead(200, { 'content-type': 'application/octet-stream' }).end('binary'),
    '/endless': response => {
      response.writeHead(200, { 'content-disposition': 'attachment; filename=endless' })
      const more = (): void => {
        if (!response.destroyed) response.write(Buffer.alloc(65_536), () => setImmediate(more))
      }
      response
        .on('error', () => {})
        .on('close', () => {
          // The one that was refused, and the one that was too large.
          endings += 1
          if (endings === 2) cut.resolve()
        })
      more()
    },
  }
  const server = createServer((request, response) => {
    request.resume()
    const page = pages[request.url ?? '']
    if (page) page(response)
    else response.writeHead(200, { 'content-type': 'text/html' }).end(links)
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`
  return { host, url: `http://${host}/`, cut: cut.promise }
}

function temporaryFolder(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'turnwire-downloads-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

let calls = 0

async function rig(t: TestContext, options: (folder: string) => BrowserOptions) {
  const site = await serveFiles(t)
  const folder = temporaryFolder(t)
  const egress = new Egress({ privateHosts: [site.host] })
  // A busy machine takes long to begin a download. Nothing here waits for this limit.
  const usual = { hosts: [site.host], settleMs: 120_000, ...quiet }
  const [computer, page] = browser({ ...usual, ...options(folder) }) as [Tool, Tool]
  t.after(async () => {
    await computer.close?.()
    egress.close()
  })
  const context = {
    session: 's',
    connect: (url: URL, hosts?: readonly string[]) => egress.connect(url, hosts),
  }
  /** Runs with what a person allows, or as if nobody had been asked. */
  const run = async (input: JsonObject, allow = false) => {
    const tool = 'actions' in input ? computer : page
    const callId = `call_${++calls}`
    const asked = await tool.demandsApproval?.(input, { session: 's', owner: 'o', callId })
    const ranAs = asked !== undefined && !allow ? `${callId}_other` : callId
    const output = await tool.run(input, contextFor({ ...context, callId: ranAs }))
    const text = output.parts.map(part => (part.type === 'text' ? part.text : '')).join('\n')
    const { saved, notice } = isJsonObject(output.structured) ? output.structured : {}
    return { asked, text, saved, notice, sources: output.sources }
  }
  const open = async (path = ''): Promise<void> =>
    void (await run({ action: 'navigate', url: `${site.url}${path}` }))
  await open()
  const click = (y: number, allow = false) => run({ actions: [{ action: 'click', x: 100, y }] }, allow)
  return { site, folder, run, click, open, files: () => readdirSync(folder) }
}

describe('downloads', { skip }, () => {
  test('without a folder they are refused, and the result names the option', async t => {
    const { click, files } = await rig(t, () => ({}))
    const first = await click(40)
    assert.equal(first.asked, undefined)
    assert.match(first.text, /download of .*file\.zip was refused: .*downloads: \{ folder \}/)
    const second = await click(40, true)
    assert.match(second.text, /was refused/)
    assert.deepEqual(files(), [])
  })

  test('one that shows itself after the click is cancelled; the repeat asks, and is saved once allowed', async t => {
    const { click, files, folder, site } = await rig(t, folder => ({ downloads: { folder } }))
    const first = await click(40)
    assert.equal(first.asked, undefined)
    assert.match(first.text, /file\.zip was refused: Nobody has allowed it/)
    assert.equal(first.notice, 'A download was not saved.')
    const unasked = await click(40)
    assert.match(unasked.asked ?? '', /downloads http:.*\/file\.zip into .*, at most 100000000 bytes/)
    assert.match(unasked.text, /Nobody has allowed that/)
    assert.deepEqual(files(), [])
    const allowed = await click(40, true)
    assert.deepEqual(files(), ['report.zip'])
    assert.equal(readFileSync(join(folder, 'report.zip'), 'utf8'), 'zipped')
    assert.match(allowed.text, /saved as .*report\.zip: 6 bytes/)
    const url = `${site.url}file.zip`
    assert.deepEqual(allowed.saved, [{ url, path: join(folder, 'report.zip'), bytes: 6 }])
    assert.deepEqual(allowed.sources?.at(-1), { uri: url })
    assert.match((await click(40)).asked ?? '', /downloads/, 'an allow holds for one call')
  })

  test('a link that says so, an address, a redirect, a form and a script ask too', async t => {
    const { click, files, folder, run, site, open } = await rig(t, folder => ({ downloads: { folder } }))
    assert.match((await click(100)).asked ?? '', /downloads .*\/raw/)
    await click(100, true)
    assert.equal(readFileSync(join(folder, 'raw'), 'utf8'), 'raw text')
    assert.equal((await click(160)).asked, undefined)
    await click(160, true)
    const address = await run({ action: 'navigate', url: `${site.url}file.zip` })
    assert.match(address.asked ?? '', /downloads .*\/file\.zip/)
    await run({ action: 'navigate', url: `${site.url}file.zip` }, true)
    await open()
    assert.equal((await click(460)).asked, undefined)
    await click(460, true)
    const form = await click(220, true)
    assert.match(form.asked ?? '', /^It submits a form.*POST/)
    assert.match(form.text, /export was refused: Nobody has allowed it/)
    const again = await click(220, true)
    assert.match(again.asked ?? '', /^It submits a form.*It downloads .*\/export/)
    const named = files().map(name => name.replace(/^[\da-f]{12}-/, 'another '))
    assert.deepEqual(
      named.toSorted(),
      ['another report.zip', 'data.bin', 'export.csv', 'raw', 'report.zip'],
      again.text,
    )
    assert.equal(readFileSync(join(folder, 'export.csv'), 'utf8'), 'a,b')
  })

  test('a file that is too large is cut and leaves nothing, also if it is packed or has no end', async t => {
    const { click, files, site } = await rig(t, folder => ({ downloads: { folder, maxBytes: 1_000_000 } }))
    for (const y of [280, 340]) {
      await click(y)
      const { text } = await click(y, true)
      assert.match(text, /was not saved: It is larger than 1000000 bytes/)
    }
    await site.cut
    assert.deepEqual(files(), [])
  })

  test('a window of its own and a file of the page are refused in words that say what to do', async t => {
    const { click, files, open } = await rig(t, folder => ({ downloads: { folder } }))
    await click(400)
    assert.match((await click(400, true)).text, /window of its own. Navigate to its address/)
    await open()
    assert.match((await click(520)).text, /The page made the file itself/)
    assert.deepEqual(files(), [])
  })

  test('askBefore.downloads: false saves at once, and never over a file', async t => {
    const { click, files, folder } = await rig(t, folder => ({
      downloads: { folder },
      askBefore: { downloads: false },
    }))
    writeFileSync(join(folder, 'report.zip'), 'mine')
    const { asked, saved } = await click(40)
    assert.equal(asked, undefined)
    assert.equal(readFileSync(join(folder, 'report.zip'), 'utf8'), 'mine')
    assert.match(JSON.stringify(saved), /[\da-f]{12}-report\.zip/)
    assert.equal(files().length, 2)
  })

  test('in a session the repeat waits for an approval', async t => {
    const site = await serveFiles(t)
    const folder = temporaryFolder(t)
    const navigate = (url: string) => ({ calls: [{ name: 'browser', input: { action: 'navigate', url } }] })
    const model = scripted([
      navigate(`${site.url}file.zip`),
      navigate(`${site.url}file.zip`),
      { text: 'done' },
    ])
    const turnwire = await openAgent(t, model, site, { downloads: { folder } })
    const session = await turnwire.session('shopper')
    await session.send('Fetch the report')
    const [waiting] = await session.pending()
    assert.match(JSON.stringify(waiting), /It downloads .*file\.zip into/)
    assert.deepEqual(readdirSync(folder), [])
    await session.approve(waiting!.callId)
    const outcomes = await outcomesOf(session)
    assert.equal(outcomes[0]?.kind, 'error')
    assert.match(textIn(outcomes[1]), /saved as .*report\.zip: 6 bytes/)
    assert.deepEqual(readdirSync(folder), ['report.zip'])
  })
})

test('a name leads nowhere, hides nothing and is not long', () => {
  const names: [string, string][] = [
    ['attachment; filename="../../etc/passwd"', 'passwd'],
    ['attachment; filename=..\\..\\x.exe', 'x.exe'],
    ['attachment; filename=".bashrc"', 'bashrc'],
    ["attachment; filename=a.txt; filename*=UTF-8''%e2%82%ac%2Frates.txt", 'rates.txt'],
    ['attachment; filename="a\\"b\u202Etxt.exe"', 'a_b_txt.exe'],
    ['attachment', 'file.zip'],
    [`attachment; filename=${'x'.repeat(500)}.pdf`, `${'x'.repeat(100)}.pdf`],
    ['attachment; filename=".."', 'download'],
  ]
  for (const [disposition, name] of names)
    assert.equal(fileName(disposition, 'https://shop.example/files/file.zip?x=1'), name)
})

test('a folder and a limit that are none are refused', () => {
  for (const downloads of [{ folder: '' }, { folder: '/tmp', maxBytes: 0 }])
    assert.throws(() => browser({ downloads }), { code: 'config_invalid', message: /downloads/ })
})
