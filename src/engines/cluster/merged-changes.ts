// The changes of the session list on all nodes, as one stream. Each node sends the changes of its own sessions. Nodes
// that join later are found by a timer.
import type { Engine, SessionChange } from '../../engine/ports/boundary.ts'
import { Batches } from '../../lib/async/batches.ts'
import type { RemoteNode } from './cluster-engine.ts'

/** How often nodes that joined are looked for. */
const lookMs = 2_000
/** Changes that a watcher has not read. The stream of one that is this far behind ends; it reads the list again. */
const mostUnread = 10_000

export function mergedChanges(
  local: Pick<Engine, 'changes'>,
  others: () => Promise<RemoteNode[]>,
  signal?: AbortSignal,
): AsyncIterable<readonly SessionChange[]> {
  const stop = new AbortController()
  const merged = new Batches<SessionChange>(() => leave())
  const watched = new Set<string>()
  const leave = (): void => {
    clearInterval(timer)
    signal?.removeEventListener('abort', leave)
    stop.abort()
    merged.end()
  }
  const read = async (engine: Pick<Engine, 'changes'>): Promise<void> => {
    for await (const batch of engine.changes(stop.signal))
      for (const change of batch) {
        merged.push(change)
        if (merged.unread > mostUnread) leave()
      }
  }
  const look = async (): Promise<void> => {
    for (const node of await others()) {
      if (watched.has(node.id) || stop.signal.aborted) continue
      watched.add(node.id)
      void read(node)
        .catch(() => {})
        .finally(() => watched.delete(node.id))
    }
  }
  const timer = setInterval(() => void look().catch(() => {}), lookMs)
  timer.unref()
  if (signal?.aborted) leave()
  else {
    signal?.addEventListener('abort', leave, { once: true })
    // The engine of this node ends its stream when it stops.
    void read(local).then(leave, leave)
    void look().catch(() => {})
  }
  return merged
}
