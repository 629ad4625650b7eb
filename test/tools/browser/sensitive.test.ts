// What asks a person although no rule says so, what is sealed in the log, and what pictures do not show.
import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import type { Tool } from '../../../src/engine/ports/index.ts'
import type { JsonObject } from '../../../src/lib/json/index.ts'
import { Egress } from '../../../src/lib/net/egress.ts'
import { scripted } from '../../../src/models/scripted/index.ts'
import { contextFor } from '../../../src/testing/contracts/tool.ts'
import { type BrowserOptions, browser } from '../../../src/tools/index.ts'
import { openAgent, quiet, skip } from './rig.ts'
import { type Shop, serveShop } from './shop.ts'

const place = (top: number): string =>
  `style="position:absolute;left:50px;top:${top}px;width:200px;height:40px"`
const account = `<!doctype html><title>Account</title><body style="margin:0">
<input aria-label="Search" ${place(20)}>
<input type=password aria-label="Your password" value="old-pass-word" ${place(80)}>
<input name=cardnumber ${place(140)}>
<button type=button onclick="fetch('/bought', { method: 'POST' })" ${place(200)}>Pay now</button>
<a href="/gone" ${place(260)}>delete my account</a>
<a href="/account/destroy?id=1" ${place(320)}>continue</a>
<div onclick="fetch('/bought', { method: 'POST' })" ${place(380)}>Buy</div>
<a href="/about" ${place(440)}>About us</a>
<button type=button ${place(500)}>Archive it</button>
<p class=private ${place(560)}>balance 12345</p>
<iframe srcdoc="<body style='margin:0'><input autocomplete=cc-number style='width:200px;height:40px'>" ${place(620)}></iframe>`

async function rig(t: TestContext, shop: Shop, options: BrowserOptions = {}) {
  shop.pages.set('/account', account)
  const egress = new Egress({ privateHosts: [shop.host] })
  const [computer, page] = browser({ hosts: [shop.host], ...quiet, ...options }) as [Tool, Tool]
  t.after(async () => {
    await computer.close?.()
    egress.close()
  })
  const context = contextFor({ session: 's', connect: (url, hosts) => egress.connect(url, hosts) })
  const about = { session: 's', owner: 'o', callId: 'call' }
  await page.run({ action: 'navigate', url: `${shop.url}account` }, context)
  return {
    asks: async (...actions: JsonObject[]) => computer.demandsApproval?.({ actions }, about),
    run: async (...actions: JsonObject[]) => computer.run({ actions }, context),
    read: async () => JSON.stringify((await page.run({ action: 'read' }, context)).parts),
    hides: (...actions: JsonObject[]) => computer.hideArguments?.(JSON.stringify({ actions }), 's') ?? '',
  }
}

const click = (y: number): JsonObject => ({ action: 'click', x: 100, y })

