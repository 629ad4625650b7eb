// Carries a wire's items to its client: as a stream of frames at the client's pace, or folded into one answer. The items
// come from the engine (`follow`, `answerOnce`), the frames from the wire's encoder; neither knows the other or HTTP.
//
// hono routes the request, but the frames go past it on the raw response, because its own streams cost several times as much.
import type { Context } from 'hono'
import type { PlainError } from '../../engine/index.ts'
import { loopTurn } from '../../lib/async/loop-turns.ts'
import { type SseSink, SseWriter } from '../../lib/net/sse.ts'
import type { WireEnv, WireHost } from '../host.ts'
import { toFailure } from './failure.ts'
import { RESPONSE_ALREADY_SENT } from './send.ts'
import { unsentBytes } from './unsent.ts'

/**
 * Contract: a fold with no I/O. Each function gives whole SSE frames, or an empty text. `end` is called once, after the
 * last item. `fail` is called in place of it when the items could not be read to their end.
 */
export type FrameEncoder<Item> = {
  begin?(): string
  take(item: Item): string
  end?(): string
  fail(error: PlainError): string
  /** Asked after `end` or `fail`: the connection breaks off, because the protocol's clients know no other failure. */
  breaksOff?(): boolean
  /** The protocol's own frame for a connection that is idle. Default: an SSE comment. */
  readonly heartbeat?: string
}

/** A fold that gives events of a protocol. */
export type EventEncoder<Item, Event> = {
  begin?(): Event[]
  take(item: Item): Event[]
  end(): Event[]
}

/** One nameless frame for each event. `done` follows the last. */
export function eventFrames<Item, Event>(
  encoder: EventEncoder<Item | { type: 'lost'; error: PlainError }, Event>,
  done = '',
): FrameEncoder<Item> {
  const frames = (events: readonly Event[]): string => {
    let text = ''
    for (const event of events) text += dataFrame(event)
    return text
  }
  return {
    begin: () => frames(encoder.begin?.() ?? []),
    take: item => frames(encoder.take(item)),
    end: () => frames(encoder.end()) + done,
    fail: error => frames([...encoder.take({ type: 'lost', error }), ...encoder.end()]) + done,
  }
}

/** The frame with which several protocols end a stream. */
export const doneFrame = 'data: [DONE]\n\n'

/** One for all: a connection closes after every answer, and an abort without a reason makes an exception each time. */
const clientLeft = new Error('The client closed the connection.')

/** Characters of frames after which a reader is waited for, and other work of the process comes first. */
const pieceChars = 64 * 1024

/** `items` is called once with a signal that aborts when the client is gone. */
type ItemSource<Item> = (signal: AbortSignal) => AsyncIterable<readonly Item[]>

/** Streams the frames of the items. The client's leaving ends the reading and nothing else. */
export function streamItems<Item>(
  c: Context<WireEnv>,
  host: WireHost,
  items: ItemSource<Item>,
  encoder: FrameEncoder<Item>,
): Response {
  const gone = new AbortController()
  const writer = beginStream(c, host, () => gone.abort(clientLeft), encoder)
  void pumpItems(host, items(gone.signal), encoder, writer)
  return RESPONSE_ALREADY_SENT
}

/**
 * The same, but the stream opens with the first frame, or after a heartbeat's time without one. Items that fail before
 * that reject this promise, so that the failure becomes an HTTP error.
 */
export async function streamFromFirstFrame<Item>(
  c: Context<WireEnv>,
  host: WireHost,
  items: ItemSource<Item>,
  encoder: FrameEncoder<Item>,
): Promise<Response> {
  const gone = clientGone(c)
  const batches = items(gone)[Symbol.asyncIterator]()
  const begin = encoder.begin?.() ?? ''
  const first = firstFrames(batches, encoder)
  await withinHeartbeat(first, host.limits.heartbeatMs)
  if (gone.aborted) return RESPONSE_ALREADY_SENT
  const writer = beginStream(c, host, () => {}, encoder, begin)
  void pumpItems(host, { [Symbol.asyncIterator]: () => batches }, encoder, writer, first)
  return RESPONSE_ALREADY_SENT
}

