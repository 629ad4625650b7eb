// A session's log, live: every event once and in order, however often the connection breaks. What carries a number is
// durable; what carries none is shown while it happens and is not repeated. Turnwire serves it beyond the protocol.
import type { Delta, Event } from '../language/events.ts'
import { decodeSse, type SseMessage } from '../lib/sse.ts'
import { AapError } from './errors.ts'
import { type Transport, waitFor } from './transport.ts'

export type WatchOptions = {
  /** Goes on after this number. Default 0: from the beginning. */
  after?: number
  signal?: AbortSignal
  /** How often in a row it tries to come back. Default: for ever. */
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
    try {
      const response = await transport.ask({
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
      if (isFinal(error)) throw error
      if (failed >= attempts) throw error
      await transport
        .sleep(waitFor(failed, error instanceof AapError ? error : undefined), signal)
        .catch(() => {})
      failed += 1
      continue
    }
    // The server closed it in good order; coming back at once would hammer a server that is stopping.
    if (failed >= attempts) return
    await transport.sleep(waitFor(failed), signal).catch(() => {})
    failed += 1
  }
}

/** Asking again would give the same answer. */
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
  // The server writes its own events here, and nothing else has a number.
  return id === undefined || id === ''
    ? { delta: value as Delta }
    : { seq: Number(id), event: value as Event }
}
