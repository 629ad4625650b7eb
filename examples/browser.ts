// A model uses a browser on a page of this program's own, and a person allows what it orders. It needs a Chromium.
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { browser, scripted, Turnwire } from 'turnwire'

const page = `<form action="/ordered" method="post"><input name="tea" style="position:absolute;left:50px;top:50px">
  <button style="position:absolute;left:50px;top:150px">Order</button></form>`
const shop = createServer((request, response) => {
  response.setHeader('content-type', 'text/html')
  request.resume().on('end', () => response.end(request.url === '/ordered' ? '<h1>Thank you</h1>' : page))
})
await new Promise<void>(resolve => shop.listen(0, '127.0.0.1', resolve))
const host = `127.0.0.1:${(shop.address() as AddressInfo).port}`

const use = (...actions: Record<string, string | number>[]) => ({
  calls: [{ name: 'computer', input: { actions } }],
})
const model = scripted([
  { calls: [{ name: 'browser', input: { action: 'navigate', url: `http://${host}/` } }] },
  use({ action: 'click', x: 60, y: 60 }, { action: 'type', text: 'green' }),
  use({ action: 'click', x: 60, y: 160 }),
  { text: 'Ordered.' },
])
// As root Chromium has no sandbox.
const tools = browser({ hosts: [host], sandbox: process.getuid?.() !== 0 })
const turnwire = await Turnwire.open({
  agents: [{ name: 'shopper', model, tools }],
  egress: { privateHosts: [host] },
  data: 'memory',
})
const session = await turnwire.session('shopper')
const asked = await session.send('Order green tea.')
const [call] = asked.status === 'waiting' ? asked.pending : []
console.log(call?.reason?.replace(host, 'the shop'))
console.log((await session.approve(call?.callId ?? '')).text)
await turnwire.close()
shop.close()