describe('what is sensitive on a page', { skip }, () => {
  test('asks by default, and nothing is done unasked', async t => {
    const shop = await serveShop(t)
    const { asks, run } = await rig(t, shop)
    const type = { action: 'type', text: 'x' }
    assert.match((await asks(click(100), type)) ?? '', /types into the field "Your password".*a password/)
    assert.match((await asks(click(160), type)) ?? '', /"cardnumber".*a card/)
    assert.match((await asks(click(640), type)) ?? '', /a card/)
    assert.match((await asks(click(220))) ?? '', /presses "Pay now"/)
    assert.match((await asks(click(280))) ?? '', /presses "delete my account", which leads to/)
    assert.match((await asks(click(340))) ?? '', /presses "continue"/)
    assert.match((await asks(click(400))) ?? '', /presses "Buy"/)
    for (const harmless of [click(40), click(460), click(520)]) assert.equal(await asks(harmless), undefined)
    assert.equal(await asks(click(40), type), undefined)
    const { parts } = await run(click(220), click(400))
    assert.match(JSON.stringify(parts), /Nobody has allowed that/)
    assert.ok(!shop.requests.includes('POST /bought'))
  })

  test('each kind can be switched off, and others added', async t => {
    const shop = await serveShop(t)
    const askBefore = { credentials: false, payment: false, impact: false, matching: [/archive/i] }
    const { asks } = await rig(t, shop, { askBefore })
    for (const y of [100, 160]) assert.equal(await asks(click(y), { action: 'type', text: 'x' }), undefined)
    for (const y of [220, 280]) assert.equal(await asks(click(y)), undefined)
    assert.match((await asks(click(520))) ?? '', /Archive it/)
  })

  test('pictures and texts do not show masked parts', async t => {
    const shop = await serveShop(t)
    const { read, run } = await rig(t, shop, { mask: ['.private'] })
    const text = await read()
    assert.doesNotMatch(text, /12345|old-pass-word/)
    assert.match(text, /masked/)
    const pixels = async (): Promise<string> => {
      const { parts } = await run({ action: 'zoom', region: [50, 560, 250, 600] })
      return parts.map(part => (part.type === 'image' ? part.url : '')).join('')
    }
    const { run: plain } = await rig(t, shop)
    const shown = await plain({ action: 'zoom', region: [50, 560, 250, 600] })
    const image = shown.parts.map(part => (part.type === 'image' ? part.url : '')).join('')
    // One colour is a fraction of the bytes of a text.
    assert.ok((await pixels()).length < image.length / 2)
  })

  test('an action outside the display is invalid', async t => {
    const { run } = await rig(t, await serveShop(t))
    for (const action of [
      { action: 'click', x: 1280, y: 10 },
      { action: 'move', x: 10, y: 5000 },
      { action: 'click', x: 1001, y: 10, grid: 1000 },
      {
        action: 'drag',
        path: [
          { x: 1, y: 1 },
          { x: 9000, y: 1 },
        ],
      },
      { action: 'zoom', region: [0, 0, 4000, 10] },
    ])
      await assert.rejects(async () => run(action), { name: 'InvalidInput', message: /outside the display/ })
  })

  test('typed text is hidden where such a field is, and shown where none is', async t => {
    const shop = await serveShop(t)
    const { hides, run } = await rig(t, shop)
    assert.doesNotMatch(hides(click(100), { action: 'type', text: 'hunter2' }), /hunter2/)
    shop.pages.set('/plain', '<!doctype html><input>')
    await run({ action: 'navigate', url: `${shop.url}plain` })
    assert.match(hides(click(100), { action: 'type', text: 'hunter2' }), /hunter2/)
    assert.doesNotMatch(hides({ action: 'reload' }, { action: 'type', text: 'hunter2' }), /hunter2/)
  })

  test('the log has a typed password only sealed, and the page gets it', async t => {
    const shop = await serveShop(t)
    shop.pages.set(
      '/account',
      account.replace('value="old-pass-word"', 'oninput="fetch(\'/typed/\' + this.value)"'),
    )
    const actions = [click(100), { action: 'type', text: 'hunter2' }]
    const model = scripted([
      { calls: [{ name: 'browser', input: { action: 'navigate', url: `${shop.url}account` } }] },
      { calls: [{ name: 'computer', input: { actions } }] },
      { text: 'done' },
    ])
    const turnwire = await openAgent(t, model, shop)
    const session = await turnwire.session('shopper')
    await session.send('Log in')
    const [waiting] = await session.pending()
    assert.match(JSON.stringify(waiting), /Your password/)
    await session.approve(waiting!.callId)
    assert.ok(shop.requests.includes('GET /typed/hunter2'), shop.requests.join())
    let log = ''
    for await (const item of session.watch({ until: 'stop' })) log += JSON.stringify(item)
    assert.doesNotMatch(log, /hunter2/)
    assert.match(log, /\[sealed\]/)
  })
})
