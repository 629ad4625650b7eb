// What a caller is told of anything that was thrown, and what the operator's log keeps of it. The shape of the error
// body is each wire's own.

import { errorCodes, type PublicError, publicError, TurnwireError } from '../../language/errors.ts'
import type { WireEnv, WireHost } from '../host.ts'

export type Failure = PublicError

/** Logs what a caller may not see; gives what it may. */
export function toFailure(error: unknown, log: WireHost['log']): Failure {
  // The engine has logged what a model rejected.
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

/** What was foreseen is told in its own words; a defect also says where it happened. */
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

/** By status, where nobody knows better: another node takes over within seconds; a full disk takes a person. */
const usualWaitMs: Partial<Record<number, number>> = { 503: 1_000, 507: 10_000 }
