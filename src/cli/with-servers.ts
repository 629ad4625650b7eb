// The MCP servers of a configuration, for commands that need to know their tools and call none.
import type { TurnwireConfig } from '../config/config.ts'
import { keptServers } from '../config/mcp-config.ts'
import { KeptServers } from '../tools/mcp/index.ts'

const patienceMs = 10_000

/** They are started if `isWanted`, and stopped in the end. */
export async function withServers<Result>(
  config: TurnwireConfig,
  isWanted: boolean,
  run: (servers: KeptServers | undefined) => Promise<Result>,
): Promise<Result> {
  if (!isWanted) return run(undefined)
  const ignore = (): void => {}
  const servers = new KeptServers(keptServers(config), ignore, ignore)
  try {
    await servers.start(patienceMs)
    return await run(servers)
  } finally {
    await servers.stop()
  }
}
