// Joins the Model Context Protocol to a runtime: which agent is served, and to whom. A client on a pipe is the user's own
// program, so all that an agent exposes is served to it.
import type { Readable, Writable } from 'node:stream'
import { StdioServerTransport, serveStdio } from '@modelcontextprotocol/server/stdio'
import { localOwner } from '../callers/keys.ts'
import { ownVersion } from '../data/version.ts'
import type { Runtime } from '../runtime.ts'
import { type McpServing, mcpServerFor } from '../wires/mcp/server.ts'
import { makeHost } from './server.ts'

export type McpPipe = { close(): Promise<void> }

/** A client on a pipe gets all; the configuration says how calls become tasks. */
function mcpServing({ config }: Runtime, name: string): McpServing {
  const { serveMcp } = config.agents.find(agent => agent.name === name) ?? {}
  return {
    tools: true,
    ask: true,
    resources: true,
    prompts: true,
    ...(serveMcp?.tasks && { tasks: serveMcp.tasks }),
  }
}

/** `agent`: default the first of the configuration. Throws `unknown_agent`. */
export async function serveMcpOverPipe(
  runtime: Runtime,
  agent: string | undefined,
  pipe: { input: Readable; output: Writable },
): Promise<McpPipe> {
  const host = await makeHost(runtime)
  const principal = { owner: localOwner, name: localOwner }
  const name = agent ?? host.about.agents[0]?.name ?? ''
  const engine = host.engineFor(principal)
  const caller = { principal, engine, agent: name, serving: mcpServing(runtime, name), version: ownVersion() }
  // Refuses an unknown agent before a client connects.
  mcpServerFor(host, caller)
  return serveStdio(() => mcpServerFor(host, caller), {
    transport: new StdioServerTransport(pipe.input, pipe.output, { maxBufferSize: host.limits.bodyBytes }),
    onerror: error => runtime.log('warn', 'An MCP message was refused.', { error: error.message }),
  })
}
