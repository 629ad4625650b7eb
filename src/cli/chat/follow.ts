// A session's events during a turn. They hold what the turn's own stream does not: what running tools report, and questions
// before the turn stops for them. Without them the turn is the same, only less is shown.
import type { AapClient, Watched } from '../../client/index.ts'

/** How far the events of a session were read. */
export type ReadPosition = { session: string; seq: number }

/** Follows the session while `work` runs, from `position` on, which it moves. */
export async function whileFollowing<Result>(
  client: AapClient,
  position: ReadPosition,
  take: (watched: Watched) => void,
  work: () => Promise<Result>,
  /** Called when no more events come. */
  onSilent: () => void = () => {},
): Promise<Result> {
  const over = new AbortController()
  const following = follow(client, position, over.signal, take).finally(onSilent)
  try {
    return await work()
  } finally {
    over.abort()
    await following
  }
}

/** A server without this route, or a lost connection, gives no more. The turn has its own stream. */
async function follow(
  client: AapClient,
  position: ReadPosition,
  signal: AbortSignal,
  take: (watched: Watched) => void,
): Promise<void> {
  try {
    for await (const watched of client.watch(position.session, {
      after: position.seq,
      signal,
      attempts: 0,
    })) {
      if ('seq' in watched) position.seq = watched.seq
      take(watched)
    }
  } catch {}
}
