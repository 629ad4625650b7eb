// The protocol over HTTP and WebSocket, on a whole server: the SDK's own clients, keys, and who may see what.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { get, type IncomingMessage } from 'node:http'
import { describe, type TestContext, test } from 'node:test'
import { client as clientApp, type McpServer, type Stream } from '@agentclientprotocol/sdk'
import { createHttpStream } from '@agentclientprotocol/sdk/experimental/http-client'
import { createWebSocketStream } from '@agentclientprotocol/sdk/experimental/ws-client'
import { WebSocket } from 'ws'
import { newKey } from '../../../src/callers/keys.ts'
import type { ServerConfig } from '../../../src/config/config.ts'
import { Turnwire } from '../../../src/library/turnwire.ts'
import { scripted } from '../../../src/models/scripted/index.ts'
import { startServer } from '../../../src/server/server.ts'
import { tool } from '../../../src/tools/index.ts'
import { cites } from '../../requirements/manifest.ts'
import { codeOf, cwd } from './rig.ts'

type Server = { url: string; keys: { ana: string; bo: string } }

async function serve(context: TestContext, acp = true, more: ServerConfig = {}): Promise<Server> {
  const [ana, bo] = [newKey('ana'), newKey('bo')]
  const mail = tool({ name: 'mail', description: 'Sends.', input: { type: 'object' }, run: () => 'sent' })
  const turnwire = await Turnwire.open({
    data: 'memory',
    agents: [
      {
        name: 'helper',
        model: scripted([{ text: 'Well. ', calls: [{ name: 'mail' }] }, { text: 'Sent.' }]),
        tools: [mail],
      },
      { name: 'other', model: scripted([{ text: 'another agent' }]) },
    ],
    server: { keys: [ana.entry, bo.entry], acp, log: 'silent', ...more },
  })
  const running = await startServer(turnwire, { port: 0 })
  context.after(() => running.stop())
  return { url: running.url, keys: { ana: ana.key, bo: bo.key } }
}

function bearer(key: string): Record<string, string> {
  return { authorization: `Bearer ${key}` }
}

function streamTo(server: Server, transport: 'http' | 'ws', path = '/acp'): Stream {
  const headers = bearer(server.keys.ana)
  if (transport === 'http') return createHttpStream(`${server.url}${path}`, { headers })
  // The types of `ws` know more events than the SDK's shape of a socket.
  const options = { headers, WebSocket: WebSocket as never }
  return createWebSocketStream(`${server.url.replace('http', 'ws')}${path}`, options)
}

async function converse(context: TestContext, stream: Stream) {
  const texts: string[] = []
  const connection = clientApp()
    .onNotification('session/update', ({ params: { update } }) => {
      if (update.sessionUpdate === 'agent_message_chunk' && update.content.type === 'text')
        texts.push(update.content.text)
    })
    .onRequest('session/request_permission', () => ({ outcome: { outcome: 'selected', optionId: 'allow' } }))
    .connect(stream)
  context.after(() => connection.close())
  const { agent } = connection
  const { agentCapabilities } = await agent.request('initialize', { protocolVersion: 1 })
  const { sessionId } = await agent.request('session/new', { cwd, mcpServers: [] })
  const { stopReason } = await agent.request('session/prompt', {
    sessionId,
    prompt: [{ type: 'text', text: 'send' }],
  })
  return { agent, agentCapabilities, sessionId, stopReason, text: texts.join('') }
}

