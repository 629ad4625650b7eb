// What the routes of connections answer. Frozen: clients depend on it.
import type { ServerConnection } from '../../language/servers.ts'

export type ServerConnections = {
  /** The MCP servers at which each owner has an account of its own. */
  servers: { name: string; host: string; scope?: string }[]
  connections: (ServerConnection & { owner: string })[]
}
