// Requests, bodies and frames that begin and never end: each is given up after `server.requestMs`, in the words of its wire,
// and holds nothing afterwards. What all of them hold before that is bounded, and others are served meanwhile. The clients here
// never hang up by themselves.
import assert from 'node:assert/strict'
import { connect, type Socket } from 'node:net'
import { describe, type TestContext, test } from 'node:test'
import { WebSocket } from 'ws'
import { type Attacked, attacked, MiB, until } from './attack-rig.ts'

type Half = { said: string; over: boolean; socket: Socket }

/** Sends this and never closes its side, though the server has closed its own. */
async function halfSend(t: TestContext, server: Attacked, ...sent: (string | Buffer)[]): Promise<Half> {
  const socket = connect({ host: '127.0.0.1', port: server.port, allowHalfOpen: true })
  const half: Half = { said: '', over: false, socket }
  t.after(() => socket.destroy())
  socket.setEncoding('latin1')
  socket.on('data', text => (half.said += String(text)))
  socket.on('error', () => {})
  socket.on('close', () => (half.over = true))
  for (const piece of sent) if (socket.writable) socket.write(piece)
  return half
}

/** A closed socket is seen by writing to it: the other side answers with a reset. */
function probe({ socket, over }: Half): boolean {
  if (!over) socket.write('x')
  return over
}

const head = (server: Attacked, first: string, as: string, more: string[] = []): string =>
  [first, `host: 127.0.0.1:${server.port}`, `authorization: Bearer ${server.keys[as]}`, ...more, ''].join(
    '\r\n',
  )
const json = (length: number): string[] => ['content-type: application/json', `content-length: ${length}`]

