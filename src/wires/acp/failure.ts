// From what was thrown to the error that the protocol has for it. A defect's own words stay on this side.
import { RequestError } from '@agentclientprotocol/sdk'
import { type ErrorCode, publicError } from '../../language/errors.ts'

const invalidRequest = -32600
const invalidParams = -32602
const internalError = -32603
const authRequired = -32000
const notFound = -32002

const codes: Partial<Record<ErrorCode, number>> = {
  busy: invalidRequest,
  controlled: invalidRequest,
  unauthorized: authRequired,
  session_not_found: notFound,
  not_found: notFound,
}

export function failureOf(error: unknown): RequestError {
  if (error instanceof RequestError) return error
  const { code, message, status } = publicError(error)
  const rpc = codes[code] ?? (status >= 400 && status < 500 ? invalidParams : internalError)
  return new RequestError(rpc, message, { code })
}

export function refuseParams(message: string, data?: Record<string, unknown>): RequestError {
  return new RequestError(invalidParams, message, data)
}

export function unknownSession(sessionId: string): RequestError {
  return new RequestError(notFound, 'There is no such session.', { sessionId })
}

export function keyMissing(message: string): RequestError {
  return new RequestError(authRequired, message)
}

export function busy(): RequestError {
  return new RequestError(
    invalidRequest,
    'A prompt is being answered in this session. Wait for it, or cancel it.',
  )
}

export function failedTurn(error: { code: string; message: string } | undefined): RequestError {
  return new RequestError(internalError, error?.message ?? 'The turn failed.', {
    code: error?.code ?? 'internal',
  })
}
