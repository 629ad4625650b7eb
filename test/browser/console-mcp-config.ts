// An agent with a tool of an MCP server whose definition is another one after a restart with STUB_VERSION=2.
import { join } from 'node:path'
import { defineConfig, scripted } from '../../src/index.ts'

const stub = join(import.meta.dirname, '../tools/mcp/stub.ts')

export default defineConfig({
  agents: [
    {
      name: 'helper',
      model: scripted(request =>
        request.history.at(-1)?.role === 'user' ? { calls: [{ name: 'stub__one' }] } : { text: 'Done.' },
      ),
    },
  ],
  mcp: {
    stub: {
      command: process.execPath,
      args: [stub],
      env: { STUB_VERSION: process.env['STUB_VERSION'] ?? '1' },
      trust: 'trusted',
    },
    gone: { command: join(import.meta.dirname, 'there-is-no-such-program') },
  },
})
