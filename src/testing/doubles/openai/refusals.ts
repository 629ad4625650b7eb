// The sentences with which OpenAI's endpoints refuse a request, as functions of the place and the value.
// No rule is here. Chat and Responses share these words because the vendor validates both with the same code.
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

export const missingParameter = (rule: string, path: string): Rejection =>
  openaiError(rule, `Missing required parameter: '${path}'.`, path, 'missing_required_parameter')

export const unknownParameter = (rule: string, path: string): Rejection =>
  openaiError(rule, `Unknown parameter: '${path}'.`, path, 'unknown_parameter')

export function invalidType(rule: string, path: string, expected: string, value: unknown): Rejection {
  const message = `Invalid type for '${path}': expected ${expected}, but got ${typeInWords(value)} instead.`
  return openaiError(rule, message, path, 'invalid_type')
}

export function unsupportedValue(rule: string, path: string, value: unknown, supported: string[]): Rejection {
  const shown = typeof value === 'string' ? `'${value}'` : JSON.stringify(value)
  const message = `Invalid value: ${shown}. Supported values are: ${supportedList(supported)}.`
  return openaiError(rule, message, path, 'invalid_value')
}

export function arrayTooLong(rule: string, path: string, limit: number, length: number): Rejection {
  const message = `Invalid '${path}': array too long. Expected an array with maximum length ${limit}, but got an array with length ${length} instead.`
  return openaiError(rule, message, path, 'array_above_max_length')
}

export function emptyArray(rule: string, path: string): Rejection {
  const message = `Invalid '${path}': empty array. Expected an array with minimum length 1, but got an empty array instead.`
  return openaiError(rule, message, path, 'empty_array')
}

export function belowMinimum(rule: string, path: string, minimum: number, value: number): Rejection {
  const message = `Invalid '${path}': integer below minimum value. Expected a value >= ${minimum}, but got ${value} instead.`
  return openaiError(rule, message, path, 'integer_below_min_value')
}

export function emptyString(rule: string, path: string): Rejection {
  const message = `Invalid '${path}': empty string. Expected a string with minimum length 1, but got an empty string instead.`
  return openaiError(rule, message, path, 'empty_string')
}

export function stringTooLong(rule: string, path: string, limit: number, length: number): Rejection {
  const message = `Invalid '${path}': string too long. Expected a string with maximum length ${limit}, but got a string with length ${length} instead.`
  return openaiError(rule, message, path, 'string_above_max_length')
}

export function patternMismatch(rule: string, path: string, pattern: RegExp): Rejection {
  const message = `Invalid '${path}': string does not match pattern. Expected a string that matches the pattern '${pattern.source}'.`
  return openaiError(rule, message, path, 'invalid_value')
}

function typeInWords(value: unknown): string {
  if (value === null) return 'null'
  if (value === undefined) return 'nothing'
  if (Array.isArray(value)) return 'an array'
  if (typeof value === 'number') return Number.isInteger(value) ? 'an integer' : 'a decimal'
  if (typeof value === 'object') return 'an object'
  return `a ${typeof value}`
}

function supportedList(values: string[]): string {
  const quoted = values.map(value => `'${value}'`)
  if (quoted.length < 3) return quoted.join(' and ')
  return `${quoted.slice(0, -1).join(', ')}, and ${quoted.at(-1)}`
}
