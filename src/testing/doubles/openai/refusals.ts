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

export const refusal = (rule: string, { message, param, code }: wordings.ParameterProblem): Rejection =>
  openaiError(rule, message, param, code)

/** The rule comes first, then what the words take. */
const withRule =
  <Args extends unknown[]>(problem: (...args: Args) => wordings.ParameterProblem) =>
  (rule: string, ...args: Args): Rejection =>
    refusal(rule, problem(...args))

export const missingParameter = withRule(wordings.missingParameter)
export const unknownParameter = withRule(wordings.unknownParameter)
export const invalidType = withRule(wordings.invalidType)
export const unsupportedValue = withRule(wordings.unsupportedValue)
export const outOfBounds = withRule(wordings.outOfBounds)