const wires: [path: string, more: string[], shape: RegExp][] = [
  ['/sessions', [], /^\{"error":"The request did not arrive in time\.","code":"bad_request"\}$/],
  ['/v1/responses', [], /^\{"error":\{"message":"[^"]+","type":"invalid_request_error"/],
  ['/v1/chat/completions', [], /^\{"error":\{"message":"[^"]+","type":"invalid_request_error"/],
  ['/v1/messages', [], /^\{"type":"error","error":\{"type":"invalid_request_error"/],
  ['/v1/x', ['anthropic-version: 2023-06-01'], /^\{"type":"error","error":|not_found/],
  ['/v1beta/models/helper:generateContent', [], /^\{"error":\{"code":\d+,"message":/],
  ['/v1/models/helper:generateContent', [], /^\{"error":\{"code":\d+,"message":/],
  ['/api/chat', [], /^\{"detail":"The request did not arrive in time\."/],
  ['/agui/helper', [], /^\{"error":"The request did not arrive in time\."/],
  ['/ui/helper', [], /^\{"error":"The request did not arrive in time\."/],
  ['/acp', [], /^\{"error":"The request did not arrive in time\."/],
]

describe('a request that never ends', () => {
  const config = { server: { requestMs: 1_000, acp: true, perOwner: { streams: 1 } } }
  const owners = ['eve', 'ann']

  test('in its headers is answered with 408 and closed, though the client does not close', async t => {
    const server = await attacked(t, { owners, config })
    const halves = [
      await halfSend(t, server, 'GET /meta HTTP/1.1\r\nhost:'),
      await halfSend(t, server, `GET /meta HTTP/1.1\r\nhost: 127.0.0.1:${server.port}\r\n`),
      await halfSend(t, server, 'P'),
    ]
    assert.equal((await server.send({ path: '/meta', as: 'ann' })).status, 200)
    for (const half of halves) {
      await until(() => half.said !== '')
      assert.match(half.said, /^HTTP\/1\.1 408 [\s\S]*\{"error":"The request did not arrive in time\."/)
      await until(() => probe(half))
    }
    assert.equal((await server.send({ path: '/meta', as: 'ann' })).status, 200)
  })

  test('in its body is answered on every wire in its own words, and its place is free again', async t => {
    const server = await attacked(t, { owners: wires.map((_, at) => `eve ${at}`), config })
    const attack = async ([path, more, shape]: (typeof wires)[number], at: number): Promise<void> => {
      const as = `eve ${at}`
      const sent = head(server, `POST ${path} HTTP/1.1`, as, [...json(1_000), ...more])
      const half = await halfSend(t, server, `${sent}\r\n{"a":`)
      await until(() => half.said !== '')
      assert.match(half.said, path === '/v1/x' ? /^HTTP\/1\.1 4/ : /^HTTP\/1\.1 408 /, path)
      assert.match(half.said.slice(half.said.indexOf('\r\n\r\n') + 4), shape, path)
      // One request of this owner may be open at a time.
      await until(async () => (await server.send({ path: '/meta', as })).status === 200)
      await until(() => probe(half))
    }
    await Promise.all(wires.map(attack))
  })

  test('after another on the same connection is answered too', async t => {
    const server = await attacked(t, { owners, config })
    const half = await halfSend(t, server, `${head(server, 'GET /meta HTTP/1.1', 'eve')}\r\n`)
    await until(() => half.said.includes('"agents"'))
    half.socket.write('GET /meta HTTP/1.1\r\nhost:')
    await until(() => half.said.includes('HTTP/1.1 408 '))
    await until(() => probe(half))
  })

  test('in chunks of a body that come slowly is refused all the same', async t => {
    const server = await attacked(t, { owners, config })
    const chunked = ['content-type: application/json', 'transfer-encoding: chunked']
    const half = await halfSend(t, server, `${head(server, 'POST /sessions HTTP/1.1', 'eve', chunked)}\r\n`)
    const drip = setInterval(() => half.socket.writable && half.socket.write('1\r\n \r\n'), 50)
    t.after(() => clearInterval(drip))
    await until(() => half.said !== '')
    assert.match(half.said, /^HTTP\/1\.1 408 /)
    await until(() => half.over)
  })
})

describe('many bodies and frames that never end', () => {
  const bodyBytes = 4 * MiB
  const count = 40
  /** Eight bodies of the largest size, and what other buffers take. */
  const mostBytes = (8 + 4) * bodyBytes
  const piece = Buffer.alloc(bodyBytes - 1024, ' ')
  const config = { server: { bodyBytes, requestMs: 600_000 } }
  const owners = ['eve', 'ann']

  async function assertBounded(t: TestContext, server: Attacked, halves: Half[]): Promise<void> {
    // The answer may be lost with the connection, since the rest of the body is on its way.
    const isRefused = ({ said, over }: Half): boolean => over || /HTTP\/1\.1 429|large bodies/.test(said)
    const refused = (): number => halves.filter(isRefused).length
    await until(() => refused() >= count - 9)
    // What was read of those that were refused is let go of soon. Without a bound, all of them are kept: 160 MB.
    await until(async () => (await server.memory()).arrayBuffers < mostBytes, 60_000)
    t.diagnostic(`${refused()} of ${count} refused`)
    const session = await server.session('ann')
    assert.equal((await server.turn(session, 'hello', { as: 'ann' })).status, 200)
    for (const { socket } of halves) socket.destroy()
    await until(async () => (await server.memory()).arrayBuffers < 2 * bodyBytes)
    const large = await server.send({ path: '/sessions', body: `{"x":"${'x'.repeat(3 * MiB)}"}`, as: 'eve' })
    assert.equal(large.status, 400, 'the owner may send large bodies again')
  }

  test('of requests: eight of the largest size are kept for an owner, and more is refused', async t => {
    const server = await attacked(t, { owners, config })
    const sent = `${head(server, 'POST /v1/responses HTTP/1.1', 'eve', json(bodyBytes))}\r\n`
    const halves = await Promise.all(Array.from({ length: count }, () => halfSend(t, server, sent, piece)))
    await assertBounded(t, server, halves)
  })

  test('messages that have arrived and pings count no longer', async t => {
    const small = 64 * 1024
    const server = await attacked(t, { owners, config: { server: { bodyBytes: small } } })
    const headers = { authorization: `Bearer ${server.keys['eve']}` }
    const open = async (): Promise<WebSocket> => {
      const socket = new WebSocket(`${server.url.replace('http', 'ws')}/api/ws`, { headers })
      t.after(() => socket.terminate())
      await new Promise(resolve => socket.once('open', resolve))
      return socket
    }
    // More than eight of the largest size, each whole, on sockets that stay open.
    const sockets = await Promise.all(Array.from({ length: 20 }, open))
    for (const socket of sockets) {
      const answer = new Promise(resolve => socket.once('message', resolve))
      socket.send(JSON.stringify({ unknown: 'x'.repeat(50_000) }))
      await answer
    }
    const [socket] = sockets
    let pongs = 0
    socket!.on('pong', () => (pongs += 1))
    const most = (8 * small) / 100
    for (let sent = 0; sent < 2 * most; sent += 1) socket!.ping(Buffer.alloc(100))
    await until(() => pongs >= 2 * most)
    for (const each of sockets) assert.equal(each.readyState, each.OPEN)
    const large = await server.send({
      path: '/sessions',
      body: `{"x":"${'x'.repeat(small / 2)}"}`,
      as: 'eve',
    })
    assert.equal(large.status, 400, large.text)
  })

  test('of WebSockets: they count as bodies do', async t => {
    const server = await attacked(t, { owners, config })
    const upgrade = ['connection: upgrade', 'upgrade: websocket', 'sec-websocket-version: 13']
    const key = 'sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ=='
    const sent = `${head(server, 'GET /api/ws HTTP/1.1', 'eve', [...upgrade, key])}\r\n`
    // A masked text frame with a length of 64 bits.
    const frame = Buffer.alloc(14)
    frame.set([0x81, 0xff])
    frame.writeBigUInt64BE(BigInt(bodyBytes), 2)
    const halves = await Promise.all(Array.from({ length: count }, () => halfSend(t, server, sent)))
    for (const half of halves) {
      await until(() => half.said.includes(' 101 '))
      half.socket.write(frame)
      half.socket.write(piece)
    }
    await assertBounded(t, server, halves)
  })
})
