// Rules of Anthropic about single messages and content blocks: fields, ids, names, empty text, pictures.
// `history.ts` checks how messages follow one another.
import * as says from '../../../apis/anthropic/wordings.ts'
import { pictureKind, WEB_PICTURES } from '../pictures.ts'
import type { Mode, Rejections } from '../script.ts'
import { asRecord, asRecords, asString, entryOf, isRecord, type JsonRecord, wordList } from '../shape.ts'
import {
  anthropicError,
  extraInputs,
  fieldRequired,
  inputShouldBe,
  patternExpected,
  unexpectedTag,
} from './refusals.ts'
import { NAME_PATTERN } from './tools.ts'

/** The fields of a block besides `type`: those that it must have, and those that it may have. */
type BlockShape = readonly [required: string, optional?: string]

const SERVER_RESULT: BlockShape = ['tool_use_id content', 'cache_control']
const WEB_RESULT: BlockShape = ['tool_use_id content', 'cache_control caller']
const BLOCK_SHAPES: Readonly<Record<string, BlockShape>> = {
  text: ['text', 'cache_control citations'],
  image: ['source', 'cache_control transformations'],
  document: ['source', 'cache_control title context citations'],
  search_result: ['source title content', 'cache_control citations'],
  thinking: ['thinking signature'],
  redacted_thinking: ['data'],
  tool_use: ['id name input', 'cache_control caller toolset_name'],
  tool_result: ['tool_use_id', 'cache_control content is_error toolset_name'],
  server_tool_use: ['id name input', 'cache_control caller'],
  web_search_tool_result: WEB_RESULT,
  web_fetch_tool_result: WEB_RESULT,
  code_execution_tool_result: SERVER_RESULT,
  bash_code_execution_tool_result: SERVER_RESULT,
  text_editor_code_execution_tool_result: SERVER_RESULT,
  tool_search_tool_result: SERVER_RESULT,
  advisor_tool_result: SERVER_RESULT,
  mcp_tool_use: ['id name input server_name', 'cache_control'],
  mcp_tool_result: ['tool_use_id', 'cache_control content is_error'],
  container_upload: ['file_id', 'cache_control'],
  compaction: ['', 'cache_control content encrypted_content signature tool_changes'],
  fallback: ['from to', 'trigger'],
  mcp_tool_listing: ['mcp_server_name tools'],
}
const BLOCKS_IN_RESULT = wordList('text image search_result document tool_reference browser_state')

const CALL_ID = /^[a-zA-Z0-9_-]+$/
/** Blocks that are calls, and the pattern of their ids. */
const CALL_IDS: Readonly<Record<string, RegExp>> = {
  tool_use: CALL_ID,
  server_tool_use: /^srvtoolu_[a-zA-Z0-9_]+$/,
  mcp_tool_use: /^mcptoolu_[a-zA-Z0-9_]+$/,
}

/** The message that a block is in. */
type InMessage = { path: string; role: string; mode: Mode }

export function* checkAnthropicMessages(messages: unknown, mode: Mode): Rejections {
  if (messages === undefined) return yield fieldRequired('A-00', 'messages')
  if (!Array.isArray(messages)) return yield inputShouldBe('A-00', 'messages', 'a valid list')
  if (messages.length === 0) return yield anthropicError('A-00', says.noMessages)
  for (const [at, message] of messages.entries()) {
    const path = `messages.${at}`
    if (!isRecord(message)) {
      yield inputShouldBe('A-00', path, 'an object')
      continue
    }
    yield* checkRole(message['role'], at)
    yield* extraInputs(message, 'role content', path)
    const mayBeEmpty = at === messages.length - 1 && message['role'] === 'assistant'
    yield* checkMessageContent(message, mayBeEmpty, { path, role: asString(message['role']), mode })
  }
}

function* checkRole(role: unknown, at: number): Rejections {
  if (role === undefined) yield fieldRequired('A-00', `messages.${at}.role`)
  else if (role === 'system' && at === 0) yield anthropicError('A-20', says.firstSystem('messages.0'))
  else if (role !== 'user' && role !== 'assistant' && role !== 'system')
    yield anthropicError('A-20', says.unknownRole(`messages.${at}`))
}

function* checkMessageContent({ content }: JsonRecord, mayBeEmpty: boolean, inside: InMessage): Rejections {
  const { path, mode } = inside
  if (content === undefined) return yield fieldRequired('A-12', `${path}.content`)
  if (typeof content === 'string') {
    if (content === '' && !mayBeEmpty) yield anthropicError('A-12', says.emptyMessage)
    else if (mode === 'strict' && content !== '' && content.trim() === '')
      yield anthropicError('A-12', says.blankText('messages'))
    return
  }
  if (!Array.isArray(content)) return yield inputShouldBe('A-12', `${path}.content`, 'a valid list')
  if (content.length === 0) yield anthropicError('A-12', `${path}.content: List should have at least 1 item`)
  for (const [at, block] of content.entries()) {
    const place = `${path}.content.${at}`
    if (isRecord(block)) yield* checkBlock(block, place, inside)
    else yield inputShouldBe('A-28', place, 'an object')
  }
}

