// A whole answer on the raw response: hono routes the request, but building a web Response for it to translate back
// costs more than most of what an answer says. A large answer is written at its reader's pace, and given up if nobody
// reads it.
import type { ServerResponse } from 'node:http'
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response'
import type { Context, ErrorHandler } from 'hono'
import { loopTurn } from '../../lib/async/loop-turns.ts'
import { SseWriter } from '../../lib/net/sse.ts'
import type { WireEnv, WireHost } from '../host.ts'
import { plainErrorBody } from '../wire.ts'
import { type Failure, setRetryHeaders, toFailure } from './failure.ts'
import { type Held, unsentBytes } from './unsent.ts'

export { RESPONSE_ALREADY_SENT }

/** A longer answer may not fit into the buffers of its connection. */
const largeAnswer = 64 * 1024

/** A text is sent as it is: it is JSON already. */
export function sendJson(c: Context<WireEnv>, body: unknown, status = 200): Response {
  const { outgoing } = c.env
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  const isLarge = text.length > largeAnswer
  if (isLarge) unsentBytes.refuseIfFull(requestOwner(c), text.length)
  outgoing.writeHead(status, {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(text),
  })
  if (isLarge) {
    let unwatch = (): void => {}
    const writer = pacedWriter(outgoing, () => unwatch())
    unwatch = unsentBytes.watch(requestOwner(c), writer)
    writer.send(text)
    writer.end()
  } else outgoing.end(text)
  return RESPONSE_ALREADY_SENT
}

/**
 * Sends JSON piece by piece, at the pace of its reader, so that an answer of any length takes little memory. A failure
 * before the first piece rejects; a later one breaks the connection off, since what was sent is no JSON by itself.
 * `held`: the memory that making the pieces takes. The answer waits until its owner has room for it.
 */
export async function streamJson(
  c: Context<WireEnv>,
  host: Pick<WireHost, 'log' | 'limits'>,
  pieces: AsyncIterable<string>,
  held: Held,
  type = 'application/json',
): Promise<Response> {
  const { outgoing } = c.env
  const reader = await unsentBytes.admit(requestOwner(c), held)
  const leave = (): void => unsentBytes.leave(reader)
  const iterator = pieces[Symbol.asyncIterator]()
  // Nothing is read for a client that has gone while it waited.
  const first = outgoing.destroyed ? undefined : await iterator.next().catch(leaveAndThrow(leave))
  if (first === undefined || outgoing.destroyed) {
    leave()
    return RESPONSE_ALREADY_SENT
  }
  outgoing.writeHead(200, { 'content-type': type })
  const writer = pacedWriter(outgoing, leave, host.limits.stallMs)
  reader.writer = writer
  void pumpJson(first, iterator, writer).catch((error: unknown) => {
    toFailure(error, host.log)
    outgoing.destroy()
  })
  return RESPONSE_ALREADY_SENT
}

function leaveAndThrow(leave: () => void): (error: unknown) => never {
  return error => {
    leave()
    throw error
  }
}

async function pumpJson(
  first: IteratorResult<string>,
  pieces: AsyncIterator<string>,
  writer: SseWriter,
): Promise<void> {
  let chars = 0
  for (let next = first; !next.done; next = await pieces.next()) {
    writer.send(next.value)
    if (writer.full) await writer.ready()
    // No further piece is made for a reader that has gone while it was waited for.
    if (writer.closed) break
    chars += next.value.length
    if (chars < largeAnswer) continue
    chars = 0
    await loopTurn()
  }
  await pieces.return?.()
  writer.end()
}

/** Its reader is dropped when it takes nothing for too long. */
function pacedWriter(outgoing: ServerResponse, onClose: () => void, stallMs?: number): SseWriter {
  return new SseWriter(outgoing, {
    heartbeatMs: 0,
    maxUnsentBytes: Infinity,
    ...(stallMs !== undefined && { stallMs }),
    onClose,
  })
}

/** Undefined before the caller is known, where no answer is large. */
function requestOwner(c: Context<WireEnv>): string {
  const principal: { owner: string } | undefined = c.get('principal')
  return principal?.owner ?? ''
}

/** For routes beside the wires, whose errors have a plain body. */
export function plainErrors(host: WireHost): ErrorHandler<WireEnv> {
  return (error, c) => {
    const failure = toFailure(error, host.log)
    return sendFailure(c, failure, plainErrorBody(failure))
  }
}

/** `body`: in the wire's own form. The headers say whether, and when, to send the request again. */
export function sendFailure(
  c: Context<WireEnv>,
  { code, status, retryAfterMs }: Failure,
  body: unknown,
): Response {
  setRetryHeaders(c.env, { code, retryAfterMs })
  const refusal = code === 'payment_required' ? c.get('payment')?.refusal : undefined
  if (!refusal) return sendJson(c, body, status)
  // Clients that pay know one form of this answer, whatever the protocol of the request is.
  for (const [name, value] of Object.entries(refusal.headers)) c.env.outgoing.setHeader(name, value)
  return sendJson(c, refusal.body, status)
}
