// The MCP servers of a configuration as the engine's port: which agent has which of them, their state, and the
// resources and prompts of each server and of the agent itself.
import type { ToolServers } from '../engine/ports/index.ts'
import { TurnwireError } from '../language/errors.ts'
import { ownServer } from '../language/servers.ts'
import type { KeptServers } from '../tools/mcp/index.ts'
import { describePrompt, describeResource, getOwn, readOwn } from '../tools/resources/index.ts'
import type { AgentConfig, TurnwireConfig } from './config.ts'

/** The names of the servers whose tools an agent has. */
export function agentServers(config: TurnwireConfig, agent: string): readonly string[] {
  const found = config.agents.find(({ name }) => name === agent)
  return found?.mcpServers ?? Object.keys(config.mcp ?? {})
}

export function toolServers(config: TurnwireConfig, kept: KeptServers): ToolServers {
  const serverAgents = (server: string): string[] =>
    config.agents.filter(({ name }) => agentServers(config, name).includes(server)).map(({ name }) => name)
  /** Clients see nothing of a server that is not exposed: neither its tools nor what it offers beside them. */
  const withResources = (agent: string): string[] =>
    agentServers(config, agent).filter(server => config.mcp?.[server]?.exposed !== false)
  const named = (agent: string, server: string) => {
    const found = withResources(agent).includes(server) ? kept.server(server) : undefined
    if (!found) throw new TurnwireError('not_found', `The agent "${agent}" has no MCP server "${server}".`)
    return found
  }
  const ownContext = (agent: string): Pick<AgentConfig, 'resources' | 'prompts'> =>
    config.agents.find(({ name }) => name === agent) ?? {}
  /** A server that is down offers nothing; it is not a reason to show nothing of the others. */
  const all = async <Item>(agent: string, list: (server: string) => Promise<Item[]>): Promise<Item[]> => {
    const found = await Promise.allSettled(withResources(agent).map(list))
    return found.flatMap(result => (result.status === 'fulfilled' ? result.value : []))
  }
  return {
    describe: () => kept.infos().map(info => ({ ...info, agents: serverAgents(info.name) })),
    resources: async agent => [
      ...(ownContext(agent).resources ?? []).map(describeResource),
      ...(await all(agent, async server => (await kept.server(server)?.resources()) ?? [])),
    ],
    read: async (agent, server, uri) =>
      server === ownServer ? readOwn(ownContext(agent).resources ?? [], uri) : named(agent, server).read(uri),
    prompts: async agent => [
      ...(ownContext(agent).prompts ?? []).map(describePrompt),
      ...(await all(agent, async server => (await kept.server(server)?.prompts()) ?? [])),
    ],
    prompt: async (agent, server, name, values) =>
      server === ownServer
        ? getOwn(ownContext(agent).prompts ?? [], name, values)
        : named(agent, server).prompt(name, values),
  }
}
