// How a node is told about its cluster: `server.cluster` of the configuration, and the environment, which comes first.
import { group, must, type SettingChecks, text } from '../../lib/checks/fields.ts'

export type ClusterSettings = {
  /** Where other nodes reach this one, as host:port. Default: the loopback address and a free port. */
  address?: string
  /** Where it listens for them, as host:port. Default: the port of its address, on all interfaces. */
  listen?: string
  /** Shared by all nodes, at least 32 characters. Without it a node works alone. */
  secret?: string
  /** How long a node that is not heard of keeps its sessions, in milliseconds. Default 10,000. */
  leaseMs?: number
}

export const defaultLeaseMs = 10_000
/** A shorter lease ends while a busy machine does something else. */
const shortestLeaseMs = 1_000

const settings: SettingChecks<ClusterSettings> = {
  address: text,
  listen: text,
  secret: text,
  leaseMs: must(
    value => Number.isSafeInteger(value) && Number(value) >= shortestLeaseMs,
    `must be a whole number of at least ${shortestLeaseMs}.`,
  ),
}
export const checkCluster = group(settings, 'must be an object such as { address: "10.0.0.7:4118" }.')

export function clusterSettings(
  config: ClusterSettings = {},
  env: Readonly<Record<string, string | undefined>> = process.env,
): ClusterSettings {
  const address = env['TURNWIRE_NODE_ADDRESS'] || config.address
  const secret = env['TURNWIRE_CLUSTER_SECRET'] || config.secret
  return { ...config, ...(address && { address }), ...(secret && { secret }) }
}
