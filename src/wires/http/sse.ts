// A stream of server-sent events on the raw response: hono routes the request, but the frames go past it, because its own
// streams cost several times as much. What is sent, and when it ends, is up to each wire.
import type { Context } from 'hono'
import { encodeSse, type SseSink, SseWriter } from '../../lib/net/sse.ts'
import type { WireEnv, WireHost } from '../host.ts'
import { unsentBytes } from './unsent.ts'

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
  const writer = new SseWriter(sinkOf(c, speaksAtOnce), {
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

function sinkOf(c: Context<WireEnv>, speaksAtOnce: boolean): SseSink {
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

/** One event whose data is one line of JSON. */
export function sseFrame(event: string, data: unknown, id?: number): string {
  const line = oneLine(JSON.stringify(data))
  return encodeSse(id === undefined ? { event, data: line } : { event, id, data: line })
}

/** The same without a name. A text is JSON already. */
export function dataFrame(data: unknown, id?: number): string {
  const line = oneLine(typeof data === 'string' ? data : JSON.stringify(data))
  return encodeSse(id === undefined ? { data: line } : { id, data: line })
}

/** JSON on one line: some readers break lines at U+2028 and the like. */
export function oneLine(json: string): string {
  return /[\u0085\u2028\u2029]/.test(json) ? json.replace(/[\u0085\u2028\u2029]/g, escaped) : json
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
