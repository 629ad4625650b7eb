// The agent's tools, and the agent itself, for MCP clients. Loaded when an agent is served so.
import type { WireHost } from '../host.ts'
import { plainErrorBody, type Wire } from '../wire.ts'
import type { McpServing } from './server.ts'

export type { McpServing } from './server.ts'

/** By agent: the parts of it that are served. */
export type McpNeeds = { mcp: ReadonlyMap<string, McpServing>; version: string }

export const mcp: Wire<WireHost & McpNeeds> = {
  name: 'mcp',
  paths: ['/mcp/<agent>'],
  about: 'MCP, for agents that are served so',
  docs: 'docs/protocols/mcp.md',
  needs: 'An agent is served here if its configuration has serveMcp.',
  async serve(host) {
    if (host.mcp.size === 0) return undefined
    const { mcpRoutes } = await import('./serve.ts')
    return { routes: mcpRoutes(host, host.mcp, host.version) }
  },
  errorBody: plainErrorBody,
  payable: () => true,
}
