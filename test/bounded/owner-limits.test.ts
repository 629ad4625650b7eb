// One owner at its limits: every wire answers 429 in its own words, and other owners notice nothing.
import assert from 'node:assert/strict'
import type { Socket } from 'node:net'
import { describe, test } from 'node:test'
import { WebSocket } from 'ws'
import { type Answer, type Attacked, attacked, type Sent, script, until } from './attack-rig.ts'

const owners = ['ana', 'ben']
const roomy = 1_000_000

function assertLimited({ status, headers, text }: Answer, where: string): unknown {
  assert.equal(status, 429, `${where}: ${text}`)
  assert.match(String(headers['retry-after']), /^[1-9]\d*$/, where)
  return JSON.parse(text)
}

/** One request of each wire, with the place of the words and of the kind in its error body. */
const wires: { sent: Sent; message: string; kind: [path: string, value: unknown] }[] = [
  { sent: { path: '/sessions' }, message: 'error', kind: ['code', 'rate_limited'] },
  { sent: { path: '/aap/v3/meta' }, message: 'error', kind: ['code', 'rate_limited'] },
  { sent: { path: '/agui/helper', body: {} }, message: 'error', kind: ['code', 'rate_limited'] },
  { sent: { path: '/ui/helper', body: {} }, message: 'error', kind: ['code', 'rate_limited'] },
  { sent: { path: '/api/chat', body: {} }, message: 'detail', kind: ['code', 'rate_limited'] },
  {
    sent: { path: '/v1/responses', body: {} },
    message: 'error.message',
    kind: ['error.code', 'rate_limit_exceeded'],
  },
  {
    sent: { path: '/v1/chat/completions', body: {} },
    message: 'error.message',
    kind: ['error.code', 'rate_limit_exceeded'],
  },
  {
    sent: { path: '/v1/messages', body: {} },
    message: 'error.message',
    kind: ['error.type', 'rate_limit_error'],
  },
  {
    sent: { path: '/v1/models', headers: { 'anthropic-version': '2023-06-01' } },
    message: 'error.message',
    kind: ['error.type', 'rate_limit_error'],
  },
  {
    sent: { path: '/v1beta/models/helper:generateContent', body: {} },
    message: 'error.message',
    kind: ['error.status', 'RESOURCE_EXHAUSTED'],
  },
  {
    sent: { path: '/v1/models/helper:generateContent', body: {} },
    message: 'error.message',
    kind: ['error.status', 'RESOURCE_EXHAUSTED'],
  },
  { sent: { path: '/acp', body: {} }, message: 'error', kind: ['code', 'rate_limited'] },
  { sent: { path: '/nowhere' }, message: 'error', kind: ['code', 'rate_limited'] },
]

function at(value: unknown, path: string): unknown {
  return path.split('.').reduce((inner: unknown, name) => Object(inner)[name] as unknown, value)
}

async function upgradeStatus(
  server: Attacked,
  path: string,
  as: string,
): Promise<{ status: number; socket: WebSocket }> {
  const headers = { authorization: `Bearer ${server.keys[as]}` }
  const socket = new WebSocket(`${server.url.replace('http', 'ws')}${path}`, { headers })
  const status = await new Promise<number>((resolve, reject) => {
    socket.once('open', () => resolve(101))
    socket.once('unexpected-response', (_request, response) => {
      assert.equal(response.headers['retry-after'], '1')
      resolve(response.statusCode ?? 0)
    })
    socket.once('error', reject)
  })
  return { status, socket }
}

