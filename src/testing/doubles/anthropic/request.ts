// Everything that the Messages API refuses, in the order in which it looks. This file checks the fields, settings, cache
// breakpoints and single messages; tools and history have files of their own. `A-00` is the plain shape.
import * as says from '../../../apis/anthropic/wordings.ts'
import type { DoubleRequest } from '../double.ts'
import { pictureKind, WEB_PICTURES } from '../pictures.ts'
import type { Mode, Rejections } from '../script.ts'
import {
  asRecord,
  asRecords,
  asString,
  extraKeys,
  isRecord,
  type JsonRecord,
  ownEntry,
  wordList,
} from '../shape.ts'
import {
  type AnthropicMemory,
  checkAnthropicHistory,
  checkThinking,
  checkThread,
  modelVersion,
  readMessages,
  withThread,
} from './history.ts'
import { anthropicFailure, extraInputs, refuse } from './refusals.ts'
import {
  checkAnthropicChoice,
  checkAnthropicTools,
  checkMcpConnector,
  checkStrictTools,
  NAME_PATTERN,
} from './tools.ts'

/** `mcp_servers` is a beta field as well; it is checked with its toolsets. */
const ANTHROPIC_FIELDS = wordList(`
  model max_tokens messages system tools tool_choice stream thinking output_config container stop_sequences metadata
  service_tier speed cache_control inference_geo diagnostics user_profile_id workspace_id temperature top_p top_k
  mcp_servers`)
/** Fields that only a beta header unlocks, and how the name of that beta begins. */
const BETA_FIELDS: Readonly<Record<string, string>> = {
  context_management: 'context-management-',
  compaction: 'compact-',
  fallbacks: 'server-side-fallback-',
  fallback_credit_token: 'fallback-credit-',
  thread: 'message-threads-',
  output_format: 'structured-outputs-',
}
const MOST_BYTES = 32 * 1024 * 1024
const MOST_CACHE_BREAKPOINTS = 4

export function* checkAnthropic(request: DoubleRequest, memory: AnthropicMemory, mode: Mode): Rejections {
  const { headers, rawText, route } = request
  if (!isRecord(request.body)) return yield refuse('A-00', 'Input should be a valid dictionary')
  if (rawText.length > MOST_BYTES) return yield anthropicFailure(413)
  const body = withThread(request.body, memory)
  // A request without a version header came without HTTP. Then no beta is asked for.
  const betas = headers['anthropic-version'] && (headers['anthropic-beta'] ?? '').split(/, ?/)
  const hasBeta = (prefix: string): boolean => !betas || betas.some(beta => beta.startsWith(prefix))
  yield* checkFields(body, hasBeta, route.kind === 'count')
  yield* checkThread(request.body, memory)
  yield* checkSystem(body['system'])
  yield* checkAnthropicTools(body)
  yield* checkAnthropicMessages(body['messages'], mode)
  yield* checkAnthropicChoice(body)
  yield* checkMcpConnector(body, hasBeta('mcp-client-'))
  yield* checkSettings(body)
  yield* checkCacheControl(body)
  const check = { body, messages: readMessages(body['messages'], mode), memory, mode }
  yield* checkAnthropicHistory(check)
  yield* checkThinking(check)
}

function* checkFields(body: JsonRecord, hasBeta: (prefix: string) => boolean, isCount: boolean): Rejections {
  const { model, max_tokens: most, stream } = body
  if (model === undefined) yield refuse('A-00', says.fieldRequired('model'))
  else if (typeof model !== 'string' || model === '')
    yield refuse('A-00', says.inputShouldBe('model', 'a valid string'))
  if (most === undefined && !isCount) yield refuse('A-00', says.fieldRequired('max_tokens'))
  else if (most !== undefined && (!Number.isInteger(most) || Number(most) < 0)) {
    yield refuse('A-00', says.inputShouldBe('max_tokens', 'greater than or equal to 0'))
  }
  if (stream !== undefined && typeof stream !== 'boolean') {
    yield refuse('A-00', says.inputShouldBe('stream', 'a valid boolean'))
  }
  for (const key of extraKeys(body, ANTHROPIC_FIELDS)) {
    const beta = ownEntry(BETA_FIELDS, key)
    if (beta === undefined || !hasBeta(beta)) yield refuse('A-28', says.extraInput(key))
  }
}

function* checkSystem(system: unknown): Rejections {
  if (system === undefined || typeof system === 'string') return
  if (!Array.isArray(system)) return yield refuse('A-00', says.inputShouldBe('system', 'a valid list'))
  for (const [at, block] of asRecords(system).entries()) {
    if (block['type'] !== 'text') yield refuse('A-00', says.inputShouldBe(`system.${at}.type`, "'text'"))
    else if (block['text'] === '') yield refuse('A-12', says.emptyText('system'))
  }
}

const THINKING_KEYS: Readonly<Record<string, string>> = {
  adaptive: 'type display',
  between_tools: 'type',
  disabled: 'type',
  enabled: 'type budget_tokens display',
}

