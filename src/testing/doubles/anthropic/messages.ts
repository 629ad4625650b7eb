/**
 * What Anthropic refuses about the shape of single messages and content blocks: fields, ids, names, empty
 * text. How messages stand to one another is another file's (`anthropic-history.ts`).
 */

import { pictureKind } from '../pictures.ts'
import type { Mode, Rejection } from '../script.ts'
import { extraKeys, isRecord, type JsonRecord, recordsOf, stringOf } from '../shape.ts'
import { extra, invalid } from './tools.ts'

type Shape = { required: readonly string[]; optional: readonly string[] }

const cached = (required: string[], optional: string[] = []): Shape => ({
  required,
  optional: ['type', 'cache_control', ...optional],
})

const RESULT = cached(['tool_use_id', 'content'])
const SHAPES: Readonly<Record<string, Shape>> = {
  text: cached(['text'], ['citations']),
  image: cached(['source'], ['transformations']),
  document: cached(['source'], ['title', 'context', 'citations']),
  search_result: cached(['source', 'title', 'content'], ['citations']),
  thinking: { required: ['thinking', 'signature'], optional: ['type'] },
  redacted_thinking: { required: ['data'], optional: ['type'] },
  tool_use: cached(['id', 'name', 'input'], ['caller', 'toolset_name']),
  tool_result: cached(['tool_use_id'], ['content', 'is_error', 'toolset_name']),
  server_tool_use: cached(['id', 'name', 'input'], ['caller']),
  web_search_tool_result: cached(['tool_use_id', 'content'], ['caller']),
  web_fetch_tool_result: cached(['tool_use_id', 'content'], ['caller']),
  code_execution_tool_result: RESULT,
  bash_code_execution_tool_result: RESULT,
  text_editor_code_execution_tool_result: RESULT,
  tool_search_tool_result: RESULT,
  advisor_tool_result: RESULT,
  mcp_tool_use: cached(['id', 'name', 'input', 'server_name']),
  mcp_tool_result: cached(['tool_use_id'], ['content', 'is_error']),
  container_upload: cached(['file_id']),
  compaction: cached([], ['content', 'encrypted_content', 'signature']),
}
const IN_RESULT = ['text', 'image', 'search_result', 'document', 'tool_reference', 'browser_state']

const NAME = /^[a-zA-Z0-9_-]{1,128}$/
const ID: Readonly<Record<string, { pattern: RegExp; text: string }>> = {
  tool_use: { pattern: /^[a-zA-Z0-9_-]+$/, text: '^[a-zA-Z0-9_-]+$' },
  server_tool_use: { pattern: /^srvtoolu_[a-zA-Z0-9_]+$/, text: '^srvtoolu_[a-zA-Z0-9_]+$' },
  mcp_tool_use: { pattern: /^mcptoolu_[a-zA-Z0-9_]+$/, text: '^mcptoolu_[a-zA-Z0-9_]+$' },
}

const EMPTY_TEXT = 'messages: text content blocks must be non-empty'
const BLANK_TEXT = 'messages: text content blocks must contain non-whitespace text'
const EMPTY_MESSAGE =
  'messages: all messages must have non-empty content except for the optional final assistant message'

export function checkMessages(messages: unknown, mode: Mode): Rejection[] {
  if (messages === undefined) return [invalid('A-00', 'messages: Field required')]
  if (!Array.isArray(messages)) return [invalid('A-00', 'messages: Input should be a valid list')]
  if (messages.length === 0) return [invalid('A-00', 'messages: at least one message is required')]
  return messages.flatMap((message, at) => checkMessage(message, at, at === messages.length - 1, mode))
}

function checkMessage(message: unknown, index: number, isLast: boolean, mode: Mode): Rejection[] {
  const at = `messages.${index}`
  if (!isRecord(message)) return [invalid('A-00', `${at}: Input should be an object`)]
  const found: Rejection[] = []
  const role = message['role']
  if (role === undefined) found.push(invalid('A-00', `${at}.role: Field required`))
  else if (role === 'system' && index === 0) {
    found.push(invalid('A-20', `${at}: use the top-level 'system' parameter for the initial system prompt`))
  } else if (role !== 'user' && role !== 'assistant' && role !== 'system') {
    found.push(invalid('A-20', `${at}.role: Input should be 'user' or 'assistant'`))
  }
  found.push(...extraKeys(message, ['role', 'content']).map(key => extra(`${at}.${key}`)))
  const content = message['content']
  if (content === undefined) return [...found, invalid('A-12', `${at}.content: Field required`)]
  if (typeof content === 'string') {
    if (content === '' && !(isLast && role === 'assistant')) found.push(invalid('A-12', EMPTY_MESSAGE))
    else if (mode === 'strict' && content !== '' && content.trim() === '')
      found.push(invalid('A-12', BLANK_TEXT))
    return found
  }
  if (!Array.isArray(content))
    return [...found, invalid('A-12', `${at}.content: Input should be a valid list`)]
  if (content.length === 0) found.push(invalid('A-12', `${at}.content: List should have at least 1 item`))
  for (const [place, block] of content.entries()) {
    found.push(...checkBlock(block, stringOf(role), at, place, mode))
  }
  return found
}