describe('a remote client', () => {
  for (const transport of ['http', 'ws'] as const)
    test(
      cites('ACP-HTTP-01', 'ACP-HTTP-02', 'ACP-HTTP-04', `talks over ${transport}, and names no servers`),
      async context => {
        const server = await serve(context)
        const { agent, agentCapabilities, stopReason, text } = await converse(
          context,
          streamTo(server, transport),
        )
        assert.equal(stopReason, 'end_turn')
        assert.equal(text, 'Well. Sent.')
        assert.equal(agentCapabilities?.mcpCapabilities?.http, false)
        const mcpServers = [{ name: 'x', command: process.execPath, args: [], env: [] }]
        assert.equal(await codeOf(agent.request('session/new', { cwd, mcpServers })), -32602)
      },
    )

  for (const transport of ['http', 'ws'] as const)
    test(`is refused a list of thousands of entries over ${transport}, and goes on`, async context => {
      const server = await serve(context)
      const { agent } = await converse(context, streamTo(server, transport))
      // Far more than the client may leave unread, if each entry were answered with an error.
      const mcpServers = Array.from({ length: 20_000 }, () => ({}) as McpServer)
      for (let times = 0; times < 3; times += 1)
        await assert.rejects(agent.request('session/new', { cwd, mcpServers }), {
          code: -32602,
          message: /mcpServers has more than 1,000 entries/,
        })
      const { sessionId } = await agent.request('session/new', { cwd, mcpServers: [] })
      assert.ok(sessionId)
    })

  test(cites('ACP-HTTP-01', 'chooses an agent by its path'), async context => {
    const server = await serve(context)
    assert.equal((await converse(context, streamTo(server, 'http', '/acp/other'))).text, 'another agent')
    assert.equal((await converse(context, streamTo(server, 'ws', '/acp/other'))).text, 'another agent')
    // The reason names the agent, and has to fit into the frame that closes the socket.
    const unknown = encodeURIComponent('名'.repeat(80))
    const socket = new WebSocket(`${server.url.replace('http', 'ws')}/acp/${unknown}`, {
      headers: bearer(server.keys.ana),
    })
    const [code, reason] = await once(socket, 'close')
    assert.equal(code, 1008)
    assert.match(String(reason), /There is no agent named "名+/)
    const response = await fetch(`${server.url}/acp/nobody`, {
      method: 'POST',
      headers: bearer(server.keys.ana),
    })
    assert.equal(response.status, 400)
  })

  test(cites('ACP-HTTP-03', 'does not see another\u2019s connection'), async context => {
    const server = await serve(context)
    const post = (key: string, body: object, headers: Record<string, string> = {}): Promise<Response> =>
      fetch(`${server.url}/acp`, {
        method: 'POST',
        headers: { ...bearer(key), 'content-type': 'application/json', ...headers },
        body: JSON.stringify({ jsonrpc: '2.0', ...body }),
      })
    const made = await post(server.keys.ana, { id: 1, method: 'initialize', params: { protocolVersion: 1 } })
    assert.equal(made.status, 200)
    const id = made.headers.get('acp-connection-id')!
    const list = { id: 2, method: 'session/list', params: {} }
    assert.equal((await post(server.keys.ana, list, { 'acp-connection-id': id })).status, 202)
    assert.equal((await post(server.keys.bo, list, { 'acp-connection-id': id })).status, 404)
    const stream = { ...bearer(server.keys.bo), accept: 'text/event-stream', 'acp-connection-id': id }
    assert.equal((await fetch(`${server.url}/acp`, { headers: stream })).status, 404)
    assert.equal((await fetch(`${server.url}/acp`, { method: 'DELETE', headers: stream })).status, 404)
    const mine = { ...stream, ...bearer(server.keys.ana) }
    assert.equal((await fetch(`${server.url}/acp`, { method: 'DELETE', headers: mine })).status, 202)
    assert.equal((await post(server.keys.ana, list, { 'acp-connection-id': id })).status, 404)
  })

  test(cites('ACP-HTTP-05', 'needs a key, and a page of another origin gets nothing'), async context => {
    const server = await serve(context)
    const status = (headers: Record<string, string>): Promise<number> =>
      new Promise(resolve => {
        const socket = new WebSocket(`${server.url.replace('http', 'ws')}/acp`, { headers })
        socket.on('unexpected-response', (_request, response) => resolve(response.statusCode ?? 0))
        socket.on('open', () => {
          resolve(101)
          socket.close()
        })
        socket.on('error', () => {})
      })
    assert.equal(await status({}), 401)
    assert.equal(await status(bearer('tw_wrong')), 401)
    assert.equal(await status({ ...bearer(server.keys.ana), origin: 'https://evil.test' }), 403)
    assert.equal(await status(bearer(server.keys.ana)), 101)
    const init = { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{}' }
    assert.equal((await fetch(`${server.url}/acp`, init)).status, 401)
  })

  test(cites('ACP-HTTP-04', 'finds nothing unless the configuration says so'), async context => {
    const server = await serve(context, false)
    const response = await fetch(`${server.url}/acp`, { method: 'POST', headers: bearer(server.keys.ana) })
    assert.equal(response.status, 404)
  })
})

function post(
  { url }: Server,
  key: string,
  message: object,
  more: Record<string, string> = {},
): Promise<Response> {
  return fetch(`${url}/acp`, {
    method: 'POST',
    headers: { ...bearer(key), 'content-type': 'application/json', ...more },
    body: JSON.stringify({ jsonrpc: '2.0', ...message }),
  })
}

async function initialized(server: Server, key: string): Promise<string> {
  const answer = await post(server, key, { id: 1, method: 'initialize', params: { protocolVersion: 1 } })
  assert.equal(answer.status, 200)
  return answer.headers.get('acp-connection-id') ?? ''
}

test('a client that never reads is let go after the time that the configuration gives it', async context => {
  const server = await serve(context, true, { unsentBytes: 10_000, stallMs: 200 })
  const { ana } = server.keys
  const connection = { 'acp-connection-id': await initialized(server, ana) }
  const statuses: number[] = []
  // Each is answered on a stream that nobody has opened.
  while (statuses.at(-1) !== 404 && statuses.length < 1_000) {
    const message = { id: statuses.length + 2, method: 'x'.repeat(1_000) }
    statuses.push((await post(server, ana, message, connection)).status)
  }
  assert.equal(statuses.at(-1), 404, `${statuses.length} messages were taken`)
  assert.ok(statuses.slice(0, -1).every(status => status === 202))
  // It can begin anew.
  await initialized(server, ana)
})

test('a stream ends its connection if its client asked for that', async context => {
  const server = await serve(context)
  const headers = {
    ...bearer(server.keys.ana),
    'acp-connection-id': await initialized(server, server.keys.ana),
    accept: 'text/event-stream',
    connection: 'close',
  }
  const given = await new Promise<IncomingMessage>(resolve => get(`${server.url}/acp`, { headers }, resolve))
  assert.equal(given.headers['content-type'], 'text/event-stream')
  assert.equal(given.headers.connection, 'close')
  given.destroy()
})

test('connections that are never closed are not kept without end', async context => {
  const server = await serve(context)
  const initialize = (key: string): Promise<string> => initialized(server, key)
  const statusOf = async (key: string, id: string): Promise<number> => {
    const headers = { ...bearer(key), 'acp-connection-id': id }
    return (await fetch(`${server.url}/acp`, { method: 'DELETE', headers })).status
  }
  const { ana, bo } = server.keys
  const others = await initialize(bo)
  const first = await initialize(ana)
  const second = await initialize(ana)
  for (let count = 0; count < 99; count += 1) await initialize(ana)
  assert.equal(await statusOf(ana, first), 404)
  assert.equal(await statusOf(ana, second), 202)
  assert.equal(await statusOf(bo, others), 202)
})
