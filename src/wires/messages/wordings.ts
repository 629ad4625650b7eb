// What this wire says when it refuses, in the vendor's words, and its error body. A path is written as the vendor writes
// it: `messages.0.content.1.tool_use.id`.
import type { PlainError } from '../../engine/index.ts'
import { errorCodes, TurnwireError } from '../../language/errors.ts'
import type { Json, JsonObject } from '../../lib/json/index.ts'
import { excerpt, type FieldBound, type FieldType, fieldReader } from '../fields.ts'

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
  missing: path => anthropicRefusal(`${path}: Field required`),
  wrongType: (path, expected) => anthropicRefusal(`${path}: Input should be ${typeWords[expected]}`),
  notOneOf: unexpectedTag,
  outOfRange: (path, bound) => anthropicRefusal(`${path}: ${anthropicBound(bound)}`),
  unknown: (_, name) => anthropicRefusal(`${excerpt(name)}: Extra inputs are not permitted`),
  element: (path, index) => `${path}.${index}`,
})

function anthropicBound(broken: FieldBound): string {
  if (broken.bound === 'pattern') return `String should match pattern '${broken.pattern.source}'`
  const { bound, of, limit } = broken
  if (of === 'number')
    return `Input should be ${bound === 'least' ? 'greater' : 'less'} than or equal to ${limit}`
  const [noun, unit] = of === 'list' ? ['List', 'item'] : ['String', 'character']
  return `${noun} should have at ${bound} ${limit} ${unit}${limit === 1 ? '' : 's'}`
}

export function unexpectedTag(path: string, given: Json, supported: readonly string[]): Error {
  const tag = typeof given === 'string' ? excerpt(given) : ''
  const tags = supported.map(each => `'${each}'`).join(', ')
  return anthropicRefusal(
    `${path}: Input tag '${tag}' found using 'type' does not match any of the expected tags: ${tags}`,
  )
}

/** The `type` of an object that has one of several. */
export function tagOf<Tag extends string>(value: JsonObject, path: string, tags: readonly Tag[]): Tag {
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

/** Texts of `anthropicRefusal`. */
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
  repeatedTool: 'tools: Tool names must be unique.',
  noSuchTool: (name: string) => `tool_choice: Tool '${excerpt(name)}' not found in provided tools`,
  systemBlock: (path: string) => `${path}.type: Input should be 'text'`,
  emptyText: (path: string) => `${path}: text content blocks must be non-empty`,
  blankText: (path: string) => `${path}: text content blocks must contain non-whitespace text`,
  noMessages: 'messages: at least one message is required',
  firstRole: 'messages: first message must use the "user" role',
  firstSystem: (path: string) =>
    `${path}: use the top-level 'system' parameter for the initial system prompt`,
  unknownRole: (path: string) => `${path}.role: Input should be 'user' or 'assistant'`,
  emptyMessage:
    'messages: all messages must have non-empty content except for the optional final assistant message',
  prefill:
    'This model does not support assistant message prefill. The conversation must end with a user message.',
  systemMessage: (path: string) =>
    `${path}: \`system\` messages may only contain text, tool_addition and tool_removal blocks`,
  wrongRole: (message: string, block: string, role: string) =>
    `${message}: \`${block}\` blocks can only be in \`${role}\` messages`,
  repeatedId: (path: string) => `${path}: \`tool_use\` ids must be unique`,
  inputType: (path: string) => `${path}.input: Input should be a valid dictionary`,
  emptyFailure: (path: string) => `${path}: content cannot be empty if \`is_error\` is true`,
  unanswered: (index: number, ids: readonly string[]) =>
    `messages.${index}: \`tool_use\` ids were found without \`tool_result\` blocks immediately after: ${ids.join(', ')}. Each \`tool_use\` block must have a corresponding \`tool_result\` block in the next message.`,
  unknownUseId: (path: string, id: string) =>
    `${path}: unexpected \`tool_use_id\` found in \`tool_result\` blocks: ${id}. Each \`tool_result\` block must have a corresponding \`tool_use\` block in the previous message.`,
  secondResult: (path: string, id: string) =>
    `${path}: each tool_use must have a single result. Found multiple \`tool_result\` blocks with id: ${id}`,
}

const errorTypes: Readonly<Record<number, string>> = {
  401: 'authentication_error',
  403: 'permission_error',
  404: 'not_found_error',
  413: 'request_too_large',
  429: 'rate_limit_error',
  503: 'overloaded_error',
  504: 'timeout_error',
}

/** `error`: what was thrown, if it was not turned into plain data yet. */
export function messagesErrorBody(
  { code, message }: PlainError,
  error?: unknown,
  requestId?: string,
): JsonObject {
  const { status } = errorCodes[code]
  const type = errorTypes[status] ?? (status < 500 ? 'invalid_request_error' : 'api_error')
  const details = error instanceof AnthropicRefusal ? error.details : undefined
  return {
    type: 'error',
    error: { type, message, ...(details && { details }) },
    ...(requestId !== undefined && { request_id: requestId }),
  }
}
