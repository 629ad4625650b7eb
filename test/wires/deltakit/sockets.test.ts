// Runs over a WebSocket, and who may open one.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { type TestContext, test } from 'node:test'
import { WebSocket } from 'ws'
import { cites } from '../../requirements/manifest.ts'
import { clipboard, type Rig, rig, until } from '../rig.ts'
import { readEvents, textIn, type Wire } from './reference-client.ts'

class Peer {
  readonly frames: Wire[] = []
  readonly #socket: WebSocket
  code: number | undefined

  constructor(socket: WebSocket) {
    this.#socket = socket
    socket.on('message', (data, binary) => {
      assert.equal(binary, false)
      // Text frames arrive as a buffer.
      this.frames.push(JSON.parse((data as Buffer).toString()) as Wire)
    })
    socket.on('close', code => {
      this.code = code
    })
  }

  send(frame: unknown): void {
    this.#socket.send(typeof frame === 'string' || Buffer.isBuffer(frame) ? frame : JSON.stringify(frame))
  }

  close(): void {
    this.#socket.close()
  }

  /** Waits for the next frame of a type, from `from` on. */
  async next(type: string, from = 0): Promise<Wire> {
    await until(() => this.frames.slice(from).some(frame => frame.type === type) || this.code !== undefined)
    return this.frames.slice(from).find(frame => frame.type === type)!
  }

  async closed(): Promise<number> {
    await until(() => this.code !== undefined)
    return this.code!
  }
}

async function open(t: TestContext, at: Rig, path = '/api/ws'): Promise<Peer> {
  const socket = new WebSocket(at.url.replace('http', 'ws') + path, { headers: at.headers() })
  t.after(() => socket.terminate())
  const peer = new Peer(socket)
  await new Promise((resolve, reject) => socket.once('open', resolve).once('error', reject))
  return peer
}

const plain = (frames: Wire[]): object[] => frames.map(({ id: _id, ...event }) => event)
const script = [
  { text: 'one two ', calls: [{ name: 'search', input: { q: 'a' } }], chunk: 2 },
  { text: 'three' },
]

test(cites('DK-WS-01', 'DK-WS-02', 'a run over a socket, and another after it'), async t => {
  const at = await rig(t, { script })
  const peer = await open(t, at)
  peer.send({ message: 'go', colour: 'blue' })
  await peer.next('done')
  const [first] = peer.frames
  assert.equal(first?.type, 'run_started')
  const runId = String(first?.['runId'])
  const job = await readEvents(await at.request('GET', `/api/jobs/${runId}/events`))
  assert.deepEqual(plain(peer.frames.slice(1)), job)
  assert.deepEqual(
    peer.frames.map(frame => frame['id']),
    peer.frames.map((_, index) => index),
  )
  const before = peer.frames.length
  peer.send({ message: 'more', sessionId: first?.['sessionId'] })
  await peer.next('done', before)
  assert.equal(peer.frames[before]?.type, 'run_started')
  assert.equal(peer.code, undefined)
})

test(cites('DK-WS-01', 'the agent may be in the path'), async t => {
  const peer = await open(t, await rig(t), '/api/ws/other')
  peer.send({ message: 'go' })
  await peer.next('done')
  assert.equal(textIn(peer.frames), 'the other one')
})

test(cites('DK-WS-03', 'DK-WS-04', 'DK-WS-13', 'a run is resumed on another socket'), async t => {
  const at = await rig(t, {
    script: [{ text: 'one two ', calls: [{ name: 'slow' }], chunk: 1 }, { text: 'three four' }],
  })
  const first = await open(t, at)
  first.send({ message: 'go' })
  await first.next('tool_call')
  const runId = first.frames[0]!['runId']
  first.close()
  await first.closed()
  at.release()
  const second = await open(t, at)
  second.send({ runId })
  await second.next('done')
  assert.equal(second.frames[0]?.type, 'run_started')
  assert.equal(textIn(second.frames), 'one two three four')
  for (const last of [-1, 0, 2, 4]) {
    const third = await open(t, at)
    third.send({ runId, lastEventId: last })
    await third.next('done')
    assert.deepEqual(third.frames, second.frames.slice(last + 1))
  }
})

test(cites('DK-WS-05', 'DK-WS-06', 'a refusal is an error event, and the socket stays open'), async t => {
  const at = await rig(t)
  const peer = await open(t, at)
  peer.send({ runId: 'nothing.1' })
  assert.equal((await peer.next('error'))['message'], 'Run not found')
  peer.send({})
  assert.equal((await peer.next('error', 1))['message'], 'Expected either `message` or `runId` in payload')
  peer.send({ message: 'x', sessionId: 'sess_none' })
  assert.match(String((await peer.next('error', 2))['message']), /not found/)
  peer.send({ message: 'x' })
  await peer.next('done')
  assert.equal(peer.code, undefined)
})

