// What this wire says when it refuses, in the vendor's words, and its error body. Paths have the vendor's snake_case
// names, whichever spelling the client used.
import type { PlainError } from '../../engine/index.ts'
import { errorCodes, TurnwireError } from '../../language/errors.ts'
import { isJsonObject, type Json, type JsonObject } from '../../lib/json/index.ts'
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

export const { object, list, objects, text, count, oneOf, onlyKnown } = fieldReader({
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

export function geminiNotFound(message: string): Error {
  return new TurnwireError('not_found', message)
}

/** Texts of `geminiRefusal` and `geminiNotFound`. */
export const geminiTexts = {
  noSuchModel: (version: string, name: string, method: string, advice: string) =>
    `models/${excerpt(name)} is not found for API version ${version}, or is not supported for ${method}. Call ListModels to see the list of available models and their supported methods. ${advice}`,
  noSuchMethod: (method: string, methods: readonly string[]) =>
    `There is no method "${excerpt(method)}" here. There are: ${methods.join(', ')}.`,
  pageToken: 'page_token: this is no token of a page of this list. Begin again without one.',
  keyInAddress:
    'A key in the address ends up in logs and is not taken. Send it in the header x-goog-api-key, and change it if it is in use.',
  cached: 'cached_content: nothing is cached here. Send the contents themselves.',
  oneCandidate:
    'generation_config.candidate_count: one candidate is given to a request here. Ask again for another.',
  toolNotOffered: (path: string, name: string) =>
    `${path}: ${excerpt(name)} is not offered here. Declare functions of your own in function_declarations.`,
  hostedRefused: (path: string, reason: string) =>
    `${path}: ${reason}. Leave it out, or declare functions of your own in function_declarations.`,
  repeatedFunction: (name: string) => `Duplicate function declaration found: ${name}`,
  twoSchemas: (path: string) => `${path}: only one of 'parameters' and 'parameters_json_schema' can be set.`,
  allowedNames: 'allowed_function_names should be set only when function calling mode is ANY or VALIDATED.',
  undeclaredName: (name: string) => `allowed_function_names: '${excerpt(name)}' is not a declared function.`,
  noFunctions: 'Function calling config is set without function_declarations.',
  noContents: 'Unable to submit request because at least one contents field is required',
  unknownRole: 'Please use a valid role: user, model.',
  noParts: (path: string) => `GenerateContentRequest.${path}: contents.parts must not be empty.`,
  twoKinds: (path: string, name: string) =>
    `Invalid value at '${path}' (oneof), oneof field 'data' is already set. Cannot set '${name}'`,
  noData: (path: string) =>
    `GenerateContentRequest.${path}.data: required oneof field 'data' must have one initialized field`,
  modelPart: (path: string, kind: string) =>
    `${path}: ${kind} is the model's to say. A user's content has text, inline_data, file_data and function_response.`,
  misplacedCall:
    'Please ensure that function call turn comes immediately after a user turn or after a function response turn.',
  misplacedResponse:
    'Please ensure that function response turn comes immediately after a function call turn.',
  unequalCounts:
    'Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.',
  emptyName: (path: string) => `GenerateContentRequest.${path}.name: Name cannot be empty.`,
  unknownId: (path: string, id: string) =>
    `${path}.id: "${excerpt(id)}" is not the id of an open function call of the previous turn.`,
  unknownName: (path: string, name: string) =>
    `${path}.name: "${excerpt(name)}" is not the name of an open function call of the previous turn.`,
  otherName: (path: string) => `${path}.name: does not match the name of the function call it answers.`,
  badMedia: (path: string, reason: string) => `Invalid value at '${path}': ${reason}`,
}

const errorStatuses: Readonly<Record<number, string>> = {
  401: 'UNAUTHENTICATED',
  403: 'PERMISSION_DENIED',
  404: 'NOT_FOUND',
  409: 'ABORTED',
  429: 'RESOURCE_EXHAUSTED',
  503: 'UNAVAILABLE',
  504: 'DEADLINE_EXCEEDED',
}

export function geminiErrorBody({ code, message, retryAfterMs }: PlainError): object {
  const { status } = errorCodes[code]
  const label = errorStatuses[status] ?? (status < 500 ? 'INVALID_ARGUMENT' : 'INTERNAL')
  const details = retryAfterMs === undefined ? {} : { details: [retryInfo(retryAfterMs)] }
  return { error: { code: status, message, status: label, ...details } }
}

/** The vendor's clients read the wait from the body. */
function retryInfo(ms: number): object {
  return { '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: `${Math.ceil(ms / 1000)}s` }
}
