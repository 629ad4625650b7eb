// Answers a stateless request, whole or as a stream, through a wire's encoder. Nothing is kept of it, and a client that
// leaves cancels the model.
import type { Context } from 'hono'
import type { OnceAnswer, OnceItem, OnceRequest } from '../../engine/index.ts'
import type { WireEnv, WireHost } from '../host.ts'
import { RESPONSE_ALREADY_SENT, sendJson } from '../http/index.ts'
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
  return streamFromFirstFrame(c, host, signal => c.get('engine').answerOnce(once, signal), encoder)
}

export async function sendAnswer(
  c: Context<WireEnv>,
  request: StatelessRequest,
  encode: (answer: OnceAnswer) => unknown,
): Promise<Response> {
  const { owner } = c.get('principal')
  for await (const batch of c.get('engine').answerOnce({ ...request, owner, deltas: 'none' }, clientGone(c)))
    for (const item of batch) if (item.type === 'answer') return sendJson(c, encode(item.answer))
  // Without an answer: the client has left.
  return RESPONSE_ALREADY_SENT
}
