// Resources and prompts of an agent's MCP servers over AAP, with the public client.
import assert from 'node:assert/strict'
import test from 'node:test'
import { fileURLToPath } from 'node:url'
import { AapClient } from '../../../src/client/index.ts'
import { scripted, startServer, Turnwire } from '../../../src/index.ts'
import { putBehindClones } from '../../boundary/structured-clones.ts'

const program = fileURLToPath(import.meta.resolve('@modelcontextprotocol/server-everything/dist/index.js'))

test('a resource is attached to a message, and a prompt is said', async t => {
  const turnwire = await Turnwire.open(
    {
      agents: [{ name: 'desk', model: scripted([{ text: 'Read.' }]) }],
      mcp: { all: { command: process.execPath, args: [program, 'stdio'] } },
      data: 'memory',
    },
    { log: () => {} },
  )
  await putBehindClones(turnwire)
  const server = await startServer(turnwire, { port: 0 })
  t.after(async () => {
    await server.stop()
    await turnwire.close()
  })
  const client = new AapClient({ baseUrl: server.url })
  const sessionId = await client.createSession({ agent: { name: 'desk' } })
  const { resources } = await client.getResources(sessionId)
  const plain = resources.find(each => !each.template)
  assert.ok(plain)
  const { content } = await client.readResource(sessionId, plain)
  const result = await client.runTurn({ sessionId, messages: [{ role: 'user', content }] })
  assert.equal(result.stopReason, 'end_turn')
  const { prompts } = await client.getPrompts(sessionId)
  const simple = prompts.find(each => each.arguments.length === 0)
  assert.ok(simple)
  const { messages } = await client.getPrompt(sessionId, { server: 'all', name: simple.name, values: {} })
  assert.equal(messages[0]?.role, 'user')
  await assert.rejects(client.readResource(sessionId, { server: 'all', uri: 'demo://none' }), {
    code: 'not_found',
  })
  const other = 'sess_none'
  await assert.rejects(client.getResources(other), { status: 404 })
})
