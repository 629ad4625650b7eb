// What this door says when it refuses: the error object of the Responses API, with the parameter and the code that its
// clients look at. Which HTTP status goes with it is told by our own closed list of errors.
import { TurnwireError } from '../../language/errors.ts'
import type { Json } from '../../lib/json.ts'
import type { WireHost } from '../host.ts'
import { failureOf } from '../http/index.ts'

export type ErrorBody = {
  error: { message: string; type: string; param: string | null; code: string | null }
}

export class Refusal extends TurnwireError {
  readonly param: string | null
  /** The vendor's own word; ours stands in `code`. */
  readonly said: string
  constructor(
    message: string,
    param: string | null,
    said: string,
    code: 'bad_request' | 'not_found' | 'busy' = 'bad_request',
  ) {
    super(code, message)
    this.param = param
    this.said = said
  }
}

export function refuse(message: string, param: string | null, said = 'invalid_value'): never {
  throw new Refusal(message, param, said)
}

export function missing(path: string): never {
  refuse(`Missing required parameter: '${path}'.`, path, 'missing_required_parameter')
}

export function unknownParameter(path: string): never {
  refuse(`Unknown parameter: '${shown(path)}'.`, shown(path), 'unknown_parameter')
}

export function wrongType(path: string, expected: string, value: Json): never {
  const message = `Invalid type for '${path}': expected ${expected}, but got ${kindOf(value)} instead.`
  refuse(message, path, 'invalid_type')
}

export function unsupportedValue(path: string, value: Json | undefined, supported: readonly string[]): never {
  const given = typeof value === 'string' ? `'${shown(value)}'` : shown(JSON.stringify(value ?? null))
  refuse(`Invalid value: ${given}. Supported values are: ${listed(supported)}.`, path)
}

export function noSuchModel(name: string): Refusal {
  const message = `The model '${shown(name)}' does not exist or you do not have access to it.`
  return new Refusal(message, 'model', 'model_not_found', 'not_found')
}

export function noSuchResponse(id: string): Refusal {
  return new Refusal(`Response with id '${shown(id)}' not found.`, null, 'response_not_found', 'not_found')
}

/** What is repeated of a caller's own words: bounded, and whole characters only. */
export function shown(text: string): string {
  return text.length <= 128 ? text.toWellFormed() : `${text.slice(0, 128).toWellFormed()}…`
}

function kindOf(value: Json): string {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'an array'
  if (typeof value === 'object') return 'an object'
  if (typeof value === 'number') return Number.isInteger(value) ? 'an integer' : 'a decimal'
  return `a ${typeof value}`
}

function listed(values: readonly string[]): string {
  const quoted = values.map(value => `'${value}'`)
  return quoted.length < 3 ? quoted.join(' and ') : `${quoted.slice(0, -1).join(', ')}, and ${quoted.at(-1)}`
}

// ---- anything that was thrown ---------------------------------------------------------------------------------

/** Logs what a caller may not see; gives what it may, with its status. */
export function errorOf(error: unknown, log: WireHost['log']): { status: number; body: ErrorBody } {
  if (error instanceof Refusal)
    return { status: error.status, body: errorBody(error.status, error.message, error.param, error.said) }
  const { code, message, status } = failureOf(error, log)
  return { status, body: errorBody(status, message, null, code) }
}

export function errorBody(
  status: number,
  message: string,
  param: string | null,
  code: string | null,
): ErrorBody {
  return { error: { message, type: typeOf(status), param, code } }
}

function typeOf(status: number): string {
  if (status === 401) return 'authentication_error'
  if (status === 403) return 'permission_error'
  if (status === 409) return 'conflict_error'
  if (status === 429) return 'rate_limit_error'
  return status >= 500 ? 'server_error' : 'invalid_request_error'
}