test(cites('DK-WS-07', 'a frame that breaks the protocol closes the socket'), async t => {
  const at = await rig(t)
  const frames = [
    '{',
    '[]',
    '"x"',
    { message: 7 },
    { runId: 7 },
    { runId: 'x.1', lastEventId: 'y' },
    Buffer.from('{}'),
  ]
  for (const frame of frames) {
    const peer = await open(t, at)
    peer.send(frame)
    assert.equal(await peer.closed(), 1003, JSON.stringify(frame))
    assert.equal(peer.frames[0]?.type, 'error')
  }
  assert.equal((await at.sessions.list('alice', { limit: 5 })).rows.length, 0)
})

test(cites('DK-WS-08', 'a run that fails'), async t => {
  const at = await rig(t, { script: [{ fail: { code: 'model_failed', message: 'Away.' } }] })
  const peer = await open(t, at)
  peer.send({ message: 'x' })
  assert.equal((await peer.next('error'))['message'], 'Away.')
  assert.ok(!peer.frames.some(frame => frame.type === 'done'))
})

test(cites('DK-WS-09', 'a message with the id of a run'), async t => {
  const at = await rig(t, { script: [{ calls: [{ name: 'slow' }] }, { text: 'first' }, { text: 'second' }] })
  const peer = await open(t, at)
  peer.send({ message: 'go' })
  await peer.next('tool_call')
  const runId = peer.frames[0]!['runId']
  const other = await open(t, at)
  other.send({ message: 'more', runId })
  await other.next('tool_call')
  assert.equal(other.frames[0]?.['runId'], runId)
  at.release()
  await other.next('done')
  const before = other.frames.length
  other.send({ message: 'more', runId })
  await other.next('done', before)
  const started = other.frames[before]!
  assert.notEqual(started['runId'], runId)
  assert.equal(started['sessionId'], peer.frames[0]!['sessionId'])
  assert.deepEqual(plain(other.frames.slice(before + 1)), [
    { type: 'text_delta', delta: 'second' },
    { type: 'done' },
  ])
})

test(cites('DK-WS-10', 'a cancelled run'), async t => {
  const at = await rig(t, { script: [{ calls: [{ name: 'slow' }] }, { text: 'never' }] })
  const peer = await open(t, at)
  peer.send({ message: 'go' })
  await until(() => at.runs.length === 1 && peer.frames.length > 0)
  await at.request('POST', `/api/jobs/${String(peer.frames[0]!['runId'])}/cancel`)
  await peer.next('done')
  assert.equal(peer.frames.at(-1)?.type, 'done')
})

test(cites('DK-WS-11', 'answers over the socket'), async t => {
  const at = await rig(t, {
    script: [{ calls: [{ name: 'mail', input: { to: 'ana' } }, { name: 'clipboard' }] }, { text: 'ok' }],
  })
  const peer = await open(t, at)
  peer.send({ message: 'go', tools: [clipboard] })
  const asked = await peer.next('tool_approval_request')
  const handed = await peer.next('tool_execute_request')
  const runId = peer.frames[0]!['runId']
  peer.send({ runId, approvals: [{ call_id: 'nobody', approved: true }] })
  assert.equal((await peer.next('error'))['code'], 'unknown_call')
  peer.send({
    runId,
    approvals: [{ call_id: asked['call_id'], approved: true }],
    results: [{ call_id: handed['call_id'], output: 'pasted' }],
  })
  await peer.next('done')
  assert.equal(peer.frames.filter(frame => frame.type === 'tool_result').length, 2)
})

async function refusal(url: string, options: { headers?: Record<string, string>; protocols?: string[] }) {
  const socket = new WebSocket(url, options.protocols ?? [], { headers: options.headers ?? {} })
  return new Promise<number | string>(resolve => {
    socket.once('open', () => {
      resolve(socket.protocol)
      socket.close()
    })
    socket.once('unexpected-response', (_request, response) => {
      resolve(response.statusCode ?? 0)
      response.resume()
    })
    socket.once('error', () => {})
  })
}

test(cites('DK-WS-12', 'a socket passes the same checks as a request'), async t => {
  const at = await rig(t)
  const url = `${at.url.replace('http', 'ws')}/api/ws`
  const key = at.headers()['authorization']!.slice('Bearer '.length)
  assert.equal(await refusal(url, {}), 401)
  assert.equal(await refusal(url, { headers: { authorization: 'Bearer wrong' } }), 401)
  assert.equal(await refusal(url, { headers: { 'x-api-key': key } }), '')
  assert.equal(await refusal(url, { protocols: ['turnwire', `bearer.${key}`] }), 'turnwire')
  assert.equal(await refusal(url, { protocols: ['turnwire', 'bearer.wrong'] }), 401)
  assert.equal(await refusal(url, { headers: { ...at.headers(), origin: 'https://evil.example' } }), 403)
  assert.equal(await refusal(url, { headers: { ...at.headers(), host: 'evil.example' } }), 403)
  assert.equal(await refusal(`${url}/a/b`, { headers: at.headers() }), 404)
  assert.equal(await refusal(`${url.replace('/api/ws', '')}/%zz`, { headers: at.headers() }), 404)
})