/** Whether a model takes no sampling settings and no thinking budget. A name without a version takes them. */
const isWithoutSampling = (model: string): boolean => {
  const version = modelVersion(model)
  return Number.isFinite(version) && (version >= 5 || (version >= 4.7 && model.includes('opus')))
}

function* checkSettings(body: JsonRecord): Rejections {
  const model = asString(body['model'])
  for (const key of isWithoutSampling(model) ? ['temperature', 'top_p', 'top_k'] : []) {
    if (body[key] === undefined) continue
    yield refuse('A-27', `${key}: \`${key}\` is not supported for this model.`)
  }
  yield* checkOutputConfig(body['output_config'])
  const thinking = body['thinking']
  if (thinking === undefined) return
  if (!isRecord(thinking)) return yield refuse('A-27', says.inputShouldBe('thinking', 'an object'))
  const type = asString(thinking['type'])
  const keys = ownEntry(THINKING_KEYS, type)
  if (keys === undefined)
    return yield refuse('A-27', says.unexpectedTag('thinking', type, Object.keys(THINKING_KEYS)))
  yield* extraInputs(thinking, keys, `thinking.${type}`)
  if (type === 'enabled') yield* checkBudget(model, thinking['budget_tokens'], body['max_tokens'])
}

function* checkOutputConfig(config: unknown): Rejections {
  if (config === undefined) return
  if (!isRecord(config)) return yield refuse('A-00', says.inputShouldBe('output_config', 'an object'))
  yield* extraInputs(config, 'effort format task_budget', 'output_config')
  const { format } = config
  if (format === undefined || format === null) return
  const path = 'output_config.format'
  if (!isRecord(format)) return yield refuse('A-00', says.inputShouldBe(path, 'an object'))
  if (format['type'] !== 'json_schema')
    return yield refuse('A-00', says.unexpectedTag(path, asString(format['type']), ['json_schema']))
  yield* extraInputs(format, 'type schema', path)
  if (!isRecord(format['schema'])) return yield refuse('A-00', says.fieldRequired(`${path}.schema`))
  yield* checkStrictTools([{ schema: format['schema'], at: `${path}.schema` }])
}

function* checkBudget(model: string, budget: unknown, most: unknown): Rejections {
  const path = 'thinking.enabled.budget_tokens'
  if (isWithoutSampling(model)) {
    const text =
      '"thinking.type.enabled" is not supported for this model. Use "thinking.type.adaptive" and "output_config.effort" to control thinking behavior.'
    yield refuse('A-27', text)
  } else if (typeof budget !== 'number') yield refuse('A-27', says.fieldRequired(path))
  else if (budget < 1024) yield refuse('A-27', says.inputShouldBe(path, 'greater than or equal to 1024'))
  else if (typeof most === 'number' && budget >= most) {
    const text =
      '`max_tokens` must be greater than `thinking.budget_tokens`. Please consult our documentation at https://docs.claude.com/en/docs/build-with-claude/extended-thinking#max-tokens-and-context-window-size'
    yield refuse('A-27', text)
  }
}

/** Cache breakpoints may stand anywhere in the request. */
function* checkCacheControl(body: JsonRecord): Rejections {
  const blocks = asRecords(body['messages']).flatMap(message => asRecords(message['content']))
  const inside = blocks.flatMap(block => asRecords(block['content']))
  const places = [body, ...asRecords(body['tools']), ...asRecords(body['system']), ...blocks, ...inside]
  const total = places.filter(place => isRecord(place['cache_control'])).length
  if (total <= MOST_CACHE_BREAKPOINTS) return
  const text = `A maximum of 4 blocks with cache_control may be provided. Found ${total}.`
  yield refuse('A-28', text)
}

// ---- single messages and blocks -----------------------------------------------------------------------------

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

function* checkAnthropicMessages(messages: unknown, mode: Mode): Rejections {
  if (messages === undefined) return yield refuse('A-00', says.fieldRequired('messages'))
  if (!Array.isArray(messages)) return yield refuse('A-00', says.inputShouldBe('messages', 'a valid list'))
  if (messages.length === 0) return yield refuse('A-00', says.noMessages)
  for (const [at, message] of messages.entries()) {
    const path = `messages.${at}`
    if (!isRecord(message)) {
      yield refuse('A-00', says.inputShouldBe(path, 'an object'))
      continue
    }
    yield* checkRole(message['role'], at)
    yield* extraInputs(message, 'role content', path)
    const mayBeEmpty = at === messages.length - 1 && message['role'] === 'assistant'
    yield* checkMessageContent(message, mayBeEmpty, { path, role: asString(message['role']), mode })
  }
}

function* checkRole(role: unknown, at: number): Rejections {
  if (role === undefined) yield refuse('A-00', says.fieldRequired(`messages.${at}.role`))
  else if (role === 'system' && at === 0) yield refuse('A-20', says.firstSystem('messages.0'))
  else if (role !== 'user' && role !== 'assistant' && role !== 'system')
    yield refuse('A-20', says.unknownRole(`messages.${at}`))
}

