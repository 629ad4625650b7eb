// An agent as an MCP server: a tool whose call becomes a task, a resource, a prompt. A client of the protocol uses them. The
// client is another Turnwire; any MCP client can take its place.
import { prompt, resource, scripted, startServer, Turnwire, tool } from 'turnwire'

const report = tool({
  name: 'report',
  description: 'Writes a report, which takes a while.',
  input: { type: 'object' },
  trust: 'trusted',
  run: () => new Promise<string>(resolve => setTimeout(resolve, 500, 'The report is written.')),
})
const rules = resource({ uri: 'notes://rules', name: 'Rules', read: () => 'Be kind.' })
const review = prompt({
  name: 'review',
  arguments: [{ name: 'file', required: true }],
  get: ({ file }) => `Review ${file}, please.`,
})
const serveMcp = { tools: true, resources: true, prompts: true, tasks: { afterMs: 100 } }
const office = { name: 'office', model: scripted([]), tools: [report], resources: [rules], prompts: [review] }
const served = await Turnwire.open({ agents: [{ ...office, serveMcp }], data: 'memory' })
const server = await startServer(served, { port: 0 })

const model = scripted([{ calls: [{ name: 'office__report', input: {} }] }, { text: 'It is there.' }])
const client = await Turnwire.open({
  agents: [{ name: 'desk', model }],
  mcp: { office: { url: `${server.url}/mcp/office`, trust: 'trusted' } },
  data: 'memory',
})
const session = await client.session('desk')
console.log((await session.send('Have a report written.')).text)
const [found] = await client.resources('desk')
if (found) console.log(JSON.stringify(await client.readResource('desk', found)))
const wanted = { server: 'office', name: 'review', values: { file: 'a.ts' } }
console.log(JSON.stringify(await client.prompt('desk', wanted)))
await client.close()
await server.stop()
await served.close()
