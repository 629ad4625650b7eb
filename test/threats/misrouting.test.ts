// T-16: many MCP clients that all use the same request ids, at the same time, in both revisions, with two keys. Each gets its
// own answers only.
import assert from 'node:assert/strict'
import test from 'node:test'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { scripted, startServer, Turnwire, tool } from '../../src/index.ts'
import { sha256 } from '../../src/lib/json/hash.ts'

const echo = tool({
  name: 'echo',
  description: 'Echoes.',
  input: { type: 'object' as const, properties: { text: { type: 'string' } }, required: ['text'] },
  trust: 'trusted',
  run: async ({ text }, context) => {
    // Answers overtake one another.
    context.progress({ message: text as string })
    await new Promise(resolve => setTimeout(resolve, Math.random() * 20))
    return text as string
  },
})

test('T-16 50 clients with the same ids each get their own answers and their own progress', async t => {
  const keys = ['ada', 'bob'].map(name => ({ name, sha256: sha256(`key-${name}`) }))
  const turnwire = await Turnwire.open(
    {
      agents: [{ name: 'a', model: scripted([]), tools: [echo], serveMcp: { tools: true } }],
      data: 'memory',
      server: { keys },
    },
    { log: () => {} },
  )
  const server = await startServer(turnwire, { port: 0 })
  t.after(async () => {
    await server.stop()
    await turnwire.close()
  })
  const clients = await Promise.all(
    Array.from({ length: 50 }, async (_, index) => {
      const mode = index % 2 === 0 ? ('legacy' as const) : { pin: '2026-07-28' }
      const client = new Client({ name: `c${index}`, version: '1' }, { versionNegotiation: { mode } })
      const authorization = `Bearer key-${index % 4 < 2 ? 'ada' : 'bob'}`
      const requestInit = { headers: { authorization } }
      await client.connect(new StreamableHTTPClientTransport(new URL(`${server.url}/mcp/a`), { requestInit }))
      return client
    }),
  )
  t.after(() => Promise.all(clients.map(client => client.close())))
  // The client of the SDK counts its requests from 0: all 50 send the same ids.
  await Promise.all(
    clients.map(async (client, index) => {
      for (let round = 0; round < 5; round += 1) {
        const canary = `canary-${index}-${round}`
        const heard: (string | undefined)[] = []
        const result = await client.callTool(
          { name: 'echo', arguments: { text: canary } },
          { onprogress: ({ message }) => void heard.push(message) },
        )
        assert.deepEqual(result.content, [{ type: 'text', text: canary }])
        assert.ok(heard.every(message => message === canary))
      }
    }),
  )
})
