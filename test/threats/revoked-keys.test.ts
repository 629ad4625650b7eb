// A key that is revoked while connections of it are open: no further frame is taken from them, and none is sent.
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { WebSocket } from 'ws'
import { addKey, newKey, removeKey } from '../../src/callers/keys.ts'
import { OperatorClient } from '../../src/client/index.ts'
import { scripted, startServer, Turnwire, tool } from '../../src/index.ts'

const limited = { timeout: 120_000 }
const boss = newKey('boss', true)
/** Longer than any test. */
const never = 1_000_000

/** `hold`: the tool returns once it is over. */
type ServedOptions = { heartbeatMs: number; open?: boolean; hold?: Promise<void> }

async function served(t: TestContext, options: ServedOptions) {
  const folder = mkdtempSync(join(tmpdir(), 'turnwire-revoked-'))
  let asked = 0
  const look = tool({
    name: 'look',
    description: 'Looks.',
    input: { type: 'object' },
    readOnly: true,
    trust: 'trusted',
    run: async () => {
      asked += 1
      await options.hold
      return 'seen'
    },
  })
  const model = scripted({
    steps: [{ calls: [{ name: 'look', input: {} }] }, { text: 'Done.' }],
    whenOver: 'repeat-last',
  })
  const { heartbeatMs, open = false } = options
  const turnwire = await Turnwire.open({
    data: folder,
    agents: [{ name: 'helper', model, tools: [look] }],
    server: { ...(!open && { keys: [boss.entry] }), heartbeatMs, acp: true, graceMs: 50, log: 'error' },
  })
  const server = await startServer(turnwire, { port: 0 })
  t.after(async () => {
    await server.stop()
    rmSync(folder, { recursive: true, force: true })
  })
  return { url: server.url, folder, ran: () => asked }
}

type Peer = { socket: WebSocket; closed: Promise<[number, string]>; frames: string[] }

async function connect(t: TestContext, url: string, path: string, key?: string): Promise<Peer> {
  const headers = key === undefined ? {} : { authorization: `Bearer ${key}` }
  const socket = new WebSocket(url.replace('http', 'ws') + path, { headers })
  t.after(() => socket.terminate())
  const frames: string[] = []
  socket.on('message', data => void frames.push((data as Buffer).toString())) // a text frame is a buffer here
  const closed = new Promise<[number, string]>(resolve =>
    socket.on('close', (code, reason) => resolve([code, reason.toString()])),
  )
  await new Promise((resolve, reject) => socket.once('open', resolve).once('error', reject))
  return { socket, closed, frames }
}

const frames = {
  '/api/ws': { message: 'Look' },
  '/api/ws/helper': { message: 'Look' },
  '/v1/responses': { type: 'response.create', response: { model: 'helper', input: 'Look' } },
  '/acp': { jsonrpc: '2.0', id: 1, method: 'initialize', params: { protocolVersion: 1 } },
  '/acp/helper': { jsonrpc: '2.0', id: 1, method: 'initialize', params: { protocolVersion: 1 } },
}

const revoked: [number, string] = [1008, 'The key was revoked.']

test('a socket takes no frame of a key that was revoked, and is closed with 1008', limited, async t => {
  const { url, folder, ran } = await served(t, { heartbeatMs: never })
  const key = addKey(folder, 'ana')
  const peers = await Promise.all(
    Object.entries(frames).map(async ([path, frame]) => ({
      path,
      frame,
      ...(await connect(t, url, path, key)),
    })),
  )
  removeKey(folder, 'ana')
  for (const { path, frame, socket, closed, frames: got } of peers) {
    socket.send(JSON.stringify(frame))
    assert.deepEqual(await closed, revoked, path)
    assert.deepEqual(got, [], path)
  }
  assert.equal(ran(), 0)
  const boss1 = new OperatorClient({ baseUrl: url, apiKey: boss.key })
  assert.deepEqual((await boss1.sessions()).sessions, [])
})

