// The sentences with which the Messages API refuses a request. No rule is here; those are in the files beside it.
import type { Rejection, Rejections } from '../script.ts'

export const anthropicError = (rule: string, message: string): Rejection => ({
  rule,
  status: 400,
  type: 'invalid_request_error',
  message,
})

export const fieldRequired = (rule: string, path: string): Rejection =>
  anthropicError(rule, `${path}: Field required`)

export const inputShouldBe = (rule: string, path: string, wanted: string): Rejection =>
  anthropicError(rule, `${path}: Input should be ${wanted}`)

export const extraInput = (path: string): Rejection =>
  anthropicError('A-28', `${path}: Extra inputs are not permitted`)

export const patternExpected = (rule: string, path: string, pattern: RegExp): Rejection =>
  anthropicError(rule, `${path}: String should match pattern '${pattern.source}'`)

export function unexpectedTag(
  rule: string,
  path: string,
  tag: string,
  expected: readonly string[],
): Rejection {
  const tags = expected.map(each => `'${each}'`).join(', ')
  const message = `${path}: Input tag '${tag}' found using 'type' does not match any of the expected tags: ${tags}`
  return anthropicError(rule, message)
}

/** Refusals that all break one rule, by their messages. */
export function* withRule(rule: string, messages: Iterable<string>): Rejections {
  for (const message of messages) yield anthropicError(rule, message)
}

const FAILURES: Readonly<Record<number, [type: string, message: string]>> = {
  400: ['invalid_request_error', 'Invalid request'],
  401: ['authentication_error', 'invalid x-api-key'],
  403: ['permission_error', 'Your API key does not have permission to use the specified resource.'],
  404: ['not_found_error', 'Not found'],
  413: ['request_too_large', 'Request exceeds the maximum size'],
  429: ['rate_limit_error', 'This request would exceed your account’s rate limit. Please try again later.'],
  500: ['api_error', 'Internal server error'],
  504: ['timeout_error', 'Request timed out'],
  529: ['overloaded_error', 'Overloaded'],
}

/** A failure of the service itself. */
export function anthropicFailure(status: number): Rejection {
  const [type, message] = FAILURES[status] ?? FAILURES[500]!
  return { rule: 'A-00', status, type, message }
}
