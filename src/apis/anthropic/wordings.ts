// The words of Anthropic's Messages API: how it refuses a request, and the types of its errors. Words only: the wire judges
// what is wrong, and the double judges it apart from the wire. Paths are written as the vendor writes them, as in
// `messages.0.content.1.tool_use.id`.

/** By HTTP status. Any other status below 500 is an `invalid_request_error`, from 500 on an `api_error`. */
const errorTypes: Readonly<Record<number, string>> = {
  401: 'authentication_error',
  403: 'permission_error',
  404: 'not_found_error',
  413: 'request_too_large',
  429: 'rate_limit_error',
  503: 'overloaded_error',
  504: 'timeout_error',
  529: 'overloaded_error',
}

export const errorType = (status: number): string =>
  errorTypes[status] ?? (status < 500 ? 'invalid_request_error' : 'api_error')

// ---- single fields ---------------------------------------------------------------------------------------------

export const fieldRequired = (path: string): string => `${path}: Field required`
export const inputShouldBe = (path: string, wanted: string): string => `${path}: Input should be ${wanted}`
export const extraInput = (path: string): string => `${path}: Extra inputs are not permitted`
export const patternExpected = (path: string, { source }: RegExp): string =>
  `${path}: String should match pattern '${source}'`
export const unexpectedTag = (path: string, tag: string, expected: readonly string[]): string =>
  `${path}: Input tag '${tag}' found using 'type' does not match any of the expected tags: ${expected.map(each => `'${each}'`).join(', ')}`

// ---- messages and blocks ---------------------------------------------------------------------------------------

export const noMessages = 'messages: at least one message is required'
export const emptyMessage =
  'messages: all messages must have non-empty content except for the optional final assistant message'
export const firstRole = 'messages: first message must use the "user" role'
export const alternatingRoles = 'messages: roles must alternate between "user" and "assistant"'
export const prefill =
  'This model does not support assistant message prefill. The conversation must end with a user message.'
export const firstSystem = (path: string): string =>
  `${path}: use the top-level 'system' parameter for the initial system prompt`
export const unknownRole = (path: string): string => inputShouldBe(`${path}.role`, "'user' or 'assistant'")
export const emptyText = (path: string): string => `${path}: text content blocks must be non-empty`
export const blankText = (path: string): string =>
  `${path}: text content blocks must contain non-whitespace text`
export const emptyFailure = (path: string): string =>
  `${path}: content cannot be empty if \`is_error\` is true`
export const systemBlocks = (path: string, blocks: string): string =>
  `${path}: \`system\` messages may only contain ${blocks} blocks`
export const wrongRole = (message: string, block: string, role: string): string =>
  `${message}: \`${block}\` blocks can only be in \`${role}\` messages`

// ---- calls and results -----------------------------------------------------------------------------------------

export const repeatedId = (path: string): string => `${path}: \`tool_use\` ids must be unique`
export const unanswered = (index: number, ids: readonly string[]): string =>
  `messages.${index}: \`tool_use\` ids were found without \`tool_result\` blocks immediately after: ${ids.join(', ')}. Each \`tool_use\` block must have a corresponding \`tool_result\` block in the next message.`
export const unknownUseId = (path: string, id: string): string =>
  `${path}: unexpected \`tool_use_id\` found in \`tool_result\` blocks: ${id}. Each \`tool_result\` block must have a corresponding \`tool_use\` block in the previous message.`
export const secondResult = (path: string, id: string): string =>
  `${path}: each tool_use must have a single result. Found multiple \`tool_result\` blocks with id: ${id}`

// ---- tools -----------------------------------------------------------------------------------------------------

export const repeatedTool = 'tools: Tool names must be unique.'
