// How the engine's boundary is spoken over a channel. A call has one answer. A stream gives as many batches as were pulled, so
// that a reader sets the pace; `cancel` ends it. Errors cross as their code and message.
import type { PlainError } from '../../engine/ports/boundary.ts'
import { errorCodes, hasCode, TurnwireError, wordsOf } from '../../language/errors.ts'

/** So many batches may be on their way to a reader, or wait for it. Most streams of a turn are shorter. */
export const batchesAhead = 4

/** `epoch`: the session that it is about is expected to have this one. Absent: whatever it has. */
type LinkCall = { id: number; name: string; args: unknown[]; epoch?: number }

export type LinkRequest =
  | ({ type: 'call' } & LinkCall)
  /** The first batches are sent without a `pull`: `batchesAhead` of them. */
  | ({ type: 'open' } & LinkCall)
  | { type: 'pull'; id: number; batches: number }
  | { type: 'cancel'; id: number }

export type LinkReply =
  | { type: 'result'; id: number; value: unknown }
  | { type: 'batch'; id: number; items: readonly unknown[] }
  | { type: 'end'; id: number }
  | { type: 'error'; id: number; error: PlainError }
  /** Something that no request asked for. */
  | { type: 'note'; note: unknown }

/** The peer is the operator's own process, so it is told the cause of a defect too. */
export function plainError(error: unknown): PlainError {
  const message = wordsOf(error)
  if (!(error instanceof TurnwireError)) return { code: 'internal', message }
  const { code, retryAfterMs } = error
  return { code, message, ...(retryAfterMs !== undefined && { retryAfterMs }) }
}

export function remadeError({ code, message, retryAfterMs }: PlainError): TurnwireError {
  return new TurnwireError(Object.hasOwn(errorCodes, code) ? code : 'internal', message, { retryAfterMs })
}

/** The engine refused because it stops: nothing was recorded. */
export function isStopping(error: unknown): boolean {
  return hasCode(error, 'stopping')
}
