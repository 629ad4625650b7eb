// A remote server that forgets its session. The request was refused, so it is sent again in a new session, once. A call whose
// connection breaks may have run, and is sent again only if its tool may run twice.
import assert from 'node:assert/strict'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type TestContext, test } from 'node:test'
import { joinText } from '../../../src/language/content.ts'
import { contextFor } from '../../../src/testing/contracts/tool.ts'
import { type McpOptions, mcpServer } from '../../../src/tools/mcp/index.ts'

type Request = { id?: number; method: string; params?: { name?: string } }

type Forgetful = {
  url: string
  calls: () => number
  sessions: () => number
  forget(): void
  breakNext(): void
}

/** A server of the older revision, with one tool that says it may run twice. */
async function forgetful(t: TestContext, status: number): Promise<Forgetful> {
  let [calls, sessions, known, breaks] = [0, 0, '', false]
  const answer = (request: Request, response: ServerResponse): object | undefined => {
    if (request.method === 'initialize') {
      sessions += 1
      known = `session-${sessions}`
      response.setHeader('mcp-session-id', known)
      const serverInfo = { name: 'forgetful', version: '1' }
      return { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo }
    }
    if (request.method === 'tools/list')
      return {
        tools: [{ name: 'add', inputSchema: { type: 'object' }, annotations: { idempotentHint: true } }],
      }
    if (request.method !== 'tools/call') return undefined
    calls += 1
    if (breaks) {
      breaks = false
      response.socket?.destroy()
    }
    return { content: [{ type: 'text', text: `call ${calls} in ${known}` }] }
  }
  const handle = async (message: IncomingMessage, response: ServerResponse): Promise<void> => {
    const text = (await message.setEncoding('utf8').toArray()).join('')
    if (message.method !== 'POST') {
      response.writeHead(405).end()
      return
    }
    const request = JSON.parse(text) as Request
    const isFirst = request.method === 'initialize'
    if (request.method === 'server/discover' || (!isFirst && message.headers['mcp-session-id'] !== known)) {
      response.writeHead(status, { 'content-type': 'text/plain' }).end('No valid session ID provided')
      return
    }
    const result = answer(request, response)
    if (request.id === undefined) response.writeHead(202).end()
    else
      response
        .writeHead(200, { 'content-type': 'application/json' })
        .end(JSON.stringify({ jsonrpc: '2.0', id: request.id, result }))
  }
  const server = createServer((message, response) => void handle(message, response))
  await new Promise<void>(resolve => void server.listen(0, '127.0.0.1', () => resolve()))
  t.after(() => {
    server.close()
    server.closeAllConnections()
  })
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`,
    calls: () => calls,
    sessions: () => sessions,
    forget: () => {
      known = 'forgotten'
    },
    breakNext: () => {
      breaks = true
    },
  }
}

async function connect(t: TestContext, url: string, options: McpOptions = {}) {
  const server = await mcpServer({ name: 'far', url }, options)
  t.after(() => server.close())
  return async () => joinText((await server.tools[0]!.run({}, contextFor({}))).parts)
}

for (const status of [404, 400])
  test(`a forgotten session (${status}) is begun anew, and the call runs once`, async t => {
    const far = await forgetful(t, status)
    const call = await connect(t, far.url)
    assert.equal(await call(), 'call 1 in session-1')
    far.forget()
    assert.equal(await call(), 'call 2 in session-2')
    assert.deepEqual([far.calls(), far.sessions()], [2, 2])
  })

test('a call whose connection breaks is not sent again', async t => {
  const far = await forgetful(t, 404)
  const call = await connect(t, far.url)
  far.breakNext()
  await assert.rejects(call(), { name: 'Unanswered' })
  assert.equal(far.calls(), 1)
  assert.equal(await call(), 'call 2 in session-2')
})

test('a call whose connection breaks is sent again if its tool may run twice, on the operator’s word', async t => {
  const far = await forgetful(t, 404)
  const call = await connect(t, far.url, { trustAnnotations: true })
  far.breakNext()
  assert.equal(await call(), 'call 2 in session-2')
})
