// Everything that the Messages API refuses, in the order in which it looks. This file checks the fields, settings and
// cache breakpoints; tools, messages, history and thinking have files of their own. `A-00` is the plain shape.
import * as says from '../../../apis/anthropic/wordings.ts'
import type { DoubleRequest } from '../double.ts'
import type { Mode, Rejections } from '../script.ts'
import { asRecords, asString, entryOf, extraKeys, isRecord, type JsonRecord, wordList } from '../shape.ts'
import { checkAnthropicHistory, modelVersion, readMessages } from './history.ts'
import type { AnthropicMemory } from './memory.ts'
import { checkAnthropicMessages } from './messages.ts'
import {
  anthropicError,
  anthropicFailure,
  extraInputs,
  fieldRequired,
  inputShouldBe,
  unexpectedTag,
} from './refusals.ts'
import { checkStrictTools } from './schema.ts'
import { checkThinking } from './thinking.ts'
import { checkThread, withThread } from './threads.ts'
import { checkAnthropicChoice, checkAnthropicTools, checkMcpConnector } from './tools.ts'

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
  if (!isRecord(request.body)) return yield anthropicError('A-00', 'Input should be a valid dictionary')
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
  if (model === undefined) yield fieldRequired('A-00', 'model')
  else if (typeof model !== 'string' || model === '') yield inputShouldBe('A-00', 'model', 'a valid string')
  if (most === undefined && !isCount) yield fieldRequired('A-00', 'max_tokens')
  else if (most !== undefined && (!Number.isInteger(most) || Number(most) < 0)) {
    yield inputShouldBe('A-00', 'max_tokens', 'greater than or equal to 0')
  }
  if (stream !== undefined && typeof stream !== 'boolean') {
    yield inputShouldBe('A-00', 'stream', 'a valid boolean')
  }
  for (const key of extraKeys(body, ANTHROPIC_FIELDS)) {
    const beta = entryOf(BETA_FIELDS, key)
    if (beta === undefined || !hasBeta(beta)) yield anthropicError('A-28', says.extraInput(key))
  }
}

function* checkSystem(system: unknown): Rejections {
  if (system === undefined || typeof system === 'string') return
  if (!Array.isArray(system)) return yield inputShouldBe('A-00', 'system', 'a valid list')
  for (const [at, block] of asRecords(system).entries()) {
    if (block['type'] !== 'text') yield inputShouldBe('A-00', `system.${at}.type`, "'text'")
    else if (block['text'] === '') yield anthropicError('A-12', says.emptyText('system'))
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
    yield anthropicError('A-27', `${key}: \`${key}\` is not supported for this model.`)
  }
  yield* checkOutputConfig(body['output_config'])
  const thinking = body['thinking']
  if (thinking === undefined) return
  if (!isRecord(thinking)) return yield inputShouldBe('A-27', 'thinking', 'an object')
  const type = asString(thinking['type'])
  const keys = entryOf(THINKING_KEYS, type)
  if (keys === undefined) return yield unexpectedTag('A-27', 'thinking', type, Object.keys(THINKING_KEYS))
  yield* extraInputs(thinking, keys, `thinking.${type}`)
  if (type === 'enabled') yield* checkBudget(model, thinking['budget_tokens'], body['max_tokens'])
}

function* checkOutputConfig(config: unknown): Rejections {
  if (config === undefined) return
  if (!isRecord(config)) return yield inputShouldBe('A-00', 'output_config', 'an object')
  yield* extraInputs(config, 'effort format task_budget', 'output_config')
  const { format } = config
  if (format === undefined || format === null) return
  const path = 'output_config.format'
  if (!isRecord(format)) return yield inputShouldBe('A-00', path, 'an object')
  if (format['type'] !== 'json_schema')
    return yield unexpectedTag('A-00', path, asString(format['type']), ['json_schema'])
  yield* extraInputs(format, 'type schema', path)
  if (!isRecord(format['schema'])) return yield fieldRequired('A-00', `${path}.schema`)
  yield* checkStrictTools([{ schema: format['schema'], at: `${path}.schema` }])
}

function* checkBudget(model: string, budget: unknown, most: unknown): Rejections {
  const path = 'thinking.enabled.budget_tokens'
  if (isWithoutSampling(model)) {
    const text =
      '"thinking.type.enabled" is not supported for this model. Use "thinking.type.adaptive" and "output_config.effort" to control thinking behavior.'
    yield anthropicError('A-27', text)
  } else if (typeof budget !== 'number') yield fieldRequired('A-27', path)
  else if (budget < 1024) yield inputShouldBe('A-27', path, 'greater than or equal to 1024')
  else if (typeof most === 'number' && budget >= most) {
    const text =
      '`max_tokens` must be greater than `thinking.budget_tokens`. Please consult our documentation at https://docs.claude.com/en/docs/build-with-claude/extended-thinking#max-tokens-and-context-window-size'
    yield anthropicError('A-27', text)
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
  yield anthropicError('A-28', text)
}