function beginStream<Item>(
  c: Context<WireEnv>,
  host: WireHost,
  onClose: () => void,
  encoder: FrameEncoder<Item>,
  begin = encoder.begin?.() ?? '',
): SseWriter {
  const writer = openSse(c, host, onClose, begin !== '', encoder.heartbeat)
  writer.send(begin)
  return writer
}

/** The frames of the first batch that has any. Empty: the items ended without one. */
async function firstFrames<Item>(
  batches: AsyncIterator<readonly Item[]>,
  encoder: FrameEncoder<Item>,
): Promise<string> {
  for (;;) {
    const { value, done } = await batches.next()
    const frames = done ? '' : encodeBatch(value, encoder)
    if (done || frames !== '') return frames
  }
}

/** Settles as the promise does, or resolves after `ms`. 0 sets no limit. */
function withinHeartbeat(promise: Promise<unknown>, ms: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = ms > 0 ? setTimeout(resolve, ms) : undefined
    promise.then(
      () => {
        clearTimeout(timer)
        resolve()
      },
      error => {
        clearTimeout(timer)
        reject(error)
      },
    )
  })
}

function encodeBatch<Item>(batch: readonly Item[], encoder: FrameEncoder<Item>): string {
  let frames = ''
  for (const item of batch) frames += encoder.take(item)
  return frames
}

/** Writes frames until the items end, then ends the writer. Never rejects. `first`: frames to write before them. */
export async function pumpItems<Item>(
  host: WireHost,
  items: AsyncIterable<readonly Item[]>,
  encoder: FrameEncoder<Item>,
  writer: Pick<SseWriter, 'send' | 'ready' | 'end' | 'full' | 'closed'>,
  first?: Promise<string>,
): Promise<void> {
  try {
    if (first) writer.send(await first)
    let chars = 0
    for await (const batch of items) {
      const sent = sendBatch(batch, encoder, writer)
      chars += typeof sent === 'number' ? sent : await sent
      if (chars < pieceChars) continue
      chars = 0
      await loopTurn()
    }
    if (!writer.closed) writer.send(encoder.end?.() ?? '')
  } catch (error) {
    const { status: _, ...failure } = toFailure(error, host.log)
    if (!writer.closed) sendFailed(host, encoder, writer, failure)
  }
  writer.end(encoder.breaksOff?.() ? 'broken' : 'whole')
}

/** An encoder whose state is broken may not be able to say so: then the connection breaks off. */
function sendFailed<Item>(
  host: WireHost,
  encoder: FrameEncoder<Item>,
  writer: Pick<SseWriter, 'send' | 'end'>,
  failure: PlainError,
): void {
  try {
    writer.send(encoder.fail(failure))
  } catch (error) {
    toFailure(error, host.log)
    writer.end('broken')
  }
}

type BatchWriter = Pick<SseWriter, 'send' | 'ready' | 'full' | 'closed'>

/**
 * Gives the characters since the last whole piece; a promise only if there is something to wait for, since most batches are
 * one small frame.
 */
function sendBatch<Item>(
  batch: readonly Item[],
  encoder: FrameEncoder<Item>,
  writer: BatchWriter,
): number | Promise<number> {
  let frames = ''
  for (let at = 0; at < batch.length; at++) {
    frames += encoder.take(batch[at]!)
    if (frames.length >= pieceChars) return sendRest(frames, batch.slice(at + 1), encoder, writer)
  }
  writer.send(frames)
  return writer.full ? writer.ready().then(() => frames.length) : frames.length
}

/** A large batch is encoded piece by piece, as its reader takes it. */
async function sendRest<Item>(
  frames: string,
  rest: readonly Item[],
  encoder: FrameEncoder<Item>,
  writer: BatchWriter,
): Promise<number> {
  writer.send(frames)
  if (writer.full) await writer.ready()
  await loopTurn()
  return writer.closed ? 0 : sendBatch(rest, encoder, writer)
}

