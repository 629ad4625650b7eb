// The proxy of the browser against servers that answer with anything. It needs no Chromium.
import assert from 'node:assert/strict'
import { request } from 'node:http'
import { type AddressInfo, connect, createServer } from 'node:net'
import { type TestContext, test } from 'node:test'
import { BrowserProxy } from '../../../src/tools/browser/proxy.ts'

/** What the proxy makes of these bytes as an answer. */
async function answered(t: TestContext, bytes: string): Promise<{ status: number; body: string } | string> {
  const server = createServer(socket => {
    socket.on('error', () => {})
    socket.once('data', () => socket.end(bytes))
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.after(() => server.close())
  const { port } = server.address() as AddressInfo
  const proxy = await BrowserProxy.start()
  t.after(() => proxy.close())
  proxy.admit('token', {
    connect: () =>
      new Promise(resolve => {
        const socket = connect(port, '127.0.0.1', () => resolve(socket))
      }),
    refused: () => {},
  })
  const { promise, resolve } = Promise.withResolvers<{ status: number; body: string } | string>()
  const headers = { 'proxy-authorization': `Basic ${Buffer.from('context:token').toString('base64')}` }
  const asked = request(proxy.url, { path: `http://shop.test:${port}/picture.png`, headers }, answer => {
    let body = ''
    answer.setEncoding('utf8').on('data', (text: string) => (body += text))
    answer.on('close', () => resolve({ status: answer.statusCode ?? 0, body }))
  })
  asked.on('error', error => resolve(error.message)).end()
  return promise
}

for (const status of ['099', '000', '001'])
  test(`an answer with the status ${status} becomes a 502`, async t => {
    const given = await answered(t, `HTTP/1.1 ${status} Odd\r\ncontent-length: 2\r\n\r\nhi`)
    assert.deepEqual(given, { status: 502, body: '' })
  })

test('an answer with an unusual status is passed on', async t => {
  const given = await answered(t, 'HTTP/1.1 999 Denied\r\ncontent-length: 2\r\n\r\nhi')
  assert.deepEqual(given, { status: 999, body: 'hi' })
})

for (const bytes of [
  'no HTTP at all',
  'HTTP/1.1 200 OK\r\ncontent-length: 5\r\ntransfer-encoding: chunked\r\n\r\nhello',
  'HTTP/1.1 200 OK\r\ncontent-length: 50\r\n\r\nhello',
  'HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: upgrade\r\n\r\n',
  `HTTP/1.1 200 OK\r\n${'x: \u0001'}\r\n\r\n`,
])
  test(`a broken answer fails the request and nothing else: ${JSON.stringify(bytes.slice(0, 60))}`, async t => {
    const given = await answered(t, bytes)
    assert.ok(
      typeof given === 'string' || given.status === 200 || given.status === 502,
      JSON.stringify(given),
    )
  })
