// What this wire says when it refuses, in the vendor's words, and its error body. Paths have the vendor's snake_case
// names, whichever spelling the client used.
import type { PlainError } from '../../engine/index.ts'
import { errorCodes, TurnwireError } from '../../language/errors.ts'
import { isJsonObject, type Json, type JsonObject } from '../../lib/json.ts'
import { excerpt, type FieldType, fieldReader } from '../fields.ts'

export function geminiRefusal(message: string): Error {
  return new TurnwireError('bad_request', message)
}

const typeLabels: Readonly<Record<FieldType, string>> = {
  object: 'object',
  list: 'repeated field',
  text: 'TYPE_STRING',
  flag: 'TYPE_BOOL',
  number: 'TYPE_DOUBLE',
  integer: 'TYPE_INT32',
}

const modeLabel = 'type.googleapis.com/google.ai.generativelanguage.v1beta.FunctionCallingConfig.Mode'

export const { object, list, text, count, oneOf, onlyKnown } = fieldReader({
  missing: (path, expected) => invalidValue(path, typeLabels[expected], null),
  wrongType: (path, expected, given) => invalidValue(path, typeLabels[expected], given),
  // The mode of function calling is the only word of this protocol that is checked here.
  notOneOf: (path, given) => invalidValue(path, modeLabel, given),
  outOfRange: (path, { bound }) =>
    geminiRefusal(
      bound === 'pattern'
        ? `GenerateContentRequest.${path}: Invalid function name. Must start with a letter or an underscore. Must be alphameric (a-z, A-Z, 0-9), underscores (_), dots (.), colons (:), or dashes (-), with a maximum length of 128.`
        : `${path.slice(path.lastIndexOf('.') + 1)} must be positive.`,
    ),
  unknown: (_, name) =>
    geminiRefusal(`Invalid JSON payload received. Unknown name "${excerpt(name)}": Cannot find field.`),
})

export function invalidValue(path: string, expected: string, given: Json): Error {
  return geminiRefusal(`Invalid value at '${path}' (${expected}), ${excerpt(JSON.stringify(given), 200)}`)
}

/** Any object, such as the arguments of a function. */
export function struct(value: Json | undefined, path: string): JsonObject {
  if (isJsonObject(value)) return value
  throw invalidValue(path, 'type.googleapis.com/google.protobuf.Struct', value ?? null)
}

// ---- spellings ------------------------------------------------------------------------------------------------

export const camelCase = (name: string): string =>
  name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())

/** The members of an object by their camelCase names. `null` counts as absent, as in protobuf's JSON. */
export function members(value: Json | undefined, path: string): JsonObject {
  const entries = Object.entries(object(value, path)).filter(([, member]) => member !== null)
  return Object.fromEntries(entries.map(([name, member]) => [camelCase(name), member]))
}

// ---- the request ----------------------------------------------------------------------------------------------

export function noSuchGeminiModel(name: string, method: string): Error {
  const message = `models/${excerpt(name)} is not found for API version v1beta, or is not supported for ${method}. Call ListModels to see the list of available models and their supported methods.`
  return new TurnwireError('not_found', message)
}

export function noSuchMethod(method: string, methods: readonly string[]): Error {
  const message = `There is no method "${excerpt(method)}" here. There are: ${methods.join(', ')}.`
  return new TurnwireError('not_found', message)
}

export const keyInAddress =
  'A key in the address ends up in logs and is not taken. Send it in the header x-goog-api-key, and change it if it is in use.'

// ---- calls and responses --------------------------------------------------------------------------------------

export function emptyName(path: string): Error {
  return geminiRefusal(`GenerateContentRequest.${path}.name: Name cannot be empty.`)
}

export const misplacedCall =
  'Please ensure that function call turn comes immediately after a user turn or after a function response turn.'
export const misplacedResponse =
  'Please ensure that function response turn comes immediately after a function call turn.'
export const unequalCounts =
  'Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.'

// ---- the error body -------------------------------------------------------------------------------------------

const errorStatuses: Readonly<Record<number, string>> = {
  401: 'UNAUTHENTICATED',
  403: 'PERMISSION_DENIED',
  404: 'NOT_FOUND',
  409: 'ABORTED',
  429: 'RESOURCE_EXHAUSTED',
  503: 'UNAVAILABLE',
  504: 'DEADLINE_EXCEEDED',
}

export function geminiErrorBody({ code, message }: PlainError): object {
  const { status } = errorCodes[code]
  const label = errorStatuses[status] ?? (status < 500 ? 'INVALID_ARGUMENT' : 'INTERNAL')
  return { error: { code: status, message, status: label } }
}
