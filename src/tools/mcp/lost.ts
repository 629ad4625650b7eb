// Reads the failure of a request to a server: whether the request may have run, and whether the connection can still be
// used.
import { SdkError, SdkErrorCode, SdkHttpError } from '@modelcontextprotocol/client'
import { Unanswered, wasNeverSent } from '../../lib/net/unanswered.ts'

/** `refused`: the server did not take it, so it may be sent again. `unknown`: it may have run. */
export type Loss = 'refused' | 'unknown'

/** No answer to the request came on the connection. */
const lostCodes: ReadonlySet<unknown> = new Set([
  SdkErrorCode.ConnectionClosed,
  SdkErrorCode.NotConnected,
  SdkErrorCode.ClientHttpUnexpectedContent,
])

/** Undefined: the server answered; its error is the answer. */
export function findLoss(error: unknown): Loss | undefined {
  if (error instanceof SdkHttpError) {
    // The session is forgotten, or the server was restarted and has none: the protocol says to begin a new one.
    if (error.status === 404 || error.status === 400) return 'refused'
    return error.status >= 500 ? 'unknown' : undefined
  }
  if (error instanceof SdkError) return lostCodes.has(error.code) ? 'unknown' : undefined
  // An answer that is too long or no JSON cannot be read.
  if (error instanceof Unanswered || error instanceof SyntaxError) return 'unknown'
  if (!(error instanceof TypeError)) return undefined
  return wasNeverSent(error) ? 'refused' : 'unknown'
}
