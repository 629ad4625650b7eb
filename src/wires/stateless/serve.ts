// Answers a stateless request, whole or as a stream, through a wire's encoder, or with a summary or an estimate. Nothing is kept
// of it, and a client that leaves cancels the model.
import type { Context } from 'hono'
import { type OnceAnswer, type OnceItem, type OnceRequest, summaryInstructions } from '../../engine/index.ts'
import { estimateTokens as estimate } from '../../language/estimate-tokens.ts'
import type { Entry } from '../../language/history.ts'
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

/** Tools stay declared, since vendors refuse calls in a history whose tools are not. */
export function summarising<Asked extends Pick<OnceRequest, 'ask' | 'history'>>(
  asked: Asked,
  instructions: string = summaryInstructions,
): Asked {
  const { choice: _, format: __, maxTokens: ___, ...ask } = asked.ask ?? {}
  const question: Entry = { role: 'user', parts: [{ type: 'text', text: instructions }] }
  return { ...asked, ask: { ...ask, choice: 'none' }, history: [...asked.history, question] }
}

/** `system`: the agent's own instructions. */
export function estimateTokens({ history, ask, clientTools }: StatelessRequest, system = ''): number {
  return estimate({ system: system + (ask?.system ?? ''), history, tools: clientTools })
}
