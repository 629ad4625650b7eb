// The wires inside a server of the application: `turnwire.fetch` and `turnwire.node`.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Duplex } from 'node:stream'
import { json } from 'node:stream/consumers'
import { type TestContext, test } from 'node:test'
import { WebSocket } from 'ws'
import { newKey } from '../../src/callers/keys.ts'
import { wireNames } from '../../src/config/config.ts'
import { type ServerConfig, scripted, startServer, Turnwire } from '../../src/index.ts'
import type { ScriptStep } from '../../src/models/scripted/index.ts'
import { consoleFolder } from '../../src/server/console-files.ts'
import { wires } from '../../src/server/wires.ts'

const byHeader = (request: Request) => {
  const owner = request.headers.get('x-user')
  return owner === null ? undefined : { owner }
}

async function opened(t: TestContext, server: ServerConfig, steps: ScriptStep[] = [{ text: 'Hello.' }]) {
  const turnwire = await Turnwire.open({
    agents: [{ name: 'helper', model: scripted(steps) }],
    data: 'memory',
    server,
  })
  t.after(() => turnwire.close())
  return turnwire
}

async function owned(turnwire: Turnwire, owner: string): Promise<string[]> {
  const ids: string[] = []
  for await (const { id } of turnwire.sessions({ owner })) ids.push(id)
  return ids
}

const ask = (address: string, user?: string, more: RequestInit = {}) =>
  new Request(address, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...(user !== undefined && { 'x-user': user }) },
    body: JSON.stringify({ model: 'helper', input: 'Hi', stream: true }),
    ...more,
  })

