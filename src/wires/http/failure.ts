// Turns any thrown value into the error that a caller is told, and logs the rest for the operator. Each wire makes its
// own error body.

import { errorCodes, type PublicError, publicError, TurnwireError } from '../../language/errors.ts'
import type { WireEnv, WireHost } from '../host.ts'

export type Failure = PublicError

/** Logs an error whose details a caller may not see, and gives the public part. */
export function toFailure(error: unknown, log: WireHost['log']): Failure {
  // The engine has logged a `model_rejected` already.
  const hidden =
    !(error instanceof TurnwireError) ||
    (errorCodes[error.code].audience === 'operator' && error.code !== 'model_rejected')
  if (hidden)
    log('error', 'A request failed.', {
      code: error instanceof TurnwireError ? error.code : 'internal',
      error: failureWords(error),
    })
  return publicError(error)
}

/** The message of an expected error, or the stack of a defect. */
function failureWords(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  return error instanceof TurnwireError ? error.message : (error.stack ?? error.message)
}

/** Read by the SDKs of OpenAI and Anthropic; `Retry-After` also by the others. */
export function setRetryHeaders(
  { outgoing }: Pick<WireEnv['Bindings'], 'outgoing'>,
  { code, retryAfterMs }: { code: PublicError['code']; retryAfterMs?: number | undefined },
): void {
  const { retry, status } = errorCodes[code]
  outgoing.setHeader('x-should-retry', String(retry))
  const afterMs = retryAfterMs ?? (retry ? usualWaitMs[status] : undefined)
  if (afterMs === undefined) return
  outgoing.setHeader('retry-after', String(Math.ceil(afterMs / 1000)))
  outgoing.setHeader('retry-after-ms', String(Math.ceil(afterMs)))
}

/** Default waits by status: another node takes over within seconds; a full disk needs a person. */
const usualWaitMs: Partial<Record<number, number>> = { 503: 1_000, 507: 10_000 }
