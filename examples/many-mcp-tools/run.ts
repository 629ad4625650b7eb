// A model is declared a search instead of 2,000 tools of an MCP server; what it finds it can call.
import { fileURLToPath } from 'node:url'
import { scripted, Turnwire } from 'turnwire'

const declared: number[] = []
const count = (request: { tools: readonly unknown[] }) => declared.push(request.tools.length) > 0
const model = scripted([
  { expect: count, calls: [{ name: 'find_tools', input: { query: 'archive the invoice', limit: 2 } }] },
  { expect: count, calls: [{ name: 'office__archive_invoice', input: {} }] },
  { text: 'Archived.' },
])
const program = fileURLToPath(new URL('server.ts', import.meta.url))
const turnwire = await Turnwire.open({
  agents: [{ name: 'clerk', model, search: true }],
  mcp: { office: { command: process.execPath, args: [program], trust: 'trusted', maxTools: 3000 } },
  data: 'memory',
})
const [server] = await turnwire.servers()
const reply = await turnwire.run('clerk', 'Archive the invoice.')
console.log(`${server?.tools} tools; declared to the model: ${declared.join(', then ')}`)
console.log(reply.text)
await turnwire.close()
