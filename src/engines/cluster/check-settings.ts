// Checks `server.cluster` of a configuration.
import { checkCount, checkKinds, checkKnown, isRecord, type Wrong } from '../../lib/checks/fields.ts'

const keys = ['address', 'listen', 'secret', 'leaseMs']
/** A shorter lease ends while a busy machine does something else. */
const shortestLeaseMs = 1_000

export function checkCluster(cluster: unknown, wrong: Wrong): void {
  if (cluster === undefined) return
  if (!isRecord(cluster)) {
    wrong('server.cluster', 'must be an object such as { address: "10.0.0.7:4118" }.')
    return
  }
  checkKnown(cluster, keys, 'server.cluster.', wrong)
  checkKinds(cluster, { address: 'string', listen: 'string', secret: 'string' }, 'server.cluster.', wrong)
  checkCount(cluster['leaseMs'], 'server.cluster.leaseMs', wrong)
  const { leaseMs } = cluster
  if (typeof leaseMs === 'number' && leaseMs < shortestLeaseMs)
    wrong('server.cluster.leaseMs', `must be at least ${shortestLeaseMs}.`)
}
