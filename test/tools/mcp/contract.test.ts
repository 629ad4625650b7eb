import { fileURLToPath } from 'node:url'
import { toolContract } from '../../../src/testing/index.ts'
import { mcpServer } from '../../../src/tools/index.ts'

const script = fileURLToPath(new URL('contract-server.ts', import.meta.url))

toolContract('a tool of an MCP server', async scenario => {
  if (scenario === 'refuses') return { skip: 'An MCP server refuses an input by a failure.' }
  if (scenario === 'later') return { skip: 'An MCP server answers in the same request.' }
  const server = await mcpServer({ name: 'city', command: process.execPath, args: [script, scenario] })
  const [tool] = server.tools
  if (!tool) throw new Error('The server offers no tool.')
  return {
    tool,
    input: { city: 'Rome' },
    ...(scenario === 'fails' && { says: 'no such city' }),
    ...(scenario === 'answers' && { says: 'blue' }),
    close: () => server.close(),
  }
})
