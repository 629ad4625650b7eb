// Carries a wire's items to its client: as a stream of frames at the client's pace, or folded into one answer. The items
// come from the engine (`follow`, `answerOnce`), the frames from the wire's encoder; neither knows the other or HTTP.
import type { Context } from 'hono'
import type { PlainError } from '../../engine/index.ts'
import type { SseWriter } from '../../lib/sse.ts'
import type { WireEnv, WireHost } from '../host.ts'
import { failureOf } from './failure.ts'
import { RESPONSE_ALREADY_SENT } from './send.ts'
import { openSse } from './sse.ts'

/**
 * Contract: a fold with no I/O. Each function gives whole SSE frames, or an empty text. `end` is called once, after the
 * last item. `fail` is called in place of it when the items could not be read to their end.
 */
export type FrameEncoder<Item> = {
  begin?(): string
  take(item: Item): string
  end(): string
  fail(error: PlainError): string
}

/** `items` is called once with a signal that aborts when the client is gone. */
export type ItemSource<Item> = (signal: AbortSignal) => AsyncIterable<readonly Item[]>

/** Streams the frames of the items. The client's leaving ends the reading and nothing else. */
export function streamItems<Item>(
  c: Context<WireEnv>,
  host: WireHost,
  items: ItemSource<Item>,
  encoder: FrameEncoder<Item>,
): Response {
  const gone = new AbortController()
  const begin = encoder.begin?.() ?? ''
  const writer = openSse(c, host, () => gone.abort(), begin !== '')
  writer.send(begin)
  void pumpItems(host, items(gone.signal), encoder, writer)
  return RESPONSE_ALREADY_SENT
}

/** Writes frames until the items end, then ends the writer. Never rejects. */
export async function pumpItems<Item>(
  host: WireHost,
  items: AsyncIterable<readonly Item[]>,
  encoder: FrameEncoder<Item>,
  writer: Pick<SseWriter, 'send' | 'ready' | 'end' | 'full' | 'closed'>,
): Promise<void> {
  try {
    for await (const batch of items) {
      let frames = ''
      for (const item of batch) frames += encoder.take(item)
      writer.send(frames)
      if (writer.full) await writer.ready()
    }
    if (!writer.closed) writer.send(encoder.end())
  } catch (error) {
    const { code, message } = failureOf(error, host.log)
    if (!writer.closed) writer.send(encoder.fail({ code, message }))
  }
  writer.end()
}

/** Aborts when the connection of this request closes. */
export function clientGone(c: Context<WireEnv>): AbortSignal {
  const { outgoing } = c.env
  const gone = new AbortController()
  if (outgoing.destroyed) gone.abort()
  else outgoing.once('close', () => gone.abort())
  return gone.signal
}

/** Reads the items to their end with a fold that is no stream. */
export async function foldItems<Item>(
  items: AsyncIterable<readonly Item[]>,
  take: (item: Item) => void,
): Promise<void> {
  for await (const batch of items) for (const item of batch) take(item)
}
