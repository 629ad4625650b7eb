// The closed list of errors that a caller can get. A tool's failure is not in it: that is an outcome (calls.ts). A defect
// becomes `internal`, and its details go only to the operator's log.
export { errorMessage as wordsOf } from '../lib/text/error-message.ts'

type Trait = { status: number; retry: boolean; audience: 'caller' | 'operator' }

export const errorCodes = {
  bad_request: { status: 400, retry: false, audience: 'caller' },
  invalid_json: { status: 400, retry: false, audience: 'caller' },
  unknown_agent: { status: 400, retry: false, audience: 'caller' },
  unknown_tool: { status: 400, retry: false, audience: 'caller' },
  unknown_option: { status: 400, retry: false, audience: 'caller' },
  unknown_model: { status: 400, retry: false, audience: 'caller' },
  invalid_tool: { status: 400, retry: false, audience: 'caller' },
  tool_name_conflict: { status: 400, retry: false, audience: 'caller' },
  unknown_call: { status: 400, retry: false, audience: 'caller' },
  duplicate_call: { status: 400, retry: false, audience: 'caller' },
  invalid_edit: { status: 400, retry: false, audience: 'caller' },
  unauthorized: { status: 401, retry: false, audience: 'caller' },
  payment_required: { status: 402, retry: false, audience: 'caller' },
  forbidden: { status: 403, retry: false, audience: 'caller' },
  not_approver: { status: 403, retry: false, audience: 'caller' },
  hook_refused: { status: 403, retry: false, audience: 'caller' },
  forbidden_host: { status: 403, retry: false, audience: 'caller' },
  forbidden_origin: { status: 403, retry: false, audience: 'caller' },
  not_found: { status: 404, retry: false, audience: 'caller' },
  session_not_found: { status: 404, retry: false, audience: 'caller' },
  history_not_found: { status: 404, retry: false, audience: 'caller' },
  busy: { status: 409, retry: true, audience: 'caller' },
  call_claimed: { status: 409, retry: true, audience: 'caller' },
  message_delivered: { status: 409, retry: false, audience: 'caller' },
  call_settled: { status: 409, retry: false, audience: 'caller' },
  call_undone: { status: 409, retry: false, audience: 'caller' },
  wrong_party: { status: 409, retry: false, audience: 'caller' },
  already_decided: { status: 409, retry: false, audience: 'caller' },
  stale_approval: { status: 409, retry: false, audience: 'caller' },
  idempotency_conflict: { status: 409, retry: false, audience: 'caller' },
  controlled: { status: 409, retry: true, audience: 'caller' },
  recovery_failed: { status: 409, retry: false, audience: 'caller' },
  callback_expired: { status: 410, retry: false, audience: 'caller' },
  approval_expired: { status: 410, retry: false, audience: 'caller' },
  // A client above the one that pays must not repeat the request: it would pay again.
  payment_pending: { status: 409, retry: false, audience: 'caller' },
  payment_conflict: { status: 409, retry: false, audience: 'caller' },
  too_large: { status: 413, retry: false, audience: 'caller' },
  unsupported_media: { status: 415, retry: false, audience: 'caller' },
  rate_limited: { status: 429, retry: true, audience: 'caller' },
  budget_spent: { status: 429, retry: false, audience: 'caller' },
  internal: { status: 500, retry: false, audience: 'operator' },
  model_failed: { status: 502, retry: true, audience: 'caller' },
  model_limited: { status: 429, retry: true, audience: 'caller' },
  // Not a 5xx: most clients repeat every 5xx, whatever the headers say.
  model_rejected: { status: 400, retry: false, audience: 'operator' },
  model_timeout: { status: 504, retry: true, audience: 'caller' },
  agent_unavailable: { status: 503, retry: true, audience: 'caller' },
  payment_failed: { status: 502, retry: true, audience: 'caller' },
  stopping: { status: 503, retry: true, audience: 'caller' },
  lease_lost: { status: 503, retry: true, audience: 'caller' },
  moved: { status: 503, retry: true, audience: 'caller' },
  store_locked: { status: 503, retry: true, audience: 'operator' },
  store_failed: { status: 503, retry: true, audience: 'operator' },
  store_full: { status: 507, retry: true, audience: 'operator' },
  store_foreign: { status: 500, retry: false, audience: 'operator' },
  store_newer: { status: 500, retry: false, audience: 'operator' },
  config_invalid: { status: 500, retry: false, audience: 'operator' },
} as const satisfies Record<string, Trait>

export type ErrorCode = keyof typeof errorCodes

export type TurnwireErrorOptions = ErrorOptions & {
  /** How long to wait before the next attempt, where that is known. */
  retryAfterMs?: number | undefined
  /** Something outside has been done for the request already, so it must not be made again. */
  hasRun?: boolean | undefined
}

export class TurnwireError extends Error {
  readonly code: ErrorCode
  readonly retryAfterMs: number | undefined
  readonly hasRun: boolean
  constructor(code: ErrorCode, message: string, options?: TurnwireErrorOptions) {
    super(message, options)
    this.name = 'TurnwireError'
    this.code = code
    this.retryAfterMs = options?.retryAfterMs
    this.hasRun = options?.hasRun ?? false
  }
  get status(): number {
    return errorCodes[this.code].status
  }
  get retry(): boolean {
    return errorCodes[this.code].retry
  }
}

/** Also for a caller who may not know that the session exists. */
export function sessionNotFound(): TurnwireError {
  return new TurnwireError('session_not_found', 'Session not found')
}

export function hasCode(error: unknown, ...codes: readonly ErrorCode[]): error is TurnwireError {
  return error instanceof TurnwireError && codes.includes(error.code)
}

export type PublicError = { code: ErrorCode; message: string; status: number; retryAfterMs?: number }

/** The part of a thrown value that a caller may see. The message of a defect never leaves the process. */
export function publicError(error: unknown): PublicError {
  if (error instanceof TurnwireError && errorCodes[error.code].audience === 'caller') {
    const { code, message, status, retryAfterMs } = error
    return { code, message, status, ...(retryAfterMs !== undefined && { retryAfterMs }) }
  }
  if (error instanceof TurnwireError)
    return {
      code: error.code,
      message: operatorMessages[error.code] ?? 'The server failed.',
      status: error.status,
    }
  return { code: 'internal', message: 'The server failed. Its log says why.', status: 500 }
}

const operatorMessages: Partial<Record<ErrorCode, string>> = {
  model_rejected: 'The model provider rejected the request. The server log says why.',
  store_locked: 'The store is locked by another process. Try again.',
  store_failed: 'The store could not be written. Nothing was recorded; try again.',
  store_full: 'The store is full. Nothing was recorded; try again once there is space.',
}