describe('too many requests', () => {
  test('are refused on every wire in its own words, and only for their owner', async t => {
    const perOwner = { requests: 1, burst: 30 }
    const server = await attacked(t, { owners, config: { server: { perOwner, acp: true } } })
    await until(async () => (await server.send({ path: '/meta', as: 'ana' })).status === 429)
    for (const { sent, message, kind } of wires) {
      const where = `${sent.path} ${JSON.stringify(sent.headers ?? {})}`
      let answer: Answer | undefined
      // One is allowed for each second that has passed.
      await until(async () => {
        answer = await server.send({ ...sent, as: 'ana' })
        return answer.status === 429
      })
      const body = assertLimited(answer!, where)
      assert.match(String(at(body, message)), /Too many requests/, where)
      assert.equal(at(body, kind[0]), kind[1], where)
    }
    const session = await server.session('ben')
    assert.equal((await server.turn(session, 'hello', { as: 'ben' })).status, 200)
    assert.equal((await server.send({ path: '/health' })).status, 200)
    assert.equal((await server.send({ path: '/meta' })).status, 401, 'who has no key costs nobody anything')
  })
})

describe('too many frames', () => {
  test('are read more slowly, and other owners are served meanwhile', async t => {
    const perOwner = { requests: 10, burst: 10 }
    const server = await attacked(t, { owners, config: { server: { perOwner, acp: true } } })
    const { socket } = await upgradeStatus(server, '/acp', 'ana')
    t.after(() => socket.terminate())
    let answers = 0
    socket.on('message', () => (answers += 1))
    const begun = performance.now()
    for (let id = 0; id < 40; id += 1) {
      socket.send(JSON.stringify({ jsonrpc: '2.0', id, method: 'session/list', params: {} }))
      await new Promise(resolve => setTimeout(resolve, 5))
    }
    assert.equal((await server.send({ path: '/meta', as: 'ben' })).status, 200)
    await until(() => answers === 40, 60_000)
    // All but the burst and what one packet may hold had to wait for its turn.
    assert.ok(performance.now() - begun > 1_000, 'it took its time')
  })
})

describe('open streams', () => {
  test('an owner opens 5,000 at once without being slowed down', async t => {
    const server = await attacked(t, { owners })
    const session = await server.session('ana')
    const path = `/sessions/${session}/events`
    const headers = { authorization: `Bearer ${server.keys['ana']}` }
    const statuses = new Map<number, number>()
    const sockets: Socket[] = []
    t.after(() => {
      for (const socket of sockets) socket.destroy()
    })
    const openOne = async (): Promise<void> => {
      const socket = await server.ignore({ path, headers })
      sockets.push(socket)
      const [head] = await new Promise<Buffer[]>(resolve => {
        socket.once('data', data => resolve([data]))
        socket.resume()
      })
      const status = Number(/^HTTP\/1\.1 (\d+)/.exec(String(head))?.[1])
      statuses.set(status, (statuses.get(status) ?? 0) + 1)
    }
    for (let opened = 0; opened < 5_000; opened += 250)
      await Promise.all(Array.from({ length: 250 }, () => openOne()))
    assert.deepEqual([...statuses], [[200, 5_000]])
    const other = await server.session('ben')
    assert.equal((await server.turn(other, 'hello', { as: 'ben' })).status, 200)
  })

  test('are counted on every wire, WebSockets among them, until they are closed', async t => {
    const server = await attacked(t, {
      owners,
      config: { server: { perOwner: { streams: 4 }, acp: true } },
    })
    const session = await server.session('ana')
    const headers = { authorization: `Bearer ${server.keys['ana']}` }
    const stream = await server.ignore({ path: `/sessions/${session}/events`, headers })
    const sockets = [
      await upgradeStatus(server, '/api/ws', 'ana'),
      await upgradeStatus(server, '/acp', 'ana'),
      await upgradeStatus(server, '/acp/helper', 'ana'),
    ]
    t.after(() => {
      for (const { socket } of sockets) socket.terminate()
    })
    assert.deepEqual(
      sockets.map(({ status }) => status),
      [101, 101, 101],
    )
    assert.equal((await upgradeStatus(server, '/acp', 'ana')).status, 429)
    assertLimited(await server.send({ path: '/meta', as: 'ana' }), 'a fifth')
    assert.equal((await server.send({ path: '/meta', as: 'ben' })).status, 200)
    sockets[0]?.socket.terminate()
    stream.destroy()
    await until(async () => (await server.send({ path: '/meta', as: 'ana' })).status === 200)
    const { status, socket } = await upgradeStatus(server, '/acp', 'ana')
    socket.terminate()
    assert.equal(status, 101)
  })
})

