// An MCP server of the configuration: its tools, a question that it asks a person during a call, a resource that goes with a
// message, and how it is. The server is the reference server of the protocol; it runs as a program of its own.
import { fileURLToPath } from 'node:url'
import { scripted, Turnwire } from 'turnwire'

const program = fileURLToPath(import.meta.resolve('@modelcontextprotocol/server-everything/dist/index.js'))

const model = scripted([
  { calls: [{ name: 'all__trigger-elicitation-request', input: {} }] },
  { text: 'All done.' },
  { text: 'I have read it.' },
])
const turnwire = await Turnwire.open({
  agents: [{ name: 'desk', model }],
  mcp: { all: { command: process.execPath, args: [program, 'stdio'], trust: 'trusted' } },
  data: 'memory',
})

for (const { name, state, protocolVersion } of await turnwire.servers())
  console.log(`${name}: ${state}, protocol ${protocolVersion}`)

const session = await turnwire.session('desk')
const reply = await session.send('Ask me.')
if (reply.status === 'waiting')
  for (const call of reply.pending)
    if (call.needs === 'answer') {
      console.log(call.question.message)
      console.log((await session.answerQuestion(call.question.id, { action: 'decline' })).text)
    }

const [resource] = (await turnwire.resources('desk')).filter(each => !each.template)
if (resource) {
  const parts = await turnwire.readResource('desk', resource)
  console.log((await session.send([...parts, { type: 'text', text: 'What is this?' }])).text)
}
await turnwire.close()
