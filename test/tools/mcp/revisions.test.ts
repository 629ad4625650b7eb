// Which revision is spoken, and how long the answers of a server hold.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import test, { type TestContext } from 'node:test'
import { fileURLToPath } from 'node:url'
import { serve } from '@hono/node-server'
import { SUPPORTED_PROTOCOL_VERSIONS } from '@modelcontextprotocol/client'
import { createMcpHandler, McpServer } from '@modelcontextprotocol/server'
import { scripted, startServer, Turnwire } from '../../../src/index.ts'
import { contextFor } from '../../../src/testing/contracts/tool.ts'
import { mcpServer } from '../../../src/tools/mcp/index.ts'
import { knownRevisions, modernRevision } from '../../../src/tools/mcp/spec.ts'

const [stub, modern] = ['stub', 'modern-server'].map(name =>
  fileURLToPath(new URL(`./${name}.ts`, import.meta.url)),
)

async function desk(t: TestContext): Promise<string> {
  const turnwire = await Turnwire.open(
    { agents: [{ name: 'desk', model: scripted([]), serveMcp: { ask: true } }], data: 'memory' },
    { log: () => {} },
  )
  const server = await startServer(turnwire, { port: 0 })
  t.after(async () => {
    await server.stop()
    await turnwire.close()
  })
  return `${server.url}/mcp/desk`
}

test('the revisions that can be named are those of the SDK', () => {
  const sdk = [...new Set([modernRevision, ...SUPPORTED_PROTOCOL_VERSIONS])].sort().reverse()
  assert.deepEqual([...knownRevisions], sdk)
})

test('a revision that the settings name is spoken at an address', async t => {
  const url = await desk(t)
  for (const protocolVersion of [undefined, '2026-07-28', '2025-11-25', '2025-06-18']) {
    const spec = { name: 'desk', url, ...(protocolVersion !== undefined && { protocolVersion }) }
    const connection = await mcpServer(spec)
    assert.equal(connection.info.protocolVersion, protocolVersion ?? '2026-07-28')
    await connection.close()
  }
})

test('a program that speaks another revision is not used', async () => {
  const open = (program = '', protocolVersion: string) =>
    mcpServer({ name: 'one', command: process.execPath, args: [program], protocolVersion })
  const connection = await open(stub, '2025-11-25')
  assert.equal(connection.info.protocolVersion, '2025-11-25')
  await connection.close()
  await assert.rejects(open(stub, '2025-06-18'), /cannot be used: .*2025-11-25/)
  await assert.rejects(open(stub, '2026-07-28'), /cannot be used/)
  await assert.rejects(open(modern, '2025-11-25'), /cannot be used/)
  const newer = await open(modern, '2026-07-28')
  assert.equal(newer.info.protocolVersion, '2026-07-28')
  await newer.close()
})

test('a revision that nobody knows is refused with those that are known', async () => {
  await assert.rejects(
    mcpServer({ name: 'one', url: 'http://127.0.0.1:9', protocolVersion: '2025-11' }),
    /protocolVersion "2025-11"\. Known are: 2026-07-28, 2025-11-25/,
  )
  const agents = [{ name: 'a', model: scripted([]) }]
  const mcp = { one: { url: 'http://127.0.0.1:9', protocolVersion: 'newest' } }
  await assert.rejects(Turnwire.open({ agents, mcp, data: 'memory' }), /Known are: 2026-07-28/)
})

/** Counts the requests of each method. */
async function holding(t: TestContext, ttlMs: number): Promise<{ url: string; counts: Map<string, number> }> {
  const counts = new Map<string, number>()
  const hint = { ttlMs, cacheScope: 'private' as const }
  const handler = createMcpHandler(() => {
    const server = new McpServer(
      { name: 'held', version: '1' },
      {
        cacheHints: {
          'tools/list': hint,
          'resources/list': hint,
          'resources/read': hint,
          'prompts/list': hint,
        },
      },
    )
    server.registerTool('one', { description: 'One.' }, () => ({ content: [{ type: 'text', text: 'ran' }] }))
    server.registerResource('note', 'note://1', {}, uri => ({
      contents: [{ uri: uri.href, text: 'A note.' }],
    }))
    return server
  })
  const server = serve({
    port: 0,
    hostname: '127.0.0.1',
    fetch: async request => {
      const method = request.headers.get('mcp-method') ?? 'none'
      counts.set(method, (counts.get(method) ?? 0) + 1)
      return handler.fetch(request)
    },
  })
  t.after(() => {
    if ('closeAllConnections' in server) server.closeAllConnections()
    server.close()
  })
  if (!server.listening) await once(server, 'listening')
  const { port } = server.address() as AddressInfo // It listens on TCP.
  return { url: `http://127.0.0.1:${port}/mcp`, counts }
}

for (const [ttlMs, times] of [
  [600_000, 1],
  [0, 3],
] as const)
  test(`answers that hold for ${ttlMs} ms are asked for ${times} times`, async t => {
    const { url, counts } = await holding(t, ttlMs)
    // A list that is not said to hold is read again before each call.
    const connection = await mcpServer({ name: 'held', url }, { refreshMs: -1 })
    t.after(() => connection.close())
    for (let count = 0; count < 3; count += 1) {
      if (count > 0) await connection.tools[0]?.run({}, contextFor())
      await connection.resources()
      await connection.read('note://1')
    }
    assert.equal(counts.get('tools/call'), 2)
    assert.equal(counts.get('tools/list'), times)
    assert.equal(counts.get('resources/list'), times)
    assert.equal(counts.get('resources/read'), times)
  })
