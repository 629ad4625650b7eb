// A call that was sent and not answered is `unknown`, over every way in which a call leaves this process, unless its tool is
// idempotent or read-only. What never left, and what was answered, is not.
import assert from 'node:assert/strict'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type TestContext, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { z } from 'zod'
import { http, openapi, scripted, type Tool, Turnwire, tool, Unanswered } from '../../src/index.ts'
import type { Outcome } from '../../src/language/calls.ts'
import { joinText } from '../../src/language/content.ts'
import { mcpServer } from '../../src/tools/mcp/index.ts'

type Answer = (request: IncomingMessage, response: ServerResponse) => void

/** A server whose requests are counted once they have arrived whole. */
async function startServer(t: TestContext, answer: Answer): Promise<{ host: string; taken: () => number }> {
  let taken = 0
  const server = createServer((request, response) => {
    request.resume().on('end', () => {
      taken += 1
      answer(request, response)
    })
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  return { host: `127.0.0.1:${(server.address() as AddressInfo).port}`, taken: () => taken }
}

async function outcomeOf(t: TestContext, called: Tool, host = '127.0.0.1:1'): Promise<Outcome> {
  const turnwire = await Turnwire.open({
    agents: [
      {
        name: 'a',
        tools: [{ ...called, trust: 'trusted' as const }],
        model: scripted([{ calls: [{ name: called.name, input: {} }] }, { text: 'I will look.' }]),
      },
    ],
    egress: { privateHosts: [host] },
    data: 'memory',
  })
  t.after(() => turnwire.close())
  const session = await turnwire.session('a')
  await session.send('go')
  const settled = (await session.history()).flatMap(entry =>
    entry.role === 'tool' ? entry.results.map(({ outcome }) => outcome) : [],
  )
  assert.equal(settled.length, 1)
  return settled[0] as Outcome // It has one element.
}

function assertUnknown(outcome: Outcome): void {
  const text = joinText(outcome.parts)
  assert.equal(outcome.kind, 'unknown', text)
  assert.match(text, /not known whether the tool took effect.*not run again\. Check before repeating it/)
  assert.deepEqual(outcome.from, { source: 'runtime' })
}

const breaks: Answer = (_request, response) => response.socket?.destroy()
const cutShort: Answer = (_request, response) => {
  response.writeHead(200, { 'content-type': 'text/plain', 'content-length': '100' }).write('begun')
  setImmediate(() => response.socket?.destroy())
}
const gateway: Answer = (_request, response) => response.writeHead(504).end('upstream timed out')

const pay = (host: string, more: object = {}): Tool =>
  http({
    name: 'pay',
    description: 'Pays.',
    method: 'POST',
    url: `http://${host}/pay`,
    input: z.object({}),
    ...more,
  })

for (const [what, answer] of Object.entries({ breaks, cutShort, gateway }))
  test(`http() whose API ${what} after it took the request`, async t => {
    const { host, taken } = await startServer(t, answer)
    assertUnknown(await outcomeOf(t, pay(host), host))
    assert.equal(taken(), 1)
  })

test('a long answer that ends too soon', async t => {
  const { host } = await startServer(t, (_request, response) => {
    response.writeHead(200, { 'content-type': 'text/plain', 'content-length': String(4 * 1024 * 1024) })
    response.write('x'.repeat(2 * 1024 * 1024), () => setImmediate(() => response.socket?.destroy()))
  })
  assertUnknown(await outcomeOf(t, pay(host), host))
})

test('an operation of an OpenAPI document', async t => {
  const { host } = await startServer(t, breaks)
  const document = {
    openapi: '3.1.0',
    info: { title: 'Bank', version: '1' },
    servers: [{ url: `http://${host}` }],
    paths: { '/pay': { post: { operationId: 'pay', responses: { 200: { description: 'Paid.' } } } } },
  }
  assertUnknown(await outcomeOf(t, openapi(document)[0] as Tool, host)) // It has one operation.
})

test('a request that a function makes with a method that changes something', async t => {
  const { host } = await startServer(t, breaks)
  const sends = (method: string): Tool =>
    tool({
      name: 'pay',
      description: 'Pays.',
      input: z.object({}),
      run: async (_input, context) => (await context.fetch(`http://${host}/`, { method })).text(),
    })
  assertUnknown(await outcomeOf(t, sends('POST'), host))
  assert.equal((await outcomeOf(t, sends('GET'), host)).kind, 'error')
})

test('what a function says itself', async t => {
  const run = (): never => {
    throw new Unanswered('The queue took the order and is silent.')
  }
  const outcome = await outcomeOf(t, tool({ name: 'order', description: 'o', input: z.object({}), run }))
  assertUnknown(outcome)
  assert.match(joinText(outcome.parts), /The queue took the order and is silent/)
})

test('a tool that may be repeated has failed, and is tried again', async t => {
  const { host, taken } = await startServer(t, breaks)
  const outcome = await outcomeOf(t, pay(host, { idempotencyHeader: 'Idempotency-Key', retries: 2 }), host)
  assert.equal(outcome.kind, 'error')
  assert.equal(taken(), 3)
})

test('a request that never left, or that was answered, has failed', async t => {
  assert.equal((await outcomeOf(t, pay('127.0.0.1:1'))).kind, 'error')
  const { host } = await startServer(t, (_request, response) => response.writeHead(500).end('no'))
  assert.equal((await outcomeOf(t, pay(host), host)).kind, 'error')
})

const stub = fileURLToPath(new URL('mcp/stub.ts', import.meta.url))

for (const mode of ['dies', 'long-line'])
  test(`an MCP server on stdio: ${mode}`, async t => {
    const spec = { name: 'stub', command: process.execPath, args: [stub, mode] }
    const server = await mcpServer(spec, { maxMessageBytes: 64 * 1024 })
    t.after(() => server.close())
    const outcome = await outcomeOf(t, server.tools[0] as Tool) // The stub has a tool.
    assertUnknown(outcome)
    assert.match(joinText(outcome.parts), /The MCP server "stub" went away during the call/)
  })

test('an MCP server on stdio that is closed during the call', async t => {
  const server = await mcpServer({ name: 'stub', command: process.execPath, args: [stub, 'hangs'] })
  t.after(() => server.close())
  const [hangs] = server.tools
  assert.ok(hangs)
  const run: Tool['run'] = (input, context) => {
    const running = hangs.run(input, context)
    setImmediate(() => void server.close())
    return running
  }
  assertUnknown(await outcomeOf(t, { ...hangs, run }))
})

const farAnswers: Record<string, Answer> = {
  'breaks the connection': breaks,
  'sends a page in place of an answer': (_request, response) =>
    response.writeHead(200, { 'content-type': 'text/html' }).end('<p>Welcome</p>'),
  'sends half of its JSON': (_request, response) =>
    response.writeHead(200, { 'content-type': 'application/json' }).end('{"jsonrpc": "2.0", "id"'),
  'sends a message above the limit': (_request, response) =>
    response.writeHead(200, { 'content-type': 'application/json' }).end('x'.repeat(128 * 1024)),
  'stands behind a gateway that gives up': gateway,
}

for (const [what, answer] of Object.entries(farAnswers))
  test(`an MCP server on HTTP that ${what}`, async t => {
    let calls = 0
    const server = createServer((message, response) => {
      void message
        .setEncoding('utf8')
        .toArray()
        .then(texts => {
          const { id, method } = JSON.parse(texts.join('') || '{}') as { id?: number; method?: string }
          const result = method === undefined ? undefined : handshake[method]
          if (method === 'tools/call') {
            calls += 1
            answer(message, response)
          } else if (result && id !== undefined)
            response
              .writeHead(200, { 'content-type': 'application/json' })
              .end(JSON.stringify({ jsonrpc: '2.0', id, result }))
          else response.writeHead(method?.startsWith('notifications/') ? 202 : 405).end()
        })
    })
    await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
    t.after(() => {
      server.closeAllConnections()
      server.close()
    })
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`
    const far = await mcpServer({ name: 'far', url }, { maxMessageBytes: 64 * 1024 })
    t.after(() => far.close())
    assertUnknown(await outcomeOf(t, far.tools[0] as Tool)) // It has one.
    assert.equal(calls, 1)
  })

const handshake: Record<string, object> = {
  initialize: {
    protocolVersion: '2025-11-25',
    capabilities: { tools: {} },
    serverInfo: { name: 'far', version: '1' },
  },
  'tools/list': { tools: [{ name: 'pay', inputSchema: { type: 'object' } }] },
}
