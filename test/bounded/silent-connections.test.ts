// Connections that are open and silent in one direction: a vendor that begins an answer and says no more, a tool's API that
// never answers, a client that reads no more. Each is given up after its own limit, and its socket is closed. All over real
// sockets; nobody hangs up but the server.
import assert from 'node:assert/strict'
import { connect, createServer, type Socket } from 'node:net'
import { describe, type TestContext, test } from 'node:test'
import { compatible, http, scripted, startServer, Turnwire, type TurnwireConfig } from '../../src/index.ts'
import { attacked, MiB, script, until } from './attack-rig.ts'

type SilentPeer = { port: number; opened: Set<Socket>; closed: number }

/** Takes every request, says these bytes, and then nothing. It never hangs up. */
async function silentPeer(t: TestContext, says = ''): Promise<SilentPeer> {
  const server = createServer({ allowHalfOpen: true }, socket => {
    peer.opened.add(socket)
    socket.on('error', () => {})
    // The other side ended or broke it.
    socket.once('end', () => (peer.closed += 1))
    socket.once('data', () => {
      if (says !== '') socket.write(says)
    })
    socket.resume()
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  assert.ok(address !== null && typeof address === 'object')
  const peer: SilentPeer = { port: address.port, opened: new Set(), closed: 0 }
  t.after(() => {
    for (const socket of peer.opened) socket.destroy()
    server.close()
  })
  return peer
}

async function serve(t: TestContext, config: Omit<TurnwireConfig, 'data'>): Promise<string> {
  const turnwire = await Turnwire.open({ ...config, data: 'memory', server: { log: 'silent', graceMs: 100 } })
  const server = await startServer(turnwire, { port: 0 })
  t.after(async () => {
    await server.stop()
    await turnwire.close()
  })
  return server.url
}

/** One turn over AAP, to the end of its stream. */
async function turnAt(url: string): Promise<string> {
  const post = (path: string, body: unknown): Promise<Response> =>
    fetch(`${url}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
  const made = (await (await post('/sessions', { agent: { name: 'helper' } })).json()) as {
    sessionId: string
  }
  const messages = [{ role: 'user', content: 'go' }]
  return (await post(`/sessions/${made.sessionId}/turns`, { messages, stream: 'delta' })).text()
}

const head = (type: string): string =>
  `HTTP/1.1 200 OK\r\ncontent-type: ${type}\r\ncontent-length: 100000\r\n\r\n`
const words = 'data: {"choices":[{"index":0,"delta":{"content":"So far"}}]}\n\n'

describe('a model', () => {
  const limits = { firstByteMs: 300, idleMs: 300, retries: 1, backoffMs: 1 }
  for (const [what, says] of [
    ['that says nothing', ''],
    ['that begins an answer and says no more', head('text/event-stream') + words],
    ['that sends half a frame and no more', head('text/event-stream') + words + words.slice(0, 20)],
  ] as const)
    test(`${what} is asked once more, and then the turn ends with model_timeout`, async t => {
      const vendor = await silentPeer(t, says)
      const model = compatible({ model: 'm', url: `http://127.0.0.1:${vendor.port}/v1`, limits })
      const stream = await turnAt(await serve(t, { agents: [{ name: 'helper', model }] }))
      assert.match(stream, /model_timeout/)
      assert.match(stream, /turn_stop/)
      assert.equal(vendor.opened.size, 2)
      await until(() => vendor.closed === 2)
    })
})

describe("a tool's API", () => {
  for (const [what, says] of [
    ['that never answers', ''],
    ['that begins an answer and says no more', `${head('application/json')}{"status":`],
  ] as const)
    test(`${what} is a call that timed out, and the turn goes on`, async t => {
      const api = await silentPeer(t, says)
      const order = http({
        name: 'order',
        description: 'Gives an order.',
        method: 'GET',
        url: `http://127.0.0.1:${api.port}/order`,
        input: { type: 'object' },
        trust: 'trusted',
        exposed: false,
        timeoutMs: 300,
        retries: 0,
      })
      const model = scripted([{ calls: [{ name: 'order', input: {} }] }, { text: 'Gone on.' }])
      const url = await serve(t, {
        agents: [{ name: 'helper', model, tools: [order] }],
        egress: { privateHosts: [`127.0.0.1:${api.port}`] },
      })
      const stream = await turnAt(url)
      assert.match(stream, /did not (?:finish|answer)|tim(?:ed|e) ?out|too long/i)
      assert.match(stream, /Gone on\./)
      assert.equal(api.opened.size, 1)
      await until(() => api.closed === 1)
    })
})

describe('a client', () => {
  test('that reads no more is dropped after stallMs, in a replay and in a live stream', async t => {
    const server = await attacked(t, { config: { server: { stallMs: 500, heartbeatMs: 50 } } })
    const session = await server.session()
    const large = script({ calls: [{ name: 'give', input: { bytes: 8 * MiB } }], repeat: 2 })
    assert.equal((await server.turn(session, large)).status, 200)
    const turn = { messages: [{ role: 'user', content: large }], stream: 'message' }
    const sockets = [
      await server.ignore({ path: `/sessions/${session}/events` }),
      await server.ignore({ path: `/sessions/${session}/turns`, body: turn }),
    ]
    const drops = (): number => server.log.split('did not read its stream').length - 1
    await until(() => drops() === sockets.length)
    // The end of the connection stands behind what was not read.
    for (const socket of sockets) {
      const over = new Promise(resolve => socket.once('close', resolve).once('error', resolve))
      socket.resume()
      await over
    }
    assert.equal((await server.turn(session, 'hello')).status, 200)
  })

  test('that does not read a whole answer is dropped after stallMs too, and its place is free', async t => {
    const perOwner = { streams: 1 }
    const server = await attacked(t, { config: { server: { stallMs: 500, heartbeatMs: 50, perOwner } } })
    const session = await server.session()
    const large = script({ calls: [{ name: 'give', input: { bytes: 8 * MiB } }], repeat: 2 })
    assert.equal((await server.turn(session, large)).status, 200)
    const socket = await server.ignore({ path: `/sessions/${session}/history?type=full` })
    t.after(() => socket.destroy())
    await until(async () => (await server.send({ path: '/meta' })).status === 429)
    await until(async () => (await server.send({ path: '/meta' })).status === 200)
  })

  test('that neither reads nor answers pings is dropped from its WebSocket', async t => {
    const server = await attacked(t, { config: { server: { heartbeatMs: 50, stallMs: 500 } } })
    const socket = connect({ host: '127.0.0.1', port: server.port })
    t.after(() => socket.destroy())
    const over = new Promise(resolve => socket.once('close', resolve).once('error', resolve))
    socket.write(
      `GET /api/ws HTTP/1.1\r\nhost: 127.0.0.1:${server.port}\r\nconnection: upgrade\r\nupgrade: websocket\r\n` +
        'sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\nsec-websocket-version: 13\r\n\r\n',
    )
    let said = ''
    socket.on('data', bytes => (said += bytes.toString('latin1')))
    await over
    assert.match(said, /^HTTP\/1\.1 101 /)
  })
})
