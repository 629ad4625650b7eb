// Reading a Chat Completions body one field at a time, and refusing what is wrong in the vendor's own words, so that a
// caller's error handling meets what it knows. Every refusal names its parameter.
import { TurnwireError } from '../../language/errors.ts'
import { isJsonObject, type Json, type JsonObject } from '../../lib/json.ts'

export type ErrorBody = {
  error: { message: string; type: string; param: string | null; code: string | null }
}

export class ChatRefusal extends TurnwireError {
  readonly param: string | null
  /** The vendor's code, beside our own. */
  readonly reason: string | null

  constructor(message: string, param: string | null = null, reason: string | null = null) {
    super('bad_request', message)
    this.param = param
    this.reason = reason
  }
}

export function refuse(message: string, param: string | null = null, reason: string | null = null): never {
  throw new ChatRefusal(message, param, reason)
}

export function missing(path: string): never {
  return refuse(`Missing required parameter: '${path}'.`, path, 'missing_required_parameter')
}

export function wrongType(path: string, expected: string, value: Json | undefined): never {
  return refuse(
    `Invalid type for '${path}': expected ${expected}, but got ${kindOf(value)} instead.`,
    path,
    'invalid_type',
  )
}

export function unsupported(path: string, value: Json | undefined, supported: readonly string[]): never {
  const shown = typeof value === 'string' ? `'${value.slice(0, 100)}'` : (kindOf(value) ?? 'nothing')
  const values = supported.map(each => `'${each}'`)
  const list =
    values.length < 3 ? values.join(' and ') : `${values.slice(0, -1).join(', ')}, and ${values.at(-1)}`
  return refuse(`Invalid value: ${shown}. Supported values are: ${list}.`, path, 'invalid_value')
}

export function emptyArray(path: string): never {
  return refuse(
    `Invalid '${path}': empty array. Expected an array with minimum length 1, but got an empty array instead.`,
    path,
    'empty_array',
  )
}

function kindOf(value: Json | undefined): string {
  if (value === null) return 'null'
  if (value === undefined) return 'nothing'
  if (Array.isArray(value)) return 'an array'
  if (typeof value === 'number') return Number.isInteger(value) ? 'an integer' : 'a decimal'
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`
}

// ---- fields -------------------------------------------------------------------------------------------------

/** `null` counts as absent, as it does for the vendor. */
export function absent(value: Json | undefined): value is null | undefined {
  return value === null || value === undefined
}

export function object(value: Json | undefined, path: string): JsonObject {
  if (value === undefined) return missing(path)
  return isJsonObject(value) ? value : wrongType(path, 'an object', value)
}

/** Not empty, and not longer than `most` where a limit is given. */
export function list(value: Json | undefined, path: string, most = Number.POSITIVE_INFINITY): Json[] {
  if (absent(value)) return missing(path)
  if (!Array.isArray(value)) return wrongType(path, 'an array of objects', value)
  if (value.length === 0) return emptyArray(path)
  if (value.length <= most) return value
  return refuse(
    `Invalid '${path}': array too long. Expected an array with maximum length ${most}, but got an array with length ${value.length} instead.`,
    path,
    'array_above_max_length',
  )
}

export type TextRule = { max?: number; pattern?: RegExp; mayBeEmpty?: true }

export function text(value: Json | undefined, path: string, rule: TextRule = { mayBeEmpty: true }): string {
  if (value === undefined) return missing(path)
  if (typeof value !== 'string') return wrongType(path, 'a string', value)
  if (value === '' && !rule.mayBeEmpty)
    return refuse(
      `Invalid '${path}': empty string. Expected a string with minimum length 1, but got an empty string instead.`,
      path,
      'empty_string',
    )
  if (rule.max !== undefined && value.length > rule.max)
    return refuse(
      `Invalid '${path}': string too long. Expected a string with maximum length ${rule.max}, but got a string with length ${value.length} instead.`,
      path,
      'string_above_max_length',
    )
  if (rule.pattern && !rule.pattern.test(value))
    return refuse(
      `Invalid '${path}': string does not match pattern. Expected a string that matches the pattern '${rule.pattern.source}'.`,
      path,
      'invalid_value',
    )
  return value
}

export function flag(value: Json | undefined, path: string): boolean | undefined {
  if (absent(value)) return undefined
  return typeof value === 'boolean' ? value : wrongType(path, 'a boolean', value)
}

export function count(value: Json | undefined, path: string, least: number): number | undefined {
  if (absent(value)) return undefined
  if (typeof value !== 'number' || !Number.isInteger(value)) return wrongType(path, 'an integer', value)
  if (value >= least) return value
  return refuse(
    `Invalid '${path}': integer below minimum value. Expected a value >= ${least}, but got ${value} instead.`,
    path,
    'integer_below_min_value',
  )
}
