// MCP servers over HTTP that answer with redirects. The headers hold credentials for that server only.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type TestContext, test } from 'node:test'
import { mcpServer } from '../../../src/tools/mcp/index.ts'

type Listener = (request: IncomingMessage, response: ServerResponse) => void

async function serve(context: TestContext, listener: Listener): Promise<string> {
  const server = createServer(listener).listen(0, '127.0.0.1')
  context.after(() => {
    server.closeAllConnections()
    server.close()
  })
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo // it listens on TCP
  return `http://127.0.0.1:${port}`
}

const headers = { 'x-api-key': 'canary' }

test('a redirect to another origin is not followed, and no header goes there', async context => {
  const stolen: unknown[] = []
  const thief = await serve(context, (request, response) => {
    stolen.push(request.headers)
    response.end('{}')
  })
  const url = await serve(context, (_, response) =>
    response.writeHead(307, { location: `${thief}/mcp` }).end(),
  )
  await assert.rejects(mcpServer({ name: 'away', url: `${url}/mcp`, headers }), /redirect \(307\)/)
  assert.deepEqual(stolen, [])
})

test('a redirect within the same origin is followed', async context => {
  const url = await serve(context, (request, response) => {
    if (request.url === '/mcp') {
      response.writeHead(307, { location: '/mcp/' }).end()
      return
    }
    let body = ''
    request.on('data', chunk => {
      body += String(chunk)
    })
    request.on('end', () => answer(request, response, body))
  })
  const server = await mcpServer({ name: 'near', url: `${url}/mcp`, headers })
  context.after(() => server.close())
  assert.deepEqual(
    server.tools.map(tool => tool.name),
    ['near__one'],
  )
})

/** Answers in the oldest supported revision of the protocol. */
function answer(request: IncomingMessage, response: ServerResponse, body: string): void {
  assert.equal(request.headers['x-api-key'], 'canary')
  const { id, method } = (body === '' ? {} : JSON.parse(body)) as { id?: number; method?: string }
  const results: Record<string, object> = {
    initialize: {
      protocolVersion: '2025-06-18',
      capabilities: { tools: {} },
      serverInfo: { name: 'near', version: '1' },
    },
    'tools/list': { tools: [{ name: 'one', inputSchema: { type: 'object' } }] },
  }
  if (id === undefined) {
    response.writeHead(request.method === 'POST' ? 202 : 405).end()
    return
  }
  const result = results[method ?? '']
  const answered = result ? { result } : { error: { code: -32601, message: 'Method not found' } }
  response
    .writeHead(200, { 'content-type': 'application/json' })
    .end(JSON.stringify({ jsonrpc: '2.0', id, ...answered }))
}
