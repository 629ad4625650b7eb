// Reading a Messages body one field at a time, and refusing what is wrong in the vendor's own words. A path is written as
// the vendor writes it: `messages.0.content.1.tool_use.id`.
import { TurnwireError } from '../../language/errors.ts'
import { isJsonObject, type Json, type JsonObject } from '../../lib/json.ts'
import type { Failure } from '../http/index.ts'

export function refuse(message: string): never {
  throw new TurnwireError('bad_request', message)
}

export function required(path: string): never {
  return refuse(`${path}: Field required`)
}

export function object(value: Json | undefined, path: string): JsonObject {
  if (value === undefined) return required(path)
  return isJsonObject(value) ? value : refuse(`${path}: Input should be an object`)
}

export function list(value: Json | undefined, path: string): Json[] {
  if (value === undefined) return required(path)
  return Array.isArray(value) ? value : refuse(`${path}: Input should be a valid list`)
}

export function text(value: Json | undefined, path: string): string {
  if (value === undefined) return required(path)
  return typeof value === 'string' ? value : refuse(`${path}: Input should be a valid string`)
}

export function flag(value: Json | undefined, path: string): boolean {
  if (value === undefined || value === null) return false
  return typeof value === 'boolean' ? value : refuse(`${path}: Input should be a valid boolean`)
}

export function matching(value: Json | undefined, path: string, pattern: RegExp): string {
  const given = text(value, path)
  return pattern.test(given) ? given : refuse(`${path}: String should match pattern '${pattern.source}'`)
}

export function unexpectedTag(path: string, tag: Json | undefined, expected: readonly string[]): never {
  const shown = typeof tag === 'string' ? tag.slice(0, 100) : ''
  const tags = expected.map(each => `'${each}'`).join(', ')
  return refuse(
    `${path}: Input tag '${shown}' found using 'type' does not match any of the expected tags: ${tags}`,
  )
}

// ---- the envelope -------------------------------------------------------------------------------------------

export class ModelNotFound extends TurnwireError {
  constructor(name: string) {
    super('not_found', `model: ${name.slice(0, 128)}`)
  }
}

/** The vendor's clients know this one: they go on by sending all messages with each request. */
export class ThreadRefused extends TurnwireError {
  constructor() {
    super('bad_request', 'thread: conversations are not kept here. Send all messages with each request.')
  }
}

const types: Readonly<Record<number, string>> = {
  400: 'invalid_request_error',
  401: 'authentication_error',
  403: 'permission_error',
  404: 'not_found_error',
  409: 'invalid_request_error',
  413: 'request_too_large',
  415: 'invalid_request_error',
  429: 'rate_limit_error',
  503: 'overloaded_error',
  504: 'timeout_error',
}

export function errorBody(error: unknown, { message, status }: Failure, requestId?: string): object {
  const type = types[status] ?? (status < 500 ? 'invalid_request_error' : 'api_error')
  const details = { error_code: 'thread_unsupported_request', unsupported: ['thread'] }
  return {
    type: 'error',
    error: { type, message, ...(error instanceof ThreadRefused && { details }) },
    ...(requestId !== undefined && { request_id: requestId }),
  }
}
