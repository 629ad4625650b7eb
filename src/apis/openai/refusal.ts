// How OpenAI's APIs refuse a parameter: an error with the words, the path and the code that their clients look at. Shared by
// the wires of Chat Completions and of Responses, and the relay; the error body and its HTTP status are each wire's own.
import { type ErrorCode, TurnwireError } from '../../language/errors.ts'
import { excerpt, type FieldType, type FieldWordings } from '../../lib/json/fields.ts'
import type { Json } from '../../lib/json/index.ts'
import * as wordings from './wordings.ts'

export class OpenAiRefusal extends TurnwireError {
  readonly param: string | null
  /** The vendor's code. `code` is ours. */
  readonly reason: string | null

  constructor(
    message: string,
    param: string | null,
    reason: string | null,
    code: 'bad_request' | 'not_found' | 'busy' = 'bad_request',
  ) {
    super(code, message)
    this.param = param
    this.reason = reason
  }
}

/** The codes under which the vendor's clients know failures of ours. Anything missing but a route is an `OpenAiRefusal`. */
const openAiCodes: Partial<Record<ErrorCode, string>> = {
  unauthorized: 'invalid_api_key',
  model_limited: 'rate_limit_exceeded',
  rate_limited: 'rate_limit_exceeded',
  budget_spent: 'insufficient_quota',
  not_found: 'unknown_url',
}

/** The members of an error body that say what was wrong with the request. */
export function refusedParameter(
  ours: ErrorCode,
  error: unknown,
): { param: string | null; code: string | null } {
  if (error instanceof OpenAiRefusal) return { param: error.param, code: error.reason }
  return { param: null, code: openAiCodes[ours] ?? ours }
}

export function refuseParameter(
  message: string,
  param: string | null,
  reason: string | null = 'invalid_value',
): never {
  throw new OpenAiRefusal(message, param, reason)
}

export function parameterRefusal({ message, param, code }: wordings.ParameterProblem): OpenAiRefusal {
  return new OpenAiRefusal(message, param, code)
}

export function missingParameter(path: string): OpenAiRefusal {
  return parameterRefusal(wordings.missingParameter(path))
}

/** `expected` in the vendor's words, such as "an array". */
export function wrongParameterType(path: string, expected: string, given: Json | undefined): OpenAiRefusal {
  return parameterRefusal(wordings.invalidType(path, expected, given))
}

export function unsupportedParameterValue(
  path: string,
  given: Json | undefined,
  supported: readonly string[],
): OpenAiRefusal {
  return parameterRefusal(wordings.unsupportedValue(path, given, supported, excerpt))
}

export function exclusiveParameters(first: string, second: string): never {
  return refuseParameter(
    `Mutually exclusive parameters: '${first}' and '${second}'. Ensure you are only providing one of them.`,
    first,
    'mutually_exclusive_parameters',
  )
}

export const noSuchThing = (message: string, param: string | null, reason: string): OpenAiRefusal =>
  new OpenAiRefusal(message, param, reason, 'not_found')

export const noSuchAgent = (name: string): OpenAiRefusal =>
  noSuchThing(`There is no agent '${excerpt(name)}'.`, 'agent_id', 'agent_not_found')

const typeNames: Readonly<Record<FieldType, string>> = {
  object: 'an object',
  list: 'an array',
  text: 'a string',
  flag: 'a boolean',
  number: 'a number',
  integer: 'an integer',
}

export const openAiWordings: FieldWordings = {
  missing: missingParameter,
  wrongType: (path, expected, given) => wrongParameterType(path, typeNames[expected], given),
  notOneOf: unsupportedParameterValue,
  outOfRange: (path, bound) => parameterRefusal(wordings.outOfBounds(path, bound)),
  unknown: (path, name) =>
    parameterRefusal(wordings.unknownParameter(excerpt(path === '' ? name : `${path}.${name}`))),
}
