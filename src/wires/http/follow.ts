// Shows a session from one of its events on: what is in the log already at the reader's pace, then live. Nothing is
// missed and nothing comes twice. What the items mean is the view's matter; the turn itself never waits for a reader.
import { type FeedItem, type OpenSessions, segment } from '../../engine/index.ts'

export type View = {
  take(item: Extract<FeedItem, { type: 'event' | 'delta' }>): void
  /** Nothing more will come from here, though the turn may go on elsewhere. */
  lose(reason: unknown): void
  /** The turn that is shown has ended. */
  readonly over: boolean
}

export type Place = {
  owner: string
  id: string
  /** The number of the first event to show. */
  first: number
  /** The request was taken before: only what came of it is shown. */
  replayed?: boolean
  /** `stop`: until the session rests or waits. `turn`: until the turn has ended, however long it waits. */
  until: 'stop' | 'turn'
}

export async function follow(
  engine: OpenSessions,
  { owner, id, first, replayed, until }: Place,
  view: View,
  pace: () => Promise<void>,
  signal: AbortSignal,
): Promise<void> {
  let last = first - 1
  const bound = replayed ? segment(id, await engine.events(owner, id), first) : undefined
  for (let log = bound?.events ?? (await engine.events(owner, id, last)); log.length > 0; ) {
    for (const recorded of log) {
      last = recorded.seq
      view.take({ type: 'event', ...recorded })
      if (view.over || signal.aborted) return
      await pace()
    }
    if (bound?.over) return
    log = await engine.events(owner, id, last)
  }
  const { promise, resolve } = Promise.withResolvers<void>()
  signal.addEventListener('abort', () => resolve(), { once: true })
  const unwatch = await engine.watch(owner, id, last, item => {
    if (view.over || signal.aborted) return
    if (item.type === 'closed') view.lose(item.reason)
    else if (item.type !== 'status') view.take(item)
    const stopped = item.type === 'status' && item.status !== 'running' && until === 'stop'
    if (stopped || item.type === 'closed' || view.over) resolve()
  })
  if (signal.aborted) resolve()
  await promise.finally(unwatch)
}
