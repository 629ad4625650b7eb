// Reading a generateContent body one field at a time, under its camelCase or its snake_case name as the vendor does, and
// refusing what is wrong in the vendor's own words and envelope.
import { TurnwireError } from '../../language/errors.ts'
import { isJsonObject, type Json, type JsonObject } from '../../lib/json.ts'
import type { Failure } from '../http/index.ts'

export function refuse(message: string): never {
  throw new TurnwireError('bad_request', message)
}

const snake = (name: string): string => name.replace(/[A-Z]/g, letter => `_${letter.toLowerCase()}`)
const camel = (name: string): string => name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())

/** `null` counts as absent, as in protobuf's JSON. */
export function field(value: JsonObject, name: string): Json | undefined {
  return value[name] ?? value[snake(name)] ?? undefined
}

/** All fields by their camelCase names. */
export function camelised(value: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [camel(key), inner]))
}

export function refuseUnknown(value: JsonObject, known: ReadonlySet<string>, at: string): void {
  for (const key of Object.keys(value))
    if (!known.has(camel(key)))
      refuse(
        `Invalid JSON payload received. Unknown name "${key.slice(0, 100)}"${at === '' ? '' : ` at '${at}'`}: Cannot find field.`,
      )
}

export function invalidValue(at: string, type: string, value: Json | undefined): never {
  const shown = (JSON.stringify(value) ?? 'null').slice(0, 200)
  return refuse(`Invalid value at '${at}' (${type}), ${shown}`)
}

export function object(value: Json | undefined, at: string, type = 'object'): JsonObject {
  return isJsonObject(value) ? value : invalidValue(at, type, value)
}

/** Empty when it is absent. */
export function list(value: Json | undefined, at: string, type = 'repeated field'): Json[] {
  if (value === undefined) return []
  return Array.isArray(value) ? value : invalidValue(at, type, value)
}

export function text(value: Json | undefined, at: string): string {
  return typeof value === 'string' ? value : invalidValue(at, 'TYPE_STRING', value)
}

export function optionalText(value: Json | undefined, at: string): string | undefined {
  return value === undefined ? undefined : text(value, at)
}

// ---- the envelope -------------------------------------------------------------------------------------------

export class ModelNotFound extends TurnwireError {
  constructor(name: string, method: string) {
    super(
      'not_found',
      `models/${name.slice(0, 128)} is not found for API version v1beta, or is not supported for ${method}. Call ListModels to see the list of available models and their supported methods.`,
    )
  }
}

const statuses: Readonly<Record<number, string>> = {
  400: 'INVALID_ARGUMENT',
  401: 'UNAUTHENTICATED',
  403: 'PERMISSION_DENIED',
  404: 'NOT_FOUND',
  409: 'ABORTED',
  413: 'INVALID_ARGUMENT',
  415: 'INVALID_ARGUMENT',
  429: 'RESOURCE_EXHAUSTED',
  503: 'UNAVAILABLE',
  504: 'DEADLINE_EXCEEDED',
}

export function errorBody({ message, status }: Failure): object {
  const label = statuses[status] ?? (status < 500 ? 'INVALID_ARGUMENT' : 'INTERNAL')
  return { error: { code: status, message, status: label } }
}
