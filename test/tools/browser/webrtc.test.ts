// WebRTC asks STUN and TURN servers over UDP, which no HTTP proxy carries: nothing of that may leave. The listener stands on
// loopback and counts every packet. A browser without our flags shows that packets would come.
import assert from 'node:assert/strict'
import { createSocket } from 'node:dgram'
import { describe, type TestContext, test } from 'node:test'
import { chromium } from 'playwright-core'
import { findChromium } from '../../../scripts/install-chromium.mjs'
import type { Tool } from '../../../src/engine/ports/index.ts'
import { Egress } from '../../../src/lib/net/egress.ts'
import { contextFor } from '../../../src/testing/contracts/tool.ts'
import { browser } from '../../../src/tools/index.ts'
import { quiet, skip } from './rig.ts'
import { serveShop } from './shop.ts'

type Listener = { port: number; packets: () => number }

async function listen(t: TestContext): Promise<Listener> {
  let packets = 0
  const socket = createSocket('udp4').on('message', () => {
    packets += 1
  })
  await new Promise<void>(resolve => socket.bind(0, '127.0.0.1', resolve))
  t.after(() => socket.close())
  return { port: socket.address().port, packets: () => packets }
}

/** Gathers addresses with every kind of server, and says "over" when there is nothing left to ask. */
const page = (port: number): string => `<!doctype html><title>busy</title><body><p id=p>busy</p><script>
const server = '127.0.0.1:${port}'
const gather = policy => new Promise(resolve => {
  const peer = new RTCPeerConnection({
    iceTransportPolicy: policy,
    iceServers: [
      { urls: 'stun:' + server },
      { urls: ['turn:' + server + '?transport=udp'], username: 'u', credential: 'c' },
    ],
  })
  peer.createDataChannel('x')
  peer.addEventListener('icegatheringstatechange', () => peer.iceGatheringState === 'complete' && resolve())
  peer.createOffer().then(offer => peer.setLocalDescription(offer))
})
Promise.all([gather('all'), gather('relay')]).then(() => { p.textContent = 'over' })
</script>`

describe('WebRTC', { skip }, () => {
  test('no packet of STUN or TURN leaves the browser', async t => {
    const shop = await serveShop(t)
    const { port, packets } = await listen(t)
    shop.pages.set('/call', page(port))
    const egress = new Egress({ privateHosts: [shop.host] })
    const [, open] = browser({ hosts: [shop.host], ...quiet }) as [Tool, Tool]
    t.after(async () => {
      await open.close?.()
      egress.close()
    })
    const run = async (input: Parameters<Tool['run']>[0]): Promise<string> => {
      const { parts } = await open.run(
        input,
        contextFor({ connect: (url, hosts) => egress.connect(url, hosts) }),
      )
      return parts.map(part => (part.type === 'text' ? part.text : '')).join('\n')
    }
    await run({ action: 'navigate', url: `${shop.url}call` })
    while (!(await run({ action: 'read' })).includes('over'));
    assert.equal(packets(), 0)
  })

  test('a browser without our flags sends them, so that the test above can fail', async t => {
    const shop = await serveShop(t)
    const { port, packets } = await listen(t)
    shop.pages.set('/call', page(port))
    const executablePath = findChromium()!
    const plain = await chromium.launch({ executablePath, chromiumSandbox: false })
    t.after(() => plain.close())
    const tab = await plain.newPage()
    await tab.goto(`${shop.url}call`)
    while (packets() === 0) await tab.waitForTimeout(20)
  })
})
