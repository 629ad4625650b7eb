// What the failure of a request to a server says about the request: whether it may have run, and whether the connection
// is of use any more.
import { SdkError, SdkErrorCode, SdkHttpError } from '@modelcontextprotocol/client'

/** `refused`: the server did not take it, so it may be sent again. `unknown`: it may have run. */
export type Loss = 'refused' | 'unknown'

/** Undefined: the server answered; its error is the answer. */
export function lossOf(error: unknown): Loss | undefined {
  if (error instanceof SdkHttpError) {
    // The session is forgotten, or the server was restarted and has none: the protocol says to begin a new one.
    if (error.status === 404 || error.status === 400) return 'refused'
    return error.status >= 500 ? 'unknown' : undefined
  }
  if (error instanceof SdkError)
    return error.code === SdkErrorCode.ConnectionClosed || error.code === SdkErrorCode.NotConnected
      ? 'unknown'
      : undefined
  if (!(error instanceof TypeError)) return undefined
  return wasNeverSent(error) ? 'refused' : 'unknown'
}

/** fetch rejects with a TypeError whose cause has the reason. */
function wasNeverSent({ cause }: TypeError): boolean {
  const code = cause instanceof Error && 'code' in cause ? cause.code : undefined
  return code === 'ECONNREFUSED' || code === 'ENOTFOUND' || code === 'EAI_AGAIN' || code === 'EHOSTUNREACH'
}
