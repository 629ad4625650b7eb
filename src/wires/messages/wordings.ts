// The refusals of this wire, in the vendor's words, and its error body. A path is written as the vendor writes it:
// `messages.0.content.1.tool_use.id`.
import * as says from '../../apis/anthropic/wordings.ts'
import type { PlainError } from '../../engine/index.ts'
import { errorCodes, TurnwireError } from '../../language/errors.ts'
import { excerpt, type FieldBound, type FieldType, fieldReader } from '../../lib/json/fields.ts'
import type { Json, JsonObject } from '../../lib/json/index.ts'

class AnthropicRefusal extends TurnwireError {
  readonly details: JsonObject | undefined

  constructor(message: string, code: 'bad_request' | 'not_found' = 'bad_request', details?: JsonObject) {
    super(code, message)
    this.details = details
  }
}

export function anthropicRefusal(message: string): Error {
  return new AnthropicRefusal(message)
}

const typeWords: Readonly<Record<FieldType, string>> = {
  object: 'an object',
  list: 'a valid list',
  text: 'a valid string',
  flag: 'a valid boolean',
  number: 'a valid number',
  integer: 'a valid integer',
}

export const { object, list, objects, text, flag, count, oneOf, onlyKnown } = fieldReader({
  missing: path => anthropicRefusal(says.fieldRequired(path)),
  wrongType: (path, expected) => anthropicRefusal(says.inputShouldBe(path, typeWords[expected])),
  notOneOf: unexpectedTag,
  outOfRange: (path, bound) => anthropicRefusal(anthropicBound(path, bound)),
  unknown: (_, name) => anthropicRefusal(says.extraInput(excerpt(name))),
  element: (path, index) => `${path}.${index}`,
})

function anthropicBound(path: string, broken: FieldBound): string {
  if (broken.bound === 'pattern') return says.patternExpected(path, broken.pattern)
  const { bound, of, limit } = broken
  if (of === 'number')
    return says.inputShouldBe(path, `${bound === 'least' ? 'greater' : 'less'} than or equal to ${limit}`)
  const [noun, unit] = of === 'list' ? ['List', 'item'] : ['String', 'character']
  return `${path}: ${noun} should have at ${bound} ${limit} ${unit}${limit === 1 ? '' : 's'}`
}

export function unexpectedTag(path: string, given: Json, supported: readonly string[]): Error {
  return anthropicRefusal(
    says.unexpectedTag(path, typeof given === 'string' ? excerpt(given) : '', supported),
  )
}

/** The `type` of an object that has one of several. */
export function readTag<Tag extends string>(value: JsonObject, path: string, tags: readonly Tag[]): Tag {
  return oneOf(value['type'] ?? '', path, tags)
}

export function messagesNotFound(message: string): Error {
  return new AnthropicRefusal(message, 'not_found')
}

export function noSuchMessagesModel(name: string, advice: string): Error {
  return messagesNotFound(`model: ${excerpt(name)}. ${advice}`)
}

/** The vendor's clients know this error, and then send all messages with each request. */
export function threadRefusal(): Error {
  const message = 'thread: conversations are not kept here. Send all messages with each request.'
  const details = { error_code: 'thread_unsupported_request', unsupported: ['thread'] }
  return new AnthropicRefusal(message, 'bad_request', details)
}

/** Messages for refusals that the vendor does not have. */
export const messagesTexts = {
  toolNotOffered: (path: string, type: Json) =>
    `${path}: tools of type '${typeof type === 'string' ? excerpt(type) : ''}' are not offered here. Declare a tool of your own, with name and input_schema.`,
  hostedRefused: (path: string, reason: string) =>
    `${path}: ${reason}. Leave it out, or declare a tool of your own, with name and input_schema.`,
  vendorField: (name: string, model: string) =>
    `${name}: only Anthropic's own servers have this, and the model behind "${excerpt(model)}" is of another vendor. Leave it out, or run the tools on your side and declare them with name and input_schema.`,
  vendorFile: (path: string, model: string) =>
    `${path}: a file by its id is known to Anthropic's own servers only, and the model behind "${excerpt(model)}" is of another vendor. Send its content as base64 or as an address.`,
  fileInResult: (path: string) =>
    `${path}: a result cannot name a file by its id here. Send its content as base64, or name the file in a message of the user.`,
  fallbackModels:
    'fallbacks: the models of this server are chosen by its operator. Send "default", or leave it out.',
  creditToken: 'fallback_credit_token: refusals carry no such token here. Leave it out.',
  compactionAndEdits: 'compaction: cannot be combined with context_management.',
  unknownChange: (path: string, name: string) => `${path}: '${excerpt(name)}' not found in provided tools`,
  noSuchTool: (name: string) => `tool_choice: Tool '${excerpt(name)}' not found in provided tools`,
}

/** `error`: what was thrown, if it was not turned into plain data yet. */
export function messagesErrorBody(
  { code, message }: PlainError,
  error?: unknown,
  requestId?: string,
): JsonObject {
  const { status } = errorCodes[code]
  const details = error instanceof AnthropicRefusal ? error.details : undefined
  return {
    type: 'error',
    error: { type: says.errorType(status), message, ...(details && { details }) },
    ...(requestId !== undefined && { request_id: requestId }),
  }
}