async function listening(
  t: TestContext,
  listener: (...given: Parameters<RequestListener>) => unknown,
): Promise<string> {
  const server = createServer((request, response) => void listener(request, response)).listen(0, '127.0.0.1')
  t.after(() => server.close())
  await new Promise(resolve => server.once('listening', resolve))
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

test('a web-standard request is answered as a stream, for the caller that the application knows', async t => {
  const turnwire = await opened(t, { path: '/agents', authenticate: byHeader })
  const answer = await turnwire.fetch(ask('https://app.example/agents/v1/responses', 'ann'))
  assert.equal(answer.status, 200)
  assert.equal(answer.headers.get('content-type'), 'text/event-stream')
  assert.equal(answer.headers.get('connection'), null)
  assert.match(await answer.text(), /Hello\.[\s\S]*response\.completed/)
  assert.equal((await owned(turnwire, 'ann')).length, 1)
  assert.equal((await owned(turnwire, 'bob')).length, 0)
})

test('a caller that nobody knows is refused, and a key still counts', async t => {
  const { key, entry } = newKey('script')
  const turnwire = await opened(t, { authenticate: byHeader, keys: [entry] })
  const refused = await turnwire.fetch(ask('https://app.example/v1/responses'))
  assert.equal(refused.status, 401)
  assert.equal(refused.headers.get('www-authenticate'), 'Bearer')
  const meta = new Request('https://app.example/meta', { headers: { 'x-api-key': key } })
  assert.equal((await turnwire.fetch(meta)).status, 200)
})

test('without a key and without authenticate nobody is let in: it says what to write', async t => {
  const turnwire = await opened(t, {})
  await assert.rejects(turnwire.fetch(ask('https://app.example/v1/responses')), {
    code: 'config_invalid',
    message: /Say who calls, server: \{ authenticate/,
  })
})

test('a caller without an owner is a defect of the application, not a caller', async t => {
  const turnwire = await opened(t, { authenticate: () => ({ owner: '' }) })
  const answer = await turnwire.fetch(ask('https://app.example/v1/responses', 'ann'))
  assert.equal(answer.status, 500)
})

test('a page of another origin is refused, one of the same host is not', async t => {
  const turnwire = await opened(t, { authenticate: byHeader })
  const from = (origin: string) =>
    turnwire.fetch(
      new Request('https://app.example/meta', { headers: { origin, 'x-user': 'ann', host: 'app.example' } }),
    )
  assert.equal((await from('https://evil.example')).status, 403)
  const own = await from('https://app.example')
  assert.equal(own.status, 200)
  assert.equal(own.headers.get('access-control-allow-origin'), 'https://app.example')
})

test('only the chosen wires are served, and only under the path', async t => {
  const turnwire = await opened(t, { path: '/agents', wires: ['responses'], authenticate: byHeader })
  const status = async (path: string) =>
    (await turnwire.fetch(ask(`https://app.example${path}`, 'ann'))).status
  assert.equal(await status('/agents/v1/responses'), 200)
  assert.equal(await status('/agents/v1/chat/completions'), 404)
  assert.equal(await status('/v1/responses'), 404)
  assert.equal(await status('/agentsmore/v1/responses'), 404)
})

test('an answer that its reader leaves ends the turn’s stream, and one that is aborted too', async t => {
  const turnwire = await opened(t, { authenticate: byHeader }, [{ text: 'Hello.' }, { text: 'Hello.' }])
  const left = await turnwire.fetch(ask('https://app.example/v1/responses', 'ann'))
  await left.body?.cancel()
  const gone = new AbortController()
  const aborted = await turnwire.fetch(
    ask('https://app.example/v1/responses', 'ann', { signal: gone.signal }),
  )
  gone.abort()
  await assert.rejects(aborted.text())
  // A counted answer that never closed would be in the way of this.
  assert.equal(
    (await turnwire.fetch(new Request('https://app.example/health'))).status,
    200,
    'it goes on with the others',
  )
})

test('node: a plain server, with what the application has put on the request', async t => {
  const turnwire = await opened(t, {
    path: '/agents',
    authenticate: (_, incoming: IncomingMessage & { user?: string }) =>
      incoming.user === undefined ? undefined : { owner: incoming.user },
  })
  const url = await listening(t, (request, response) => {
    Object.assign(request, { user: 'ann' })
    void turnwire.node(request, response)
  })
  const answer = await fetch(ask(`${url}/agents/v1/responses`))
  assert.match(await answer.text(), /Hello\./)
  assert.equal((await fetch(`${url}/elsewhere`)).status, 404)
  assert.equal((await owned(turnwire, 'ann')).length, 1)
})

test('node: a body that a framework has read before is taken from it; a path elsewhere is left to the next handler', async t => {
  const turnwire = await opened(t, { path: '/agents', authenticate: byHeader })
  const url = await listening(t, async (request, response) => {
    if (request.method === 'POST') Object.assign(request, { body: await json(request) })
    await turnwire.node(request, response, () => response.end('next'))
  })
  assert.match(await (await fetch(ask(`${url}/agents/v1/responses`, 'ann'))).text(), /Hello\./)
  assert.equal(await (await fetch(`${url}/elsewhere`)).text(), 'next')
})

test('node: a mount that cannot be opened answers 500, and tells Express and the log why', async t => {
  const lines: string[] = []
  const turnwire = await Turnwire.open(
    { agents: [{ name: 'helper', model: scripted([]) }], data: 'memory' },
    { log: (_, message, fields) => void lines.push(`${message} ${JSON.stringify(fields)}`) },
  )
  t.after(() => turnwire.close())
  let told: unknown
  const url = await listening(t, (request, response) =>
    turnwire.node(request, response, request.url === '/express' ? tell(response) : undefined),
  )
  const tell = (response: ServerResponse) => (error: unknown) => {
    told = error
    response.end('told')
  }
  assert.equal((await fetch(url)).status, 500)
  assert.match(lines.join('\n'), /would let everyone in/)
  assert.equal(await (await fetch(`${url}/express`)).text(), 'told')
  assert.match(String(told), /would let everyone in/)
})

test('a large answer is read at its reader’s pace', async t => {
  const text = 'word '.repeat(40_000)
  const turnwire = await opened(t, { authenticate: byHeader }, [{ text }])
  const answer = await turnwire.fetch(
    ask('https://app.example/v1/responses', 'ann', {
      body: JSON.stringify({ model: 'helper', input: 'Hi' }),
    }),
  )
  const { output } = (await answer.json()) as { output: { content: { text: string }[] }[] }
  assert.equal(output[0]?.content[0]?.text, text)
})

test('a server with a port asks the application too, and is then open to no one else', async t => {
  const turnwire = await opened(t, { authenticate: byHeader, wires: ['responses'] })
  const server = await startServer(turnwire, { port: 0 })
  t.after(() => server.stop())
  assert.equal(server.open, false)
  assert.equal((await fetch(ask(`${server.url}/v1/responses`))).status, 401)
  assert.equal((await fetch(ask(`${server.url}/v1/responses`, 'ann'))).status, 200)
})

test('the names that a configuration may choose are those of the wires', () => {
  assert.deepEqual(
    [...wireNames],
    wires.map(({ name }) => name),
  )
})

test('wrong settings of the mount are refused with what to write', async () => {
  const open = (server: object) =>
    Turnwire.open({ agents: [{ name: 'a', model: scripted([]) }], data: 'memory', server })
  await assert.rejects(open({ path: 'agents/' }), /server\.path.*like "\/agents"/)
  await assert.rejects(open({ wires: ['respones'] }), /server\.wires.*list of: aap/)
  await assert.rejects(open({ authenticate: 'me' }), /server\.authenticate.*function/)
})

// ---- WebSockets ----------------------------------------------------------------------------------------------

async function upgrading(
  t: TestContext,
  turnwire: Turnwire,
  other?: (stream: Duplex) => void,
): Promise<string> {
  const server = createServer((request, response) => void turnwire.node(request, response))
  server.on('upgrade', (...upgrade) => void turnwire.upgrade(...upgrade))
  if (other) server.on('upgrade', (_, stream) => other(stream))
  server.listen(0, '127.0.0.1')
  t.after(() => server.close())
  await once(server, 'listening')
  return `ws://127.0.0.1:${(server.address() as AddressInfo).port}`
}

async function refusal(socket: WebSocket): Promise<number> {
  socket.on('error', () => {})
  const [, response] = (await once(socket, 'unexpected-response')) as [unknown, IncomingMessage]
  socket.terminate()
  return response.statusCode ?? 0
}

test('upgrade: a WebSocket under the path, for the caller that the application knows', async t => {
  const { key, entry } = newKey('script')
  const turnwire = await opened(t, { path: '/agents', authenticate: byHeader, keys: [entry] })
  const url = await upgrading(t, turnwire)
  const socket = new WebSocket(`${url}/agents/v1/responses`, { headers: { 'x-user': 'ann' } })
  t.after(() => socket.terminate())
  await once(socket, 'open')
  const frames: string[] = []
  const ended = Promise.withResolvers<void>()
  socket.on('message', (data: Buffer) => {
    frames.push(data.toString())
    if (data.includes('response.completed')) ended.resolve()
  })
  socket.send(JSON.stringify({ type: 'response.create', model: 'helper', input: 'Hi' }))
  await ended.promise
  assert.match(frames.join('\n'), /Hello\./)
  assert.deepEqual([(await owned(turnwire, 'ann')).length, (await owned(turnwire, 'bob')).length], [1, 0])

  assert.equal(await refusal(new WebSocket(`${url}/agents/v1/responses`)), 401)
  const foreign = { 'x-user': 'ann', origin: 'https://evil.example' }
  assert.equal(await refusal(new WebSocket(`${url}/agents/v1/responses`, { headers: foreign })), 403)
  assert.equal(await refusal(new WebSocket(`${url}/agents/nothing`, { headers: { 'x-user': 'ann' } })), 404)
  const byKey = new WebSocket(`${url}/agents/v1/responses`, { headers: { authorization: `Bearer ${key}` } })
  t.after(() => byKey.terminate())
  await once(byKey, 'open')
})

test('upgrade: a request elsewhere is left to other listeners, and a caller that cannot be asked about is refused', async t => {
  const turnwire = await opened(t, {
    path: '/agents',
    authenticate: () => {
      throw new Error('the database is down')
    },
  })
  const url = await upgrading(t, turnwire, stream => {
    if (stream.writable && !stream.closed) stream.end('HTTP/1.1 418 Other\r\nConnection: close\r\n\r\n')
  })
  assert.equal(await refusal(new WebSocket(`${url}/chat`)), 418)
  const alone = await upgrading(t, turnwire)
  assert.equal(await refusal(new WebSocket(`${alone}/agents/v1/responses`)), 500)
})

test('upgrade: a server with a port asks the application about WebSockets too', async t => {
  const turnwire = await opened(t, { authenticate: byHeader })
  const server = await startServer(turnwire, { port: 0 })
  t.after(() => server.stop())
  const url = `${server.url.replace('http', 'ws')}/v1/responses`
  assert.equal(await refusal(new WebSocket(url)), 401)
  const socket = new WebSocket(url, { headers: { 'x-user': 'ann' } })
  await once(socket, 'open')
  socket.terminate()
})

// ---- the console ---------------------------------------------------------------------------------------------

const page = (address: string) => new Request(address, { headers: { accept: 'text/html' } })

test('the pages of the console are served under the path, with that path in their addresses', async t => {
  if (consoleFolder() === undefined) return t.skip('the console was not built: npm run console')
  const turnwire = await opened(t, { path: '/agents', authenticate: byHeader })
  for (const path of ['/agents', '/agents/', '/agents/sessions/x']) {
    const answer = await turnwire.fetch(page(`https://app.example${path}`))
    assert.equal(answer.status, 200)
    const html = await answer.text()
    assert.match(html, /<meta name="turnwire-mount" content="\/agents"/)
    const files = [...html.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, file = '']) => file)
    assert.ok(files.length >= 3 && files.every(file => file.startsWith('/agents/console/')), files.join())
    for (const file of files) {
      const got = await turnwire.fetch(new Request(`https://app.example${file}`))
      assert.equal(got.status, 200, file)
      await got.arrayBuffer()
    }
  }
})

test('at the root of an application, and without the operator’s wire, no page is taken over', async t => {
  for (const server of [{}, { path: '/agents', wires: ['responses'] as const }]) {
    const turnwire = await opened(t, { ...server, authenticate: byHeader })
    for (const path of ['', '/sessions/x', '/nothing']) {
      const answer = await turnwire.fetch(page(`https://app.example${server.path ?? ''}${path}`))
      assert.doesNotMatch(answer.headers.get('content-type') ?? '', /html/)
      await answer.arrayBuffer()
    }
  }
})
