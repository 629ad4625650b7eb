// What a caller is told of anything that was thrown, and what the operator's log keeps of it. The shape of the error
// body is each wire's own.
import type { ErrorHandler } from 'hono'
import { type ErrorCode, errorCodes, publicError, TurnwireError } from '../../language/errors.ts'
import type { WireEnv, WireHost } from '../host.ts'
import { sendJson } from './send.ts'

export type Failure = { code: ErrorCode; message: string; status: number }

/** Logs what a caller may not see; gives what it may. */
export function failureOf(error: unknown, log: WireHost['log']): Failure {
  const hidden = !(error instanceof TurnwireError) || errorCodes[error.code].audience === 'operator'
  if (hidden)
    log('error', 'A request failed.', {
      code: error instanceof TurnwireError ? error.code : 'internal',
      error: wordsOf(error),
    })
  return publicError(error)
}

/** What was foreseen is told in its own words; a defect also says where it happened. */
function wordsOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  return error instanceof TurnwireError ? error.message : (error.stack ?? error.message)
}

/** For wires whose protocol has no error body of its own. */
export function plainErrors(host: WireHost): ErrorHandler<WireEnv> {
  return (error, c) => {
    const { code, message, status } = failureOf(error, host.log)
    return sendJson(c, { error: message, code }, status)
  }
}
