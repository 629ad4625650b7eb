// A session's log, live: every event once and in order, across any number of broken connections. Items with a number are
// durable events. Deltas have none, and are not repeated after a reconnect. An extension of Turnwire to the protocol.
import type { Delta, Event } from '../language/events.ts'
import { decodeSse, type SseMessage } from '../lib/sse.ts'
import { AapError } from './errors.ts'
import { retryDelay, type Transport } from './transport.ts'

export type WatchOptions = {
  /** Starts after the event with this number. Default 0: from the beginning. */
  after?: number
  signal?: AbortSignal
  /** How many reconnects in a row may fail. Default: any number. */
  attempts?: number
}

export type Watched = { seq: number; event: Event } | { delta: Delta }

export async function* watch(
  transport: Transport,
  sessionId: string,
  options: WatchOptions = {},
): AsyncGenerator<Watched, void, undefined> {
  const { signal, attempts = Number.POSITIVE_INFINITY } = options
  let last = options.after ?? 0
  let failed = 0
  while (!signal?.aborted) {
    let broken: unknown
    try {
      const response = await transport.request({
        method: 'GET',
        path: `/sessions/${encodeURIComponent(sessionId)}/events`,
        accept: 'text/event-stream',
        headers: { 'Last-Event-ID': String(last) },
        signal,
        repeatable: false,
      })
      for await (const message of decodeSse(response.body ?? new ReadableStream())) {
        const watched = watchedOf(message)
        failed = 0
        if ('seq' in watched) {
          if (watched.seq <= last) continue
          last = watched.seq
        }
        yield watched
      }
    } catch (error) {
      if (signal?.aborted) return
      if (isFinal(error) || failed >= attempts) throw error
      broken = error
    }
    if (failed >= attempts) return
    // Wait also after a clean end, because the server may be stopping.
    const delay = retryDelay(failed, broken instanceof AapError ? broken : undefined)
    await transport.sleep(delay, signal).catch(() => {})
    failed += 1
  }
}

/** Another request would get the same answer. */
function isFinal(error: unknown): boolean {
  if (!(error instanceof AapError)) return false
  return (
    error.code === 'unexpected_answer' || (error.status >= 400 && error.status < 500 && error.status !== 429)
  )
}

function watchedOf({ id, data }: SseMessage): Watched {
  let value: unknown
  try {
    value = JSON.parse(data)
  } catch (cause) {
    throw new AapError(0, 'unexpected_answer', 'An event of the log is not JSON.', { cause })
  }
  // Only durable events have an id. Their types are the server's own and are not checked.
  return id === undefined || id === ''
    ? { delta: value as Delta }
    : { seq: Number(id), event: value as Event }
}
