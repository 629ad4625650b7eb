// An event stream of the server across any number of broken connections. It resumes after the last numbered event, so that
// each of those comes once and in order; events without a number are live only and not repeated.
import { decodeSse, type SseMessage } from '../lib/net/sse.ts'
import { AapError } from './errors.ts'
import { retryDelay, type Transport } from './transport.ts'

export type WatchOptions = {
  /** Starts after the event with this number. Default 0: from the beginning. */
  after?: number
  signal?: AbortSignal
  /** How many reconnects in a row may fail. Default: any number. */
  attempts?: number
  /** Told whenever the connection is made or lost. */
  onState?: (state: StreamState) => void
}

export type StreamState = 'connecting' | 'live' | 'broken'

export async function* readLive(
  transport: Transport,
  path: string,
  options: WatchOptions = {},
): AsyncGenerator<SseMessage, void, undefined> {
  const { signal, attempts = Number.POSITIVE_INFINITY, onState } = options
  onState?.('connecting')
  let last = options.after ?? 0
  let failed = 0
  while (!signal?.aborted) {
    let broken: unknown
    try {
      const response = await transport.request({
        method: 'GET',
        path,
        accept: 'text/event-stream',
        headers: { 'Last-Event-ID': String(last) },
        signal,
        repeatable: false,
      })
      onState?.('live')
      for await (const message of decodeSse(response.body ?? new ReadableStream())) {
        failed = 0
        if (isNumbered(message)) {
          const seq = Number(message.id)
          if (seq <= last) continue
          last = seq
        }
        yield message
      }
    } catch (error) {
      if (signal?.aborted) return
      if (isFinal(error) || failed >= attempts) throw error
      broken = error
    }
    if (signal?.aborted) return
    onState?.('broken')
    if (failed >= attempts) return
    // Wait also after a clean end, because the server may be stopping.
    const delay = retryDelay(failed, broken instanceof AapError ? broken : undefined)
    await transport.sleep(delay, signal).catch(() => {})
    failed += 1
  }
}

export function isNumbered({ id }: SseMessage): boolean {
  return id !== undefined && id !== ''
}

/** Another request would get the same answer. */
function isFinal(error: unknown): boolean {
  if (!(error instanceof AapError)) return false
  return (
    error.code === 'unexpected_answer' || (error.status >= 400 && error.status < 500 && error.status !== 429)
  )
}

/** The data of an event, which is JSON. */
export function parseMessage({ data }: SseMessage): unknown {
  try {
    return JSON.parse(data)
  } catch (cause) {
    throw new AapError(0, 'unexpected_answer', 'An event of the stream is not JSON.', { cause })
  }
}
