// How OpenAI's APIs refuse a parameter: the words, the path and the code that their clients look at. Shared by the wires
// of Chat Completions and of Responses; the error body and its HTTP status are each wire's own.
import { type ErrorCode, TurnwireError } from '../language/errors.ts'
import type { Json } from '../lib/json.ts'
import { excerpt, type FieldBound, type FieldType, type FieldWordings } from './fields.ts'

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

/** The code under which the vendor's clients know a failure of ours. */
export function openAiCode(code: ErrorCode): string {
  if (code === 'unauthorized') return 'invalid_api_key'
  return code === 'model_limited' || code === 'rate_limited' ? 'rate_limit_exceeded' : code
}

export function refuseParameter(
  message: string,
  param: string | null,
  reason: string | null = 'invalid_value',
): never {
  throw new OpenAiRefusal(message, param, reason)
}

export function missingParameter(path: string): OpenAiRefusal {
  return new OpenAiRefusal(`Missing required parameter: '${path}'.`, path, 'missing_required_parameter')
}

/** `expected` in the vendor's words, such as "an array". */
export function wrongParameterType(path: string, expected: string, given: Json | undefined): OpenAiRefusal {
  const message = `Invalid type for '${path}': expected ${expected}, but got ${jsonKind(given)} instead.`
  return new OpenAiRefusal(message, path, 'invalid_type')
}

export function unsupportedParameterValue(
  path: string,
  given: Json | undefined,
  supported: readonly string[],
): OpenAiRefusal {
  const shown = typeof given === 'string' ? `'${excerpt(given)}'` : excerpt(JSON.stringify(given ?? null))
  const message = `Invalid value: ${shown}. Supported values are: ${quotedList(supported)}.`
  return new OpenAiRefusal(message, path, 'invalid_value')
}

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
  outOfRange,
  unknown(path, name) {
    const at = excerpt(path === '' ? name : `${path}.${name}`)
    return new OpenAiRefusal(`Unknown parameter: '${at}'.`, at, 'unknown_parameter')
  },
}

function outOfRange(path: string, bound: FieldBound): OpenAiRefusal {
  const { problem, expected, reason } = boundWords(bound)
  return new OpenAiRefusal(`Invalid '${path}': ${problem}. Expected ${expected}.`, path, reason)
}

type BoundWords = { problem: string; expected: string; reason: string }

function boundWords(broken: FieldBound): BoundWords {
  if (broken.bound === 'pattern')
    return {
      problem: 'string does not match pattern',
      expected: `a string that matches the pattern '${broken.pattern.source}'`,
      reason: 'invalid_value',
    }
  const { bound, of, limit, given } = broken
  const isLeast = bound === 'least'
  if (of === 'number')
    return {
      problem: isLeast ? 'integer below minimum value' : 'integer above maximum value',
      expected: `a value ${isLeast ? '>=' : '<='} ${limit}, but got ${given} instead`,
      reason: isLeast ? 'integer_below_min_value' : 'integer_above_max_value',
    }
  const noun = of === 'text' ? 'string' : 'array'
  const a = of === 'text' ? 'a' : 'an'
  const empty = `an empty ${noun}`
  if (given === 0)
    return {
      problem: `empty ${noun}`,
      expected: `${a} ${noun} with minimum length ${limit}, but got ${empty} instead`,
      reason: `empty_${noun}`,
    }
  return {
    problem: `${noun} too ${isLeast ? 'short' : 'long'}`,
    expected: `${a} ${noun} with ${isLeast ? 'minimum' : 'maximum'} length ${limit}, but got ${a} ${noun} with length ${given} instead`,
    reason: `${noun}_${isLeast ? 'below_min' : 'above_max'}_length`,
  }
}

function jsonKind(value: Json | undefined): string {
  if (value === null) return 'null'
  if (value === undefined) return 'nothing'
  if (Array.isArray(value)) return 'an array'
  if (typeof value === 'object') return 'an object'
  if (typeof value === 'number') return Number.isInteger(value) ? 'an integer' : 'a decimal'
  return `a ${typeof value}`
}

function quotedList(values: readonly string[]): string {
  const quoted = values.map(value => `'${value}'`)
  return quoted.length < 3 ? quoted.join(' and ') : `${quoted.slice(0, -1).join(', ')}, and ${quoted.at(-1)}`
}
