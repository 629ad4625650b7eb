// The refusals of the Messages API, by the rule that a request breaks. No rule is here; those are in the files beside it.
import * as says from '../../../apis/anthropic/wordings.ts'
import type { Rejection, Rejections } from '../script.ts'
import { extraKeys, type JsonRecord, wordList } from '../shape.ts'

export const refuse = (rule: string, message: string): Rejection => ({
  rule,
  status: 400,
  type: 'invalid_request_error',
  message,
})

/** `known`: the names of the fields that the API knows, as words. */
export function* extraInputs(value: JsonRecord, known: string, path: string): Rejections {
  for (const key of extraKeys(value, wordList(known))) yield refuse('A-28', says.extraInput(`${path}.${key}`))
}

/** Refusals that all break one rule, by their messages. */
export function* refuseAll(rule: string, messages: Iterable<string>): Rejections {
  for (const message of messages) yield refuse(rule, message)
}

const FAILURES: Readonly<Record<number, string>> = {
  400: 'Invalid request',
  401: 'invalid x-api-key',
  403: 'Your API key does not have permission to use the specified resource.',
  404: 'Not found',
  413: 'Request exceeds the maximum size',
  429: 'This request would exceed your account’s rate limit. Please try again later.',
  504: 'Request timed out',
  529: 'Overloaded',
}

/** A failure of the service itself. */
export const anthropicFailure = (status: number): Rejection => ({
  rule: 'A-00',
  status,
  type: says.errorType(status),
  message: FAILURES[status] ?? 'Internal server error',
})
