// The refusals of this wire, in the vendor's words, and its error body. Paths have the vendor's snake_case names,
// whichever spelling the client used.
import * as says from '../../apis/gemini/wordings.ts'
import type { PlainError } from '../../engine/index.ts'
import { errorCodes, TurnwireError } from '../../language/errors.ts'
import { excerpt, type FieldType, fieldReader } from '../../lib/json/fields.ts'
import { isJsonObject, type Json, type JsonObject } from '../../lib/json/index.ts'

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

export const { object, list, objects, text, count, oneOf, onlyKnown } = fieldReader({
  missing: (path, expected) => invalidValue(path, typeLabels[expected], null),
  wrongType: (path, expected, given) => invalidValue(path, typeLabels[expected], given),
  // The mode of function calling is the only word of this protocol that is checked here.
  notOneOf: (path, given) => invalidValue(path, `${says.protoTypes}.FunctionCallingConfig.Mode`, given),
  outOfRange: (path, { bound }) =>
    geminiRefusal(
      bound === 'pattern'
        ? `GenerateContentRequest.${path}: ${says.invalidName(128)}`
        : `${path.slice(path.lastIndexOf('.') + 1)} must be positive.`,
    ),
  unknown: (_, name) => geminiRefusal(says.unknownName(excerpt(name))),
})

export function invalidValue(path: string, expected: string, given: Json): Error {
  return geminiRefusal(says.invalidValue(path, expected, excerpt(JSON.stringify(given), 200)))
}

/** Any object, such as the arguments of a function. */
export function struct(value: Json | undefined, path: string): JsonObject {
  if (isJsonObject(value)) return value
  throw invalidValue(path, says.structType, value ?? null)
}

// ---- spellings ------------------------------------------------------------------------------------------------

/** The members of an object by their camelCase names. `null` counts as absent, as in protobuf's JSON. */
export function members(value: Json | undefined, path: string): JsonObject {
  const entries = Object.entries(object(value, path)).filter(([, member]) => member !== null)
  return Object.fromEntries(entries.map(([name, member]) => [says.camelCase(name), member]))
}

export function geminiNotFound(message: string): Error {
  return new TurnwireError('not_found', message)
}

/** Messages for refusals that the vendor does not have. */
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
  modelPart: (path: string, kind: string) =>
    `${path}: ${kind} is the model's to say. A user's content has text, inline_data, file_data and function_response.`,
  unknownName: (path: string, name: string) =>
    `${path}.name: "${excerpt(name)}" is not the name of an open function call of the previous turn.`,
  badMedia: (path: string, reason: string) => `Invalid value at '${path}': ${reason}`,
}

export function geminiErrorBody({ code, message, retryAfterMs }: PlainError): object {
  const { status } = errorCodes[code]
  const details = retryAfterMs === undefined ? {} : { details: [retryInfo(retryAfterMs)] }
  return { error: { code: status, message, status: says.statusName(status), ...details } }
}

/** The vendor's clients read the wait from the body. */
function retryInfo(ms: number): object {
  return { '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: `${Math.ceil(ms / 1000)}s` }
}