test(cites('DK-WS-12', 'another owner cannot resume a run'), async t => {
  const at = await rig(t)
  const { runId } = (await (await at.request('POST', '/api/jobs', { message: 'x' })).json()) as {
    runId: string
  }
  const socket = new WebSocket(`${at.url.replace('http', 'ws')}/api/ws`, { headers: at.headers('bob') })
  t.after(() => socket.terminate())
  const peer = new Peer(socket)
  await new Promise(resolve => socket.once('open', resolve))
  peer.send({ runId })
  assert.equal((await peer.next('error'))['message'], 'Run not found')
})

test('a server that stops closes its sockets', async t => {
  const at = await rig(t, { script: [{ text: 'x y', hang: true }] })
  const peer = await open(t, at)
  peer.send({ message: 'go' })
  await peer.next('text_delta')
  await at.stop()
  assert.equal(await peer.closed(), 1001)
  assert.match(String(peer.frames.at(-1)?.['message']), /stopping/)
})

test('a peer that is silent is dropped', async t => {
  const at = await rig(t, { heartbeatMs: 10 })
  const socket = new WebSocket(`${at.url.replace('http', 'ws')}/api/ws`, {
    headers: at.headers(),
    autoPong: false,
  })
  t.after(() => socket.terminate())
  const peer = new Peer(socket)
  assert.equal(await peer.closed(), 1006)
})

test('a flood of frames ends the socket, and not the server', async t => {
  const at = await rig(t, { script: [{ text: 'ok' }] })
  const peer = await open(t, at)
  for (let count = 0; count < 500; count += 1) peer.send({ runId: `run-${count}` })
  assert.equal(await peer.closed(), 1008)
  const next = await open(t, at)
  next.send({ message: 'go' })
  await next.next('done')
  assert.equal(textIn(next.frames), 'ok')
})

test('a socket that is refused is closed, though its peer does not hang up', async t => {
  const at = await rig(t)
  const { hostname, port } = new URL(at.url)
  const socket = connect({ host: hostname, port: Number(port), allowHalfOpen: true })
  t.after(() => socket.destroy())
  const lost = new Promise<Error>(resolve => void socket.on('error', resolve))
  socket.write(
    `GET /api/ws HTTP/1.1\r\nHost: ${hostname}:${port}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n` +
      'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n',
  )
  const [head] = (await once(socket, 'data')) as [Buffer]
  assert.match(head.toString(), /^HTTP\/1\.1 401 /)
  // To a socket that is merely half closed one could write for ever.
  const writing = setInterval(() => socket.write('still here'), 5)
  t.after(() => clearInterval(writing))
  assert.match((await lost).message, /EPIPE|ECONNRESET/)
})

test('a message while a run goes on steers it, or is shown as a run of its own afterwards', async t => {
  const at = await rig(t, {
    script: [{ calls: [{ name: 'slow' }] }, { text: 'In blue.' }, { text: 'Tidy.' }],
  })
  const peer = await open(t, at)
  peer.send({ message: 'paint' })
  const { sessionId } = (await peer.next('run_started')) as unknown as { sessionId: string }
  await until(() => at.runs.length > 0)
  peer.send({ message: 'no', sessionId })
  assert.equal(((await peer.next('error')) as unknown as { code: string }).code, 'busy')
  peer.send({ message: 'in blue', sessionId, during: 'steer' })
  await until(() => peer.frames.filter(({ type }) => type === 'message_queued').length === 1)
  const queued = await at.request('POST', '/api/jobs', { message: 'then tidy', sessionId, during: 'queue' })
  assert.equal(queued.status, 202)
  assert.equal(((await queued.json()) as { status: string }).status, 'queued')
  at.release()
  await until(() => peer.frames.filter(({ type }) => type === 'done').length === 2)
  const runs = peer.frames.filter(({ type }) => type === 'run_started') as unknown as { runId: string }[]
  assert.equal(runs.length, 2)
  const text = textIn(peer.frames)
  assert.match(text, /In blue\..*Tidy\./s)
  const job = (await (await at.request('GET', `/api/jobs/${runs[1]?.runId}`)).json()) as { status: string }
  assert.equal(job.status, 'completed')
  const session = await at.turnwire.resume(sessionId, { owner: 'alice' })
  assert.match(JSON.stringify(await session.history()), /in blue/)
})