describe('what the engine holds', () => {
  test('turns at work are counted, and those that wait for a person are not', async t => {
    const server = await attacked(t, { owners, config: { server: { perOwner: { turns: 2 } } } })
    const sessions = await Promise.all(Array.from({ length: 5 }, () => server.session('ana')))
    const [first = '', second = '', third = '', fourth = '', fifth = ''] = sessions
    const long = script({ calls: [{ name: 'wait', input: { ms: 60_000 } }] })
    const asks = script({ calls: [{ name: 'mail', input: { to: 'x' } }] })
    assert.equal((await server.turn(fifth, asks, { as: 'ana' })).status, 200)
    const running = [first, second].map(session => server.turn(session, long, { as: 'ana' }))
    await until(async () => (await server.turn(third, 'hello', { as: 'ana' })).status === 429)
    assertLimited(await server.turn(fourth, 'hello', { as: 'ana' }), 'a third turn')
    const chat = {
      path: '/api/chat',
      body: { message: 'hello', agent: 'helper', sessionId: third },
      as: 'ana',
    }
    assert.match(JSON.stringify(assertLimited(await server.send(chat), 'on another wire')), /"detail"/)
    const other = await server.session('ben')
    assert.equal((await server.turn(other, 'hello', { as: 'ben' })).status, 200)
    await server.send({ method: 'POST', path: `/sessions/${first}/cancel`, as: 'ana' })
    assert.equal((await running[0])?.status, 200)
    await until(async () => (await server.turn(third, 'hello', { as: 'ana' })).status === 200)
    await server.send({ method: 'POST', path: `/sessions/${second}/cancel`, as: 'ana' })
    await running[1]
  })

  test('sessions are counted, and deleting one makes room', async t => {
    const server = await attacked(t, { owners, config: { server: { perOwner: { sessions: 3 } } } })
    const made = [await server.session('ana'), await server.session('ana'), await server.session('ana')]
    const create = { path: '/sessions', body: { agent: { name: 'helper' } } }
    const refused = await server.send({ ...create, as: 'ana' })
    assertLimited(refused, 'a fourth')
    assert.equal(refused.headers['retry-after'], '60', 'time alone does not help')
    assert.equal((await server.turn(made[0]!, 'hello', { as: 'ana' })).status, 200, 'those that exist go on')
    assert.equal((await server.send({ ...create, as: 'ben' })).status, 201)
    await server.send({ method: 'DELETE', path: `/sessions/${made[1]}`, as: 'ana' })
    assert.equal((await server.send({ ...create, as: 'ana' })).status, 201)
  })

  test('bytes are counted: an owner that has stored too many can still read and delete', async t => {
    const perOwner = { bytes: roomy }
    const server = await attacked(t, { owners, config: { server: { perOwner } } })
    const session = await server.session('ana')
    const large = script({ fillText: roomy })
    assert.equal((await server.turn(session, large, { as: 'ana' })).status, 200)
    await until(async () => (await server.turn(session, 'hello', { as: 'ana' })).status === 429)
    const create = { path: '/sessions', body: { agent: { name: 'helper' } } }
    assert.match(
      JSON.stringify(assertLimited(await server.send({ ...create, as: 'ana' }), 'create')),
      /Delete/,
    )
    assert.equal(
      (await server.send({ path: `/sessions/${session}/history?type=full`, as: 'ana' })).status,
      200,
    )
    assert.equal((await server.send({ ...create, as: 'ben' })).status, 201)
    await server.send({ method: 'DELETE', path: `/sessions/${session}`, as: 'ana' })
    assert.equal((await server.send({ ...create, as: 'ana' })).status, 201)
  })
})