function* checkMessageContent({ content }: JsonRecord, mayBeEmpty: boolean, inside: InMessage): Rejections {
  const { path, mode } = inside
  if (content === undefined) return yield refuse('A-12', says.fieldRequired(`${path}.content`))
  if (typeof content === 'string') {
    if (content === '' && !mayBeEmpty) yield refuse('A-12', says.emptyMessage)
    else if (mode === 'strict' && content !== '' && content.trim() === '')
      yield refuse('A-12', says.blankText('messages'))
    return
  }
  if (!Array.isArray(content))
    return yield refuse('A-12', says.inputShouldBe(`${path}.content`, 'a valid list'))
  if (content.length === 0) yield refuse('A-12', `${path}.content: List should have at least 1 item`)
  for (const [at, block] of content.entries()) {
    const place = `${path}.content.${at}`
    if (isRecord(block)) yield* checkBlock(block, place, inside)
    else yield refuse('A-28', says.inputShouldBe(place, 'an object'))
  }
}

/** `place` is the path of the block, as the API reports it. */
function* checkBlock(block: JsonRecord, place: string, inside: InMessage): Rejections {
  const { role, mode } = inside
  const type = asString(block['type'])
  const shape = ownEntry(BLOCK_SHAPES, type)
  if (shape === undefined)
    return yield refuse('A-28', says.unexpectedTag(place, type, Object.keys(BLOCK_SHAPES)))
  const path = `${place}.${type}`
  const [required, optional = ''] = shape
  for (const key of wordList(required))
    if (block[key] === undefined)
      yield refuse(missingFieldRule(type, key), says.fieldRequired(`${path}.${key}`))
  yield* extraInputs(block, `type ${required} ${optional}`, path)
  if (role === 'system' && type !== 'text') yield refuse('A-20', says.systemBlocks(place, 'text'))
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
    return yield refuse('A-IMG', says.inputShouldBe(`${path}.source.base64.media_type`, wanted))
  }
  const kind = pictureKind(asString(source['data']))
  if (mode === 'lenient' || kind === type) return
  const mismatch = `${path}.source.base64.data: The image was specified using the ${type} media type, but the image appears to be a ${kind} image`
  yield refuse('A-IMG', kind === null ? 'Could not process image' : mismatch)
}

function* checkText({ text }: JsonRecord, mode: Mode): Rejections {
  if (text === undefined) return
  if (typeof text !== 'string') yield refuse('A-12', 'messages: text content blocks must be strings')
  else if (text === '') yield refuse('A-12', says.emptyText('messages'))
  else if (mode === 'strict' && text.trim() === '') yield refuse('A-12', says.blankText('messages'))
}

function* checkCallBlock(block: JsonRecord, path: string, inside: InMessage): Rejections {
  const { id, name, input } = block
  const type = asString(block['type'])
  const pattern = CALL_IDS[type] ?? CALL_ID
  if (id !== undefined && !pattern.test(asString(id)))
    yield refuse('A-06', says.patternExpected(`${path}.id`, pattern))
  if (type === 'tool_use' && name !== undefined && !NAME_PATTERN.test(asString(name))) {
    yield refuse('A-07', says.patternExpected(`${path}.name`, NAME_PATTERN))
  }
  if (input !== undefined && !isRecord(input))
    yield refuse('A-09', says.inputShouldBe(`${path}.input`, 'a valid dictionary'))
  if (inside.role === 'user') yield refuse('A-10', says.wrongRole(inside.path, type, 'assistant'))
}

function* checkResultBlock(block: JsonRecord, path: string, inside: InMessage): Rejections {
  const { content, tool_use_id: id } = block
  if (inside.role !== 'user') yield refuse('A-10', says.wrongRole(inside.path, 'tool_result', 'user'))
  if (id !== undefined && !CALL_ID.test(asString(id)))
    yield refuse('A-06', says.patternExpected(`${path}.tool_use_id`, CALL_ID))
  const isEmpty = content === undefined || content === '' || (Array.isArray(content) && content.length === 0)
  if (block['is_error'] === true && isEmpty) yield refuse('A-12', says.emptyFailure(path))
  if (content !== undefined && typeof content !== 'string' && !Array.isArray(content)) {
    yield refuse('A-12', says.inputShouldBe(`${path}.content`, 'a valid list'))
  }
  for (const [at, part] of asRecords(content).entries()) {
    const type = asString(part['type'])
    const place = `${path}.content.${at}`
    if (!BLOCKS_IN_RESULT.includes(type))
      yield refuse('A-28', says.unexpectedTag(place, type, BLOCKS_IN_RESULT))
    else if (type === 'text') yield* checkText(part, inside.mode)
    else if (type === 'image') yield* checkPictureBlock(part, `${place}.image`, inside.mode)
  }
}