function checkBlock(block: unknown, role: string, message: string, index: number, mode: Mode): Rejection[] {
  const place = `${message}.content.${index}`
  if (!isRecord(block)) return [invalid('A-28', `${place}: Input should be an object`)]
  const type = stringOf(block['type'])
  const shape = SHAPES[type]
  if (shape === undefined) {
    return [
      invalid(
        'A-28',
        `${place}: Input tag '${type}' found using 'type' does not match any of the expected tags: ${Object.keys(
          SHAPES,
        )
          .map(tag => `'${tag}'`)
          .join(', ')}`,
      ),
    ]
  }
  const at = `${place}.${type}`
  const found = shape.required
    .filter(key => block[key] === undefined)
    .map(key => invalid(missingRule(type, key), `${at}.${key}: Field required`))
  found.push(...extraKeys(block, [...shape.required, ...shape.optional]).map(key => extra(`${at}.${key}`)))
  if (role === 'system' && type !== 'text') {
    found.push(invalid('A-20', `${place}: \`system\` messages may only contain text blocks`))
  }
  if (type === 'text') found.push(...checkText(block, mode))
  if (type in ID) found.push(...checkUse(block, type, role, message, at))
  if (type === 'tool_result') found.push(...checkResult(block, role, message, at, mode))
  if (type === 'image') found.push(...checkPicture(block, at, mode))
  return found
}

const PICTURES = ['image/jpeg', 'image/png', 'image/gif', 'image/webp']

/** The type is one of four, and the one that the bytes are of. */
function checkPicture(block: JsonRecord, at: string, mode: Mode): Rejection[] {
  const source = isRecord(block['source']) ? block['source'] : {}
  if (source['type'] !== 'base64') return []
  const type = stringOf(source['media_type'])
  if (!PICTURES.includes(type)) {
    const wanted = "'image/jpeg', 'image/png', 'image/gif' or 'image/webp'"
    return [invalid('A-IMG', `${at}.source.base64.media_type: Input should be ${wanted}`)]
  }
  const kind = pictureKind(stringOf(source['data']))
  if (mode === 'lenient' || kind === type) return []
  return [
    kind === null
      ? invalid('A-IMG', 'Could not process image')
      : invalid(
          'A-IMG',
          `${at}.source.base64.data: The image was specified using the ${type} media type, but the image appears to be a ${kind} image`,
        ),
  ]
}

function missingRule(type: string, key: string): string {
  if (type === 'tool_result') return 'A-11'
  if (key === 'input') return 'A-09'
  return type === 'thinking' || type === 'redacted_thinking' ? 'A-19' : 'A-28'
}

function checkText(block: JsonRecord, mode: Mode): Rejection[] {
  const text = block['text']
  if (text === undefined) return []
  if (typeof text !== 'string') return [invalid('A-12', 'messages: text content blocks must be strings')]
  if (text === '') return [invalid('A-12', EMPTY_TEXT)]
  return mode === 'strict' && text.trim() === '' ? [invalid('A-12', BLANK_TEXT)] : []
}

function checkUse(block: JsonRecord, type: string, role: string, message: string, at: string): Rejection[] {
  const found: Rejection[] = []
  const id = ID[type]
  if (id !== undefined && block['id'] !== undefined && !id.pattern.test(stringOf(block['id']))) {
    found.push(invalid('A-06', `${at}.id: String should match pattern '${id.text}'`))
  }
  if (type === 'tool_use' && block['name'] !== undefined && !NAME.test(stringOf(block['name']))) {
    found.push(invalid('A-07', `${at}.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'`))
  }
  if (block['input'] !== undefined && !isRecord(block['input'])) {
    found.push(invalid('A-09', `${at}.input: Input should be a valid dictionary`))
  }
  if (role === 'user') {
    found.push(invalid('A-10', `${message}: \`${type}\` blocks can only be in \`assistant\` messages`))
  }
  return found
}

function checkResult(block: JsonRecord, role: string, message: string, at: string, mode: Mode): Rejection[] {
  const found: Rejection[] = []
  if (role !== 'user') {
    found.push(invalid('A-10', `${message}: \`tool_result\` blocks can only be in \`user\` messages`))
  }
  if (block['tool_use_id'] !== undefined && !/^[a-zA-Z0-9_-]+$/.test(stringOf(block['tool_use_id']))) {
    found.push(invalid('A-06', `${at}.tool_use_id: String should match pattern '^[a-zA-Z0-9_-]+$'`))
  }
  const content = block['content']
  const isEmpty = content === undefined || content === '' || (Array.isArray(content) && content.length === 0)
  if (block['is_error'] === true && isEmpty) {
    found.push(invalid('A-12', `${at}: content cannot be empty if \`is_error\` is true`))
  }
  if (content !== undefined && typeof content !== 'string' && !Array.isArray(content)) {
    found.push(invalid('A-12', `${at}.content: Input should be a valid list`))
  }
  for (const [place, part] of recordsOf(content).entries()) {
    const type = stringOf(part['type'])
    if (!IN_RESULT.includes(type)) {
      const tags = IN_RESULT.map(tag => `'${tag}'`).join(', ')
      found.push(
        invalid(
          'A-28',
          `${at}.content.${place}: Input tag '${type}' found using 'type' does not match any of the expected tags: ${tags}`,
        ),
      )
    } else if (type === 'text') found.push(...checkText(part, mode))
    else if (type === 'image') found.push(...checkPicture(part, `${at}.content.${place}.image`, mode))
  }
  return found
}

/** Cache breakpoints anywhere in the request; the API takes four. */
export function checkCacheControl(body: JsonRecord): Rejection[] {
  const blocks = [
    ...recordsOf(body['tools']),
    ...recordsOf(body['system']),
    ...recordsOf(body['messages']).flatMap(message =>
      recordsOf(message['content']).flatMap(block => [block, ...recordsOf(block['content'])]),
    ),
  ]
  const marked = blocks.filter(block => isRecord(block['cache_control'])).length
  const total = marked + (isRecord(body['cache_control']) ? 1 : 0)
  return total <= 4
    ? []
    : [invalid('A-28', `A maximum of 4 blocks with cache_control may be provided. Found ${total}.`)]
}
