// Sends a failure in the wire's own form, with the headers that say whether, and when, to send the request again.
import type { Context, ErrorHandler } from 'hono'
import type { WireEnv, WireHost } from '../host.ts'
import { plainErrorBody } from '../wire.ts'
import { type Failure, failureOf, setRetryHeaders } from './failure.ts'
import { sendJson } from './send.ts'

/** For routes beside the wires, whose errors have a plain body. */
export function plainErrors(host: WireHost): ErrorHandler<WireEnv> {
  return (error, c) => {
    const failure = failureOf(error, host.log)
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
