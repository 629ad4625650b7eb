// An MCP server with 2,000 tools, on standard input and output.
import { McpServer } from '@modelcontextprotocol/server'
import { serveStdio } from '@modelcontextprotocol/server/stdio'

const things = Array.from({ length: 500 }, (_, index) => `register_${index}`)

serveStdio(() => {
  const server = new McpServer({ name: 'registers', version: '1.0.0' })
  for (const thing of ['invoice', ...things.slice(1)])
    for (const verb of ['read', 'write', 'archive', 'share'])
      server.registerTool(`${verb}_${thing}`, { description: `Use it to ${verb} the ${thing}.` }, () => ({
        content: [{ type: 'text', text: `${verb} ${thing}: done` }],
      }))
  return server
})
