// The words of Gemini's generateContent: how it refuses a request, its statuses, and the two spellings of a field's name. Words
// only: the wire judges what is wrong, and the double judges it apart from the wire. Paths have snake_case names.

/** By HTTP status. Any other status below 500 is `INVALID_ARGUMENT`, from 500 on `INTERNAL`. */
const statusNames: Readonly<Record<number, string>> = {
  401: 'UNAUTHENTICATED',
  403: 'PERMISSION_DENIED',
  404: 'NOT_FOUND',
  409: 'ABORTED',
  422: 'FAILED_PRECONDITION',
  429: 'RESOURCE_EXHAUSTED',
  503: 'UNAVAILABLE',
  504: 'DEADLINE_EXCEEDED',
}

export const statusName = (status: number): string =>
  statusNames[status] ?? (status < 500 ? 'INVALID_ARGUMENT' : 'INTERNAL')

/** The types of the API, as its parser names them. */
export const protoTypes = 'type.googleapis.com/google.ai.generativelanguage.v1beta'
export const structType = 'type.googleapis.com/google.protobuf.Struct'

export const camelCase = (name: string): string =>
  name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())

/** The members of a part that hold data. A part has one of them. */
export const dataFields: readonly string[] =
  'text inlineData fileData functionCall functionResponse executableCode codeExecutionResult toolCall toolResponse'.split(
    ' ',
  )

// ---- single fields ---------------------------------------------------------------------------------------------

export const invalidValue = (path: string, type: string, shown: string): string =>
  `Invalid value at '${path}' (${type}), ${shown}`
export const unknownName = (name: string, path = ''): string =>
  `Invalid JSON payload received. Unknown name "${name}"${path && ` at '${path}'`}: Cannot find field.`
export const invalidName = (most: number): string =>
  `Invalid function name. Must start with a letter or an underscore. Must be alphameric (a-z, A-Z, 0-9), underscores (_), dots (.), colons (:), or dashes (-), with a maximum length of ${most}.`

// ---- contents and parts ----------------------------------------------------------------------------------------

export const noContents = 'Unable to submit request because at least one contents field is required'
export const unknownRole = 'Please use a valid role: user, model.'
export const noParts = (path: string): string =>
  `GenerateContentRequest.${path}: contents.parts must not be empty.`
export const noData = (path: string): string =>
  `GenerateContentRequest.${path}.data: required oneof field 'data' must have one initialized field`
export const twoKinds = (path: string, name: string): string =>
  `Invalid value at '${path}' (oneof), oneof field 'data' is already set. Cannot set '${name}'`
export const emptyName = (path: string): string =>
  `GenerateContentRequest.${path}.name: Name cannot be empty.`

// ---- calls and responses ---------------------------------------------------------------------------------------

export const misplacedCall =
  'Please ensure that function call turn comes immediately after a user turn or after a function response turn.'
export const misplacedResponse =
  'Please ensure that function response turn comes immediately after a function call turn.'
export const unequalCounts =
  'Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.'
export const unknownId = (path: string, shown: string): string =>
  `${path}.id: ${shown} is not the id of an open function call of the previous turn.`
export const otherName = (path: string): string =>
  `${path}.name: does not match the name of the function call it answers.`

// ---- tools -----------------------------------------------------------------------------------------------------

export const repeatedFunction = (name: string): string => `Duplicate function declaration found: ${name}`
export const twoSchemas = (path: string): string =>
  `${path}: only one of 'parameters' and 'parameters_json_schema' can be set.`
export const allowedNames =
  'allowed_function_names should be set only when function calling mode is ANY or VALIDATED.'
export const undeclaredName = (name: string): string =>
  `allowed_function_names: '${name}' is not a declared function.`
export const noFunctions = 'Function calling config is set without function_declarations.'
