// In the revision of 2026-07-28 a server reports changes on a separate stream. A restart of the server or a proxy's
// time limit ends it, while calls go on. It is opened again with growing pauses, and the lists are read again. In the
// older revision changes come on the same connection as everything else.
import { setTimeout as pause } from 'node:timers/promises'
import type { Client } from '@modelcontextprotocol/client'
import { longestPauseMs, retryPauseMs } from './pace.ts'

/** `changed` is called when the stream is there again. Resolves when the client is closed. */
export async function keepListening(client: Client, changed: () => void): Promise<void> {
  let stream = client.autoOpenedSubscription
  const wanted = stream?.honoredFilter
  if (!wanted) return
  for (let failures = 0; ; ) {
    const since = performance.now()
    const why = await stream?.closed
    if (why === 'local') return
    // A server that ends each stream at once is not asked more and more often.
    failures = stream && performance.now() - since > longestPauseMs ? 0 : failures + 1
    await pause(retryPauseMs(Math.max(0, failures - 1)), undefined, { ref: false })
    if (client.transport === undefined) return
    stream = await client.listen(wanted).catch(() => undefined)
    if (stream) changed()
  }
}
