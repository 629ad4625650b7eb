// Answers a stateless request, whole or as a stream, through a wire's encoder. Nothing is kept of it, and a client that
// leaves cancels the model.
import type { Context, ErrorHandler } from 'hono'
import type { OnceAnswer, OnceItem, OnceRequest } from '../../engine/index.ts'
import { publicError, TurnwireError } from '../../language/errors.ts'
import type { WireEnv, WireHost } from '../host.ts'
import { type Failure, failureOf, RESPONSE_ALREADY_SENT, sendFailure, sendJson } from '../http/index.ts'
import { clientGone, type FrameEncoder, streamFromFirstFrame } from '../http/stream.ts'

export type StatelessRequest = Omit<OnceRequest, 'owner' | 'deltas'>

export function streamAnswer(
  c: Context<WireEnv>,
  host: WireHost,
  request: StatelessRequest,
  encoder: FrameEncoder<OnceItem>,
): Promise<Response> {
  const { owner } = c.get('principal')
  // A frame that was sent cannot be taken back.
  const once: OnceRequest = { ...request, owner, deltas: 'fail' }
  return streamFromFirstFrame(c, host, signal => host.engine.answerOnce(once, signal), encoder)
}

export async function sendAnswer(
  c: Context<WireEnv>,
  host: WireHost,
  request: StatelessRequest,
  encode: (answer: OnceAnswer) => unknown,
): Promise<Response> {
  const { owner } = c.get('principal')
  for await (const batch of host.engine.answerOnce({ ...request, owner, deltas: 'none' }, clientGone(c)))
    for (const item of batch) if (item.type === 'answer') return sendJson(c, encode(item.answer))
  // Without an answer: the client has left.
  return RESPONSE_ALREADY_SENT
}

/** `bodyOf` gives the protocol's error body. */
export function handleErrors(
  host: WireHost,
  bodyOf: (failure: Failure, error: unknown, c: Context<WireEnv>) => object,
): ErrorHandler<WireEnv> {
  return (error, c) => {
    // The engine has logged a model's failure already.
    const failure = error instanceof TurnwireError ? publicError(error) : failureOf(error, host.log)
    return sendFailure(c, failure, bodyOf(failure, error, c))
  }
}