test(
  'a socket that is silent is closed at the next heartbeat; one of another key stays',
  limited,
  async t => {
    // A ping that is not answered by the next one closes a socket too, and a busy process answers late.
    const { url, folder } = await served(t, { heartbeatMs: 1_000 })
    const key = addKey(folder, 'ana')
    const other = await connect(t, url, '/api/ws', boss.key)
    const peers = await Promise.all(Object.keys(frames).map(path => connect(t, url, path, key)))
    removeKey(folder, 'ana')
    for (const { closed } of peers) assert.deepEqual(await closed, revoked)
    assert.equal(other.socket.readyState, WebSocket.OPEN)
  },
)

test('what a run says later is not sent to a key that was revoked', limited, async t => {
  const hold = Promise.withResolvers<void>()
  const { url, folder } = await served(t, { heartbeatMs: never, hold: hold.promise })
  const key = addKey(folder, 'ana')
  const { socket, closed, frames: got } = await connect(t, url, '/api/ws', key)
  // The answer ends only after the key is gone.
  socket.once('message', () => {
    removeKey(folder, 'ana')
    hold.resolve()
  })
  socket.send(JSON.stringify(frames['/api/ws']))
  assert.deepEqual(await closed, revoked)
  assert.ok(!got.some(frame => frame.includes('Done.')), got.join('\n'))
})

test('streams of a revoked key break off before they show anything more', limited, async t => {
  const { url, folder } = await served(t, { heartbeatMs: never })
  const key = addKey(folder, 'eve', true)
  const asBoss = new OperatorClient({ baseUrl: url, apiKey: boss.key })
  const { id } = await asBoss.create({ agent: 'helper' })
  const headers = { authorization: `Bearer ${key}` }
  const streams = await Promise.all(
    ['/operator/changes', `/operator/sessions/${id}/follow`].map(async path => {
      const answer = await fetch(url + path, { headers })
      assert.equal(answer.status, 200)
      return readAll(answer)
    }),
  )
  removeKey(folder, 'eve')
  await asBoss.command(id, { do: 'say', text: 'A secret of the boss' })
  await asBoss.create({ agent: 'helper' })
  for (const stream of streams) {
    const { text, failed } = await stream.done
    assert.ok(failed, 'a reader does not take it for the end')
    assert.doesNotMatch(text, /secret of the boss|"running"/)
  }
})

test('a quiet stream ends at its heartbeat once its key is revoked', limited, async t => {
  const { url, folder } = await served(t, { heartbeatMs: 30 })
  const open = async (key: string) => {
    const answer = await fetch(`${url}/operator/changes`, { headers: { authorization: `Bearer ${key}` } })
    return readAll(answer)
  }
  const kept = await open(boss.key)
  const gone = await open(addKey(folder, 'ana'))
  removeKey(folder, 'ana')
  assert.ok((await gone.done).failed)
  assert.equal(kept.isOver(), false)
})

test('whoever came to a server without keys goes when it gets one', limited, async t => {
  const { url, folder } = await served(t, { heartbeatMs: never, open: true })
  const { socket, closed } = await connect(t, url, '/api/ws')
  const answer = await fetch(`${url}/operator/changes`)
  const stream = readAll(answer)
  const key = addKey(folder, 'boss', true)
  socket.send(JSON.stringify(frames['/api/ws']))
  assert.deepEqual(await closed, revoked)
  await new OperatorClient({ baseUrl: url, apiKey: key }).create({ agent: 'helper' })
  const { text, failed } = await stream.done
  assert.ok(failed)
  assert.doesNotMatch(text, /"helper"/)
})

function readAll(answer: Response) {
  let isOver = false
  const done = (async () => {
    let text = ''
    let failed = false
    try {
      for await (const chunk of answer.body!.pipeThrough(new TextDecoderStream())) text += chunk
    } catch {
      failed = true
    }
    isOver = true
    return { text, failed }
  })()
  return { done, isOver: () => isOver }
}