/** Aborts when the connection of this request closes. */
export function clientGone(c: Context<WireEnv>): AbortSignal {
  const { outgoing } = c.env
  const gone = new AbortController()
  if (outgoing.destroyed) gone.abort(clientLeft)
  else outgoing.once('close', () => gone.abort(clientLeft))
  return gone.signal
}

/** Reads the items to their end with a fold that is no stream. */
export async function foldItems<Item>(
  items: AsyncIterable<readonly Item[]>,
  take: (item: Item) => void,
): Promise<void> {
  for await (const batch of items) for (const item of batch) take(item)
}

// ---- the raw response ---------------------------------------------------------------------------------------

/**
 * `onClose` is called once when the connection is over, also if it was gone before the stream began. `speaksAtOnce`: the
 * first frame is sent in this turn of the event loop, so the headers need no write of their own. `heartbeat`: the
 * protocol's own frame for it.
 */
export function openSse(
  c: Context<WireEnv>,
  host: WireHost,
  onClose: () => void,
  speaksAtOnce = false,
  heartbeat?: string,
): SseWriter {
  let unwatch = (): void => {}
  // A stream may be open for days: it keeps the response, not the whole request of the framework.
  const { outgoing } = c.env
  const writer = new SseWriter(openSink(c, speaksAtOnce), {
    heartbeatMs: host.limits.heartbeatMs,
    ...(heartbeat !== undefined && { heartbeat }),
    maxUnsentBytes: host.limits.unsentBytes,
    ...(host.limits.stallMs !== undefined && { stallMs: host.limits.stallMs }),
    onClose: () => {
      unwatch()
      onClose()
    },
    breakOff: () => outgoing.socket?.destroySoon(),
    onDrop: () => host.log('warn', 'A client that did not read its stream was dropped.'),
  })
  unwatch = unsentBytes.watch(c.get('principal').owner, writer)
  return writer
}

function openSink(c: Context<WireEnv>, speaksAtOnce: boolean): SseSink {
  const { outgoing } = c.env
  if (outgoing.destroyed) return gone
  outgoing.writeHead(200, {
    'content-type': 'text/event-stream',
    'cache-control': 'no-cache, no-transform',
    'x-accel-buffering': 'no',
  })
  if (!speaksAtOnce) outgoing.flushHeaders()
  return outgoing
}

/** Stands for a connection that was closed before the stream began. */
const gone: SseSink = {
  write: () => false,
  end: () => undefined,
  destroy: () => undefined,
  on: (event, listener) => {
    if (event === 'close') queueMicrotask(listener)
  },
}

/** One event whose data is one line of JSON. `event`: a name of the protocol's. */
export function sseFrame(event: string, data: unknown, id?: number): string {
  return `event: ${event}\n${dataFrame(data, id)}`
}

/** The same without a name. A text is JSON already. JSON has no line break of the format's, so none is looked for. */
export function dataFrame(data: unknown, id?: number): string {
  const line = oneLine(typeof data === 'string' ? data : JSON.stringify(data))
  return id === undefined ? `data: ${line}\n\n` : `id: ${id}\ndata: ${line}\n\n`
}

/** JSON on one line: some readers break lines at U+2028 and the like. */
export function oneLine(json: string): string {
  return hasLineBreak(json) ? json.replace(/[\u0085\u2028\u2029]/g, escaped) : json
}

/** Three native searches take a small part of the time of one expression. */
function hasLineBreak(text: string): boolean {
  return text.includes('\u0085') || text.includes('\u2028') || text.includes('\u2029')
}

function escaped(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
}

/** The number of the last event that a client has, from `Last-Event-ID` or `?after=`. 0: none. Undefined: not a number. */
export function lastEventId(c: Context<WireEnv>): number | undefined {
  const given = c.req.header('last-event-id') || c.req.query('after')
  if (given === undefined || given === '') return 0
  const number = /^\d{1,16}$/.test(given) ? Number(given) : Number.NaN
  return Number.isSafeInteger(number) ? number : undefined
}