/** `place` is the path of the block, as the API reports it. */
function* checkBlock(block: JsonRecord, place: string, inside: InMessage): Rejections {
  const { role, mode } = inside
  const type = asString(block['type'])
  const shape = entryOf(BLOCK_SHAPES, type)
  if (shape === undefined) return yield unexpectedTag('A-28', place, type, Object.keys(BLOCK_SHAPES))
  const path = `${place}.${type}`
  const [required, optional = ''] = shape
  for (const key of wordList(required))
    if (block[key] === undefined) yield fieldRequired(missingFieldRule(type, key), `${path}.${key}`)
  yield* extraInputs(block, `type ${required} ${optional}`, path)
  if (role === 'system' && type !== 'text') yield anthropicError('A-20', says.systemBlocks(place, 'text'))
  if (type === 'text') yield* checkText(block, mode)
  if (type in CALL_IDS) yield* checkCallBlock(block, path, inside)
  if (type === 'tool_result') yield* checkResultBlock(block, path, inside)
  if (type === 'image') yield* checkPictureBlock(block, path, mode)
}

function missingFieldRule(type: string, key: string): string {
  if (type === 'tool_result') return 'A-11'
  if (key === 'input') return 'A-09'
  return type === 'thinking' || type === 'redacted_thinking' ? 'A-19' : 'A-28'
}

/** The media type is one of four, and the bytes are of that type. */
function* checkPictureBlock(block: JsonRecord, path: string, mode: Mode): Rejections {
  const source = asRecord(block['source'])
  if (source['type'] !== 'base64') return
  const type = asString(source['media_type'])
  if (!WEB_PICTURES.includes(type)) {
    const wanted = "'image/jpeg', 'image/png', 'image/gif' or 'image/webp'"
    return yield inputShouldBe('A-IMG', `${path}.source.base64.media_type`, wanted)
  }
  const kind = pictureKind(asString(source['data']))
  if (mode === 'lenient' || kind === type) return
  const mismatch = `${path}.source.base64.data: The image was specified using the ${type} media type, but the image appears to be a ${kind} image`
  yield anthropicError('A-IMG', kind === null ? 'Could not process image' : mismatch)
}

function* checkText({ text }: JsonRecord, mode: Mode): Rejections {
  if (text === undefined) return
  if (typeof text !== 'string') yield anthropicError('A-12', 'messages: text content blocks must be strings')
  else if (text === '') yield anthropicError('A-12', says.emptyText('messages'))
  else if (mode === 'strict' && text.trim() === '') yield anthropicError('A-12', says.blankText('messages'))
}

function* checkCallBlock(block: JsonRecord, path: string, inside: InMessage): Rejections {
  const { id, name, input } = block
  const type = asString(block['type'])
  const pattern = CALL_IDS[type] ?? CALL_ID
  if (id !== undefined && !pattern.test(asString(id))) yield patternExpected('A-06', `${path}.id`, pattern)
  if (type === 'tool_use' && name !== undefined && !NAME_PATTERN.test(asString(name))) {
    yield patternExpected('A-07', `${path}.name`, NAME_PATTERN)
  }
  if (input !== undefined && !isRecord(input))
    yield inputShouldBe('A-09', `${path}.input`, 'a valid dictionary')
  if (inside.role === 'user') yield anthropicError('A-10', says.wrongRole(inside.path, type, 'assistant'))
}

function* checkResultBlock(block: JsonRecord, path: string, inside: InMessage): Rejections {
  const { content, tool_use_id: id } = block
  if (inside.role !== 'user') yield anthropicError('A-10', says.wrongRole(inside.path, 'tool_result', 'user'))
  if (id !== undefined && !CALL_ID.test(asString(id)))
    yield patternExpected('A-06', `${path}.tool_use_id`, CALL_ID)
  const isEmpty = content === undefined || content === '' || (Array.isArray(content) && content.length === 0)
  if (block['is_error'] === true && isEmpty) yield anthropicError('A-12', says.emptyFailure(path))
  if (content !== undefined && typeof content !== 'string' && !Array.isArray(content)) {
    yield inputShouldBe('A-12', `${path}.content`, 'a valid list')
  }
  for (const [at, part] of asRecords(content).entries()) {
    const type = asString(part['type'])
    const place = `${path}.content.${at}`
    if (!BLOCKS_IN_RESULT.includes(type)) yield unexpectedTag('A-28', place, type, BLOCKS_IN_RESULT)
    else if (type === 'text') yield* checkText(part, inside.mode)
    else if (type === 'image') yield* checkPictureBlock(part, `${place}.image`, inside.mode)
  }
}
