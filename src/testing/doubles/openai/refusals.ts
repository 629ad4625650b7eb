// The refusals of a request by OpenAI, by the rule that it breaks. No rule is here. Chat and Responses share the words because
// the vendor validates both with the same code.
import * as wordings from '../../../apis/openai/wordings.ts'
import type { Rejection } from '../script.ts'

export function openaiError(
  rule: string,
  message: string,
  param: string | null = null,
  code: string | null = null,
  status = 400,
): Rejection {
  return { rule, status, type: 'invalid_request_error', message, param, code }
}

/** The rule comes first, then what the words take. */
const withRule =
  <Args extends unknown[]>(problem: (...args: Args) => wordings.ParameterProblem) =>
  (rule: string, ...args: Args): Rejection => {
    const { message, param, code } = problem(...args)
    return openaiError(rule, message, param, code)
  }

export const missingParameter = withRule(wordings.missingParameter)
export const unknownParameter = withRule(wordings.unknownParameter)
export const invalidType = withRule(wordings.invalidType)
export const unsupportedValue = withRule(wordings.unsupportedValue)

const outOfBounds = withRule(wordings.outOfBounds)

export const arrayTooLong = (rule: string, path: string, limit: number, given: number): Rejection =>
  outOfBounds(rule, path, { bound: 'most', of: 'list', limit, given })

export const emptyArray = (rule: string, path: string): Rejection =>
  outOfBounds(rule, path, { bound: 'least', of: 'list', limit: 1, given: 0 })

export const belowMinimum = (rule: string, path: string, limit: number, given: number): Rejection =>
  outOfBounds(rule, path, { bound: 'least', of: 'number', limit, given })

export const emptyString = (rule: string, path: string): Rejection =>
  outOfBounds(rule, path, { bound: 'least', of: 'text', limit: 1, given: 0 })

export const stringTooLong = (rule: string, path: string, limit: number, given: number): Rejection =>
  outOfBounds(rule, path, { bound: 'most', of: 'text', limit, given })

export const patternMismatch = (rule: string, path: string, pattern: RegExp): Rejection =>
  outOfBounds(rule, path, { bound: 'pattern', pattern })
